"""What is measured of representations whose scores are known."""

import numpy as np
import pytest
import torch
from pytest import approx

from infoscope.data import FactorDataset
from infoscope.metrics.factor_information.posterior import GaussianPosterior
from sweeps.disentanglement import _factor_scores
from sweeps.disentanglement._cells import Effort
from sweeps.disentanglement._factor_scores import measure

FEW = Effort(draws=300, votes=200, items=400, protocols=("uni-bound",))
CODES = np.stack(
    [axis.ravel() for axis in np.meshgrid(np.arange(4), np.arange(4), np.arange(40))],
    axis=1,
)
FACTORS = CODES[:, :2]  # every pair of values has 40 images


@pytest.fixture(scope="module")
def of():
    return FactorDataset(torch.zeros(len(FACTORS), 1, 4, 4), FACTORS, ("row", "column"))


def posterior(noise=0.05):
    means = 2 * (FACTORS - 1.5)
    return GaussianPosterior(means, np.full(means.shape, noise))


def values(measured):
    return {name: score.value for name, score in measured.scores.items()}


def test_a_latent_for_each_factor_has_every_score(of):
    """Values 40 noise scales apart: no vote and no posterior errs, whatever is drawn."""
    scores = values(measure(posterior(), of, 0, FEW))
    for name in (
        "mig",
        "unibound",
        "informativeness",
        "unique_low",
        "shared/unique_low",
        "factor_vae",
    ):
        assert scores[name] == approx(1, abs=1e-3), name
    assert scores["beta_vae"] == 1
    assert scores["dci_disentanglement"] > 0.9
    assert scores["total_correlation"] == approx(0, abs=1e-3)
    assert scores["latent_information"] == approx(2 * np.log(4), abs=1e-3)


def test_codes_without_a_density_are_estimated(of):
    code = posterior().mean + np.random.default_rng(0).normal(0, 0.05, FACTORS.shape)
    measured = measure(code, of, 0, FEW, predictors=False)
    assert "nearest neighbours" in measured.information.method
    assert values(measured)["informativeness"] == approx(1, abs=0.05)
    assert "total_correlation" not in measured.scores
    assert "sap" not in measured.scores


def test_means_over_evaluations_keep_each(of):
    measurements = [
        measure(posterior(noise=1.0), of, seed, FEW, predictors=False)
        for seed in (0, 1)
    ]
    recorded = _factor_scores.metrics(measurements)
    both = [recorded["evaluation 0/mig"], recorded["evaluation 1/mig"]]
    assert both[0] != both[1]
    assert recorded["mig"] == approx(np.mean(both))
    errors = [measured.scores["mig"].standard_error for measured in measurements]
    assert recorded["mig_error"] == approx(np.hypot(*errors) / 2)
    tables = _factor_scores.tables(measurements)
    assert len(tables["bounds"]) == 2 * 2 * 2
    assert set(tables["scores"]["evaluation"]) == {0, 1}
