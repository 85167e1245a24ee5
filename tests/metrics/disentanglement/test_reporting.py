"""Disentanglement scores: values of codes with a closed form, and what must and must
not change them.

Seeds are fixed. Where a tolerance is 4 standard errors of a score, about 6 in 100,000
other seeds would fail by chance; comparisons of a score with itself under a change that
must not matter use the same tolerance.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx

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
from infoscope.metrics.factor_information.attacks import (
    redundancy_attack,
    synergy_attack,
)
from infoscope.metrics.factor_information.exact import factor_information
from infoscope.metrics.factor_information.posterior import (
    CategoricalPosterior,
    GaussianPosterior,
    ProductPosterior,
)
from tests.refusals import refused

SIZES = (2, 3, 3, 4)
FEWER_VOTES = Votes(40, 2000, 1000)
FEWER = Protocol("fewer", FEWER_VOTES, FEWER_VOTES, "logistic", 10_000, 0.05)
FOREST_SCORES = {"disentanglement", "completeness", "informativeness"}


@pytest.fixture(scope="module", autouse=True)
def small_forests():
    """Forests are most of what a report costs, and are tested by themselves."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(predictor_based, "TREES", 10)
        yield


@pytest.fixture(scope="module")
def factors():
    """Every combination of four factors, eight times: 576 items."""
    combinations = np.unravel_index(np.arange(np.prod(SIZES)), SIZES)
    return np.repeat(np.stack(combinations, axis=1), 8, axis=0)


@pytest.fixture(scope="module")
def perfect(factors):
    """One latent for each factor, from -1 to 1."""
    return 2.0 * factors / (np.array(SIZES) - 1) - 1


def small_noise(codes, seed):
    return 0.02 * default_rng(seed).standard_normal(codes.shape)


@pytest.fixture(scope="module")
def noisy(perfect):
    return perfect + small_noise(perfect, 0)


def rotated(codes):
    """A rotation in which every latent holds as much of every factor."""
    hadamard = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    return codes / codes.std(axis=0) @ hadamard / 2


def scores_of(codes, factors):
    """Every score of an array."""
    forests = dci(codes, factors, halvings=1)
    scores = {name: getattr(forests, name) for name in FOREST_SCORES}
    return scores | {
        "beta": beta_vae_score(codes, factors, FEWER),
        "factor": factor_vae_score(codes, factors, FEWER),
        "mig": mig(codes, factors),
        "sap": sap(codes, factors, "continuous"),
        "unibound": from_arrays(codes, factors, "knn", resamples=None).unibound(),
    }


@pytest.fixture(scope="module")
def noisy_scores(noisy, factors):
    return scores_of(noisy, factors)


def test_a_one_to_one_code_scores_1_on_every_metric(noisy_scores):
    """Neighbours in four dimensions are a little high."""
    for name, score in noisy_scores.items():
        # others are 1 but for a few votes or items
        low = 0.97 if name in ("mig", "sap") else 0.99
        high = 1.1 if name == "unibound" else 1.001
        assert low < score.value < high, name


def test_a_rotated_code_is_low_where_one_latent_should_hold_a_factor(noisy, factors):
    scores = scores_of(rotated(noisy), factors)
    for name in ("mig", "sap", "unibound", "disentanglement", "completeness"):
        assert scores[name].value < 0.35, name
    assert scores["informativeness"].value > 0.6  # all is still there


def test_a_redundant_copy_is_seen_by_unibound_and_by_neither_vote(noisy, factors):
    copied = np.hstack([noisy, noisy + small_noise(noisy, 1)])
    scores = scores_of(copied, factors)
    assert scores["beta"].value > 0.99
    assert scores["factor"].value > 0.99
    for name in ("mig", "sap", "unibound"):
        assert abs(scores[name].value) < 0.02, name
    assert scores["disentanglement"].value > 0.95
    assert scores["completeness"].value < 0.75


def test_pure_noise_latents_do_not_change_scores(noisy, factors, noisy_scores):
    """A redundancy attack of strength 0. The plug-in bias of the second-best latent, up
    to 19 x 3 / (2 x 576) nats or 0.04 of H(y), is that of the worst of more latents.
    """
    attacked = redundancy_attack(noisy, 0.0, default_rng(1))
    for name, score in scores_of(attacked, factors).items():
        before = noisy_scores[name]
        bias = 0.04 if name == "mig" else 0.01
        tolerance = 4 * np.hypot(score.standard_error, before.standard_error) + bias
        assert abs(score.value - before.value) < tolerance, name


def test_pure_noise_latents_of_a_posterior_have_no_vote_where_means_vote(
    factors, perfect
):
    """An attack of strength 0, of a posterior with an idle latent: the same votes, so
    the same score.
    """
    scales = np.full(perfect.shape, [0.1, 0.1, 0.1, 1.0])
    idle = GaussianPosterior(perfect * [1, 1, 1, 0], scales)
    before = factor_vae_score(idle, factors, "disentanglement-lib")
    after = factor_vae_score(
        redundancy_attack(idle, 0.0), factors, "disentanglement-lib"
    )
    assert before.value == after.value
    assert sum(before.active) == sum(after.active) == 3


