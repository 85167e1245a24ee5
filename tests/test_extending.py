"""What ARCHITECTURE.md says of adding things, done from outside of the packages; what
is accepted, and what is not.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from infoscope.data import generated_reviews
from infoscope.estimators import (
    Bound,
    Critic,
    Objective,
    fit_critic,
    held_out,
    make_critic,
)
from infoscope.estimators.families import tfidf_logistic
from infoscope.estimators.result import mean_of
from infoscope.metrics import audit, v_information
from infoscope.metrics.disentanglement import SCORES, ScoreSpec, report
from infoscope.models import VAE, LatentSpec, fit_vae
from infoscope.models.vae.objectives import BetaVAE
from tests.refusals import refused


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@dataclass(frozen=True)
class Doubled:
    """A source: y is x, and x one of two points, so that I(x; y) = log 2."""

    mutual_information = float(np.log(2))
    dim_x = dim_y = 1

    def sample(self, n, generator, device="cpu"):
        x = torch.randint(0, 2, (n, 1), generator=generator).float().to(device)
        return x, x.clone()


class Cosine(Critic):
    """A critic: the scaled cosine of two linear embeddings."""

    def _build(self, dim_x, dim_y, embed, members):
        self.embed_x = torch.nn.Linear(dim_x, embed)
        self.embed_y = torch.nn.Linear(dim_y, embed)

    def _scores(self, x, y):
        embedded_x = self.embed_x(x)[..., :, None, :]
        embedded_y = self.embed_y(y)[..., None, :, :]
        return 8.0 * torch.nn.functional.cosine_similarity(embedded_x, embedded_y, -1)


def chi_square(scores):
    """A bound, looser than nwj: mean d - (mean exp(2 o) + 1) / 4 - log 2 / 2, at most I
    / 2 - 3 / 4.
    """
    squared_ratio = (2.0 * scores.product).exp()
    penalty = squared_ratio.mean((-2, -1)) + 1.0
    return scores.joint - penalty / 4.0 - np.log(2) / 2


def test_a_bound_and_a_source():
    """exp(o - 1) <= (exp(2 o) + 1) / 4 + log 2 / 2 for every o, so it is below nwj, and
    greatest at log(2 r) / 2.
    """
    o = torch.linspace(-9, 4, 2001)
    assert ((2 * o).exp() / 4 + 0.25 + np.log(2) / 2 >= (o - 1).exp()).all()
    objective = Objective("chi", lambda scores, state: (chi_square(scores), state))
    bound = Bound("chi", objective, chi_square)
    critic = make_critic("joint", 1, 1, depth=0, width=32, generator=seeded())
    trace = fit_critic(
        Doubled(),
        critic,
        bound,
        steps=300,
        batch=64,
        learning_rate=1e-2,
        generator=seeded(1),
    )
    assert trace.of(bound)[-1] > trace.of(bound)[0]
    estimated = held_out(Doubled(), critic, bound, 256, 20, seeded(2))["chi"]
    assert estimated.value == pytest.approx(np.log(2) / 2 - 0.75, abs=0.05)
    assert "chi" in repr(estimated)
    with refused("bound", "name"):
        fit_critic(Doubled(), critic, "chi", steps=1)


def test_a_critic():
    torch.manual_seed(0)
    critic = Cosine(1, 1, embed=8)
    fit_critic(
        Doubled(),
        critic,
        "infonce",
        steps=300,
        batch=64,
        learning_rate=1e-2,
        generator=seeded(),
    )
    estimated = held_out(Doubled(), critic, "infonce", 256, 20, seeded(1))["infonce"]
    assert 0.3 < estimated.value < np.log(2) + 5 * estimated.standard_error
    with refused("critic", "type"):
        fit_critic(Doubled(), torch.nn.Linear(1, 1), "infonce", steps=1)


def test_an_estimator():
    """The Gaussian formula is unbiased where x and y are Gaussian, and invariant to
    scale; it takes no labels.
    """

    def gaussian(x, y):
        if y.dtype.kind != "f":
            raise ValueError("y")
        covariance = np.cov(np.hstack([x, y]).T)
        parts = (
            covariance[: x.shape[1], : x.shape[1]],
            covariance[x.shape[1] :, x.shape[1] :],
            covariance,
        )
        x_log, y_log, both = (np.linalg.slogdet(part)[1] for part in parts)
        return (x_log + y_log - both) / 2

    verdicts = []
    for check in audit(gaussian, n=300, repeats=2):
        if check.y == "numbers":
            verdicts.append(check.verdict)
    assert "holds" in verdicts
    assert "not offered" not in verdicts


def test_a_text_data_set():
    texts = generated_reviews(120, generator=seeded())
    estimated = v_information.estimate(
        tfidf_logistic(), list(texts.texts), texts.label_names, folds=3
    )
    assert estimated.n == len(texts)
    assert estimated.value > 0


def test_an_autoencoder():
    class SquaredVAE(BetaVAE):
        """The KL divergence, squared."""

        def losses(self, model, images, generator, items, step):
            terms = super().losses(model, images, generator, items, step)
            terms["loss"] = terms["reconstruction"] + self.beta * terms["kl"] ** 2
            return terms

    model = VAE(
        (1, 32, 32), LatentSpec(3), channels=(4, 4, 4, 4), hidden=8, generator=seeded()
    )
    images = torch.rand(32, 1, 32, 32, generator=seeded(1))
    trace = fit_vae(model, SquaredVAE(), images, steps=3, batch=8, generator=seeded(2))
    assert len(trace["loss"])
    assert np.isfinite(trace["loss"]).all()
    with refused("objective", "type"):
        fit_vae(model, torch.nn.Linear(1, 1), images, steps=1)


def test_a_score(scores_in_order, monkeypatch):
    def spread(inputs):
        return mean_of(np.ptp(inputs.codes, axis=0) > 0, unit="share", method="range")

    for key in list(SCORES):
        monkeypatch.delitem(SCORES, key)
    monkeypatch.setitem(
        SCORES,
        "varying",
        ScoreSpec("varying", "varying latents", spread, "codes", "none", "share"),
    )
    draws = np.random.default_rng(0)
    codes = np.hstack([draws.normal(size=(50, 3)), np.ones((50, 1))])
    factors = draws.integers(0, 2, (50, 2))
    (row,) = report(codes, factors).scores
    assert row.what == "varying latents"
    assert row.estimate.value == 0.75
