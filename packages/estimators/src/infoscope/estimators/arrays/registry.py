"""Mutual information of two arrays: `estimate` by a method, `methods` lists the names."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from numbers import Real
from typing import Any, ClassVar, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import nearest, one_of
from infoscope.errors import Conflict, NoVariation, UnknownName, WrongType
from infoscope.estimators.arrays import (
    categories,
    classifiers,
    gaussian,
    neighbours,
    student,
)
from infoscope.estimators.arrays.neighbours import Ksg
from infoscope.estimators.arrays.protocol import (
    ANY,
    CATEGORIES,
    NUMBERS,
    TAKES,
    Described,
    Method,
)
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.columns import Discrete
from infoscope.estimators.diagnosis import diagnose
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.pairs import Pairs, as_pairs
from infoscope.estimators.reading.given import as_triples, read_given, with_p_value
from infoscope.estimators.reading.reader import C
from infoscope.estimators.reading.result import METHOD, Reading, read
from infoscope.estimators.result import Estimate, mean_of
from infoscope.estimators.variables import joint_codes
from infoscope.late import needs
from infoscope.notebook import InNotebook, as_html
from infoscope.notes import Note


@dataclass(frozen=True)
class ReadingMethod(Described):
    """A calibrated estimate from statistics of the sample.

    It is trained on simulated distributions.
    """

    name: ClassVar[str] = METHOD
    takes: ClassVar[str] = ANY
    use: ClassVar[str] = (
        "first, whatever the columns: its interval is for the true value"
    )
    cost: ClassVar[str] = "n² to 5,000 rows, then in parts; 1 s"
    source: ClassVar[str] = "infoscope; docs/results/reading.md"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Reading:
        return read_pairs(pairs, generator)


@dataclass(frozen=True)
class OwnFunction(Described):
    """A user's function as a method.

    The function takes x [n, c] and y [n, d], float64, and returns nats.

    resamples  half-samples, of whole groups, that the interval is from (`uncertainty.subsample`); 0: no interval
    """

    name: str
    function: Callable[[NDArray[np.float64], NDArray[np.float64]], float]
    resamples: int = 0

    takes: ClassVar[str] = NUMBERS
    use: ClassVar[str] = "your own"
    cost: ClassVar[str] = "not known"
    source: ClassVar[str] = "your own"
    least: ClassVar[Mapping[str, int]] = {"resamples": 0}

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        value = self._number(pairs, np.arange(pairs.n))
        if not self.resamples:
            notes = (NO_INTERVAL,) if pairs.groups is None else (NO_INTERVAL, NO_GROUPS)
            return Estimate(value, n=pairs.n, method=self.name, notes=notes)
        from infoscope.estimators.uncertainty.subsampling import half_samples, uncertain

        plan = half_samples(pairs.n, self.resamples, generator, pairs.groups)
        values = [
            self._number(pairs, np.flatnonzero(weights)) for weights in plan.weights.T
        ]
        return uncertain(
            value,
            self.name,
            (),
            f"{plan.scheme} ({plan.count})",
            np.array(values),
            plan,
        )

    def _number(self, pairs: Pairs, rows: np.ndarray) -> float:
        """The function's value on some rows, nats."""
        x = pairs.x.continuous[rows]
        y = pairs.y.continuous[rows]
        return as_number(self.function(x, y), self.name)


TWO_ANGLES = Note(
    "x and y are angles: the estimate is by ksg, and its interval is for the sampling "
    "error only, not calibrated.",
    "two angles",
)
NO_INTERVAL = Note(
    "The function gives no interval; resamples=100 adds one for the sampling error, "
    "by half-samples.",
    "no interval",
    "method",
)
NO_GROUPS = Note(
    "The function does not know the groups: it takes rows as independent.",
    "groups ignored",
    "method",
)


METHODS: dict[str, Described] = {
    method.name: method
    for method in (
        ReadingMethod(),
        *neighbours.METHODS,
        *gaussian.METHODS,
        *student.METHODS,
        *classifiers.METHODS,
        *categories.METHODS,
    )
}


@overload
def estimate(
    x: Any,
    y: Any,
    method: None = None,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    given: Any = None,
) -> Reading: ...


@overload
def estimate(
    x: Any,
    y: Any,
    method: str | Method | Callable[..., float] | None,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    **settings: Any,
) -> Estimate: ...


