"""Factors that are numbers: which scores take them, and the notes of the others."""

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng

from infoscope.estimators.columns import Continuous, Discrete
from infoscope.metrics.disentanglement import dci, explicitness, mig, report, sap
from infoscope.metrics.disentanglement.registry import SCORES
from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.inputs import as_factors
from tests.refusals import refused

NOISE = 0.5


@pytest.fixture(scope="module")
def angle_and_kind():
    """A normal number and a class of three, each in a latent of its own with noise, and
    a latent of noise.
    """
    rng = default_rng(0)
    angle = rng.standard_normal(1500)
    kind = rng.integers(3, size=1500)
    codes = np.column_stack(
        [
            angle + NOISE * rng.standard_normal(1500),
            kind + 0.1 * rng.standard_normal(1500),
        ]
    )
    return np.hstack([codes, rng.standard_normal((1500, 1))]), angle, kind


def test_scores_of_two_numbers_have_their_closed_forms(angle_and_kind):
    """R2 of a number on itself and noise is 1 / (1 + noise^2), its information half of
    -log(1 - R2).
    """
    codes, angle, _ = angle_and_kind
    rng = default_rng(1)
    other = rng.standard_normal(1500)
    codes = np.column_stack(
        [codes[:, 0], other + NOISE * rng.standard_normal(1500), codes[:, 2]]
    )
    factors = np.column_stack([angle, other])
    truth = 1 / (1 + NOISE**2)
    for score in (sap(codes, factors), explicitness(codes, factors)):
        assert score.low - 0.01 < truth < score.high + 0.01
    trees = dci(codes, factors, 2)
    assert trees.importance.argmax(axis=0).tolist() == [0, 1]
    assert trees.disentanglement > 0.5
    assert truth - 0.15 < trees.informativeness < truth + 0.05
    of = from_arrays(codes, factors, "knn", resamples=None)
    np.testing.assert_allclose(
        np.diag(of.alone[:, :2]), -0.5 * np.log(1 - truth), atol=0.12
    )
    with refused("factor 'factor 0'", "range"):
        of.mig()
    assert of.mig(normalised=False) > 0.5


def test_a_report_of_both_kinds_notes_which_scores_need_classes(angle_and_kind):
    """Numbers are cut into parts for what is a share of their bits."""
    codes, angle, kind = angle_and_kind
    found = report(codes[:300], pd.DataFrame({"angle": angle, "kind": kind})[:300])
    known = {spec.title.format(how="estimated"): spec for spec in SCORES.values()}
    for row in found.scores:
        if known[row.what].numbers or known[row.what].takes == "information":
            assert np.isfinite(row.estimate.value), row.what
        else:
            assert (
                np.isnan(row.estimate.value)
                and "numbers for angle" in row.estimate.notes[0]
            ), row.what
    assert found.read["angle"] == "as numbers in 10 parts"
    (none,) = report(
        codes[:300], np.column_stack([angle, angle])[:300], method="knn", scores=["sap"]
    ).answers
    assert none.startswith("No verdict")


def test_types(angle_and_kind):
    codes, angle, kind = angle_and_kind
    known = as_factors([Continuous(angle), Discrete(kind)], numbers=True)
    assert known.numbers.tolist() == [True, False]
    assert np.array_equal(known.values[:, 0], angle)
    assert np.isnan(known.surprisal[:, 0]).all()
    assert np.isfinite(known.surprisal[:, 1]).all()
    assert as_factors(
        pd.DataFrame({"angle": angle, "kind": kind}), numbers=True
    ).names == ("angle", "kind")
    # numbers, though they are few and whole
    whole = np.column_stack([kind, kind]).astype(float)
    assert as_factors(whole, numbers=True).numbers.all()
    assert "linear" in explicitness(codes, whole).method
    assert "logistic" in explicitness(codes, whole.astype(int)).method
    for call, argument, code in (
        (lambda: mig(codes, whole), "factors", "type"),
        (
            lambda: sap(
                codes, [Continuous(np.where(angle > 2, np.nan, angle)), Discrete(kind)]
            ),
            "factors",
            "missing",
        ),
        (
            lambda: from_arrays(codes, np.column_stack([angle, angle])),
            "method",
            "conflict",
        ),
    ):
        with refused(argument, code):
            call()
