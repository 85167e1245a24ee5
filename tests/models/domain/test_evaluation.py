"""Accuracies by domain with their standard errors, and blocks of whole data sets."""

import math

import torch
from pytest import approx
from torch import nn
from torch.testing import assert_close

from infoscope.models.domain import (
    ERM,
    NVAE,
    DomainData,
    accuracies,
    extract_blocks,
    posteriors,
)
from tests.data.common import generator

SETTING = {"shape": (2,), "classes": 2, "domains": 2, "network": {"width": 4}}


class Swapped(nn.Linear):
    """The logit of each class is the other value: one that is not finite leaves the
    other as it is.
    """

    def forward(self, values):
        return values.flip(1)


def classifier():
    """Predicts class 1 where the first value is above the second."""
    model = ERM(**SETTING, blocks={"z_y": 2})
    model.encoder = nn.Identity()
    model.class_head = Swapped(2, 2)
    return model


VALUES = {"right": [1.0, 0.0], "wrong": [0.0, 1.0], "nan": [math.nan, 0.0]}


def items(answers, d, groups=None):
    """Items of class 1 that the classifier gets right or wrong, or for which it is not
    finite.
    """
    x = torch.tensor([VALUES[answer] for answer in answers])
    return DomainData(x, [1] * len(answers), d, groups)


def accuracies_of(answers, d, groups=None, **settings):
    return accuracies(classifier(), items(answers, d, groups), **settings)


def test_accuracies_by_hand():
    answers = ["right", "right", "right", "wrong", "right", "wrong", "wrong", "wrong"]
    result = accuracies_of(answers, [0] * 4 + [4] * 4, batch=3)
    first = result.by_domain[0]
    last = result.by_domain[4]
    overall = result.overall
    assert overall.n == overall.clusters == 8
    assert overall.value == result.average.value == 0.5
    assert first.value == 0.75
    assert last.value == 0.25
    assert result.worst_domain == 4
    assert result.worst == last
    assert result.by_slice == {(1, 0): first, (1, 4): last}
    assert result.worst_slice == (1, 4)
    assert overall.standard_error == approx(math.sqrt(0.5 * 0.5 / 7))
    assert first.standard_error == approx(math.sqrt(0.75 * 0.25 / 3))
    # independent domains of four items each: half the root of the sum of their
    # variances, with 8 items for 4 in n - 1
    within = 2 * 0.75 * 0.25 / 4
    error = 0.5 * math.sqrt(within * 8 / 7)
    assert result.average.standard_error == approx(error)


def test_standard_errors_account_for_groups():
    """Copies of an item add nothing: 4 groups of 3 copies have the standard error of 4
    items. Groups that have one item in each of two domains, right in the one where
    wrong in the other, have no error in the average.
    """
    answers = ["right", "wrong", "right", "right"]
    single = accuracies_of(answers, [0] * 4).overall
    copied = accuracies_of(answers * 3, [0] * 12, [5, 6, 7, 9] * 3).overall
    assert copied.standard_error == approx(single.standard_error)
    assert copied.clusters == 4
    assert copied.n == 12
    answers = ["right", "wrong", "wrong", "right"]
    opposite = accuracies_of(answers, [0, 0, 1, 1], [1, 2, 1, 2])
    assert opposite.average.standard_error == approx(0.0, abs=1e-12)
    one_group = accuracies_of(["right", "wrong"], [0, 0], [3, 3]).overall
    assert math.isnan(one_group.standard_error)
    assert one_group.clusters == 1
    assert one_group.value == 0.5


def test_a_model_predicts_one_domain_at_a_time(monkeypatch):
    """In batches of equal size, so that none is a remainder of a few items."""
    batches = []
    model = classifier()

    def class_logits(x):
        batches.append(x[:, 1].tolist())
        return torch.zeros(len(x), 2)

    monkeypatch.setattr(model, "class_logits", class_logits)
    d = torch.tensor([0, 1, 0, 0, 1, 0, 0])
    x = torch.stack([d, d], 1).float()
    data = DomainData(x, 0 * d, d)
    result = accuracies(model, data, batch=4)
    assert batches == [[0.0] * 3, [0.0] * 2, [1.0] * 2]
    assert result.overall.n == 7


def test_accuracy_with_predictions_that_are_not_finite_is_undefined():
    result = accuracies_of(["right", "nan", "right", "right"], [0, 0, 1, 1])
    assert math.isnan(result.overall.value)
    assert math.isnan(result.average.value)
    assert result.worst_domain == 0
    assert result.by_domain[1].value == 1.0


def test_unknown_classes_are_not_counted():
    data = items(["right", "wrong", "right"], [0, 0, 0])
    data.y[1] = -1
    labelled = accuracies_of(["right", "right"], [0, 0])
    assert accuracies(classifier(), data).overall == labelled.overall


def test_blocks_of_a_data_set():
    """The same from arrays in batches as from a data set at once; the mode is
    unchanged; every batch is reported.
    """
    model = NVAE(**SETTING, generator=generator()).train()
    x = torch.rand(7, 2, generator=generator(1))
    reported = []
    blocks = posteriors(
        model, x, batch=3, progress=lambda done, n: reported.append(done)
    )
    assert model.training
    assert reported == [3, 6, 7]
    data = DomainData(x.numpy(), [0] * 7, [0] * 7)
    means = extract_blocks(model, data)
    assert tuple(means) == tuple(blocks) == ("z_y", "z_x", "z_dy", "z_d")
    for name, values in means.items():
        assert not values.requires_grad
        assert_close(values, blocks[name].mean)


def test_draws_have_the_posteriors_mean_and_scale():
    """(draw - mean) / scale of 8,000 values is standard normal: mean and variance
    within 5 standard errors (false alarm below 1e-5); the same generator gives the same
    draws; a deterministic block is itself.
    """
    model = NVAE(**SETTING, generator=generator())
    x = torch.randn(250, 2, generator=generator(1))
    draws = extract_blocks(model, x, generator=generator(2))
    again = extract_blocks(model, x, batch=50, generator=generator(2))
    scaled = []
    for name, block in posteriors(model, x).items():
        torch.testing.assert_close(draws[name], again[name])
        scaled.append((draws[name] - block.mean) / block.scale)
    normal = torch.cat(scaled)
    error = 1 / math.sqrt(8000)
    assert normal.mean().item() == approx(0, abs=5 * error)
    error_of_variance = math.sqrt(2) * error
    assert normal.var().item() == approx(1, abs=5 * error_of_variance)
    deterministic = extract_blocks(classifier(), x, generator=generator())
    assert torch.equal(deterministic["z_y"], x)


def test_items_from_bytes():
    shares = torch.rand(4, 1, 3, 3, generator=generator())
    images = (255 * shares).byte()
    index = torch.tensor([2, 0])
    labels = [0, 1, 0, 1]
    data = DomainData(images, labels, labels)
    assert torch.equal(data.images(index), images[index] / 255)
