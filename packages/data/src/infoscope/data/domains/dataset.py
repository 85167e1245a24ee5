"""Items with a class, a domain and a group, for domain generalisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Generator, Tensor

from infoscope.checks import require_number
from infoscope.data.checks import check_size
from infoscope.data.domains.images import Images, ImagesInMemory, ResizedImages
from infoscope.errors import (
    InvalidInput,
    MissingValues,
    OutOfRange,
    TooFew,
    UnknownName,
    WrongLength,
    WrongShape,
    WrongType,
)

Index = Sequence[int] | slice | np.ndarray | Tensor
_IMAGES_AT_ONCE = 4096


@dataclass(frozen=True, eq=False, repr=False)
class DomainDataset:
    """N items, each of one class, from one domain, in one group of dependent items.

    A group is a base image, a slide or a patient.

    y, d         codes into class_names and domain_names, int64 [N]
    groups       int64 [N]; parts of a data set keep the numbers
    extra        further labels, name -> codes int64 [N] into extra_names[name]
    image_shape  (C, H, W), or (p,) for features
    name         recorded by runs; `synthetic` marks generated items
    """

    source: Images
    rows: np.ndarray  # which rows of the source the items are
    y: np.ndarray
    d: np.ndarray
    groups: np.ndarray
    class_names: tuple[str, ...]
    domain_names: tuple[str, ...]
    image_shape: tuple[int, ...]
    name: str
    extra: Mapping[str, np.ndarray] = field(default_factory=dict)
    extra_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    synthetic: bool = False

    @classmethod
    def of_arrays(
        cls,
        x: ArrayLike,
        y: ArrayLike,
        d: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        class_names: Sequence[str] | None = None,
        domain_names: Sequence[str] | None = None,
        name: str = "arrays",
        synthetic: bool = False,
    ) -> Self:
        """Data set of the caller's own items.

        Parameters
        ----------
        x : numpy.ndarray or torch.Tensor
            Images, uint8 or floats in [0, 1], [N, H, W] or [N, C, H, W]; or features,
            numbers [N, p].
        y, d : sequence
            Classes and domains, whole numbers or strings [N], coded in rising order, or
            codes into given names.
        groups : sequence, optional
            Whole numbers or strings [N]; by default every item is its own group.
        class_names, domain_names : sequence of str, optional
            What codes of y and of d mean.
        name : str
            Recorded by runs.
        synthetic : bool
            Marks generated items.

        Returns
        -------
        DomainDataset

        Raises
        ------
        InfoscopeError
            If an argument is not as stated, a value is not finite, or there is no item.

        Examples
        --------
        >>> DomainDataset.of_arrays(np.zeros((4, 8, 8)), y=[0, 1, 0, 1], d=["a", "a", "b", "b"])
        DomainDataset('arrays', 4 items (1, 8, 8), 2 classes, 2 domains, 4 groups)
        """
        values = _values(x)
        n = len(values)
        rows = np.arange(n)
        classes, class_names = coded("y", y, n, class_names)
        domains, domain_names = coded("d", d, n, domain_names)
        return cls(
            source=ImagesInMemory(values),
            rows=rows,
            y=classes,
            d=domains,
            groups=rows if groups is None else group_numbers(groups, n),
            class_names=class_names,
            domain_names=domain_names,
            image_shape=tuple(values.shape[1:]),
            name=name,
            synthetic=synthetic,
        )

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        classes = len(np.unique(self.y))
        domains = len(np.unique(self.d))
        groups = len(np.unique(self.groups))
        counts = f"{classes} classes, {domains} domains, {groups} groups"
        return (
            f"DomainDataset({self.name!r}, {len(self)} items {self.image_shape}, "
            f"{counts})"
        )

    def images(self, index: Index) -> Tensor:
        """Images, or features, of some items.

        Parameters
        ----------
        index : sequence of int, slice, numpy.ndarray or torch.Tensor
            Positions 0..N-1, a mask bool [N], or a slice.

        Returns
        -------
        torch.Tensor
            float32 [b, C, H, W] in [0, 1]; features float32 [b, p] as they are.

        Raises
        ------
        WrongShape
            If a position does not exist.
        """
        values = self.source(self.rows[self._positions(index)])
        if values.dtype == torch.uint8:
            return values.float().div_(255.0)
        return values

    def subset(self, index: Index, note: str | None = None) -> Self:
        """Some of the items.

        Parameters
        ----------
        index : sequence of int, slice, numpy.ndarray or torch.Tensor
            Positions 0..N-1, in the order wanted, a mask bool [N], or a slice.
        note : str, optional
            Extends the name; by default the numbers of items.

        Returns
        -------
        DomainDataset

        Raises
        ------
        WrongShape, TooFew
            If a position does not exist, or there is none.
        """
        places = self._positions(index)
        if not len(places):
            raise TooFew(
                f"index must choose at least one of the {len(self)} items of "
                f"{self.name!r}, got none."
            )
        note = note or f"({len(places)} of {len(self)})"
        return replace(
            self,
            rows=self.rows[places],
            y=self.y[places],
            d=self.d[places],
            groups=self.groups[places],
            extra={key: codes[places] for key, codes in self.extra.items()},
            name=f"{self.name} {note}",
        )

    def split(
        self,
        held_out: str | int | None,
        validation: float | None,
        generator: Generator,
        *,
        test: float = 0.2,
        disjoint: bool = True,
    ) -> DomainSplit:
        """Items to train on, to validate on and to test on, drawn by group.

        Parameters
        ----------
        held_out : str, int or None
            Test domain, by name or number; None: the test is in-domain.
        validation : float or None
            Fraction of the training groups, spread evenly over classes and domains;
            None: no validation.
        generator : torch.Generator
            Random numbers.
        test : float
            Tested fraction of the groups that are in the held-out domain and outside it
            (CRMNIST); items of one part in the domains of the other are not used.
        disjoint : bool
            False: all of the held-out domain is tested, as in DIVA, although its base
            images were trained on.

        Returns
        -------
        DomainSplit
            Training, validation (or None) and test.

        Raises
        ------
        UnknownName, WrongType, OutOfRange, TooFew
            If a domain has no items, a fraction is outside (0, 1), a part is empty, or
            training lacks a domain or class that exists outside the held-out domain.
        """
        where = "in-domain"
        but = ""
        if held_out is not None:
            held_out = self._domain(held_out)
            where = f"on {self.domain_names[held_out]}"
            but = f" without {self.domain_names[held_out]}"
        elif not disjoint:
            raise WrongType(
                "held_out must be a domain when disjoint is False, got None."
            )
        if validation is not None:
            require_number("validation", validation, most=1, ends=False)
        require_number("test", test, most=1, ends=False)
        parts = assign(
            self.y, self.d, self.groups, held_out, validation, test, disjoint, generator
        )
        self._check_training(parts.train, held_out)
        validated = None
        if parts.validation is not None:
            validated = self.subset(parts.validation, f"validation{but}")
        return DomainSplit(
            self.subset(parts.train, f"training{but}"),
            validated,
            self.subset(parts.test, f"test {where}"),
        )

    def resized(self, size: int | Sequence[int]) -> Self:
        """The same items with resized images: bicubic, antialiased, made on demand.

        Parameters
        ----------
        size : int or sequence of int
            Side, or height and width, in pixels.

        Returns
        -------
        DomainDataset

        Raises
        ------
        InvalidInput, OutOfRange
            If the items are features, or the size is not of positive whole numbers.
        """
        if len(self.image_shape) != 3:
            raise InvalidInput(
                f"size must be left out for features, as {self.name!r} has, got "
                f"{size!r}."
            )
        height, width = check_size(size)
        if (height, width) == self.image_shape[1:]:
            return self
        return replace(
            self,
            source=ResizedImages(self.source, (height, width)),
            image_shape=(self.image_shape[0], height, width),
            name=f"{self.name} at {height} x {width}",
        )

    def in_memory(self) -> Self:
        """The same items, with their images rendered or read once and kept in memory.

        They take N * C * H * W bytes (four times as many for floats), which pays off
        before training. A part of a data set keeps only its own images.
        """
        rows = np.arange(len(self))
        images = self.source(self.rows[:1]).new_empty(len(self), *self.image_shape)
        for start in range(0, len(self), _IMAGES_AT_ONCE):
            stop = start + _IMAGES_AT_ONCE
            images[start:stop] = self.source(self.rows[start:stop])
        return replace(self, source=ImagesInMemory(images), rows=rows)

    def _positions(self, index: Index) -> np.ndarray:
        """Positions int64 [b] of an index; WrongShape for a position outside 0..N-1."""
        n = len(self)
        if isinstance(index, slice):
            return np.arange(n)[index]
        chosen = as_array(index)
        if chosen.dtype == bool and chosen.shape == (n,):
            return np.flatnonzero(chosen)
        if not chosen.size and chosen.dtype != bool:
            chosen = chosen.astype(np.int64)
        is_whole = chosen.dtype.kind in "iu"
        if is_whole and chosen.ndim == 1 and ((chosen >= 0) & (chosen < n)).all():
            return chosen.astype(np.int64)
        got = f"{chosen.dtype} {list(chosen.shape)}"
        if is_whole and chosen.size:
            got += f" from {chosen.min()} to {chosen.max()}"
        raise WrongShape(
            f"index must be positions from 0 to {n - 1}, a mask of {n} values or a "
            f"slice, got {got}."
        )

    def _domain(self, domain: str | int) -> int:
        """The code of a domain with items, by name or number; UnknownName otherwise."""
        names = {code: self.domain_names[code] for code in np.unique(self.d).tolist()}
        codes = [code for code, name in names.items() if name == domain]
        is_number = isinstance(domain, Integral) and not isinstance(domain, bool)
        if not codes and is_number and domain in names:
            codes = [int(domain)]
        if len(codes) != 1:
            raise UnknownName(
                f"held_out must be one of the domains {names}, by number or name, got "
                f"{domain!r}."
            )
        return codes[0]

    def _check_training(self, train: np.ndarray, held_out: int | None) -> None:
        """TooFew unless training has every class and domain outside `held_out`."""
        outside = np.full(len(self), True) if held_out is None else self.d != held_out
        labels = {
            "class": (self.y, self.class_names),
            "domain": (self.d, self.domain_names),
        }
        for kind, (codes, names) in labels.items():
            lacking = np.setdiff1d(codes[outside], codes[train])
            if len(lacking):
                groups = len(np.unique(self.groups))
                raise TooFew(
                    f"validation and test must leave every {kind} in training, got "
                    "none of "
                    f"{groups} groups for {kind} {[names[code] for code in lacking]}."
                )


class DomainSplit(NamedTuple):
    """Parts of one data set; `validation` may be None."""

    train: DomainDataset
    validation: DomainDataset | None
    test: DomainDataset


def _values(x: ArrayLike) -> Tensor:
    """Images uint8 or float32 [N, C, H, W], or features float32 [N, p], all checked."""
    try:
        values = torch.as_tensor(x).detach().cpu()
    except (TypeError, ValueError, RuntimeError) as error:
        raise WrongType(
            f"x must be an array of images or features, got {type(x).__name__}."
        ) from error
    if (
        values.ndim not in (2, 3, 4)
        or not values.numel()
        or values.is_complex()
        or values.dtype == torch.bool
    ):
        layouts = "images [N, H, W] or [N, C, H, W], or features [N, p]"
        raise WrongShape(
            f"x must be {layouts}, got {values.dtype} {list(values.shape)}."
        )
    if values.is_floating_point() and not bool(values.isfinite().all()):
        bad = int((~values.flatten(1).isfinite().all(1)).sum())
        raise MissingValues(
            f"x must be finite, but {bad} of its {len(values)} items are not."
        )
    if values.ndim == 2:
        return values.float()
    if values.ndim == 4 and values.shape[1] > 4 >= values.shape[3]:
        raise WrongShape(
            "x must have its channels first, [N, C, H, W], got shape "
            f"{list(values.shape)}."
        )
    if values.dtype != torch.uint8:
        if not values.is_floating_point() or values.min() < 0.0 or values.max() > 1.0:
            low, high = (limit.item() for limit in values.double().aminmax())
            raise OutOfRange(
                f"x must be uint8 or floats in [0, 1], got {values.dtype} from "
                f"{low:g} to {high:g}."
            )
        values = values.float()
    if values.ndim == 3:
        return values[:, None]
    return values


def coded(
    argument: str, labels: ArrayLike, n: int, names: Sequence[str] | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Codes int64 [n] of labels, whole numbers or strings [n], and names of the codes.

    Codes follow the rising order of labels. With `names`, labels are codes already.
    WrongLength, which names `argument`, for other labels.
    """
    values = as_array(labels)
    if values.dtype == object and all(isinstance(value, str) for value in values.flat):
        values = values.astype(str)
    if values.dtype.kind not in "biuU" or values.shape != (n,):
        raise WrongLength(
            f"{argument} must be {n} whole numbers or strings, got {values.dtype} "
            f"{list(values.shape)}."
        )
    if names is None:
        distinct, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.int64), tuple(map(str, distinct.tolist()))
    if values.dtype.kind == "U" or values.min() < 0 or values.max() >= len(names):
        got = f"{values.min()} to {values.max()}"
        raise WrongLength(
            f"{argument} must be integers from 0 to {len(names) - 1}, indexing "
            f"`names`, got {got}."
        )
    return values.astype(np.int64), tuple(map(str, names))