def estimate(
    x: Any,
    y: Any,
    method: str | Method | Callable[..., float] | None = None,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    given: Any = None,
    **settings: Any,
) -> Estimate:
    """I(x; y), nats, of n pairs, or I(x; y | given).

    The interval of the reading is for the true information; the interval of any other
    method is for the error of sampling rows alone. Fitted models are evaluated on
    held-out rows; nothing is clipped. Rows with missing values are left out, and
    counted in a note.

    Parameters
    ----------
    x, y : array, tensor, list, data frame or sparse matrix of shape [n] or [n, d]
        Typed by column (`column_types`).
    method : str, function or object, optional
        A name in `METHODS`, or of a bound (`BOUNDS`); a function of x [n, c] and y [n,
        d], float64, that returns nats (`OwnFunction`); an object with a `name` and
        `estimate(pairs, generator)`; "MODULE:NAME" of one of these. None: the reading
        (`infoscope.estimators.reading`), after `diagnose` has grouped copies and looked
        for series; for two angles the value and interval of ksg. Other methods take the
        rows as they are.
    groups : array of shape [n], optional
        Groups of dependent rows (a patient, a film). No group is split between training
        and held-out rows, and errors are computed from independent groups.
    generator : numpy.random.Generator, optional
        None: a fresh one with seed 0.
    given : array of shape [n] or [n, d], optional
        Conditions, each column with its own type; for the reading alone, with the
        p-value of `independence_test`.
    settings
        Of the method, such as `k=3` of "ksg".

    Returns
    -------
    Estimate
        nats; a `Reading` without a method.

    Raises
    ------
    InfoscopeError
        An unknown method or setting, types that the method does not take, other
        lengths, infinite values, nothing that varies, one row, one group.

    Examples
    --------
    >>> import numpy as np
    >>> from infoscope.estimators import estimate
    >>> generator = np.random.default_rng(0)
    >>> x = generator.normal(size=1000)
    >>> information = estimate(x, x + generator.normal(size=1000), "gaussian")
    >>> f"{information.bits.value:.2f} bits, of the true 0.50"
    '0.51 bits, of the true 0.50'
    """
    generator = generator_or_default(generator)
    if given is not None:
        if method is not None:
            raise Conflict(
                f"given must be left out with a method, got {method!r}: only the "
                "reading takes conditions."
            )
        as_method(METHOD, settings)
        triples = as_triples(x, y, given, groups)
        return with_p_value(read_given(triples, generator), triples)
    if method is None:
        as_method(METHOD, settings)
        diagnosis = diagnose(x, y, groups)
        return read_pairs(
            diagnosis.pairs, generator, series=diagnosis.serial is not None
        )
    pairs = as_pairs(x, y, groups, drop_missing=True)
    information = estimate_pairs(as_method(method, settings), pairs, generator)
    notes = dict.fromkeys((*pairs.notes, *information.notes))
    return replace(information, notes=tuple(notes))


def read_pairs(
    pairs: Pairs, generator: np.random.Generator, series: bool = False
) -> Reading:
    """The reading of checked pairs, nats.

    Two angles have the value and interval of ksg, because the reader was trained
    without circles.

    series: whether the rows follow one another, which `diagnose` finds out
    """
    reading = read(pairs, generator, series)
    if not (pairs.x.on_circles and pairs.y.on_circles):
        return reading
    ksg = Ksg().estimate(pairs, generator)
    interval = (max(ksg.low, 0.0), max(ksg.high, 0.0))
    return replace(
        reading,
        value=max(ksg.value, 0.0),
        standard_error=ksg.standard_error,
        method=ksg.method,
        interval=interval,
        grade=C,
        notes=(*reading.notes, TWO_ANGLES),
    )


def estimate_pairs(
    method: Method, pairs: Pairs, generator: np.random.Generator
) -> Estimate:
    """The estimate of a method on checked pairs, nats.

    InfoscopeError: the method does not apply; WrongType: it returned no number.
    """
    information = method.estimate(pairs, generator)
    if isinstance(information, Estimate):
        return information
    return Estimate(as_number(information, method.name), n=pairs.n, method=method.name)


def as_number(value: Any, name: str) -> float:
    """A number that a method returned, nats. WrongType: not a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise WrongType(
            f"method must return an Estimate or a number, got {type(value).__name__} "
            f"from {name}."
        )
    return float(value)


def as_method(
    method: str | Method | Callable[..., float],
    settings: Mapping[str, Any] | None = None,
) -> Method:
    """A method from a name, a function or an object, with some settings changed.

    ValueError for other values.
    """
    name = getattr(method, "__name__", type(method).__name__)
    if isinstance(method, str):
        name = method
        if ":" in name:
            method = _imported(name)
        else:
            method = METHODS.get(name) or _bound_method(name)
    if callable(method) and not isinstance(method, type | Method):
        method = OwnFunction(name, method)
    if isinstance(method, type) or not isinstance(method, Method):
        raise WrongType(
            "method must be a name (methods() lists them), a function of x and y, or "
            "an object with a name and "
            f"estimate(pairs, generator), got {method!r}."
        )
    if not settings:
        return method
    if not isinstance(method, Described):
        raise WrongType(
            f"settings must be given to {method.name} when it is made, got "
            f"{', '.join(settings)}."
        )
    return method.with_settings(settings)


def _imported(name: str) -> Any:
    """The object of a name "MODULE:NAME".

    UnknownName: no such module, or no such name in the module.
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UnknownName(
            f"method must be MODULE:NAME of what can be imported, got {name!r}: "
            f"{error}."
        ) from error


