"""CRMNIST: handwritten digits, coloured and rotated by domain.

The data set of the NVAE experiments (SamuelS0/NVAE, core/CRMNIST): domain i turns every digit by one angle, and a
colour of its own marks, now and then, the digits of five classes. The colour is thus a random function of class and
domain together, which neither alone tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import numpy as np
import torch

from infoscope.checks import require_int
from infoscope.data.domains.dataset import DomainDataset
from infoscope.data.domains.digits import base_digits, check_angles, source_pixels
from infoscope.data.domains.split import draw_evenly, permutation, uniform
from infoscope.data.pools.pools import ImagePool
from infoscope.errors import InvalidInput, OutOfRange, UnknownName, WrongLength

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
    """Renders digits when they are asked for: coloured, then turned.

    pixels: uint8 [n, h * w + 1], the last one black; base, domain, colour: int64 [rows], of each row its digit, its
    domain and its colour; turns: int64 [domains, h * w], the pixel copied to each, -1 for black; gains: uint16
    [colours, 3], in twentieths; size: (h, w). Black stays black in every colour, so the turned grey pixels can be
    coloured: the same image.
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
    its channels by 1.5 and the others by 0.5 (orange: 1.5, 0.9, 0.15), clipped at white and rounded down to grey
    levels. Colour first, then rotation by rotations[i] degrees counterclockwise, nearest neighbour, black from outside,
    as Pillow does. The images are RGB, rendered when they are asked for; `in_memory` keeps them.

    Digits: `base`, a pool of grey images such as mnist("test"), or "digits", the 1,797 bundled ones in a black frame,
    8 x 8 pixels in 12 x 12; None: the training set of MNIST in `root` or the folder of INFOSCOPE_DATA, and the bundled
    ones where there is neither. They are brought to `size` (a side, or height and width), bicubic, before colour and
    rotation; `crmnist().resized(16)` shrinks the rendered images instead, which smooths the rotation. count: how many
    digits to draw, spread evenly over the classes; None: all.

    every_domain: each digit is in every domain, as published, so that I(Y;D) = 0 exactly and an image of the same digit
    is in every domain: groups, the number of the digit in the pool, must not be torn apart (the published code first
    split images at random, which leaks; it has since split by digit). False: each digit is in one domain, drawn so that
    classes are even to within one, as DomainBed does with RotatedMNIST.

    `extra["colour"]` codes into extra_names["colour"]: 0 grey, then the colours of the domains in their order, then
    red. The published labels are one-hot without grey (all zero). Domains are named by angle and colour, "75 orange".

    generator draws the digits, their domains and which are coloured (None: seeded with 0). Raises ValueError for
    settings of unequal length, an unknown colour or class, p outside [0, 1], or more digits than there are;
    FileNotFoundError when MNIST is not in the folder.
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
            f"rotations, colours and subsets must be as many, one of each for a domain, got {len(degrees)}, "
            f"{len(colours)} and {len(subsets)}."
        )
    for colour in colours:
        if colour not in _GAINS or colour == _GREY:
            raise InvalidInput(f"colours must be some of {[one for one in _GAINS if one != _GREY]}, got {colour!r}.")
    named = {one for subset in subsets for one in subset} | ({red_class} if red_class is not None else set())
    if not named <= classes:
        raise UnknownName(
            f"subsets and red_class must name classes of {sorted(classes)}, got {sorted(named - classes)}."
        )
    if not isinstance(p, Real) or not 0.0 <= p <= 1.0:
        raise OutOfRange(f"p must be a probability in [0, 1], got {p!r}.")
