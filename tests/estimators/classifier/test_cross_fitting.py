"""Cross-fitted classifiers against gates, Gaussian mixtures, and the identities that a coherent decomposition obeys."""

import numpy as np
import pytest
import torch

from infoscope.estimators.classifier import cross_fitting
from infoscope.estimators.classifier.cross_fitting import cross_fit
from infoscope.estimators.classifier.inputs import assign_folds
from infoscope.estimators.families import GradientBoosting, NearestNeighbours, Network
from tests.refusals import refused

LN2 = np.log(2.0)


def mixture(n, rng, shift=1.0):
    """Two blocks whose 4 x 3 classes have Gaussian inputs of unit covariance; the labels depend on one another."""
    d = rng.integers(3, size=n)
    y = (d + rng.integers(3, size=n)) % 4
    means = np.random.default_rng(7).normal(size=(4, 3, 4)) * shift
    z = means[y, d] + rng.normal(size=(n, 4))
    return {"z_y": z[:, :2], "z_d": z[:, 2:]}, {"y": y, "d": d}, means


@pytest.fixture(scope="module")
def fitted():
    blocks, labels, _ = mixture(600, np.random.default_rng(0))
    return cross_fit(blocks, labels)


def test_chain_rules_hold_for_every_row(fitted):
    i = fitted.pointwise
    h = fitted.pointwise_entropy
    both = ("z_y", "z_d")
    identities = [
        (i(both, "y"), i("z_d", "y") + i("z_y", "y", "z_d")),
        (h(("y", "d")), h("y") + h("d", "y")),
        (i("z_y", "y"), h("y") - h("y", "z_y")),
        (i("y", "d"), i("d", "y")),
    ]
    for z in ("z_y", "z_d", both):
        joint = i(z, ("y", "d"))
        identities.append((joint, i(z, "y") + i(z, "d", "y")))
        identities.append((joint, i(z, "d") + i(z, "y", "d")))
    for left, right in identities:
        np.testing.assert_allclose(left, right, atol=1e-12)


GATES = {"xor": (np.bitwise_xor, -LN2), "and": (np.bitwise_and, 0.56233514 - LN2)}  # AND: I(z;y) = h(1/4) - ln2 / 2


@pytest.mark.parametrize(("gate", "family"), [("xor", "logistic"), ("and", "knn"), ("copy", "logistic")])
def test_gates(gate, family):
    """Positive is redundancy. Within 4 standard errors (false alarms 6e-5 each) plus 0.01 nats of smoothing."""
    y, other = np.random.default_rng(1).integers(2, size=(2, 2000))
    operation, truth = GATES.get(gate, (None, LN2))
    d, z = (y, y) if operation is None else (other, operation(y, other))
    z = z[:, None] + np.random.default_rng(2).normal(scale=0.01, size=(len(z), 1))  # noise, so that rows are not tied
    found = cross_fit(z, {"y": y, "d": d}, family=family).co_information("z", "d", "y")
    assert abs(found.value - truth) < 4 * found.standard_error + 0.01
    assert found.method.startswith(family) and (found.n, found.units) == (2000, 2000)


def test_gaussian_mixture_where_logistic_is_well_specified():
    """Truth by 5e4 draws with the exact posterior. Within 4 combined standard errors (6e-5 each) and the loss of
    fitting 12 x 5 parameters, at most 60 / (2 x 3200) nats.
    """
    blocks, labels, means = mixture(4000, np.random.default_rng(3))
    found = cross_fit(blocks, labels)
    many, codes, _ = mixture(50_000, np.random.default_rng(4))
    z = np.hstack(list(many.values()))
    y = codes["y"]
    d = codes["d"]
    possible = (np.arange(4)[:, None] - np.arange(3)) % 4 < 3
    prior = np.where(possible, 1 / 9, 0.0)
    squares = ((z[:, None, None] - means) ** 2).sum(-1)
    posterior = prior * np.exp(-squares / 2)
    posterior /= posterior.sum((1, 2), keepdims=True)
    rows = np.arange(len(z))
    of_y = posterior.sum(2)[rows, y]
    of_d = posterior.sum(1)[rows, d]
    of_both = posterior[rows, y, d]
    exact = {
        (): np.log(of_y / prior.sum(1)[y]),
        "d": np.log(of_both / of_d / (prior[y, d] / prior.sum(0)[d])),
    }
    for condition, values in exact.items():
        estimate = found.information(("z_y", "z_d"), "y", condition)
        noise = np.hypot(estimate.standard_error, values.std() / np.sqrt(len(values)))
        assert abs(estimate.value - values.mean()) < 4 * noise + 60 / 6400, condition


@pytest.mark.parametrize("family", ["logistic", NearestNeighbours(10), Network((8,), epochs=2)])
def test_units_of_inputs_do_not_matter_and_no_global_random_state(family):
    blocks, labels, _ = mixture(200, np.random.default_rng(6))
    before, torch_before = np.random.get_state()[1].copy(), torch.get_rng_state()
    first = cross_fit(blocks["z_y"], labels, family=family, generator=np.random.default_rng(3))
    np.random.default_rng(0).random()
    scaled = cross_fit(blocks["z_y"] * 1024 + 512, labels, family=family, generator=np.random.default_rng(3))
    np.testing.assert_allclose(first.pointwise("z", "y"), scaled.pointwise("z", "y"), atol=2e-3)
    np.testing.assert_array_equal(before, np.random.get_state()[1])
    assert torch.equal(torch_before, torch.get_rng_state())


