"""All domain models by name, and published settings that are not a model's defaults."""

from __future__ import annotations

from typing import Any

from infoscope.models.domain import adversarial, base, variational

MODELS: dict[str, type[base.DomainModel]] = {
    "nvae": variational.NVAE,
    "diva": variational.DIVA,
    "dann": adversarial.DANN,
    "augmented-dann": adversarial.AugmentedDANN,
    "irm": base.IRM,
    "erm": base.ERM,
}

_CAMELYON17 = {
    "network": {"kind": "densenet121"},
    "optimisation": {
        "method": "sgd",
        "learning_rate": 1e-3,
        "momentum": 0.9,
        "weight_decay": 0.01,
        "batch": 32,
    },
}

# name -> model, and its settings besides shape, classes, domains
PUBLISHED: dict[str, tuple[str, dict[str, Any]]] = {
    # NVAE's comparison on coloured, rotated MNIST: the same 32 dimensions and losses
    # without z_dy
    "diva-crmnist": (
        "diva",
        {
            "blocks": {"z_y": 11, "z_x": 11, "z_dy": None, "z_d": 10},
            "reconstruction": "squared",
            "alpha_y": 150.0,
            "alpha_d": 150.0,
            "beta_warmup": 0.0,
            "optimisation": {"batch": 64},
        },
    ),
    "nvae-wilds": (
        "nvae",
        {
            "blocks": {"z_y": 128, "z_x": 128, "z_dy": 128, "z_d": 128},
            "alpha_d": 40.0,
            "l1": {"z_y": 10.0, "z_x": 10.0, "z_dy": 100.0, "z_d": 10.0},
            "l1_form": "item-sum",
            "optimisation": {"learning_rate": 1e-4},
        },
    ),
    # DomainBed's defaults for images of 28 x 28: 64 items of each domain a step
    "erm-domainbed": (
        "erm",
        {"optimisation": {"learning_rate": 1e-3, "batch": 64, "balanced": True}},
    ),
    "dann-domainbed": (
        "dann",
        {
            "hidden": [],
            "adversary": {
                "method": "alternating",
                "hidden": [256, 256],
                "weight": 1.0,
                "gamma": None,
                "steps": 1,
                "gradient_penalty": 0.0,
                "learning_rate": 1e-3,
                "weight_decay": 0.0,
            },
            "optimisation": {
                "learning_rate": 1e-3,
                "momentum": 0.5,
                "second_momentum": 0.9,
                "weight_decay": 0.0,
                "batch": 64,
                "balanced": True,
            },
        },
    ),
    "erm-camelyon17": ("erm", _CAMELYON17),
    # two hospitals of 16 patches a step in WILDS; here 11 of each of the three
    "irm-camelyon17": (
        "irm",
        {
            "network": _CAMELYON17["network"],
            "optimisation": _CAMELYON17["optimisation"]
            | {"batch": 11, "balanced": True},
            "penalty": "unbiased",
            "weight": 1.0,
            "switch": 0.0,
        },
    ),
}
