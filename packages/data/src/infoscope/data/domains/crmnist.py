"""CRMNIST: handwritten digits, coloured and rotated by domain (SamuelS0/NVAE, core/CRMNIST).

The colour is a random function of class and domain together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from infoscope.checks import one_of, require_int, require_number
from infoscope.data.domains.dataset import DomainDataset
from infoscope.data.domains.digits import base_digits, check_angles, source_pixels
from infoscope.data.domains.split import draw_evenly, permutation, uniform
from infoscope.data.pools.pools import ImagePool
from infoscope.errors import OutOfRange, UnknownName, WrongLength

_ROTATIONS = (0, 15, 30, 45, 60, 75)  # degrees
_DOMAIN_COLOURS = ("blue", "green", "yellow", "cyan", "magenta", "orange")
_SUBSETS = (
    (0, 1, 2, 3, 4),
    (2, 3, 4, 5, 6),
    (4, 5, 6, 7, 8),
    (6, 7, 8, 9, 0),
    (8, 9, 0, 1, 2),
    (0, 2, 4, 6, 8),
)
_RED_CLASS = 7
_GREY, _RED = "grey", "red"
# What each colour multiplies red, green and blue by, in twentieths (whole numbers, so that no pixel depends on
# rounding): its own channels by 1.5 and the others by 0.5, orange by 1.5, 0.9 and 0.15.
_GAINS = {
    _GREY: (20, 20, 20),
    _RED: (30, 10, 10),
    "green": (10, 30, 10),
    "blue": (10, 10, 30),
    "yellow": (30, 30, 10),
    "cyan": (10, 30, 30),
    "magenta": (30, 10, 30),
    "orange": (30, 18, 3),
}


@dataclass(frozen=True, eq=False)
class _ColouredDigits:
    """Renders digits on demand: coloured, then turned.

    pixels: uint8 [n, h * w + 1], the last one black; base, domain, colour: int64 [rows]; turns: int64 [domains, h * w],
    the source of each pixel, -1 for black; gains: uint16 [colours, 3], in twentieths; size: (h, w).
    """

    pixels: np.ndarray
    base: np.ndarray
    domain: np.ndarray
    colour: np.ndarray
    turns: np.ndarray
    gains: np.ndarray
    size: tuple[int, int]

    def __call__(self, rows: np.ndarray) -> torch.Tensor:
        grey = np.empty((len(rows), 1, self.turns.shape[1]), np.uint8)
        domain = self.domain[rows]
        for one in np.unique(domain):
            here = np.flatnonzero(domain == one)
            grey[here, 0] = self.pixels[self.base[rows[here]]][:, self.turns[one]]
        gains = self.gains[self.colour[rows]][:, :, None]
        images = np.minimum(grey * gains // 20, 255).astype(np.uint8)
        return torch.from_numpy(images).view(len(rows), 3, *self.size)


def crmnist(
    root: Path | str | None = None,
    *,
    base: ImagePool | str | None = None,
    rotations: Sequence[float] = _ROTATIONS,
    colours: Sequence[str] = _DOMAIN_COLOURS,
    subsets: Sequence[Sequence[int]] = _SUBSETS,
    red_class: int | None = _RED_CLASS,
    p: float = 0.5,
    count: int | None = None,
    size: int | Sequence[int] = 28,
    every_domain: bool = True,
    generator: torch.Generator | None = None,
) -> DomainDataset:
    """Digits in domains, each with one rotation and one colour; the defaults are the published setting.

    In domain i a digit of a class in subsets[i] has colours[i] with probability p; a digit of red_class, in the domains
    whose subset lacks it, is red with probability p (red_class None: never); all others are grey. A colour multiplies
    its channels by 1.5 and the others by 0.5 (orange: 1.5, 0.9, 0.15). Rotation by rotations[i] degrees
    counterclockwise, nearest neighbour. The RGB images are rendered on demand; `in_memory` keeps them.

    base          a pool of grey images, or "digits", the 1,797 bundled ones; None: MNIST's training set in `root` or
                  INFOSCOPE_DATA, else the bundled ones. Brought to `size` (bicubic) before colour and rotation
    count         how many digits to draw, spread evenly over the classes; None: all
    every_domain  True, as published: each digit is in every domain, so I(Y;D) = 0 exactly, and groups (the digit's
                  number) must stay together. False: each digit is in one domain, classes balanced
    generator     None: seeded with 0

    `extra["colour"]` codes into extra_names["colour"]: 0 grey, the colours of the domains, red. ValueError for settings
    of unequal length, an unknown colour or class, p outside [0, 1], or more digits than there are; FileNotFoundError
    when MNIST is not in the folder.
    """
    generator = torch.Generator().manual_seed(0) if generator is None else generator
    digits, labels, name = base_digits(base, root, ("train",), size)
    degrees = check_angles("rotations", rotations)
    classes = np.unique(labels)
    _check_setting(degrees, colours, subsets, red_class, p, set(classes.tolist()))
    kept = _drawn(labels, count, generator)
    n, domains = len(kept), len(degrees)
    if every_domain:
        digit, d = np.tile(kept, domains), np.repeat(np.arange(domains), n)
    else:
        digit, d = kept, _one_domain_each(labels[kept], domains, generator)
    y = labels[digit]
    colour_names = tuple(dict.fromkeys((_GREY, *colours, *(() if red_class is None else (_RED,)))))
    chance = uniform(len(digit), generator)
    if_coloured = _colour_by_class_and_domain(classes, colours, subsets, red_class, colour_names)
    colour = np.where(chance < p, if_coloured[np.searchsorted(classes, y), d], 0)
    height, width = digits.shape[1:]
    source = _ColouredDigits(
        np.pad(digits.reshape(len(digits), -1), ((0, 0), (0, 1))),
        digit,
        d,
        colour,
        np.stack([source_pixels(height, width, angle) for angle in degrees]),
        np.array([_GAINS[one] for one in colour_names], np.uint16),
        (height, width),
    )
    return DomainDataset(
        source=source,
        rows=np.arange(len(digit)),
        y=np.searchsorted(classes, y),
        d=d,
        groups=digit,
        class_names=tuple(map(str, classes.tolist())),
        domain_names=tuple(f"{angle:g} {colour}" for angle, colour in zip(degrees, colours)),
        image_shape=(3, height, width),
        name=f"crmnist of {name}" + ("" if count is None else f", {n} digits"),
        extra={"colour": colour},
        extra_names={"colour": colour_names},
        synthetic=isinstance(base, ImagePool) and base.synthetic,
    )


def _colour_by_class_and_domain(
    classes: np.ndarray,
    colours: Sequence[str],
    subsets: Sequence[Sequence[int]],
    red_class: int | None,
    names: Sequence[str],
) -> np.ndarray:
    """The colour, int64 [classes, domains], of what is coloured at all: a code into names, 0 where nothing is."""
    codes = np.zeros((len(classes), len(colours)), np.int64)
    for domain, (colour, subset) in enumerate(zip(colours, subsets)):
        inside = np.isin(classes, tuple(subset))
        codes[inside, domain] = names.index(colour)
        if red_class is not None:
            codes[~inside & (classes == red_class), domain] = names.index(_RED)
    return codes


def _drawn(labels: np.ndarray, count: int | None, generator: torch.Generator) -> np.ndarray:
    """Positions of `count` digits in rising order, spread evenly over the classes; of all for None."""
    if count is None:
        return np.arange(len(labels))
    count = require_int("count", count)
    if count > len(labels):
        raise OutOfRange(f"count must be at most {len(labels)}, the number of digits there are, got {count}.")
    return np.flatnonzero(draw_evenly(labels, count / len(labels), generator))


def _one_domain_each(y: np.ndarray, domains: int, generator: torch.Generator) -> np.ndarray:
    """A domain for each digit, int64 [n]: those of a class go to the domains in turn, in random order."""
    order = np.lexsort((permutation(len(y), generator), y))
    d = np.empty(len(y), np.int64)
    d[order] = np.arange(len(y)) % domains
    return d


def _check_setting(
    degrees: tuple[float, ...],
    colours: Sequence[str],
    subsets: Sequence[Sequence[int]],
    red_class: int | None,
    p: float,
    classes: set[int],
) -> None:
    if not len(degrees) == len(colours) == len(subsets):
        raise WrongLength(
            f"subsets must be as many as rotations and colours, one for each domain, got {len(subsets)}, "
            f"{len(degrees)} and {len(colours)}."
        )
    for colour in colours:
        one_of("colours", colour, [one for one in _GAINS if one != _GREY])
    named = {one for subset in subsets for one in subset} | ({red_class} if red_class is not None else set())
    if not named <= classes:
        raise UnknownName(
            f"subsets and red_class must name classes of {sorted(classes)}, got {sorted(named - classes)}."
        )
    require_number("p", p, most=1)
