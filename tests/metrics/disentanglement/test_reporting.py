"""Disentanglement scores: known values of known codes, and what must and must not change them.

Seeds are fixed. Where a tolerance is 4 standard errors of a score, about 6 in 100,000 other seeds would fail by chance;
comparisons of a score with itself under a change that must not matter use the same tolerance.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure

from infoscope.metrics.disentanglement import (
    PROTOCOLS,
    SCORES,
    Protocol,
    Votes,
    beta_vae_score,
    dci,
    factor_vae_score,
    intervention_based,
    mig,
    predictor_based,
    report,
    sap,
)
from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.attacks import redundancy_attack, synergy_attack
from infoscope.metrics.factor_information.exact import factor_information
from infoscope.metrics.factor_information.posterior import CategoricalPosterior, GaussianPosterior, ProductPosterior
from tests.refusals import refused

SIZES = (2, 3, 3, 4)
FEWER = Protocol("fewer", Votes(40, 2000, 1000), Votes(40, 2000, 1000), "logistic", 10_000, 0.05)


@pytest.fixture(scope="module", autouse=True)
def small_forests():
    """Forests are most of what a report costs, and are tested by themselves."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(predictor_based, "TREES", 10)
        yield


@pytest.fixture(scope="module")
def factors():
    """Every combination of four factors, eight times: 576 items."""
    grid = np.stack(np.unravel_index(np.arange(np.prod(SIZES)), SIZES), axis=1)
    return np.repeat(grid, 8, axis=0)


@pytest.fixture(scope="module")
def perfect(factors):
    """One latent for each factor, from -1 to 1."""
    return 2.0 * factors / (np.array(SIZES) - 1) - 1


@pytest.fixture(scope="module")
def noisy(perfect):
    return perfect + 0.02 * np.random.default_rng(0).standard_normal(perfect.shape)


def rotated(codes):
    """A rotation in which every latent holds as much of every factor."""
    hadamard = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    return codes / codes.std(axis=0) @ hadamard


def scores_of(codes, factors):
    """Every score of an array."""
    forests = dci(codes, factors, halvings=1)
    return {
        "beta": beta_vae_score(codes, factors, FEWER),
        "factor": factor_vae_score(codes, factors, FEWER),
        "mig": mig(codes, factors),
        "disentanglement": forests.disentanglement,
        "completeness": forests.completeness,
        "informativeness": forests.informativeness,
        "sap": sap(codes, factors, "continuous"),
        "unibound": from_arrays(codes, factors, "knn", resamples=None).unibound(),
    }


@pytest.fixture(scope="module")
def of_noisy(noisy, factors):
    return scores_of(noisy, factors)


def test_a_one_to_one_code_scores_1_on_every_metric(of_noisy):
    """Neighbours in four dimensions are a little high."""
    least = {"mig": 0.97, "sap": 0.97}  # others are 1 but for a few votes or items
    for name, score in of_noisy.items():
        most = 1.1 if name == "unibound" else 1.001
        assert least.get(name, 0.99) < score.value < most, name


def test_a_rotated_code_is_low_where_one_latent_should_hold_a_factor(noisy, factors, of_noisy):
    found = scores_of(rotated(noisy), factors)
    for name in ("mig", "sap", "unibound", "disentanglement", "completeness"):
        assert found[name].value < 0.35 < of_noisy[name].value, name
    assert found["informativeness"].value > 0.6  # all is still there


def test_a_redundant_copy_is_seen_by_unibound_and_by_neither_vote(noisy, factors):
    copied = np.hstack([noisy, noisy + 0.02 * np.random.default_rng(1).standard_normal(noisy.shape)])
    found = scores_of(copied, factors)
    assert found["beta"].value > 0.99 and found["factor"].value > 0.99
    for name in ("mig", "sap", "unibound"):
        assert abs(found[name].value) < 0.02, name
    assert found["disentanglement"].value > 0.95 > 0.75 > found["completeness"].value


def test_pure_noise_latents_do_not_change_scores(noisy, factors, of_noisy):
    """A redundancy attack of strength 0. The plug-in bias of the second-best latent, up to 19 x 3 / (2 x 576) nats or
    0.04 of H(y), is that of the worst of more latents.
    """
    found = scores_of(redundancy_attack(noisy, 0.0, np.random.default_rng(1)), factors)
    for name, score in found.items():
        error = np.hypot(score.standard_error, of_noisy[name].standard_error)
        assert abs(score.value - of_noisy[name].value) < 4 * error + (0.04 if name == "mig" else 0.01), name


