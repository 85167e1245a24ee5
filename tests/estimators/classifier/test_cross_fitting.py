"""Cross-fitted classifiers against gates, Gaussian mixtures, and the identities that a
coherent decomposition obeys.
"""

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
    """Two blocks whose 4 x 3 classes have Gaussian inputs of unit covariance; the
    labels depend on one another.
    """
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


SOURCES = np.random.default_rng(1).integers(2, size=(2, 2000))
GATES = {
    "xor": (SOURCES[1], np.bitwise_xor(*SOURCES), -LN2),
    # I(z; y) = h(1/4) - ln2 / 2
    "and": (SOURCES[1], np.bitwise_and(*SOURCES), 0.56233514 - LN2),
    "copy": (SOURCES[0], SOURCES[0], LN2),
}


@pytest.mark.parametrize(
    ("gate", "family"), [("xor", "logistic"), ("and", "knn"), ("copy", "logistic")]
)
def test_gates(gate, family):
    """Positive is redundancy. Within 4 standard errors (false alarms 6e-5 each) plus
    0.01 nats of smoothing.
    """
    d, z, truth = GATES[gate]
    # so that rows are not tied
    noisy = z + np.random.default_rng(2).normal(scale=0.01, size=2000)
    fit = cross_fit(noisy, {"y": SOURCES[0], "d": d}, family=family)
    estimate = fit.co_information("z", "d", "y")
    assert abs(estimate.value - truth) < 4 * estimate.standard_error + 0.01
    assert estimate.method.startswith(family)


def exact_pointwise(z, y, d, means):
    """Log density ratios [n] of z about y, and about y given d, by the posterior of the
    mixture.
    """
    possible = (np.arange(4)[:, None] - np.arange(3)) % 4 < 3
    prior = np.where(possible, 1 / 9, 0.0)
    squares = ((z[:, None, None] - means) ** 2).sum(-1)
    posterior = prior * np.exp(-squares / 2)
    posterior /= posterior.sum((1, 2), keepdims=True)
    rows = np.arange(len(z))
    of_y = posterior.sum(2)[rows, y]
    of_d = posterior.sum(1)[rows, d]
    y_given_d = posterior[rows, y, d] / of_d
    prior_given_d = prior[y, d] / prior.sum(0)[d]
    return {(): np.log(of_y / prior.sum(1)[y]), "d": np.log(y_given_d / prior_given_d)}


def test_gaussian_mixture_where_logistic_is_well_specified():
    """Truth by 5e4 draws with the exact posterior. Within 4 combined standard errors
    (6e-5 each) and the loss of fitting 12 x 5 parameters, at most 60 / (2 x 3200) nats.
    """
    blocks, labels, means = mixture(4000, np.random.default_rng(3))
    fit = cross_fit(blocks, labels)
    many, codes, _ = mixture(50_000, np.random.default_rng(4))
    z = np.hstack([many["z_y"], many["z_d"]])
    for condition, values in exact_pointwise(z, codes["y"], codes["d"], means).items():
        estimate = fit.information(("z_y", "z_d"), "y", condition)
        noise = np.hypot(estimate.standard_error, values.std() / np.sqrt(len(values)))
        assert abs(estimate.value - values.mean()) < 4 * noise + 60 / 6400, condition


@pytest.mark.parametrize(
    "family", ["logistic", NearestNeighbours(10), Network((8,), epochs=2)]
)
def test_units_of_inputs_do_not_matter_and_no_global_random_state(family):
    blocks, labels, _ = mixture(200, np.random.default_rng(6))
    z = blocks["z_y"]
    numpy_state = np.random.get_state()[1].copy()
    torch_state = torch.get_rng_state()
    plain = cross_fit(z, labels, family=family, generator=np.random.default_rng(3))
    scaled = cross_fit(
        1024 * z + 512, labels, family=family, generator=np.random.default_rng(3)
    )
    np.testing.assert_allclose(
        plain.pointwise("z", "y"), scaled.pointwise("z", "y"), atol=2e-3
    )
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_copies_leak_unless_they_are_one_group():
    """120 items of noise with random labels, each copied six times: truth 0. A
    neighbour classifier finds the copies of the other folds. The grouped estimate may
    exceed 0 by 3.5 standard errors (2e-4).
    """
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(120), 6)
    z = rng.normal(size=(120, 3))[groups]
    y = rng.integers(2, size=120)[groups]
    family = NearestNeighbours(5)
    leaking = cross_fit(z, y, family=family).information("z", "y")
    grouped = cross_fit(z, y, groups, family=family).information("z", "y")
    assert leaking.low > 0.3
    assert grouped.value < 3.5 * grouped.standard_error
    assert (grouped.n, grouped.units) == (720, 120)