def test_scores_do_not_depend_on_the_order_of_latents(noisy, factors, noisy_scores):
    """But for trees, which draw their thresholds latent by latent."""
    for name, score in scores_of(noisy[:, [2, 0, 3, 1]], factors).items():
        tolerance = 4 * score.standard_error + 0.01 if name in FOREST_SCORES else 1e-6
        assert abs(score.value - noisy_scores[name].value) <= tolerance, name


def test_an_independent_code_scores_what_chance_gives(factors):
    """Within the information of 576 items by themselves, of which all votes are."""
    codes = default_rng(1).standard_normal(factors.shape)
    for vote_score in (beta_vae_score, factor_vae_score):
        score = vote_score(codes, factors, FEWER)
        assert abs(score.value - score.chance) < 4 * score.standard_error + 0.1
        assert score.chance == 0.25
        assert score.n == 1000
        assert score.low < score.value < score.high
    assert abs(sap(codes, factors, "continuous").value) < 0.03
    assert abs(mig(codes, factors).value) < 0.03
    assert dci(codes, factors, 1).informativeness.value < 0.4


def test_exact_scores_follow_the_published_attacks(factors, perfect):
    """Tokui & Sato 2021, section 5.2, figure 3d: only UniBound falls with redundancy;
    on draws all see synergy. Fewer votes than theirs.
    """
    protocol = Protocol(
        "adagrad", Votes(50, 3000, 400), Votes(60, 800, 400), "adagrad", 65_536, 0.0
    )
    posterior = GaussianPosterior(1.7 * perfect, np.full(perfect.shape, 0.1))
    synergistic = synergy_attack(posterior, 4.0)
    bounds = []
    for alpha in (0.0, 1.0, 4.0):
        redundant = redundancy_attack(posterior, alpha)
        information = factor_information(redundant, factors, 500)
        bounds.append(information.unibound().value)
    assert bounds[0] > 0.95
    assert np.diff(bounds).max() < -0.05
    assert bounds[2] < 0.4
    assert information.mig().value > 0.7
    for vote_score in (beta_vae_score, factor_vae_score):
        copied = vote_score(redundant, factors, protocol, generator=default_rng(0))
        assert copied.value > 0.99
        assert sum(copied.active) == 8
        masked = vote_score(synergistic, factors, protocol, generator=default_rng(0))
        assert masked.value < 0.7
    assert factor_information(synergistic, factors, 500).unibound().value < 0.2


def test_discretised_mig_of_a_noisy_copy():
    """A category that is y with probability 2/3, else another value: I = ln(4 k^3 / (27
    (k - 1))) / 3; and noise.
    """
    rng = default_rng(0)
    k = 4
    n = 20_000
    y = rng.integers(k, size=n)
    other = (y + rng.integers(1, k, size=n)) % k
    z = np.where(rng.random(n) < 2 / 3, y, other)
    codes = np.stack([z, rng.integers(k, size=n)], axis=1).astype(float)
    truth = np.log(4 * k**3 / (27 * (k - 1))) / 3 / np.log(k)
    for categorical in ((), (0, 1)):
        gap = mig(codes, y, items=None, categorical=categorical)
        assert abs(gap.value - truth) < 4 * gap.standard_error
        assert gap.n == n
    parts = [mig(codes[i::20], y[i::20]).value for i in range(20)]
    assert gap.standard_error == approx(np.std(parts) / 20**0.5, rel=0.5)


def test_a_report_has_every_score_with_error_unit_and_n(factors, perfect, monkeypatch):
    monkeypatch.setitem(
        PROTOCOLS,
        "uni-bound",
        replace(PROTOCOLS["uni-bound"], beta=Votes(200, 3000, 800)),
    )
    numbers = GaussianPosterior(1.7 * perfect[:, 1:], np.full((len(perfect), 3), 0.1))
    category = CategoricalPosterior(np.eye(2)[factors[:, 0]])
    result = report(
        ProductPosterior(numbers, category),
        factors,
        draws=300,
        generator=default_rng(0),
    )
    table = pd.DataFrame([row.figures() for row in result.scores]).set_index("what")
    specs = [spec for spec in SCORES.values() if not spec.extra]
    assert len(table) == len(specs)
    assert np.isfinite(table[["value", "standard_error", "low", "high"]]).all(axis=None)
    assert (table["n"] > 0).all()
    assert (table["low"] <= table["value"] + 1e-12).all()
    assert (table["value"] <= table["high"] + 1e-12).all()
    for spec in specs:  # exact ones but for draws and votes
        score = table.loc[spec.title.format(how="exact")]
        margin = 5 * score["standard_error"] + 1e-6
        assert score["value"] >= -margin, spec.key
        if spec.unit == "nats":
            assert score["unit"] == "bits", spec.key
        else:
            assert score["unit"] == spec.unit, spec.key
            assert score["value"] <= 1 + margin, spec.key
    shared = {}
    for key, spec in SCORES.items():
        if key.startswith("shared/"):
            shared[key.removeprefix("shared/")] = table.loc[spec.title, "value"]
    alone = shared["unique_low"] + shared["redundant_high"]
    assert alone == approx(shared["unique_high"] + shared["redundant_low"], abs=1e-6)