def _bound_method(name: str) -> Described:
    """Critics on the bound of this name.

    UnknownName: no such bound, or torch is not installed.
    """
    names = list(METHODS)
    more = ""
    try:
        # with torch, which takes seconds
        from infoscope.estimators.arrays.critics import CriticMethod
        from infoscope.estimators.neural.bounds import BOUNDS, is_bound

        if is_bound(name):
            return CriticMethod(name)
        names += BOUNDS
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        more = f"; any other method {needs(error.name)}"
    raise UnknownName(
        f"method must be one of {', '.join(names)}, got "
        f"{name!r}{more}{nearest(name, names)}"
    )


class MethodList(InNotebook, tuple[Described, ...]):
    """Methods, printed to fit a terminal; `table`, a data frame, adds cost and source."""

    @property
    def table(self) -> pd.DataFrame:
        rows = []
        for method in self:
            rows.append(
                (
                    method.name,
                    TAKES[method.takes],
                    method.use,
                    method.cost,
                    method.source,
                )
            )
        names = ["method", "takes", "when to use", "cost", "source"]
        return pd.DataFrame(rows, columns=names).set_index("method")

    def __repr__(self) -> str:
        terminal = shutil.get_terminal_size((100, 0)).columns
        width = max(80, min(terminal, 120))
        longest = max(len(method.name) for method in self)
        longest_takes = max(len(takes) for takes in TAKES)
        rows = [("method", "takes", "when to use")]
        rows += [(method.name, method.takes, method.use) for method in self]
        lines = []
        for name, takes, use in rows:
            start = f"{name:{longest}}  {takes:{longest_takes}}  "
            indent = " " * len(start)
            lines += textwrap.wrap(
                use, width, initial_indent=start, subsequent_indent=indent
            )
        lines.append("")
        lines += [f"{takes}: {meaning}" for takes, meaning in TAKES.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return as_html((), self.table)


def methods() -> MethodList:
    """The methods of `estimate`: what each takes and when to use it.

    The last row is for critics on any bound.
    """
    every = list(METHODS.values())
    try:
        from infoscope.estimators.arrays.critics import CriticMethod

        every.append(CriticMethod())
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
    return MethodList(every)


SHARE_NAMES = {
    "x": "share of H(x)",
    "y": "share of H(y)",
    "min": "share of min(H(x), H(y))",
    "joint": "share of H(x, y)",
}


def normalised(
    x: Any,
    y: Any,
    by: str = "min",
    method: str | Method | Callable[..., float] = "ksg",
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    **settings: Any,
) -> Estimate:
    """I(x; y) as a share of an entropy: arguments and errors as `estimate`.

    Entropies are by the method where it corrects counts, else of frequencies (low by
    about (values - 1) / (2 n) nats). The interval is for the ratio; nothing is clipped.

    Parameters
    ----------
    by : str
        "x" or "y": H(x) or H(y), the uncertainty coefficient (Theil 1970); "min": the
        smaller one, or the entropy of the categories if x or y are numbers; "joint":
        H(x, y), 1 less the distance of Rajski 1961.

    Returns
    -------
    Estimate
        A share, without unit.

    Raises
    ------
    ValueError
        As `estimate`; also numbers whose (differential) entropy would be the
        denominator.
    """
    one_of("by", by, SHARE_NAMES)
    pairs = as_pairs(x, y, groups, drop_missing=True)
    variables = {"x": pairs.x, "y": pairs.y}
    names = [by]
    if by in ("joint", "min"):
        names = ["x", "y"]
    if by == "min" and pairs.x.dim and not pairs.y.dim:
        names = ["y"]
    if by == "min" and pairs.y.dim and not pairs.x.dim:
        names = ["x"]
    for name in names:
        if variables[name].dim:
            raise Conflict(
                f"{name} must be categories to normalise by its entropy, got numbers: "
                "a differential entropy "
                "depends on the unit and may be 0 or negative."
            )
    categories_of = [variables[name].strata for name in names]
    if by == "joint":
        cells, _ = joint_codes(categories_of)
        categories_of = [cells]
    method = as_method(method, settings)
    smallest_entropy = min(
        entropy(codes, method, pairs.groups, generator) for codes in categories_of
    )
    if not smallest_entropy > 0:
        raise NoVariation(
            f"{' and '.join(names)} must take two values or more to normalise by its "
            "entropy, got one value."
        )
    information = estimate_pairs(method, pairs, generator_or_default(generator))
    information = replace(information, notes=(*pairs.notes, *information.notes))
    return information.share_of(smallest_entropy, SHARE_NAMES[by])


def entropy(
    codes: np.ndarray,
    method: Method,
    groups: np.ndarray | None,
    generator: np.random.Generator | None,
) -> Estimate:
    """The entropy of categories 0, 1, ... [n], nats, with its influence.

    It is computed by a method for categories, or by frequencies.
    """
    if isinstance(method, Ksg):
        return knn.entropy(Discrete(codes), groups=groups)
    if getattr(method, "takes", None) == CATEGORIES and codes.max() > 0:
        return estimate(Discrete(codes), Discrete(codes), method, groups, generator)
    shares = np.bincount(codes) / len(codes)
    return mean_of(-np.log(shares)[codes], groups)