def group_numbers(groups: ArrayLike, n: int) -> np.ndarray:
    """Numbers int64 [n] of groups: whole numbers as they are, strings in rising order."""
    codes, _ = coded("groups", groups, n)
    values = as_array(groups)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    return codes


def as_array(values: ArrayLike) -> np.ndarray:
    """Values of any kind as an array; a tensor may be on any device."""
    if isinstance(values, Tensor):
        return values.cpu().numpy()
    return np.asarray(values)


class _Assignment(NamedTuple):
    """Rising positions of the items of each part, int64; validation may be None."""

    train: np.ndarray
    validation: np.ndarray | None
    test: np.ndarray


def assign(
    y: np.ndarray,
    d: np.ndarray,
    groups: np.ndarray,
    held_out: int | None,
    validation: float | None,
    test: float,
    disjoint: bool,
    generator: Generator,
) -> _Assignment:
    """Parts of items of class y, domain d and group, int64 [n] each; TooFew if empty.

    The other parameters are as in `DomainDataset.split`.
    """
    if held_out is None:
        inside = np.ones(len(d), bool)  # items that may be tested
        outside = inside  # items that may be trained on
    else:
        inside = d == held_out
        outside = ~inside
    group, code = np.unique(groups, return_inverse=True)
    strata = _strata(y, d, code, len(group))
    in_test = np.zeros(len(group), bool)
    if disjoint:
        shared = np.intersect1d(code[inside], code[outside])
        in_test[shared] = draw_evenly(strata[shared], test, generator)
        only_inside = np.setdiff1d(code[inside], code[outside])
        in_test[only_inside] = True
        tested = inside & in_test[code]
    else:
        tested = inside
    trained = outside & ~in_test[code]
    parts = {"train": trained, "test": tested}
    if validation is not None:
        members = np.unique(code[trained])
        in_validation = np.zeros(len(group), bool)
        in_validation[members] = draw_evenly(strata[members], validation, generator)
        parts["train"] = trained & ~in_validation[code]
        parts["validation"] = trained & in_validation[code]
    for part, items in parts.items():
        if not items.any():
            raise TooFew(
                f"validation {validation!r} and test {test!r} must leave items in "
                "every part, "
                f"got none of {len(group)} groups for {part}."
            )
    positions = {part: np.flatnonzero(items) for part, items in parts.items()}
    return _Assignment(**{"validation": None, **positions})


