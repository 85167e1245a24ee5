"""Which items meet in image and text pairs, against the exact joint distribution.

The items of the tiny pools carry their own number, so that what was drawn can be read off the pairs.
"""

import pytest
import torch
from scipy.stats import chi2

from infoscope.data import ChannelPairs, EmbeddingPool, ImagePairs, ImagePool, TextPairs

FALSE_ALARM = 1e-6
LABELS = torch.tensor([1, 0, 1, 1, 0, 1, 0, 1])
ITEMS = len(LABELS)
SOURCES = 9
PAIRS = 20_000


def drawn(domain: str, crossover: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The item numbers of 20,000 pairs, int64 [20000, 9] of x and of y."""
    generator = torch.Generator().manual_seed(5)
    if domain == "images":
        pool = ImagePool(torch.arange(ITEMS, dtype=torch.uint8).view(-1, 1, 1), LABELS, "numbers")
        pairs = ImagePairs(pool, grid=(1, 3, 3), size=3, crossover=crossover).sample(PAIRS, generator)
        return tuple((255 * variable).round().long() for variable in pairs)
    pool = EmbeddingPool(torch.arange(float(ITEMS)).view(-1, 1), LABELS, "numbers")
    return tuple(variable.long() for variable in TextPairs(pool, SOURCES, crossover=crossover).sample(PAIRS, generator))


def joint_probabilities(crossover: float) -> torch.Tensor:
    """P(item of x, item of y): a fair class, uniform items, another item of the class or any of the other class."""
    count = LABELS.bincount()[LABELS].double()
    same = LABELS[:, None] == LABELS
    partner = (1 - crossover) * same * (1 - torch.eye(ITEMS)) / (count[:, None] - 1)
    other = crossover * ~same / count
    return (partner + other) / (2 * count[:, None])


def p_value(counts: torch.Tensor, probabilities: torch.Tensor) -> float:
    """Pearson's chi-square of counts against probabilities, over the cells that can occur."""
    possible = probabilities > 0
    expected = probabilities[possible] * counts.sum()
    statistic = ((counts[possible] - expected) ** 2 / expected).sum().item()
    return chi2.sf(statistic, int(possible.sum()) - 1)


@pytest.mark.parametrize("domain", ["images", "text"])
def test_joint_distribution_of_the_items(domain):
    """Chi-square over all pairs of items (class frequencies, flips and partners at once); false-alarm rate 1e-6."""
    crossover = 0.15
    x, y = drawn(domain, crossover)
    counts = (x * ITEMS + y).flatten().bincount(minlength=ITEMS**2).view(ITEMS, ITEMS).double()
    probabilities = joint_probabilities(crossover)
    assert probabilities.sum().item() == pytest.approx(1.0)
    assert counts[probabilities == 0].sum() == 0  # such as an item with itself
    assert p_value(counts, probabilities) > FALSE_ALARM


@pytest.mark.parametrize("domain", ["images", "text"])
def test_sources_are_independent(domain):
    """Chi-square of (label, flip) of two sources, uniform labels and independent flips; false-alarm rate 1e-6."""
    x, y = (LABELS[variable] for variable in drawn(domain, 0.15))
    state = 2 * x + (x ^ y)
    counts = (4 * state[:, 2] + state[:, 7]).bincount(minlength=16).double()
    one = torch.tensor([0.85, 0.15, 0.85, 0.15], dtype=torch.float64) / 2
    assert p_value(counts, torch.outer(one, one).flatten()) > FALSE_ALARM


def test_any_two_labels_serve_as_the_bit():
    """The lower label is 0 and the higher 1, whatever their names."""
    pool = EmbeddingPool(torch.tensor([[7.0], [3.0], [7.0], [3.0]]), torch.tensor([7, 3, 7, 3]), "named")
    x, y = TextPairs(pool, 50).sample(20, torch.Generator().manual_seed(0))
    bits, _ = ChannelPairs(50).sample(20, torch.Generator().manual_seed(0))
    assert torch.equal(x, y)
    assert torch.equal(x, 3 + 4 * bits)