def test_pure_noise_latents_of_a_posterior_have_no_vote_where_means_vote(factors, perfect):
    """An attack of strength 0, of a posterior with an idle latent: the same votes, so the same score."""
    idle = GaussianPosterior(perfect * [1, 1, 1, 0], np.full(perfect.shape, [0.1, 0.1, 0.1, 1.0]))
    before = factor_vae_score(idle, factors, "disentanglement-lib")
    after = factor_vae_score(redundancy_attack(idle, 0.0), factors, "disentanglement-lib")
    assert before.value == after.value and sum(before.active) == sum(after.active) == 3
    assert "posterior means" in after.method


def test_scores_do_not_depend_on_the_order_of_latents(noisy, factors, of_noisy):
    found = scores_of(noisy[:, [2, 0, 3, 1]], factors)
    for name, score in found.items():
        random = {"disentanglement", "completeness", "informativeness"}  # trees draw their thresholds latent by latent
        tolerance = 4 * score.standard_error + 0.01 if name in random else 1e-6
        assert abs(score.value - of_noisy[name].value) <= tolerance, name


def test_an_independent_code_scores_what_chance_gives(factors):
    codes = np.random.default_rng(1).standard_normal(factors.shape)
    for score in (beta_vae_score(codes, factors, FEWER), factor_vae_score(codes, factors, FEWER)):
        # These items by themselves tell a little: 576 of them, and the votes are of the same ones.
        assert abs(score.value - score.chance) < 4 * score.standard_error + 0.1
        assert score.chance == 0.25 and score.n == 1000 and score.low < score.value < score.high
    assert abs(sap(codes, factors, "continuous").value) < 0.03
    assert abs(mig(codes, factors).value) < 0.03
    assert dci(codes, factors, 1).informativeness.value < 0.4


def test_exact_scores_follow_the_published_attacks(factors, perfect):
    """Tokui & Sato 2021, section 5.2, figure 3d: only UniBound falls with redundancy; on draws all see synergy. Fewer
    votes than theirs.
    """
    votes = Protocol("adagrad", Votes(50, 3000, 400), Votes(60, 800, 400), "adagrad", 65_536, 0.0)
    posterior = GaussianPosterior(1.7 * perfect, np.full(perfect.shape, 0.1))
    redundant = [redundancy_attack(posterior, alpha) for alpha in (0.0, 1.0, 4.0)]
    measured = [factor_information(attacked, factors, 500) for attacked in redundant]
    bound = [information.unibound().value for information in measured]
    assert bound[0] > 0.95 and np.diff(bound).max() < -0.05 and bound[2] < 0.4
    assert measured[2].mig().value > 0.7
    for score in (beta_vae_score, factor_vae_score):
        found = score(redundant[2], factors, votes, generator=np.random.default_rng(0))
        assert found.value > 0.99 and sum(found.active) == 8
        masked = score(synergy_attack(posterior, 4.0), factors, votes, generator=np.random.default_rng(0))
        assert masked.value < 0.7
    assert factor_information(synergy_attack(posterior, 4.0), factors, 500).unibound().value < 0.2


def test_a_code_that_is_its_factors_has_a_gap_of_1(perfect, factors):
    assert mig(perfect, factors).value == pytest.approx(1.0)


def test_discretised_mig_of_a_noisy_copy(factors):
    """A category that is y with probability 2/3, else another value: I = ln(4 k^3 / (27 (k - 1))) / 3; and noise."""
    rng = np.random.default_rng(0)
    k, n = 4, 20_000
    y = rng.integers(k, size=n)
    z = np.where(rng.random(n) < 2 / 3, y, (y + rng.integers(1, k, size=n)) % k)
    codes = np.stack([z, rng.integers(k, size=n)], axis=1).astype(float)
    truth = np.log(4 * k**3 / (27 * (k - 1))) / 3 / np.log(k)
    for categorical in ((), (0, 1)):
        found = mig(codes, y, items=None, categorical=categorical)
        assert abs(found.value - truth) < 4 * found.standard_error and found.n == n
    assert found.standard_error == pytest.approx(
        np.std([mig(codes[i::20], y[i::20]).value for i in range(20)]) / 20**0.5, rel=0.5
    )