def draw_evenly(
    strata: np.ndarray, fraction: float, generator: Generator
) -> np.ndarray:
    """Which members are drawn, bool [n]: a systematic sample over strata, int64 [n]."""
    n = len(strata)
    order = np.lexsort((permutation(n, generator), strata))
    start = uniform(1, generator)
    steps = np.floor(np.arange(n + 1) * fraction + start)
    drawn = np.empty(n, bool)
    drawn[order] = np.diff(steps) > 0
    return drawn


def permutation(n: int, generator: Generator) -> np.ndarray:
    """The numbers 0..n-1 in random order, int64 [n]."""
    order = torch.randperm(n, generator=generator, device=generator.device)
    return order.cpu().numpy()


def uniform(n: int, generator: Generator) -> np.ndarray:
    """Draws from [0, 1), float64 [n]."""
    device = generator.device
    draws = torch.rand(n, generator=generator, device=device, dtype=torch.float64)
    return draws.cpu().numpy()


def _strata(y: np.ndarray, d: np.ndarray, code: np.ndarray, n: int) -> np.ndarray:
    """Stratum of each of n groups; a stratum has groups of the same classes and domains."""
    present = np.zeros((n, y.max() + d.max() + 2), bool)
    present[code, y] = True
    present[code, y.max() + 1 + d] = True
    rows = np.packbits(present, axis=1)
    patterns = rows.view(np.dtype((np.void, rows.shape[1]))).ravel()
    _, strata = np.unique(patterns, return_inverse=True)
    return strata