def test_copies_leak_unless_they_are_one_group():
    """120 items of noise with random labels, each copied six times: truth 0. A neighbour classifier finds the copies
    of the other folds. The grouped estimate may exceed 0 by 3.5 standard errors (2e-4).
    """
    rng = np.random.default_rng(8)
    items, y = rng.normal(size=(120, 3)), rng.integers(2, size=120)
    z, y, groups = np.repeat(items, 6, axis=0), np.repeat(y, 6), np.repeat(np.arange(120), 6)
    leaking = cross_fit(z, y, family=NearestNeighbours(5)).information("z", "y")
    grouped = cross_fit(z, y, groups, family=NearestNeighbours(5)).information("z", "y")
    assert leaking.low > 0.3
    assert grouped.value < 3.5 * grouped.standard_error
    assert (grouped.n, grouped.units) == (720, 120)


def test_entropies_and_floor(fitted):
    assert fitted.entropy("y", "y").value == 0.0
    assert fitted.entropy("d").value == pytest.approx(np.log(3), abs=0.01)
    assert max(fitted.pointwise_entropy(("y", "d"), ("z_y", "z_d"))) <= -np.log(fitted.floor)


def test_calibration_repairs_an_overfitted_family(monkeypatch):
    blocks, labels, _ = mixture(400, np.random.default_rng(11), shift=0.5)
    settings = {"family": GradientBoosting(rounds=30), "subsets": [("z_y", "z_d")]}
    found = cross_fit(blocks, {"y": labels["y"]}, **settings)
    (figures,) = found.calibration.values()
    assert max(figures.slopes) < 1
    assert 0 < figures.expected_calibration_error < 0.2
    monkeypatch.setattr(cross_fitting, "calibrating_slopes", lambda parts, *_: (np.ones(len(parts)), 0.0))
    plain = cross_fit(blocks, {"y": labels["y"]}, **settings)
    after, before = (one.entropy("y", ("z_y", "z_d")).value for one in (found, plain))
    assert after < before - 0.1


def test_the_better_family_is_chosen_in_training():
    """A parity of two signs is nothing to a linear family. With a choice, each fold takes the other one."""
    rng = np.random.default_rng(15)
    z = rng.normal(size=(500, 2))
    y = (z[:, 0] * z[:, 1] > 0).astype(int)
    families = ["logistic", NearestNeighbours(15)]
    alone = [cross_fit(z, y, family=family).information("z", "y").value for family in families]
    both = cross_fit(z, y, family=families)
    assert both.family == "logistic(penalty=1) or knn(neighbours=15)"
    assert both.calibration[frozenset({"z"})].families == ("knn(neighbours=15)",) * 5
    assert alone[0] < 0.05 < 0.3 < alone[1]
    assert both.information("z", "y").value == alone[1]


def test_all_sets_share_folds_and_a_set_fitted_alone_is_the_same(fitted):
    blocks, labels, _ = mixture(600, np.random.default_rng(0))
    alone = cross_fit(blocks, labels, subsets=["z_d"])
    np.testing.assert_array_equal(alone.folds, fitted.folds)
    np.testing.assert_array_equal(alone.pointwise("z_d", "d", "y"), fitted.pointwise("z_d", "d", "y"))
    with refused("blocks", "name"):
        alone.information("z_y", "y")


def test_folds_keep_groups_whole_and_spread_classes():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        groups = np.sort(rng.integers(60, size=400))
        groups = np.unique(groups, return_inverse=True)[1]
        classes = np.minimum(rng.geometric(0.35, size=400) - 1, 5)
        folds = assign_folds(classes, groups, 5, rng)
        assert all(len(set(folds[groups == g])) == 1 for g in range(groups.max() + 1))
        for c in range(classes.max() + 1):
            assert len(set(folds[classes == c])) == min(5, len(set(groups[classes == c])))


Z, Y = np.random.default_rng(14).normal(size=(30, 2)), np.arange(30) % 3


@pytest.mark.parametrize(
    ("arguments", "argument", "code"),
    [
        ({"blocks": {}}, "blocks", "name"),
        ({"labels": {}}, "labels", "name"),
        ({"blocks": {"a": Z, "b": Z[1:]}}, "blocks", "length"),
        ({"labels": np.zeros(30)}, "labels['y']", "constant"),
        ({"labels": np.arange(30) // 29}, "labels", "few"),
        ({"groups": Y, "folds": 3}, "labels", "few"),
        ({"folds": 2}, "folds", "range"),
        ({"floor": 0.5}, "floor", "range"),
        ({"blocks": {"y": Z}}, "blocks and labels", "conflict"),
        ({"subsets": [()]}, "subsets", "invalid"),
    ],
)
def test_bad_input(arguments, argument, code):
    with refused(argument, code):
        cross_fit(**{"blocks": Z, "labels": Y, **arguments})


@pytest.mark.parametrize(
    ("name", "terms", "argument", "code"),
    [
        ("information", ("z_y", "z_d"), "a or b", "range"),
        ("information", ("z", "y"), "a", "name"),
        ("information", ("z_y", ()), "a and b", "range"),
        ("entropy", ("z_y",), "target", "invalid"),
        ("estimate", (np.zeros(3),), "values", "missing"),
    ],
)
def test_bad_terms(fitted, name, terms, argument, code):
    with refused(argument, code):
        getattr(fitted, name)(*terms)
