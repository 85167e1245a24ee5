"""Measurements in seconds."""

import functools

import pytest

from sweeps.disentanglement import _factor_scores


@pytest.fixture
def without_predictors(monkeypatch):
    """Scores that need many fits are left out; `test_factor_scores.py` has them."""
    measure = functools.partial(_factor_scores.measure, predictors=False)
    monkeypatch.setattr(_factor_scores, "measure", measure)
