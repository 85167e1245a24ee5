"""CORAL, Fishr and domain-informed risk minimisation: closed forms, autograd, and where they help."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from infoscope.models.domain import (
    CORAL,
    ERM,
    MODELS,
    Batch,
    DomainData,
    DomainInformedERM,
    Fishr,
    accuracies,
    fit_domain,
    gradient_variances,
    moment_distance,
)
from tests.data.common import generator

FLAT = {"shape": (5,), "classes": 4, "domains": 3, "network": {"width": 16}}


def batch(domains: int = 3, seed: int = 1) -> Batch:
    x = torch.randn(8 * domains, 5, generator=generator(seed))
    return Batch(x, torch.arange(len(x)) % 4, torch.arange(len(x)) % domains)


def test_the_distance_of_moments_is_zero_for_equal_ones_and_their_difference_otherwise():
    """-a has the covariance of a and the opposite mean; 2 a + 1 four times the covariance."""
    a = torch.randn(50, 3, generator=generator(), dtype=torch.float64) + 1.0
    assert moment_distance(a, a[torch.randperm(50, generator=generator())]) < 1e-28
    assert moment_distance(a, -a, means=False) < 1e-28
    assert moment_distance(a, -a).item() == pytest.approx(4 * a.mean(0).square().mean().item())
    squares = a.T.cov().square()
    assert moment_distance(a, 2 * a + 1, means=False).item() == pytest.approx(9 * squares.mean().item())
    published = (3 * a.T.cov()).norm() ** 2 / (4 * 3**2)  # squared Frobenius norm over 4 d^2
    assert moment_distance(a, 2 * a + 1, means=False).item() == pytest.approx(4 * published.item())


def test_coral_is_the_mean_over_pairs_of_domains():
    model, items = CORAL(**FLAT, weight=3.0, generator=generator()), batch()
    z = [model.features(items.x[items.d == domain]) for domain in range(3)]
    pairs = [moment_distance(z[i], z[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    terms = model.losses(items, 0.0, generator())
    assert terms["penalty"].item() == pytest.approx(sum(pairs).item() / 3, rel=1e-5)
    assert terms["objective"].item() == pytest.approx((terms["class"] + 3.0 * terms["penalty"]).item(), rel=1e-5)


@pytest.mark.parametrize(("kind", "error"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_gradient_variances_are_those_of_autograd_item_by_item(kind, error):
    head = nn.Linear(6, 4).to(kind)
    z = 2.0 + torch.randn(30, 6, generator=generator(), dtype=kind)
    y = torch.randint(4, (30,), generator=generator(1))
    each = []
    for item in range(30):
        loss = cross_entropy(head(z[item : item + 1]), y[item : item + 1])
        weight, bias = torch.autograd.grad(loss, (head.weight, head.bias))
        each.append(torch.cat([weight, bias[:, None]], 1))
    expected = torch.stack(each).var(0, correction=0)
    assert (gradient_variances(z, head(z), y) - expected).abs().max() < error


def test_fishr_compares_moving_averages():
    """The first step's are its own variances whatever the share of earlier steps; after the same step again they are
    1 + ema times as much, and the penalty is the square of that."""
    items = batch()
    first = {}
    for ema in (0.0, 0.95):
        model = Fishr(**FLAT, ema=ema, generator=generator())
        rows = [items.d == domain for domain in range(3)]
        z = model.features(items.x)
        own = torch.stack([gradient_variances(z[row], model.class_head(z[row]), items.y[row]) for row in rows])
        first[ema] = model.losses(items, 0.5, generator())["penalty"]
        assert first[ema].item() == pytest.approx((own - own.mean(0)).square().mean().item(), rel=1e-4)
        again = model.losses(items, 0.5, generator())["penalty"]
        assert again.item() == pytest.approx((1 + ema) ** 2 * first[ema].item(), rel=1e-4)
    same = batch(1)
    doubled = Batch(same.x.repeat(2, 1), same.y.repeat(2), torch.arange(16) // 8)
    assert Fishr(**FLAT, generator=generator()).losses(doubled, 0.5, generator())["penalty"].item() < 1e-14


@pytest.mark.parametrize("name", ["irm", "coral", "fishr"])
def test_without_its_penalty_a_model_is_its_baseline(name):
    y, d = torch.arange(120) % 3, torch.arange(120) // 3 % 2
    items = DomainData(torch.randn(120, 5, generator=generator(4)) + torch.eye(5)[y], y, d)
    trained = []
    for kind, settings in ((name, {"weight": 0.0, "weight_before": 0.0, "switch": 0.0}), ("balanced-erm", {})):
        model = MODELS[kind](**FLAT, **settings, generator=generator())
        fit = fit_domain(model, items, steps=20, generator=generator(1))
        trained.append(fit.model.class_logits(items.images(slice(None))))
    torch.testing.assert_close(*trained)


@pytest.mark.parametrize(("name", "weight"), [("coral", 10.0), ("fishr", 1000.0)])
def test_training_brings_together_what_the_penalty_is_of(name, weight):
    """Of domains that shift and scale the items, unseen ones differ less than after plain risk minimisation."""

    def items(seed: int) -> DomainData:
        y, d = torch.arange(600) % 3, torch.arange(600) // 3 % 2
        x = 2.0 * torch.eye(3)[y] + torch.randn(600, 3, generator=generator(seed))
        return DomainData(x * (1.0 + d[:, None]) + d[:, None], y, d)

    penalties = {}
    for of_weight in (0.0, weight):
        model = MODELS[name](
            shape=(3,), classes=3, domains=2, network={"width": 16}, weight=of_weight, switch=0.2,
            optimisation={"learning_rate": 5e-3, "batch": 64}, generator=generator(),
        )  # fmt: skip
        fit = fit_domain(model, items(1), items(2), steps=100, generator=generator(1), every=100)
        fresh, unseen = MODELS[name](**fit.model.config), items(3)  # without the averages of the training
        fresh.load_state_dict(fit.model.state_dict() | {key: value for key, value in fresh.named_buffers()})
        penalties[of_weight] = fresh.losses(Batch(unseen.images(slice(None)), unseen.y, unseen.d), 0.5, generator())
        assert fit.curve[-1]["validation/average"] > 0.6
    assert penalties[weight]["penalty"] < 0.3 * penalties[0.0]["penalty"]


DRIFTING = {"shape": (3,), "classes": 2, "network": {"width": 16}, "optimisation": {"learning_rate": 5e-3, "batch": 32}}


def drifting(means: list[float], seed: int, first: int = 0) -> DomainData:
    """The sign of the first coordinate gives the class where a domain's mean of the second is above 0, and its opposite
    where it is below; the second coordinate of one item has little information about that mean (noise of 3)."""
    d = torch.arange(400 * len(means)) % len(means)
    x = torch.randn(len(d), 3, generator=generator(seed)) * torch.tensor([1.0, 3.0, 1.0])
    mean = torch.tensor(means)[d]
    y = (x[:, 0] * mean > 0).long()
    return DomainData(x + torch.stack([0 * mean, mean, 0 * mean], 1), y, d + first)


def test_it_is_right_in_a_new_domain_where_the_best_classifier_drifts():
    """A classifier of single items is right at most with the probability that the second coordinate has its mean's
    sign, Phi(1.25 / 3) = .66; with the mean it can always be right.
    """
    train, new = drifting([-1.5, -1.0, 1.0, 1.5], 1), drifting([-1.25, 1.25], 2, first=4)
    right = {}
    for kind in (ERM, DomainInformedERM):
        fit = fit_domain(kind(**DRIFTING, domains=6, generator=generator()), train, steps=100, generator=generator(1))
        right[kind] = accuracies(fit.model, new).average.value
    assert right[ERM] < 0.72 and right[DomainInformedERM] > 0.9


def test_a_training_step_gives_each_item_the_mean_of_its_domain():
    items = drifting([-1.0, 0.5, 2.0], 3)
    model = DomainInformedERM(**DRIFTING, domains=3, generator=generator())
    step = Batch(items.images(slice(0, 60)), items.y[:60], items.d[:60])
    risks = [cross_entropy(model.class_logits(step.x[step.d == d]), step.y[step.d == d]) for d in range(3)]
    torch.testing.assert_close(model.losses(step, 0.0, generator())["class"], torch.stack(risks).mean())
    z = model.features(step.x[:20])
    expected = model.class_head(torch.cat([z, z.mean(0).expand(20, -1)], 1))
    torch.testing.assert_close(model.class_logits(step.x[:20]), expected)
