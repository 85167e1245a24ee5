"""Handwritten digits in domains: Rotated MNIST and CRMNIST.

Rotated MNIST has a domain for each angle, in the two protocols of the literature. In
CRMNIST (SamuelS0/NVAE, core/CRMNIST), each domain has a rotation and a colour, and a
digit has a colour that is a random function of class and domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Generator

from infoscope.checks import one_of, require_int, require_number
from infoscope.data.checks import check_size
from infoscope.data.domains.dataset import (
    DomainDataset,
    draw_evenly,
    permutation,
    uniform,
)
from infoscope.data.pools.loaders import digits, mnist
from infoscope.data.pools.pools import ImagePool
from infoscope.data.root import data_root
from infoscope.errors import OutOfRange, WrongShape, WrongType

_BUNDLED = "digits"
_ANGLES = (0, 15, 30, 45, 60, 75)  # degrees, by domain
_PROTOCOLS = {  # interpolation of Pillow, and which digits of MNIST
    "diva": (Image.Resampling.NEAREST, ("train",)),
    "domainbed": (Image.Resampling.BILINEAR, ("train", "test")),
}
_DOMAIN_COLOURS = ("blue", "green", "yellow", "cyan", "magenta", "orange")
_COLOURED = (  # classes by domain
    (0, 1, 2, 3, 4),
    (2, 3, 4, 5, 6),
    (4, 5, 6, 7, 8),
    (6, 7, 8, 9, 0),
    (8, 9, 0, 1, 2),
    (0, 2, 4, 6, 8),
)
# Factors of red, green and blue for each colour, in twentieths (whole numbers, so that
# no pixel depends on rounding): its own channels by 1.5 and the others by 0.5, orange
# by 1.5, 0.9 and 0.15.
_GAINS = {
    "grey": (20, 20, 20),
    "blue": (10, 10, 30),
    "green": (10, 30, 10),
    "yellow": (30, 30, 10),
    "cyan": (10, 30, 30),
    "magenta": (30, 10, 30),
    "orange": (30, 18, 3),
    "red": (30, 10, 10),
}


# --- Rotated MNIST -------------------------------------------------------------------------------------------------
def rotated_mnist(
    root: Path | str | None = None,
    protocol: str = "diva",
    *,
    base: ImagePool | str | None = None,
    per_class: int = 100,
    size: int | Sequence[int] = 28,
    generator: Generator | None = None,
) -> DomainDataset:
    """Grey digits turned counterclockwise, with a domain for each angle.

    Domains are named by the angle, such as "15"; groups are the digits. Accuracies of
    the two protocols are not comparable.

    Parameters
    ----------
    root : str or Path, optional
        Folder of MNIST; by default the folder that INFOSCOPE_DATA names.
    protocol : {"diva", "domainbed"}
        diva (Ilse et al. 2020, section 4.1): the same 1,000 digits, per_class of each
        class, at every angle, nearest neighbour. The paper trains and tests on the same
        digits: `split("75", None, generator, disjoint=False)`. domainbed (Gulrajani and
        Lopez-Paz 2021): all 70,000 digits, each at one angle only, bilinear. Its split:
        `split("75", 0.2, generator)`.
    base : ImagePool or "digits", optional
        Grey images, or the 1,797 bundled digits; by default MNIST in `root` or
        INFOSCOPE_DATA, else the bundled digits.
    per_class : int
        Digits of each class with the protocol diva.
    size : int or sequence of int
        Side, or height and width, in pixels, to which digits are brought before they
        are turned.
    generator : torch.Generator, optional
        Random numbers; by default seeded with 0.

    Returns
    -------
    DomainDataset
        Six domains.

    Raises
    ------
    UnknownName, WrongType, WrongShape, OutOfRange
        If an argument is not as stated, or a class has too few digits.
    FileNotFoundError
        If the folder does not have MNIST.

    Examples
    --------
    >>> rotated_mnist(base="digits", per_class=2)
    DomainDataset('rotated-mnist (diva) of digits', 120 items (1, 28, 28), 10 classes, 6 domains, 20 groups)
    """
    resample, splits = _PROTOCOLS[one_of("protocol", protocol, _PROTOCOLS)]
    generator = Generator().manual_seed(0) if generator is None else generator
    digits, labels, name = base_digits(base, root, splits, size)
    domains = len(_ANGLES)
    if protocol == "diva":
        by_domain = [_of_each_class(labels, per_class, generator)] * domains
    else:
        order = permutation(len(labels), generator)
        by_domain = [np.sort(order[first::domains]) for first in range(domains)]
    images = []
    for rows, angle in zip(by_domain, _ANGLES):
        for image in digits[rows]:
            turned = Image.fromarray(image).rotate(angle, resample)
            images.append(np.asarray(turned))
    groups = np.concatenate(by_domain)
    classes, codes = np.unique(labels, return_inverse=True)
    return DomainDataset.of_arrays(
        np.stack(images),
        codes[groups],
        np.repeat(np.arange(domains), list(map(len, by_domain))),
        groups,
        class_names=tuple(map(str, classes.tolist())),
        domain_names=tuple(map(str, _ANGLES)),
        name=f"rotated-mnist ({protocol}) of {name}",
        synthetic=isinstance(base, ImagePool) and base.synthetic,
    )


def _of_each_class(
    labels: np.ndarray, per_class: int, generator: Generator
) -> np.ndarray:
    """Positions of per_class digits of each class, in rising order."""
    require_int("per_class", per_class)
    order = permutation(len(labels), generator)
    classes, counts = np.unique(labels, return_counts=True)
    fewest = counts.min()
    if per_class > fewest:
        raise OutOfRange(
            f"per_class must be at most {fewest}, the digits of the rarest class, got "
            f"{per_class}."
        )
    rows = [order[labels[order] == label][:per_class] for label in classes]
    return np.sort(np.concatenate(rows))


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
        for code in np.unique(domain):
            here = np.flatnonzero(domain == code)
            upright = self.pixels[self.base[rows[here]]]
            grey[here, 0] = upright[:, self.turns[code]]
        gains = self.gains[self.colour[rows]][:, :, None]
        images = np.minimum(grey * gains // 20, 255).astype(np.uint8)
        return torch.from_numpy(images).view(len(rows), 3, *self.size)


def crmnist(
    root: Path | str | None = None,
    *,
    base: ImagePool | str | None = None,
    p: float = 0.5,
    count: int | None = None,
    size: int | Sequence[int] = 28,
    generator: Generator | None = None,
) -> DomainDataset:
    """Every digit in six domains, each with one rotation and one colour.

    Groups are the digits; I(Y;D) = 0 exactly. In domain i a digit of a class in its
    subset has the domain's colour with probability p; a 7, in the domains whose subset
    lacks it, is red with probability p; all others are grey. Rotated by 15 i degrees
    counterclockwise, nearest neighbour. RGB images are rendered on demand; `in_memory`
    keeps them.

    Parameters
    ----------
    root : str or Path, optional
        Folder of MNIST; by default the folder that INFOSCOPE_DATA names.
    base : ImagePool or "digits", optional
        Grey images, or the 1,797 bundled digits; by default MNIST in `root` or
        INFOSCOPE_DATA, else the bundled digits.
    p : float
        Probability of a colour.
    count : int, optional
        Number of digits to draw, spread evenly over the classes; by default all.
    size : int or sequence of int
        Side, or height and width, in pixels, to which digits are brought (bicubic)
        before colour and rotation.
    generator : torch.Generator, optional
        Random numbers; by default seeded with 0.

    Returns
    -------
    DomainDataset
        `extra["colour"]` has codes into extra_names["colour"]: grey, the colours of the
        domains, red.

    Raises
    ------
    WrongType, WrongShape, OutOfRange
        If an argument is not as stated.
    FileNotFoundError
        If the folder does not have MNIST.

    Examples
    --------
    >>> crmnist(base="digits", count=20)
    DomainDataset('crmnist of digits, 20 digits', 120 items (3, 28, 28), 10 classes, 6 domains, 20 groups)
    """
    generator = Generator().manual_seed(0) if generator is None else generator
    digits, labels, name = base_digits(base, root, ("train",), size)
    require_number("p", p, most=1)
    rows = _drawn(labels, count, generator)
    n = len(rows)
    domains = len(_ANGLES)
    digit = np.tile(rows, domains)
    d = np.repeat(np.arange(domains), n)
    classes, codes = np.unique(labels, return_inverse=True)
    y = codes[digit]
    colours = tuple(_GAINS)
    if_coloured = np.zeros((len(classes), domains), int)
    # unless the domain has a colour for class 7
    if_coloured[classes == 7] = colours.index("red")
    for domain, subset in enumerate(_COLOURED):
        if_coloured[np.isin(classes, subset), domain] = domain + 1
    coloured = uniform(len(digit), generator) < p
    colour = np.where(coloured, if_coloured[y, d], 0)
    height, width = digits.shape[1:]
    pixels = digits.reshape(len(digits), -1)
    source = _ColouredDigits(
        np.pad(pixels, ((0, 0), (0, 1))),
        digit,
        d,
        colour,
        np.stack([source_pixels(height, width, angle) for angle in _ANGLES]),
        np.array(list(_GAINS.values()), np.uint16),
        (height, width),
    )
    return DomainDataset(
        source=source,
        rows=np.arange(len(digit)),
        y=y,
        d=d,
        groups=digit,
        class_names=tuple(map(str, classes.tolist())),
        domain_names=tuple(
            f"{angle} {colour}" for angle, colour in zip(_ANGLES, _DOMAIN_COLOURS)
        ),
        image_shape=(3, height, width),
        name=f"crmnist of {name}" + ("" if count is None else f", {n} digits"),
        extra={"colour": colour},
        extra_names={"colour": colours},
        synthetic=isinstance(base, ImagePool) and base.synthetic,
    )


def _drawn(labels: np.ndarray, count: int | None, generator: Generator) -> np.ndarray:
    """Rising positions of `count` digits, spread evenly over the classes; None: all."""
    if count is None:
        return np.arange(len(labels))
    count = require_int("count", count)
    if count > len(labels):
        raise OutOfRange(
            f"count must be at most {len(labels)}, the number of digits there are, "
            f"got {count}."
        )
    return np.flatnonzero(draw_evenly(labels, count / len(labels), generator))


# --- digits --------------------------------------------------------------------------------------------------------
def base_digits(
    base: ImagePool | str | None,
    root: Path | str | None,
    splits: Sequence[str],
    size: int | Sequence[int],
) -> tuple[np.ndarray, np.ndarray, str]:
    """Grey images uint8 [n, height, width], their labels int64 [n], and the pool's name.

    `base` is as in `crmnist`. WrongShape for a pool that is not grey, WrongType for
    another base, FileNotFoundError as in `mnist`.
    """
    if isinstance(base, ImagePool):
        pools = [base]
    elif base not in (None, _BUNDLED):
        raise WrongType(
            f"base must be an ImagePool, {_BUNDLED!r} or None, got {base!r}."
        )
    elif base == _BUNDLED or data_root(root) is None:
        pool = digits()  # in a black frame, which no rotation cuts
        framed = torch.nn.functional.pad(pool.images, (2, 2, 2, 2))
        pools = [replace(pool, images=framed)]
    else:
        pools = [mnist(split, root) for split in splits]
    height, width = check_size(size)
    images = []
    for pool in pools:
        grey = pool.images
        if grey.ndim != 3:
            raise WrongShape(
                f"base must hold grey images [n, h, w], got images {list(grey.shape)}."
            )
        if grey.shape[1:] != (height, width):
            grey = pool.resized(height, width)[:, 0]
        images.append(grey)
    pixels = torch.cat(images).cpu().numpy()
    labels = torch.cat([pool.labels for pool in pools]).cpu().numpy()
    name = "+".join(pool.name for pool in pools)
    return pixels, labels, name


def source_pixels(height: int, width: int, degrees: float) -> np.ndarray:
    """Source of each pixel in Pillow's nearest-neighbour rotation; -1 for black.

    int64 [height * width].
    """
    numbers = np.arange(1, height * width + 1, dtype=np.int32).reshape(height, width)
    turned = Image.fromarray(numbers).rotate(degrees, Image.Resampling.NEAREST)
    return np.asarray(turned).ravel().astype(np.int64) - 1
