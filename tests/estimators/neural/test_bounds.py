"""Every bound against its formula written out with loops, its closed forms and its
invariances.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from pytest import approx

from infoscope.estimators import BOUNDS, UnknownBound, share_training
from infoscope.estimators.neural.bounds import split
from tests.refusals import refused

# which has a second score, and its own tests
NAMES = [name for name in BOUNDS if name != "flo"]
PLUG_IN = ("infonce-anchor", "dime-kl", "dime-gan", "dime-hellinger")
MATRICES = {
    "3x3": [[2.0, -7.0, 0.5], [1.0, -1.0, 6.0], [0.0, 3.0, 0.125]],
    "asymmetric": [[4.0, 1.0, 1.0], [-2.0, 4.0, -2.0], [0.5, 0.5, 4.0]],
}


def mean(values) -> float:
    return sum(values) / len(values)


def joint_and_product(scores) -> tuple[list, list]:
    """Scores on the diagonal, which are of pairs, and all others."""
    joint = []
    product = []
    for i, row in enumerate(scores):
        for j, score in enumerate(row):
            (joint if i == j else product).append(score)
    return joint, product


def by_loops(name: str, scores: list[list[float]]) -> float:
    """The reported value, term by term as in the paper's definitions."""
    joint, product = joint_and_product(scores)
    if name in PLUG_IN:
        return mean(joint)
    if name in ("nwj", "js"):
        return mean(joint) - mean([math.exp(score - 1) for score in product])
    if name == "infonce":
        log_sums = []
        for row in scores:
            log_sums.append(math.log(sum(map(math.exp, row))))
        return math.log(len(scores)) + mean(joint) - mean(log_sums)
    clip = math.inf
    if name.startswith("smile-"):
        clip = float(name.removeprefix("smile-"))
    ratios = []
    for score in product:
        clipped = min(max(score, -clip), clip)
        ratios.append(math.exp(clipped))
    return mean(joint) - math.log(mean(ratios))


