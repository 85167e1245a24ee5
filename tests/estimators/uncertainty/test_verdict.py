"""The verdict on neighbour estimates: what it must never call reliable, what it must, and what it says of the rest.

Single samples of fixed seeds; where a law is to be called reliable, most of a few samples must be.
"""

import numpy as np
import pytest

from infoscope.estimators.uncertainty.bias import BiasDiagnostic
from infoscope.estimators.uncertainty.subsampling import subsample
from infoscope.estimators.uncertainty.twins import twins
from infoscope.estimators.uncertainty.verdict import verify
from tests.estimators.samples import draws, normal_information, sample_of
from tests.refusals import refused


def normal(n, dim, correlation, g, pairs=None):
    """Normal columns on both sides, the first `pairs` of them correlated."""
    x, y = g.normal(size=(2, n, dim))
    pairs = dim if pairs is None else pairs
    y[:, :pairs] = correlation * x[:, :pairs] + np.sqrt(1 - correlation**2) * y[:, :pairs]
    return x, y


def student(n, dim, dof, g):
    both = g.normal(size=(n, 2 * dim)) / np.sqrt(g.chisquare(dof, size=(n, 1)) / dof)
    return both[:, :dim], both[:, dim:]


def one_of_many(n, columns, g):
    x, y = normal(n, columns, 0.6, g, pairs=1)
    return x, y[:, 0]


def parity(n, g):
    """The label is the last digit that n rows cannot resolve: log 2, of which no neighbour shows anything."""
    x = g.random(n)
    return x, np.floor(2000 * x).astype(int) % 2