def test_a_report_has_every_score_with_error_unit_and_n(factors, perfect, monkeypatch):
    monkeypatch.setitem(PROTOCOLS, "uni-bound", replace(PROTOCOLS["uni-bound"], beta=Votes(200, 3000, 800)))
    posterior = ProductPosterior(
        GaussianPosterior(1.7 * perfect[:, 1:], np.full((len(perfect), 3), 0.1)),
        CategoricalPosterior(np.eye(2)[factors[:, 0]]),
    )
    found = report(posterior, factors, draws=300, generator=np.random.default_rng(0))
    table = pd.DataFrame([row.figures() for row in found.scores]).set_index("what")
    assert np.isfinite(table[["value", "standard_error", "low", "high"]].to_numpy()).all()
    assert (table["n"] > 0).all() and (table["method"] != "").all()
    assert (table["low"] <= table["value"] + 1e-12).all() and (table["value"] <= table["high"] + 1e-12).all()
    assert table.loc["total correlation", "unit"] == table.loc["I(x; z)", "unit"] == "bits"
    assert table.loc["UniBound", "value"] == table.loc[SCORES["unique_low"].title, "value"]
    one = {key: table.loc[spec.title, "value"] for key, spec in SCORES.items() if key.startswith("shared/")}
    alone = one["shared/unique_low"] + one["shared/redundant_high"]
    assert alone == pytest.approx(one["shared/unique_high"] + one["shared/redundant_low"], abs=1e-6)
    usual = [spec for spec in SCORES.values() if not spec.extra]
    assert len(table) == len(usual)
    for spec in usual:  # exact ones but for draws and votes
        score = table.loc[spec.title.format(how="exact")]
        slack = 5 * score["standard_error"] + 1e-6
        most = np.inf if spec.unit == "nats" else 1.0
        assert -slack <= score["value"] <= most + slack, spec.key
        assert score["unit"] == {"nats": "bits"}.get(spec.unit, spec.unit), spec.key
    assert found.answers[0].startswith("Each factor is in one column of its own: ")


def test_a_printed_report_has_the_verdict_and_every_score_and_reasons_of_missing_ones(noisy, factors):
    latents = pd.DataFrame(noisy[::6, :2], columns=["size", "hue"])
    found = report(latents, factors[::6, :2], method="knn", scores=["factor_vae", "mig", "sap_thresholds"])
    first, *_ = str(found).splitlines()
    assert first.startswith(
        "Each factor is in one column of its own: factor 0 mostly in size (94 %) and factor 1 wholly"
    )
    vote, gap, thresholds = found.further["Scores"].to_dict("records")
    assert vote["value (95 %)"] == "none" and "100 items" in str(found)
    assert gap["value (95 %)"].startswith(f"{found.find('MIG (estimated)').value:.2f} (")
    assert gap["says"] == "best column less the second best"
    assert thresholds["says"].endswith("a perfect code: 0.58")  # of 2 and 3 values
    assert found.find("share of H", factor="factor 0", column="hue").value == pytest.approx(0, abs=0.1)
    shares = found.plot(Figure().subplots()).images[0].get_array()
    np.testing.assert_allclose(shares, [[1, 0], [0, 1], [1, 1]], atol=0.15)
    with refused("scores", "name"):
        report(latents, factors[::6, :2], scores=["lasso"])


def test_progress_reaches_the_end(scores_in_order, factors, noisy, monkeypatch):
    for key in SCORES.keys() - {"sap", "mig_discretised"}:
        monkeypatch.delitem(SCORES, key)
    reported = []
    report(noisy[::4, :2], factors[::4, :2], method="knn", progress=lambda *at: reported.append(at))
    shares = [share for share, _ in reported]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert {what for _, what in reported} >= {"SAP", "MIG (discretised)"}


def test_unibound_sees_a_redundancy_attack(noisy, factors):
    """A check of scores on a code of two columns, which the attack copies."""
    found = report(noisy[::2, 2:], factors[::2, 2:], scores=["unibound", "mig"], attack=4.0)
    before, after = found.find("UniBound"), found.find("UniBound", attack="redundancy")
    assert before.low > 0.9 > 0.2 > after.high
    assert any(line.startswith("After an attack by redundancy: UniBound from ") for line in found.answers)


def test_adagrad_is_torchs():
    """The weights after every vote was used once, by the update of torch.optim.Adagrad."""
    rng = np.random.default_rng(0)
    shown, shared = rng.normal(size=(300, 3)), rng.integers(3, size=300)
    weights = torch.zeros(4, 3, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adagrad([weights], lr=1.0)
    votes = torch.tensor(np.column_stack([shown, np.ones(300)]))
    for start in range(0, 300, 10):
        optimiser.zero_grad()
        scores = votes[start : start + 10] @ weights
        torch.nn.functional.cross_entropy(scores, torch.tensor(shared[start : start + 10])).backward()
        optimiser.step()
    trained, new = weights.detach().numpy(), rng.normal(size=(2000, 3))
    predict = intervention_based.fit_adagrad(shown, shared)
    assert (predict(new) == np.argmax(new @ trained[:-1] + trained[-1], axis=1)).all()