def test_entropies_and_floor(fitted):
    assert fitted.entropy("y", "y").value == 0.0
    assert fitted.entropy("d").value == pytest.approx(np.log(3), abs=0.01)
    assert max(fitted.pointwise_entropy(("y", "d"), ("z_y", "z_d"))) <= -np.log(
        fitted.floor
    )


def test_calibration_repairs_an_overfitted_family(monkeypatch):
    blocks, labels, _ = mixture(400, np.random.default_rng(11), shift=0.5)
    settings = {"family": GradientBoosting(rounds=30), "subsets": [("z_y", "z_d")]}
    calibrated = cross_fit(blocks, {"y": labels["y"]}, **settings)
    (calibration,) = calibrated.calibration.values()
    assert max(calibration.slopes) < 1
    assert 0 < calibration.expected_calibration_error < 0.2
    monkeypatch.setattr(
        cross_fitting,
        "calibrating_slopes",
        lambda parts, *_: (np.ones(len(parts)), 0.0),
    )
    uncalibrated = cross_fit(blocks, {"y": labels["y"]}, **settings)
    gain = uncalibrated.entropy("y", ("z_y", "z_d")) - calibrated.entropy(
        "y", ("z_y", "z_d")
    )
    assert gain > 0.1


def test_the_better_family_is_chosen_in_training():
    """A parity of two signs is nothing to a linear family. With a choice, each fold
    takes the other one.
    """
    rng = np.random.default_rng(15)
    z = rng.normal(size=(500, 2))
    y = (z[:, 0] * z[:, 1] > 0).astype(int)
    logistic = cross_fit(z, y, family="logistic").information("z", "y")
    neighbours = cross_fit(z, y, family=NearestNeighbours(15)).information("z", "y")
    assert logistic.value < 0.05
    assert neighbours.value > 0.3
    both = cross_fit(z, y, family=["logistic", NearestNeighbours(15)])
    assert both.calibration[frozenset({"z"})].families == ("knn(neighbours=15)",) * 5
    assert both.information("z", "y").value == neighbours.value


def test_all_sets_share_folds_and_a_set_fitted_alone_is_the_same(fitted):
    blocks, labels, _ = mixture(600, np.random.default_rng(0))
    alone = cross_fit(blocks, labels, subsets=["z_d"])
    np.testing.assert_array_equal(alone.folds, fitted.folds)
    np.testing.assert_array_equal(
        alone.pointwise("z_d", "d", "y"), fitted.pointwise("z_d", "d", "y")
    )
    with refused("blocks", "name"):
        alone.information("z_y", "y")


@pytest.mark.parametrize("seed", range(5))
def test_folds_keep_groups_whole_and_spread_classes(seed):
    rng = np.random.default_rng(seed)
    _, groups = np.unique(rng.integers(60, size=400), return_inverse=True)
    classes = np.minimum(rng.geometric(0.35, size=400) - 1, 5)
    folds = assign_folds(classes, groups, 5, rng)
    for group in np.unique(groups):
        assert len(set(folds[groups == group])) == 1
    for label in np.unique(classes):
        inside = classes == label
        groups_of_class = len(set(groups[inside]))
        assert len(set(folds[inside])) == min(5, groups_of_class)


Z = np.random.default_rng(14).normal(size=(30, 2))
Y = np.arange(30) % 3


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


def test_equal_confidences_share_the_bin_of_their_middle():
    """Bins of two rows: three wrong rows of 0.6 are in the first bin, the right one of
    0.7 is alone in the second.
    """
    confidence = np.repeat([0.6, 0.7, 1 - 1e-9], [3, 1, 26])
    logs = np.log(np.stack([confidence, 1 - confidence], axis=1))
    classes = np.repeat([1, 0], [3, 27])
    error = cross_fitting.expected_calibration_error(logs, classes)
    assert error == pytest.approx((3 * 0.6 + 0.3) / 30)
