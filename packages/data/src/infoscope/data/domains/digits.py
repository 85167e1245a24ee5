"""Handwritten digits in domains: Rotated MNIST, a domain for each angle, in the two protocols of the literature; and
CRMNIST, coloured and rotated by domain (SamuelS0/NVAE, core/CRMNIST), the colour a random function of class and domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from infoscope.checks import one_of, require_int, require_number
from infoscope.data.checks import check_size
from infoscope.data.domains.dataset import DomainDataset
from infoscope.data.domains.split import draw_evenly, permutation, uniform
from infoscope.data.pools.loaders import digits, mnist, root_or_default
from infoscope.data.pools.pools import ImagePool
from infoscope.errors import InvalidInput, MissingValues, OutOfRange, UnknownName, WrongLength, WrongShape, WrongType

_BUNDLED = "digits"
INTERPOLATIONS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}
_ANGLES = (0, 15, 30, 45, 60, 75)  # degrees
_INTERPOLATION = {"diva": "nearest", "domainbed": "bilinear"}
_SPLITS = {"diva": ("train",), "domainbed": ("train", "test")}
_DOMAIN_COLOURS = ("blue", "green", "yellow", "cyan", "magenta", "orange")
_SUBSETS = ((0, 1, 2, 3, 4), (2, 3, 4, 5, 6), (4, 5, 6, 7, 8), (6, 7, 8, 9, 0), (8, 9, 0, 1, 2), (0, 2, 4, 6, 8))
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


# --- Rotated MNIST -------------------------------------------------------------------------------------------------
def rotated_mnist(
    root: Path | str | None = None,
    protocol: str = "diva",
    *,
    base: ImagePool | str | None = None,
    angles: Sequence[float] = _ANGLES,
    per_class: int = 100,
    indices: Sequence[int] | None = None,
    interpolation: str | None = None,
    size: int | Sequence[int] = 28,
    generator: torch.Generator | None = None,
) -> DomainDataset:
    """Grey digits, which are the groups, turned counterclockwise, a domain for each angle (named by it, "15").

    protocol "diva" (Ilse et al. 2020, section 4.1): the same 1,000 digits, per_class of each class, at every angle,
    nearest neighbour; `indices` takes a published set of positions. The paper trains and tests on the same digits:
    `split("75", None, generator, disjoint=False)`.

    protocol "domainbed" (Gulrajani and Lopez-Paz 2021): all 70,000 digits, each at one angle only, bilinear. Its split:
    `split("75", 0.2, generator)`. Accuracies of the two protocols are not comparable.

    base and generator as in `crmnist`; size before the digits are turned; interpolation nearest, bilinear or bicubic
    (None: that of the protocol). ValueError for other arguments or indices, or too few digits of a class;
    FileNotFoundError when MNIST is not in the folder.
    """
    one_of("protocol", protocol, _SPLITS)
    interpolation = one_of("interpolation", interpolation or _INTERPOLATION[protocol], INTERPOLATIONS)
    generator = torch.Generator().manual_seed(0) if generator is None else generator
    degrees = check_angles("angles", angles)
    digits, labels, name = base_digits(base, root, _SPLITS[protocol], size)
    if protocol == "diva":
        chosen = _of_each_class(labels, per_class, generator) if indices is None else _checked(indices, len(labels))
        hands = [chosen] * len(degrees)
    elif indices is not None:
        raise InvalidInput("indices must be left out for the protocol 'domainbed', which takes every digit.")
    else:
        dealt = permutation(len(labels), generator)
        hands = [np.sort(dealt[first :: len(degrees)]) for first in range(len(degrees))]
    groups = np.concatenate(hands)
    images = np.concatenate([rotated(digits[hand], angle, interpolation) for hand, angle in zip(hands, degrees)])
    classes = np.unique(labels)
    return DomainDataset.of_arrays(
        images,
        np.searchsorted(classes, labels[groups]),
        np.repeat(np.arange(len(degrees)), [len(hand) for hand in hands]),
        groups,
        class_names=tuple(map(str, classes.tolist())),
        domain_names=tuple(f"{angle:g}" for angle in degrees),
        name=f"rotated-mnist ({protocol}) of {name}",
        synthetic=isinstance(base, ImagePool) and base.synthetic,
    )


def _of_each_class(labels: np.ndarray, per_class: int, generator: torch.Generator) -> np.ndarray:
    """Positions of per_class digits of each class, in rising order."""
    require_int("per_class", per_class)
    order = permutation(len(labels), generator)
    members = {label: order[labels[order] == label] for label in np.unique(labels).tolist()}
    fewest = min(map(len, members.values()))
    if per_class > fewest:
        raise OutOfRange(f"per_class must be at most {fewest}, the digits of the rarest class, got {per_class}.")
    return np.sort(np.concatenate([some[:per_class] for some in members.values()]))


def _checked(indices: Sequence[int], n: int) -> np.ndarray:
    chosen = np.asarray(indices)
    if chosen.ndim != 1 or not chosen.size or chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= n:
        raise OutOfRange(f"indices must be positions from 0 to {n - 1}, at least one, got {chosen!r}.")
    if len(np.unique(chosen)) < len(chosen):
        raise OutOfRange("indices must be distinct positions, but some occur more than once.")
    return chosen.astype(np.int64)


# --- CRMNIST -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _ColouredDigits:
    """Renders digits on demand: coloured, then turned."""

    pixels: np.ndarray  # uint8 [n, h * w + 1], the last one black
    base: np.ndarray  # as domain and colour int64 [rows]
    domain: np.ndarray
    colour: np.ndarray
    turns: np.ndarray  # int64 [domains, h * w], the source of each pixel, -1 for black
    gains: np.ndarray  # uint16 [colours, 3], in twentieths
    size: tuple[int, int]  # h, w

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
    rotations: Sequence[float] = _ANGLES,
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
    whose subset lacks it, is red with probability p (red_class None: never); all others are grey. Rotation by
    rotations[i] degrees counterclockwise, nearest neighbour. RGB images are rendered on demand; `in_memory` keeps them.

    base          a pool of grey images, or "digits", the 1,797 bundled ones; None: MNIST's training set in `root` or
                  INFOSCOPE_DATA, else the bundled ones. Brought to `size` (bicubic) before colour and rotation
    count         how many digits to draw, spread evenly over the classes; None: all
    every_domain  True, as published: each digit, a group, is in every domain, so I(Y;D) = 0 exactly. False: in one,
                  classes balanced
    generator     None: seeded with 0

    `extra["colour"]` codes into extra_names["colour"]: grey, the colours of the domains, red. ValueError for settings
    of unequal length or out of range, FileNotFoundError when MNIST is not in the folder.
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


# --- digits --------------------------------------------------------------------------------------------------------
def base_digits(
    base: ImagePool | str | None, root: Path | str | None, splits: Sequence[str], size: int | Sequence[int]
) -> tuple[np.ndarray, np.ndarray, str]:
    """Grey images uint8 [n, height, width], their labels int64 [n], and the pool's name; `base` as in `crmnist`.

    ValueError for a pool that is not grey and for another base, FileNotFoundError as `mnist`.
    """
    if isinstance(base, ImagePool):
        pools = [base]
    elif base not in (None, _BUNDLED):
        raise WrongType(f"base must be an ImagePool, {_BUNDLED!r} or None, got {base!r}.")
    elif base == _BUNDLED or root_or_default(root) is None:
        pools = [_bundled()]
    else:
        pools = [mnist(split, root) for split in splits]
    height, width = check_size(size)
    if any(pool.images.ndim != 3 for pool in pools):
        raise WrongShape(f"base must hold grey images [n, h, w], got images {list(pools[0].images.shape)}.")
    images = [
        pool.images if pool.images.shape[1:] == (height, width) else pool.resized(height, width)[:, 0] for pool in pools
    ]
    name = "+".join(dict.fromkeys(pool.name for pool in pools))
    return torch.cat(images).cpu().numpy(), torch.cat([pool.labels for pool in pools]).cpu().numpy(), name


def _bundled() -> ImagePool:
    """The bundled digits in a black frame of two pixels, 12 x 12: they fill their 8 x 8 pixels, and half the diagonal
    of those is 5.7, so that no rotation cuts anything off."""
    pool = digits()
    return replace(pool, images=torch.nn.functional.pad(pool.images, (2, 2, 2, 2)))


def rotated(images: np.ndarray, degrees: float, interpolation: str) -> np.ndarray:
    """Images uint8 [n, h, w] turned counterclockwise about their centre by Pillow, black from outside."""
    if degrees % 360 == 0:
        return images
    resample = INTERPOLATIONS[interpolation]
    return np.stack([np.asarray(Image.fromarray(image).rotate(degrees, resample)) for image in images])


def source_pixels(height: int, width: int, degrees: float) -> np.ndarray:
    """The pixel that Pillow's nearest-neighbour rotation copies to each pixel: int64 [height * width], -1 for black."""
    numbers = np.arange(1, height * width + 1, dtype=np.int32).reshape(height, width)
    return np.asarray(Image.fromarray(numbers).rotate(degrees, Image.Resampling.NEAREST)).ravel().astype(np.int64) - 1


def check_angles(argument: str, angles: Sequence[float]) -> tuple[float, ...]:
    """Returns the angles, degrees; ValueError unless they are finite numbers, at least one."""
    try:
        degrees = np.asarray(tuple(angles), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise WrongType(f"{argument} must be angles in degrees, got {angles!r}.") from error
    if degrees.ndim != 1 or not degrees.size or not np.isfinite(degrees).all():
        raise MissingValues(f"{argument} must be at least one finite angle in degrees, got {angles!r}.")
    return tuple(degrees.tolist())