def test_a_printed_report_has_the_verdict_and_every_score_and_reasons_of_missing_ones(
    noisy, factors
):
    latents = pd.DataFrame(noisy[::6, :2], columns=["size", "hue"])
    result = report(
        latents,
        factors[::6, :2],
        method="knn",
        scores=["factor_vae", "mig", "sap_thresholds"],
    )
    assert str(result).startswith(
        "Each factor is in one column of its own: factor 0 mostly in size (92 %)"
    )
    vote, gap, thresholds = result.further["Scores"].to_dict("records")
    assert vote["value (95 %)"] == "none"
    assert "100 items" in str(result)
    assert gap["value (95 %)"].startswith(
        f"{result.find('MIG (estimated)').value:.2f} ("
    )
    assert thresholds["says"].endswith("a perfect code: 0.58")  # of 2 and 3 values
    assert result.find("share of H", factor="factor 0", column="hue").value == approx(
        0, abs=0.1
    )
    shares = result.plot(Figure().subplots()).images[0].get_array()
    assert_allclose(shares, [[1, 0], [0, 1], [1, 1]], atol=0.15)
    with refused("scores", "name"):
        report(latents, factors[::6, :2], scores=["lasso"])


def test_progress_reaches_the_end(scores_in_order, factors, noisy, monkeypatch):
    for key in SCORES.keys() - {"sap", "mig_discretised"}:
        monkeypatch.delitem(SCORES, key)
    shares = []
    report(
        noisy[::4, :2],
        factors[::4, :2],
        method="knn",
        progress=lambda share, _: shares.append(share),
    )
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_progress_of_numbers_reaches_the_end(noisy):
    """Scores that need classes are not computed, and InfoE is last."""
    z = noisy[::6, :2]
    numbers = z + default_rng(0).normal(size=z.shape)
    shares = []
    report(
        z,
        numbers,
        scores=["infoe", "beta_vae"],
        progress=lambda share, _: shares.append(share),
    )
    assert shares[-1] == 1.0
    assert any(0 < share < 0.6 for share in shares)


def test_a_score_does_not_depend_on_the_other_scores(noisy, factors):
    """Its random stream goes by its name, here one of a score that draws items."""
    arguments = noisy[::6, :2], factors[::6, :2]
    keys = ["unibound", "sap"]
    both = report(*arguments, items=200, scores=keys).scores
    for key, row in zip(keys, both):
        (alone,) = report(*arguments, items=200, scores=[key]).scores
        assert alone.estimate.value == row.estimate.value


def test_scores_after_attacks_have_the_method_and_groups_of_the_report(noisy, factors):
    z = noisy[::6, :2]
    groups = np.arange(len(z)) // 2
    result = report(
        z,
        factors[::6, :2],
        method="knn",
        groups=groups,
        scores=["unibound"],
        attack=1.0,
    )
    for row in (*result.scores, *result.attacked):
        assert row.estimate.method.startswith("nearest neighbours")
        assert len(row.estimate.influence) == groups[-1] + 1


def test_unibound_sees_a_redundancy_attack(noisy, factors):
    """A check of scores on a code of two columns, which the attack copies."""
    result = report(
        noisy[::2, 2:], factors[::2, 2:], scores=["unibound", "mig"], attack=4.0
    )
    assert result.find("UniBound").low > 0.9
    assert result.find("UniBound", attack="redundancy").high < 0.2


def test_adagrad_is_torchs():
    """The weights after every vote was used once, by the update of torch.optim.Adagrad."""
    rng = default_rng(0)
    differences = rng.normal(size=(300, 3))
    votes = rng.integers(3, size=300)
    weights = torch.zeros(4, 3, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adagrad([weights], lr=1.0)
    inputs = torch.tensor(np.column_stack([differences, np.ones(300)]))
    for rows in torch.arange(300).split(10):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(
            inputs[rows] @ weights, torch.tensor(votes)[rows]
        )
        loss.backward()
        optimiser.step()
    trained = weights.detach().numpy()
    new = rng.normal(size=(2000, 3))
    expected = np.argmax(new @ trained[:-1] + trained[-1], axis=1)
    predict = intervention_based.fit_adagrad(differences, votes)
    np.testing.assert_array_equal(predict(new), expected)
