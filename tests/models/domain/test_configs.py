"""Configurations of the domain models: plain values, old versions, and what they
refuse.
"""

import json

from infoscope.models.domain import (
    DANN,
    IRM,
    NVAE,
    PUBLISHED,
    AugmentedDANN,
    BlockSpec,
    Network,
    configs,
)
from infoscope.models.domain.configs import AugmentedDANNConfig, DIVAConfig, NVAEConfig

SETTING = {"shape": (3, 16, 16), "classes": 4, "domains": 3}

# written by version 1 of the configuration; a later version must read it as it was
# meant
VERSION_1 = """{"shape": [3, 16, 16], "classes": 4, "domains": 3,
    "blocks": {"z_y": 8, "z_x": 8, "z_dy": 8, "z_d": 8}, "network": {"kind": "plain", "width": 4, "depth": 2},
    "optimisation": {"method": "adam", "learning_rate": 0.001, "momentum": 0.9, "weight_decay": 0.0, "batch": 64,
                     "balanced": false},
    "version": 1, "reconstruction": "squared", "alpha_y": 150.0, "alpha_d": 150.0, "hidden": [64, 64], "beta": {},
    "beta_warmup": 0.0, "l1": {"z_dy": 5.0}}"""


def test_a_version_1_configuration_is_read():
    model = NVAE(**json.loads(VERSION_1))
    assert model.blocks_spec == BlockSpec(8, 8, 8, 8)
    assert model.settings.l1 == {"z_dy": 5.0}
    assert model.settings.network == Network(width=4)
    assert model.settings.alpha_y == 150.0
    assert model.settings.reconstruction == "squared"
    # what version 1 did, and not today's default
    assert model.settings.l1_form == "item-sum"
    again = NVAE(**json.loads(json.dumps(model.config)))
    assert again.settings == model.settings
    assert again.settings.version == configs.VERSION


def test_forms_of_penalties_are_those_of_the_version_that_wrote_them():
    """The current form without a version, that of version 1 with it, and the given one
    where it is given.
    """
    for config, field, now, before in (
        (NVAEConfig, "l1_form", "batch-mean", "item-sum"),
        (DIVAConfig, "l1_form", "batch-mean", "item-sum"),
        (AugmentedDANNConfig, "decorrelation_form", "covariance", "correlation"),
    ):
        assert getattr(config.from_dict(SETTING), field) == now
        assert getattr(config.from_dict(SETTING | {"version": 1}), field) == before
        assert (
            getattr(config.from_dict(SETTING | {"version": 1, field: now}), field)
            == now
        )
        written = config.from_dict(SETTING | {field: before})
        assert config.from_dict(written.to_dict()) == written


def test_an_earlier_adversary_has_the_optimiser_of_the_rest():
    """Of version 1's alternating DANN: Adam's second beta was .999, and one rate and
    decay for both.
    """
    config = DANN(
        **SETTING, adversary={"method": "alternating"}, optimisation={"momentum": 0.5}
    ).config
    config = json.loads(json.dumps(config | {"version": 1}))
    del config["optimisation"]["second_momentum"]
    for name in ("learning_rate", "weight_decay"):
        del config["adversary"][name]
    dann = DANN(**config)
    assert (
        dann.optimisation("adversary")
        == dann.optimisation("rest")
        == dann.settings.optimisation
    )
    assert dann.settings.optimisation.momentum == 0.5
    assert dann.settings.optimisation.second_momentum == 0.999


def test_published_weights_come_with_their_form():
    """5 on z_dy belongs to the mean, 100 on z_dy to the sum."""
    for name, form, weight in (
        ("nvae", "batch-mean", 5.0),
        ("nvae-wilds", "item-sum", 100.0),
    ):
        settings = PUBLISHED[name][1] if name in PUBLISHED else {}
        config = NVAEConfig.from_dict(SETTING | settings)
        assert config.l1_form == form
        assert config.l1["z_dy"] == weight


def test_a_partial_nested_mapping_keeps_the_models_own_defaults():
    assert DANN(**SETTING, adversary={"weight": 0.5}).settings.adversary.hidden == (
        100,
        100,
    )
    assert AugmentedDANN(
        **SETTING, adversary={"weight": 0.5}
    ).settings.adversary.hidden == (64, 32)
    assert IRM(**SETTING, optimisation={"batch": 8}).settings.optimisation.balanced
    assert NVAE(**SETTING, network=Network(width=5)).settings.network.width == 5


def test_weights_of_absent_blocks_are_dropped():
    config = NVAEConfig.from_dict(
        SETTING | {"blocks": {"z_y": 3, "z_d": 2}, "beta": {"z_x": 2.0, "z_y": 3.0}}
    )
    assert config.l1 == {}
    assert config.beta == {"z_y": 3.0}
