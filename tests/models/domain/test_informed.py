"""Risk minimisation that is told of the domain: where it must help, and how it is told."""

import torch
from torch.nn.functional import cross_entropy

from infoscope.models.domain import ERM, Batch, DomainData, DomainInformedERM, accuracies, fit_domain
from tests.data.common import generator

FLAT = {"shape": (3,), "classes": 2, "network": {"width": 16}, "optimisation": {"learning_rate": 5e-3, "batch": 32}}


def drifting(means: list[float], seed: int, first: int = 0) -> DomainData:
    """The sign of the first coordinate tells the class one way where a domain's mean of the second is above 0, and the
    other way where it is below; of one item the second coordinate tells little of the domain's mean (noise of 3)."""
    d = torch.arange(400 * len(means)) % len(means)
    x = torch.randn(len(d), 3, generator=generator(seed)) * torch.tensor([1.0, 3.0, 1.0])
    mean = torch.tensor(means)[d]
    y = (x[:, 0] * mean > 0).long()
    return DomainData(x + torch.stack([0 * mean, mean, 0 * mean], 1), y, d + first)


def test_it_is_right_in_a_new_domain_where_the_best_classifier_drifts():
    """Who sees one item alone is right at most with the probability that its second coordinate has its mean's sign,
    Phi(1.25 / 3) = .66; who knows the mean always could be."""
    train, new = drifting([-1.5, -1.0, 1.0, 1.5], 1), drifting([-1.25, 1.25], 2, first=4)
    right = {}
    for kind in (ERM, DomainInformedERM):
        fit = fit_domain(kind(**FLAT, domains=6, generator=generator()), train, steps=100, generator=generator(1))
        right[kind] = accuracies(fit.model, new).average.value
    assert right[ERM] < 0.72 and right[DomainInformedERM] > 0.9


def test_a_training_step_tells_each_item_of_its_own_domain_s_mean():
    items = drifting([-1.0, 0.5, 2.0], 3)
    model = DomainInformedERM(**FLAT, domains=3, generator=generator())
    step = Batch(items.images(slice(0, 60)), items.y[:60], items.d[:60])
    risks = [cross_entropy(model.class_logits(step.x[step.d == d]), step.y[step.d == d]) for d in range(3)]
    torch.testing.assert_close(model.losses(step, 0.0, generator())["class"], torch.stack(risks).mean())
    z = model.features(step.x[:20])
    expected = model.class_head(torch.cat([z, z.mean(0).expand(20, -1)], 1))
    torch.testing.assert_close(model.class_logits(step.x[:20]), expected)
