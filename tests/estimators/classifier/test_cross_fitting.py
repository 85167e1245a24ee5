"""Cross-fitted classifiers against gates, Gaussian mixtures, and the identities that a
coherent decomposition obeys.
"""

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx

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
    step = rng.integers(3, size=n)
    y = (d + step) % 4
    means = default_rng(7).normal(size=(4, 3, 4))
    noise = rng.normal(size=(n, 4))
    z = shift * means[y, d] + noise
    blocks = {"z_y": z[:, :2], "z_d": z[:, 2:]}
    return blocks, {"y": y, "d": d}


@pytest.fixture(scope="module")
def fitted():
    blocks, labels = mixture(600, default_rng(0))
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
        class_first = i(z, "y") + i(z, "d", "y")
        identities.append((joint, class_first))
        domain_first = i(z, "d") + i(z, "y", "d")
        identities.append((joint, domain_first))
    for left, right in identities:
        assert_allclose(left, right, atol=1e-12)


SOURCES = default_rng(1).integers(2, size=(2, 2000))
GATES = {
    "xor": (SOURCES[1], np.bitwise_xor(*SOURCES), -LN2),
    # I(z; y) = h(1/4) - ln2 / 2
    "and": (SOURCES[1], np.bitwise_and(*SOURCES), 0.56233514 - LN2),
    "copy": (SOURCES[0], SOURCES[0], LN2),
}


def test_no_class_has_less_than_the_floor(fitted):
    entropies = fitted.pointwise_entropy(("y", "d"), ("z_y", "z_d"))
    assert max(entropies) <= -np.log(fitted.floor)
    assert fitted.entropy("d").value == approx(np.log(3), abs=0.01)


@pytest.mark.parametrize(
    ("gate", "family"), [("xor", "logistic"), ("and", "knn"), ("copy", "logistic")]
)
def test_gates(gate, family):
    """Positive is redundancy. Within 4 standard errors (false alarms 6e-5 each) plus
    0.01 nats of smoothing.
    """
    d, z, truth = GATES[gate]
    # so that rows are not tied
    noise = default_rng(2).normal(scale=0.01, size=2000)
    labels = {"y": SOURCES[0], "d": d}
    fit = cross_fit(z + noise, labels, family=family)
    estimate = fit.co_information("z", "d", "y")
    tolerance = 4 * estimate.standard_error + 0.01
    assert estimate.value == approx(truth, abs=tolerance)
    assert estimate.method.startswith(family)


def information_by(family, z, y, seed=3, groups=None):
    generator = default_rng(seed)
    fit = cross_fit(z, y, groups, family=family, generator=generator)
    return fit.information("z", "y")


@pytest.mark.parametrize(
    "family", ["logistic", NearestNeighbours(10), Network((8,), epochs=2)]
)
def test_units_of_inputs_do_not_matter_and_no_global_random_state(family):
    blocks, labels = mixture(200, default_rng(6))
    z = blocks["z_y"]
    _, numpy_state, *_ = np.random.get_state()
    torch_state = torch.get_rng_state()
    original = information_by(family, z, labels["y"])
    scaled = information_by(family, 1024 * z + 512, labels["y"])
    assert_allclose(scaled.local, original.local, atol=2e-3)
    assert_array_equal(np.random.get_state()[1], numpy_state)
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_copies_leak_unless_they_are_one_group():
    """120 items of noise with random labels, each copied six times: truth 0. A
    neighbour classifier finds the copies of the other folds. The grouped estimate may
    exceed 0 by 3.5 standard errors (2e-4).
    """
    rng = default_rng(8)
    groups = np.repeat(np.arange(120), 6)
    z = rng.normal(size=(120, 3))[groups]
    y = rng.integers(2, size=120)[groups]
    family = NearestNeighbours(5)
    leaking = information_by(family, z, y)
    grouped = information_by(family, z, y, groups=groups)
    assert leaking.low > 0.3
    assert grouped.value < 3.5 * grouped.standard_error
    assert grouped.n == 720
    assert grouped.units == 120


def test_calibration_repairs_an_overfitted_family(monkeypatch):
    blocks, labels = mixture(400, default_rng(11), shift=0.5)
    both = ("z_y", "z_d")
    settings = {"family": GradientBoosting(rounds=30), "subsets": [both]}
    y = {"y": labels["y"]}
    calibrated = cross_fit(blocks, y, **settings)
    (calibration,) = calibrated.calibration.values()
    assert max(calibration.slopes) < 1
    assert 0 < calibration.expected_calibration_error < 0.2

    def no_slopes(parts, *_):
        return np.ones(len(parts)), 0.0

    monkeypatch.setattr(cross_fitting, "calibrating_slopes", no_slopes)
    uncalibrated = cross_fit(blocks, y, **settings)
    entropy = calibrated.entropy("y", both)
    gain = uncalibrated.entropy("y", both) - entropy
    assert gain > 0.1


def test_the_better_family_is_chosen_in_training():
    """A parity of two signs is nothing to a linear family. With a choice, each fold
    takes the other one.
    """
    rng = default_rng(15)
    z = rng.normal(size=(500, 2))
    parity = z.prod(axis=1) > 0
    y = parity.astype(int)
    neighbours = NearestNeighbours(15)
    alone = information_by(neighbours, z, y, seed=0)
    assert information_by("logistic", z, y).value < 0.05
    assert alone.value > 0.3
    both = cross_fit(z, y, family=["logistic", neighbours])
    (calibration,) = both.calibration.values()
    assert calibration.families == ("knn(neighbours=15)",) * 5
    assert both.information("z", "y").value == alone.value


def test_all_sets_share_folds_and_a_set_fitted_alone_is_the_same(fitted):
    blocks, labels = mixture(600, default_rng(0))
    alone = cross_fit(blocks, labels, subsets=["z_d"])
    assert_array_equal(alone.folds, fitted.folds)
    expected = fitted.pointwise("z_d", "d", "y")
    assert_array_equal(alone.pointwise("z_d", "d", "y"), expected)
    with refused("blocks", "name"):
        alone.information("z_y", "y")


@pytest.mark.parametrize("seed", range(5))
def test_folds_keep_groups_whole_and_spread_classes(seed):
    rng = default_rng(seed)
    names = rng.integers(60, size=400)
    _, groups = np.unique(names, return_inverse=True)
    numbers = rng.geometric(0.35, size=400) - 1
    classes = np.minimum(numbers, 5)
    folds = assign_folds(classes, groups, 5, rng)
    for group in np.unique(groups):
        assert len(set(folds[groups == group])) == 1
    for label in np.unique(classes):
        inside = classes == label
        most = min(5, len(set(groups[inside])))
        assert len(set(folds[inside])) == most


Z = default_rng(14).normal(size=(30, 2))
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
    probabilities = np.column_stack([confidence, 1 - confidence])
    logs = np.log(probabilities)
    classes = np.repeat([1, 0], [3, 27])
    error = cross_fitting.expected_calibration_error(logs, classes)
    assert error == approx((3 * 0.6 + 0.3) / 30)
