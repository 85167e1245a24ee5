"""The training loop of the domain models: learning, exact continuation, selection,
stopping, divergence.
"""

import copy
import math

import pytest
import torch
from pytest import approx

from infoscope.data import crmnist
from infoscope.models.domain import (
    MODELS,
    NVAE,
    PUBLISHED,
    DomainData,
    accuracies,
    extract_blocks,
    fit_domain,
    select_step,
)
from infoscope.models.domain.configs import Optimisation
from infoscope.models.domain.training import Minibatches, _Training
from tests.data.common import generator
from tests.models.samples import reread
from tests.refusals import refused

FLAT = {"shape": (6,), "classes": 3, "domains": 2, "network": {"width": 16}}
FAST = {"learning_rate": 5e-3, "batch": 24}
BALANCED = FAST | {"balanced": True, "batch": 10}


def items(n=240, seed=1):
    """Class in the first three coordinates, domain in the fourth, of size 3; standard
    normal noise in all.
    """
    number = torch.arange(n)
    y = number % 3
    d = number // 3 % 2
    signal = torch.cat([torch.eye(3)[y], d[:, None].float(), torch.zeros(n, 2)], 1)
    noise = torch.randn(n, 6, generator=generator(seed))
    return DomainData(3 * signal + noise, y, d, groups=number // 6)


UNSEEN = items(seed=2)
ALTERNATING = {
    "adversary": {"method": "alternating", "gradient_penalty": 0.1, "gamma": None}
}
SETTINGS = {
    "nvae": {},
    "diva": {"reconstruction": "squared"},
    "dann": {},
    "dann alternating": ALTERNATING,
    "augmented-dann": {},
    "irm": {"weight": 1.0},
    "erm": {},
}


def model(name="erm", **settings):
    kind = MODELS[name.split()[0]]
    settings = {"optimisation": FAST} | SETTINGS[name] | settings
    return kind(**FLAT, **settings, generator=generator())


@pytest.mark.parametrize("name", SETTINGS)
def test_every_model_learns_the_class(name):
    """From a third right to more than four fifths of unseen items, with every term of
    the loss finite throughout; and the domain, where it is predicted from a block of
    its own.
    """
    n = 200 if name == "augmented-dann" else 100
    fit = fit_domain(
        model(name), items(), UNSEEN, steps=n, generator=generator(1), every=n // 4
    )
    assert fit.ended == "done"
    assert fit.steps_done == fit.step == n
    assert not fit.model.training
    assert [row["step"] for row in fit.curve] == [n // 4, n // 2, 3 * n // 4, n]
    for row in fit.curve:
        assert all(map(math.isfinite, row.values()))
    first = fit.curve[0]
    last = fit.curve[-1]
    assert last["class"] < 0.8 * first["class"]
    assert last["validation/average"] > 0.8
    assert last["validation/overall"] == accuracies(fit.model, UNSEEN).overall.value
    if name in ("nvae", "diva", "augmented-dann"):
        assert accuracies(fit.model, items(seed=3), of="domain").overall.value > 0.8


def test_few_labels_are_enough_for_a_vae_that_takes_unlabelled_items():
    """A fifth of the items is labelled, in mixed batches: accuracy is far above a
    third, that of guessing.
    """
    data = items(300)
    data.y[60:] = -1
    fit = fit_domain(model("nvae"), data, UNSEEN, steps=80, generator=generator(1))
    last = fit.curve[-1]
    assert last["validation/average"] > 0.6
    assert 0 <= last["class_prior"] <= math.log(3) + 1e-5


@pytest.mark.parametrize("name", ["nvae", "dann alternating", "irm"])
def test_a_stopped_training_continues_with_the_same_numbers(name):
    """Bit for bit: weights, curve, generator; the state passes through a file that is
    read without pickled code.
    """
    states = []
    arguments = {"steps": 13, "every": 5, "rule": "training-domain-validation"}
    started = model(name, optimisation=BALANCED)
    config = started.config

    def save(make):
        states.append(reread(make()))

    whole = fit_domain(
        started, items(), UNSEEN, generator=generator(1), save=save, **arguments
    )
    for stop in (1, 8, 13):
        state = states[stop - 1]
        other = type(started)(**config, generator=generator(77))
        resumed = fit_domain(
            other, items(), UNSEEN, generator=generator(78), state=state, **arguments
        )
        assert resumed.curve == whole.curve
        assert resumed.step == whole.step
        weights = resumed.model.state_dict()
        for key, value in whole.model.state_dict().items():
            assert torch.equal(value, weights[key])
    with refused("state", "conflict"):
        fit_domain(other, items(), steps=30, generator=generator(), state=state)


@pytest.mark.parametrize("own", [{}, {"learning_rate": 3e-4, "weight_decay": 0.1}])
def test_each_player_has_its_own_optimiser(own):
    """Betas of both, and the adversary's rate and decay; only the weights of the one
    whose turn it is move.
    """
    rest = {
        "learning_rate": 1e-2,
        "momentum": 0.5,
        "second_momentum": 0.9,
        "weight_decay": 0.3,
        "batch": 24,
    }
    adversary = {"method": "alternating", "gamma": None, "steps": 1} | own
    dann = model("dann", optimisation=rest, adversary=adversary)
    training = _Training(dann, items(), 10, "last", generator(1))
    for player, expected in (("adversary", rest | own), ("rest", rest)):
        (group,) = training.optimisers[player].param_groups
        assert group["betas"] == (0.5, 0.9)
        assert group["lr"] == expected["learning_rate"]
        assert group["weight_decay"] == expected["weight_decay"]
    for turn in ("adversary", "rest"):
        before = copy.deepcopy(dann.state_dict())
        training.advance()
        for name, value in dann.state_dict().items():
            moves = name.startswith("adversary") == (turn == "adversary")
            assert torch.equal(value, before[name]) != moves


def test_domainbed_s_dann_has_its_defaults():
    """Adam with betas (.5, .9) for both players, 1e-3 and no decay each, one step each,
    lambda 1, no gradient penalty, a discriminator of two hidden layers of 256, 64 items
    of each domain (its hyperparameters for 28 x 28).
    """
    kind, settings = PUBLISHED["dann-domainbed"]
    dann = MODELS[kind](shape=(3, 28, 28), classes=10, domains=6, **settings)
    expected = Optimisation(
        "adam",
        1e-3,
        momentum=0.5,
        second_momentum=0.9,
        weight_decay=0.0,
        batch=64,
        balanced=True,
    )
    assert dann.optimisation("adversary") == dann.optimisation("rest") == expected
    adversary = dann.settings.adversary
    assert adversary.steps == 1
    assert adversary.weight == 1.0
    assert adversary.gamma is None
    assert adversary.gradient_penalty == 0.0
    assert adversary.hidden == (256, 256)


def curve_row(step, validation, test_domain):
    return {
        "step": step,
        "validation/average": validation,
        "test domain/average": test_domain,
        "training/average": 1.0,
    }


CURVE = [
    curve_row(1, 0.5, 0.1),
    curve_row(2, math.nan, 0.2),
    curve_row(3, 0.9, 0.3),
    curve_row(4, 0.9, 0.4),
]


@pytest.mark.parametrize(
    ("rule", "step", "criterion"),
    [
        ("last", 4, math.nan),
        ("training-domain-validation", 3, 0.9),
        ("training", 1, 1.0),
        ("oracle (test-domain)", 4, 0.4),
    ],
)
def test_rules_of_selection(rule, step, criterion):
    assert select_step(CURVE, rule) == (step, approx(criterion, nan_ok=True))


def nearest_mean(z, codes):
    """The share of items whose code has the mean that is nearest to their values in a
    block.
    """
    codes = torch.as_tensor(codes)
    means = torch.stack([z[codes == code].mean(0) for code in codes.unique()])
    nearest = torch.cdist(z, means).argmin(1)
    return (nearest == codes).float().mean().item()


@pytest.mark.slow  # 10 s of convolutions
def test_each_block_predicts_its_own_label_of_coloured_rotated_digits():
    """The bundled digits in six domains, unseen digits: the class is predicted from z_y
    and not from z_d, the domain from z_d and not from z_y (NVAE; chance is a tenth and
    a sixth).
    """
    data = crmnist(base="digits", count=900, size=16, generator=generator())
    train, _, test = data.split(None, None, generator(1), test=0.25)
    setting = {
        "shape": (3, 16, 16),
        "classes": 10,
        "domains": 6,
        "network": {"width": 16},
    }
    nvae = NVAE(**setting, optimisation={"learning_rate": 2e-3}, generator=generator())
    fit = fit_domain(nvae, train.in_memory(), steps=600, generator=generator(1))
    test = test.in_memory()
    assert accuracies(fit.model, test).overall.value > 0.75
    assert accuracies(fit.model, test, of="domain").overall.value > 0.9
    z = extract_blocks(fit.model, test)
    assert nearest_mean(z["z_y"], test.y) > 0.75
    assert nearest_mean(z["z_d"], test.y) < 0.35
    assert nearest_mean(z["z_d"], test.d) > 0.9
    assert nearest_mean(z["z_y"], test.d) < 0.45


def test_minibatches_pass_through_all_items_before_any_comes_again():
    d = torch.tensor([0] * 7 + [3] * 4)
    batches = iter(Minibatches(d, 3, False, generator()))
    # three passes over 11 items
    drawn = torch.cat([next(batches) for _ in range(11)])
    for rows in drawn.split(11):
        assert sorted(rows.tolist()) == list(range(11))
    balanced = iter(Minibatches(d, 3, True, generator()))
    for _ in range(5):
        assert d[next(balanced)].tolist() == [0, 0, 0, 3, 3, 3]


def test_irm_starts_its_optimiser_afresh_at_the_switch():
    """Adam's step count is 1 after the first step with the full penalty, and goes on
    otherwise.
    """
    counts = []

    def save(make):
        first = make()["optimisers"]["model"]["state"][0]
        counts.append(int(first["step"]))

    fit_domain(
        model("irm", switch=0.5), items(), steps=6, generator=generator(), save=save
    )
    assert counts == [1, 2, 3, 1, 2, 3]


def test_irm_without_its_penalty_is_risk_minimisation_on_the_same_batches():
    without_penalty = {"weight": 0.0, "weight_before": 0.0, "switch": 0.0}
    logits = []
    for name, settings in (("irm", without_penalty), ("erm", {})):
        plain = model(name, optimisation=BALANCED, **settings)
        fit = fit_domain(plain, items(), steps=20, generator=generator(1))
        logits.append(fit.model.class_logits(items().images(slice(None))))
    torch.testing.assert_close(*logits)


def test_the_selected_weights_are_those_of_the_selected_step():
    """A training that is spoilt after its first half ends with the weights of the best
    evaluation, not the last.
    """
    scores = {}

    def spoil(step, terms):
        scores[step] = terms.get("validation/average", 0.0)
        if step == 60:
            torch.nn.init.zeros_(erm.class_head[0].weight)
            erm.requires_grad_(False)
            erm.class_head[0].bias.requires_grad_(True)

    erm = model("erm")
    arguments = {"every": 20, "rule": "training-domain-validation", "patience": 2}
    fit = fit_domain(
        erm,
        items(),
        UNSEEN,
        steps=200,
        generator=generator(),
        report=spoil,
        **arguments,
    )
    assert fit.ended == "patience"
    assert fit.steps_done == fit.step + 2 * 20 < 200
    assert fit.criterion == max(scores.values()) == scores[fit.step]
    assert fit.criterion > 0.8 > scores[80]
    assert accuracies(fit.model, UNSEEN).average.value == fit.criterion


def test_divergence_is_reported():
    """A rate that overflows ends the training, and the curve shows the loss that is not
    finite.
    """
    wild = model(
        "nvae", optimisation={"learning_rate": 1e30, "method": "sgd", "batch": 24}
    )
    fit = fit_domain(wild, items(), UNSEEN, steps=50, generator=generator())
    assert fit.ended == "diverged"
    assert fit.steps_done < 50
    assert not math.isfinite(fit.curve[-1]["objective"])
    assert math.isnan(fit.curve[-1]["validation/average"])
