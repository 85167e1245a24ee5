"""Which items meet in image and text pairs, against the exact joint distribution.

The items of the tiny pools carry their own number, so that what was drawn can be read
off the pairs.
"""

import pytest
import torch
from scipy.stats import chisquare

from infoscope.data import EmbeddingPool, ImagePairs, ImagePool, TextPairs
from tests.data.common import generator

FALSE_ALARM = 1e-6
LABELS = torch.tensor([1, 0, 1, 1, 0, 1, 0, 1])
ITEMS = len(LABELS)


IMAGES = ImagePool(
    torch.arange(ITEMS, dtype=torch.uint8).view(-1, 1, 1), LABELS, "numbers"
)
TEXTS = EmbeddingPool(torch.arange(float(ITEMS)).view(-1, 1) / 255, LABELS, "numbers")
CROSSOVER = 0.15
PAIRS = {
    "images": ImagePairs(IMAGES, grid=(1, 3, 3), size=3, crossover=CROSSOVER),
    "text": TextPairs(TEXTS, 9, crossover=CROSSOVER),
}


@pytest.fixture(scope="module", params=PAIRS)
def drawn(request) -> tuple[torch.Tensor, torch.Tensor]:
    """The item numbers of 20,000 pairs, int64 [20000, 9] of x and of y."""
    source = PAIRS[request.param]
    values = torch.stack(source.sample(20_000, generator(5)))
    numbers = (255 * values).round().long()
    return tuple(numbers)


def p_value(codes: torch.Tensor, probabilities: torch.Tensor) -> float:
    """Pearson's chi-square of codes against probabilities, over those that can occur; 0
    if another one does.
    """
    counts = codes.flatten().bincount(minlength=probabilities.numel())
    probabilities = probabilities.flatten()
    possible = probabilities > 0
    if counts[~possible].any():
        return 0.0
    return chisquare(counts[possible], probabilities[possible] * counts.sum()).pvalue


def test_joint_distribution_of_the_items(drawn):
    """Chi-square over all pairs of items: a fair class, uniform items, another item of
    the class or any of the other class (class frequencies, flips and partners at once);
    false-alarm rate 1e-6.
    """
    x, y = drawn
    members = LABELS.bincount()[LABELS].double()
    is_same_class = (LABELS[:, None] == LABELS).double()
    is_partner = is_same_class - torch.eye(ITEMS)
    partner = (1 - CROSSOVER) * is_partner / (members - 1)
    flipped = CROSSOVER * (1 - is_same_class) / members
    of_x = 1 / (2 * members[:, None])
    assert p_value(x * ITEMS + y, of_x * (partner + flipped)) > FALSE_ALARM


def test_sources_are_independent(drawn):
    """Chi-square of (label, flip) of two sources, uniform labels and independent flips;
    false-alarm rate 1e-6.
    """
    x, y = (LABELS[variable] for variable in drawn)
    state = 2 * x + (x ^ y)
    of_state = torch.tensor([1 - CROSSOVER, CROSSOVER] * 2, dtype=torch.float64) / 2
    assert (
        p_value(4 * state[:, 2] + state[:, 7], torch.outer(of_state, of_state))
        > FALSE_ALARM
    )