def random_scores(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(
        shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    )


def objective_of(name: str, scores: torch.Tensor) -> torch.Tensor:
    objective = BOUNDS[name].objective
    value, _ = objective(scores, objective.start(scores))
    return value


def gradient(name: str, scores: torch.Tensor) -> torch.Tensor:
    leaf = scores.clone().requires_grad_()
    objective_of(name, leaf).sum().backward()
    return leaf.grad


@pytest.mark.parametrize("name", [*NAMES, "smile-2.5"])
@pytest.mark.parametrize("matrix", MATRICES)
def test_estimate_is_its_formula(name, matrix):
    scores = torch.tensor(MATRICES[matrix], dtype=torch.float64)
    expected = by_loops(name, MATRICES[matrix])
    assert BOUNDS[name].estimate(scores).item() == approx(expected, abs=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_estimate_of_a_stack_is_the_stack_of_estimates(name):
    scores = 3 * random_scores(2, 3, 5, 5)
    stacked = BOUNDS[name].estimate(scores)
    assert stacked.shape == (2, 3)
    expected = by_loops(name, scores[1, 2].tolist())
    assert stacked[1, 2].item() == approx(expected, abs=1e-12)
    scores[0, 0, 1, 1:3] = math.nan  # is reported, where it is
    is_missing = BOUNDS[name].estimate(scores).isnan()
    assert is_missing.nonzero().tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("name", "value"),
    [("dv", 0.0), ("infonce", 0.0), ("smile-5", 95.0), ("nwj", -math.inf)],
)
def test_large_scores_overflow_only_where_the_formula_does(name, value):
    """exp(100) is beyond float32: logarithmic means stay exact, nwj reports minus
    infinity.
    """
    estimate = BOUNDS[name].estimate(torch.full((3, 3), 100.0))
    assert estimate.item() == approx(value, abs=1e-4)


def test_large_scores_overflow_in_the_published_gradient_alone():
    scores = torch.full((3, 3), 100.0)
    assert gradient("mine", scores).isfinite().all()
    assert gradient("mine-one-step", scores).isnan().any()


def test_jensen_shannon_objective_by_loops():
    joint, product = joint_and_product(MATRICES["3x3"])
    of_joint = mean([math.log1p(math.exp(-score)) for score in joint])
    of_product = mean([math.log1p(math.exp(score)) for score in product])
    scores = torch.tensor(MATRICES["3x3"], dtype=torch.float64)
    assert objective_of("js", scores).item() == approx(
        -of_joint - of_product, abs=1e-14
    )


def test_flo_by_loops_and_at_its_optimum():
    scores = random_scores(4, 4)
    second = random_scores(4, seed=1)
    means = []
    terms = []
    for i in range(4):
        ratios = [math.exp(scores[i, j] - scores[i, i]) for j in range(4) if j != i]
        means.append(mean(ratios))
        terms.append(second[i].item() + math.exp(-second[i]) * means[i])
    flo = BOUNDS["flo"]
    value = flo.estimate(split(scores, second)).item()
    assert value == approx(1 - mean(terms), abs=1e-14)
    log_means = torch.tensor(means, dtype=torch.float64).log()
    optimum = flo.estimate(split(scores, log_means)).item()
    assert optimum == approx(-np.log(means).mean(), abs=1e-14)
    assert optimum > value
    with refused("scores", "invalid"):
        flo.estimate(scores)


@pytest.mark.parametrize("name", ["mine", "mine-one-step"])
def test_mine_divides_by_its_memory(name):
    """Three batches against the denominator written out: a weighted mean with weights
    0.9^age, or one step back.
    """
    batches = [
        random_scores(4, 4),
        3 * random_scores(4, 4, seed=1),
        0.1 * random_scores(4, 4, seed=2),
    ]
    objective = BOUNDS[name].objective
    off_diagonal = ~torch.eye(4, dtype=torch.bool)
    state = objective.start(batches[0])
    means = [1.0]  # the one before the first batch
    for batch in batches:
        means.append(batch[off_diagonal].exp().mean().item())
        if name == "mine":
            ages = np.arange(len(means) - 1)[::-1]
            denominator = np.average(means[1:], weights=0.9**ages)
        else:
            denominator = 0.9 * means[-2] + 0.1 * means[-1]
        leaf = batch.clone().requires_grad_()
        value, state = objective(leaf, state)
        value.backward()
        of_product = -batch.exp() / (12 * denominator)
        expected = torch.where(
            off_diagonal, of_product, torch.tensor(1 / 4, dtype=torch.float64)
        )
        torch.testing.assert_close(leaf.grad, expected, rtol=1e-12, atol=0)


def test_published_denominator_has_a_least_value():
    scores = torch.full((3, 3), -30.0, dtype=torch.float64)
    objective = BOUNDS["mine-one-step"].objective
    _, state = objective(scores, objective.start(scores))
    leaf = scores.clone().requires_grad_()
    value, _ = objective(leaf, state)
    value.backward()
    assert leaf.grad[0, 1].item() == approx(-math.exp(-30) / 6 / 1e-4, rel=1e-12)


@pytest.mark.parametrize("name", ["smile-", "smile-0", "smile-nan", "NWJ", None])
def test_unknown_bound(name):
    with refused("bound", "name") as caught:
        BOUNDS[name]
    assert isinstance(caught.value, UnknownBound)
    assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize("shape", [(3,), (1, 1), (2, 3, 4)])
def test_scores_must_be_square(shape):
    with refused("scores", "shape"):
        BOUNDS["dv"].estimate(torch.zeros(shape))


def test_share_training_groups_by_objective():
    groups = share_training(
        ["nwj", "smile-5", "js", "mine", "smile-2.5", "mine-one-step"]
    )
    names = [[bound.name for bound in group] for group in groups]
    assert names == [
        ["nwj"],
        ["smile-5", "js", "smile-2.5"],
        ["mine"],
        ["mine-one-step"],
    ]


@pytest.mark.parametrize("name", ["nwj", "infonce", "dv"])
def test_the_objective_is_the_estimate(name):
    scores = 2 * random_scores(2, 4, 4)
    assert torch.equal(objective_of(name, scores), BOUNDS[name].estimate(scores))