def board(n, squares, g):
    a = g.integers(0, squares, n)
    b = 2 * g.integers(0, squares // 2, n) + a % 2
    return (a + g.random(n)) / squares, (b + g.random(n)) / squares


WRONG = {
    "one of 50 columns": lambda g: one_of_many(2000, 50, g),
    "one of 100 columns": lambda g: one_of_many(2000, 100, g),
    "parity": lambda g: parity(2000, g),
    "Student 3 x 3, 2 degrees": lambda g: student(2000, 3, 2.0, g),
    "Student 5 x 5, 3 degrees": lambda g: student(2000, 5, 3.0, g),
    "two pairs of 25": lambda g: normal(2000, 25, 0.8, g, pairs=2),
    "a fine board": lambda g: board(2000, 40, g),
    "12 columns": lambda g: normal(1000, 6, 0.7, g),
}


@pytest.mark.parametrize("law", WRONG)
def test_what_neighbours_cannot_see_is_never_called_reliable(law):
    """Each of these was called reliable in up to half of the samples when drift alone was asked."""
    for seed in range(2):
        found = subsample(*WRONG[law](draws(seed)), generator=draws(seed))
        assert found.verdict != "reliable" and len(found.reasons) == 1 and np.isnan(found.judgement.low)


RIGHT = {
    "two normals": (lambda g: normal(2000, 1, 0.75, g), normal_information(0.75)),
    "two pairs": (lambda g: normal(1500, 2, 0.5, g), normal_information(0.5, 2)),
    "a noisy square": (lambda g: (x := g.uniform(-1, 1, 2000), x**2 + 0.1 * g.normal(size=2000)), 1.0291),
}


@pytest.mark.parametrize("law", RIGHT)
def test_what_neighbours_get_right_is_called_reliable_and_the_interval_holds_the_truth(law):
    """8 samples each: at least a third reliable; at most one 95 % interval of them misses (two or more: 6 % at exact
    coverage of 8, and these intervals are wider than that; nothing is drawn anew). They hold the interval of the
    expectation, and the expected bias.
    """
    sample, truth = RIGHT[law]
    found = [subsample(*sample(draws(seed)), generator=draws(seed)) for seed in range(8)]
    judged = [(each, each.judgement) for each in found if each.verdict == "reliable"]
    assert len(judged) >= 3
    assert sum(not judgement.low <= truth <= judgement.high for _, judgement in judged) <= 1
    for each, judgement in judged:
        bias = judgement.twins.bias
        assert judgement.reasons == () and judgement.low <= min(each.low, each.low - bias)
        assert judgement.high >= max(each.high, each.high - bias)


def test_no_dependence_found_is_no_evidence_of_none():
    """Independent numbers: 0 within the interval, and the verdict says what it does not mean."""
    found = subsample(draws(1).normal(size=1000), draws(2).normal(size=1000))
    assert found.low < 0 < found.high and found.verdict == "unverified"
    assert len(found.reasons) == 1 and "from 0" in found.reasons[0]


def test_few_well_filled_cells_are_reliable_and_many_empty_ones_are_not():
    g = draws(3)
    assert subsample(g.integers(0, 2, 500), g.integers(0, 3, 500)).verdict == "reliable"
    sparse = subsample(g.integers(0, 40, 1000), g.integers(0, 40, 1000))
    assert sparse.verdict != "reliable"
    one = BiasDiagnostic(0.0, 0.0, np.nan, np.nan, 0.0, 0.0)
    judged = verify(sample_of(g.integers(0, 40, 1000), g.integers(0, 40, 1000)), 1.0, 0.1, 99, 5, one, g)
    assert judged.word == "unverified" and "40 x 40 combinations" in judged.reasons[0]


@pytest.mark.parametrize(("bias", "word"), [(1.9, "unverified"), (2.1, "drifting"), (-4.1, "unreliable"),
                                            (np.nan, "unreliable")])  # fmt: skip
def test_drift_speaks_first(bias, word):
    """At a value of 0 the next to speak is that nothing was found."""
    sample = sample_of(draws(4).normal(size=1000), draws(5).normal(size=1000))
    drift = BiasDiagnostic(bias * 0.01, bias * 0.01, np.nan, 0.005, 0.0, 0.0)
    assert verify(sample, 0.0, 0.01, 99, 5, drift, draws()).word == word


def test_small_classes_cannot_be_judged():
    """k = 5 of 100 rows: halves are no small step, whatever they say."""
    found = subsample(draws(6).normal(size=100), np.repeat([0, 1], 50), k=5)
    assert found.verdict == "unverified" and "10.0%" in found.reasons[0]


def test_repeated_values_have_no_twins():
    x, y = normal(1000, 1, 0.75, draws(7))
    sample = sample_of(np.round(x, 1), y)
    with refused("a continuous column", "invalid"):
        twins(sample.variables, 5, draws())


def test_the_bias_on_twins_is_the_bias_on_the_law():
    """Five normal pairs in 10 columns, 1,000 rows: neighbours are 0.5 nats low, and twins of one sample say so to
    within three of their errors and those of ten samples.
    """
    truth = normal_information(0.6, 5)
    samples = [normal(1000, 5, 0.6, draws(seed)) for seed in range(10)]
    found = twins(sample_of(*samples[0]).variables, 5, draws())
    values = [subsample(*sample, drift=False, resamples=10).value for sample in samples]
    bias, error = np.mean(values) - truth, np.std(values, ddof=1) / np.sqrt(10)
    assert bias < -0.3 and found.bias == pytest.approx(bias, abs=3 * np.hypot(error, found.bias_error) + 0.03)


def test_twins_of_labels_follow_their_classes():
    """Three normal classes: the truth of the twins is that of the law to within its sampling error."""
    g = draws(8)
    centres = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5]])
    y = g.integers(0, 3, 3000)
    found = twins(sample_of(centres[y] + g.normal(size=(3000, 2)), y).variables, 5, g)
    points = centres[np.repeat(np.arange(3), 20_000)] + g.normal(size=(60_000, 2))
    logs = -0.5 * ((points[:, None] - centres) ** 2).sum(axis=2)
    own = logs[np.arange(60_000), np.repeat(np.arange(3), 20_000)]
    truth = float((own - np.logaddexp.reduce(logs, axis=1)).mean() + np.log(3))
    assert found.truth == pytest.approx(truth, abs=0.06) and abs(found.bias) < 0.03
