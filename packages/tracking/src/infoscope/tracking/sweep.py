"""The declaration of a sweep: its cells in named profiles, and how a pack of cells is
computed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import inspect
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from infoscope.errors import Conflict, OutOfRange, TooFew, UnknownName, WrongType
from infoscope.tracking.checks import (
    PARAM_LENGTH,
    TAG_LENGTH,
    entity_name,
    metric_name,
    plain_name,
    require_free_name,
    require_tags,
    require_text,
    shown,
)
from infoscope.tracking.datasets import DataSet
from infoscope.tracking.tags import DATA, TAKEN

Made = TypeVar("Made")


@dataclass(frozen=True)
class Cell:
    """A configuration and a seed: a frozen dataclass of plain values (see `canonical`)
    inherits from it.

    The cell does not have a field that is None; a search may suggest its value.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Training(Cell):
    ...     rate: float
    ...     seed: int
    ...     layers: int | None = None
    >>> Training(0.1, 0).values()
    {'rate': 0.1, 'seed': 0}
    """

    # fields that are recorded also where they are None
    none_is_a_value: ClassVar[Sequence[str]] = ()

    def values(self) -> dict[str, Any]:
        """The fields that this cell has, by name: those in its key and its record."""
        values = {}
        for name, value in _items(self):
            if value is not None or name in self.none_is_a_value:
                values[name] = value
        return values

    def replaced(self, values: Mapping[str, Any]) -> Self:
        """The cell with other values of these fields."""
        return replace(self, **values)


AnyCell = Cell | dict[str, Any]  # a small sweep may have dicts as cells
OneCell = TypeVar("OneCell", bound=AnyCell)


def _items(record: Any) -> Iterator[tuple[str, Any]]:
    """Name and value of every field of a dataclass."""
    for entry in dataclasses.fields(record):
        yield entry.name, getattr(record, entry.name)


def plain(cell: AnyCell) -> dict[str, Any]:
    """The values of a cell by name, as they are recorded."""
    return cell.values() if isinstance(cell, Cell) else cell


def with_values(cell: AnyCell, values: Mapping[str, Any]) -> AnyCell:
    """The cell with further values, or others."""
    return cell.replaced(values) if isinstance(cell, Cell) else {**cell, **values}


@dataclass(frozen=True)
class Profile:
    """Settings of a sweep: a frozen dataclass of numbers, strings, booleans and tuples
    of them inherits from it.
    """

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Name and value of every setting."""
        return _items(self)

    def override(self, texts: Mapping[str, str]) -> Self:
        """The profile with replaced settings; texts are parsed as the type of the
        setting ("0,1,2" for a tuple).
        """
        settings = dict(self)
        parsed = {}
        for name, text in texts.items():
            if name not in settings:
                raise UnknownName(
                    f"setting {name!r} must be one of {', '.join(settings)}, got "
                    f"{name}={text}"
                )
            parsed[name] = _parse(name, text, settings[name])
        return replace(self, **parsed)


def _parse(name: str, text: str, like: Any) -> Any:
    """The value of a setting in a text, of the type of another value."""
    if isinstance(like, tuple):
        parts = [part for part in text.split(",") if part]
        if not parts:
            raise TooFew(
                f"setting {name} must have at least one value, got {shown(text)}."
            )
        return tuple(_parse(name, part, like[0]) for part in parts)
    if isinstance(like, bool):
        if text.lower() not in ("true", "false"):
            raise WrongType(f"setting {name} must be true or false, got {text!r}.")
        return text.lower() == "true"
    try:
        value = type(like)(text)
    except ValueError:
        raise WrongType(
            f"setting {name} must be of type {type(like).__name__}, got {shown(text)}"
        ) from None
    if not isinstance(value, str) and not 0 <= value < math.inf:
        raise OutOfRange(
            f"setting {name} must be a finite number of at least 0, got {shown(text)}."
        )
    return value


@dataclass(frozen=True)
class Search:
    """Early stopping of the cells of a sweep by `report.progress(fraction,
    metric=...)`; with a space, a search.

    Parameters
    ----------
    metric, mode
        The metric in `report.progress`, and "min" or "max".
    scheduler
        Makes a new Ray Tune scheduler without its own metric, such as `asha` (its time
        is `fraction`).
    space
        profile -> name -> distribution, of optuna.distributions or ray.tune (uniform,
        loguniform, randint, choice); the sweep's `cells` then give exactly one cell,
        with the fixed values.
    trials
        Number of configurations, recorded ones included, or profile -> number; list the
        setting in `axes`.
    seed
        Seed of the suggestions.
    """

    metric: str
    mode: str
    scheduler: Callable[[], Any]
    space: Callable[[Any], Mapping[str, Any]] | None = None
    trials: int | Callable[[Any], int] = 20
    seed: int = 0

    def __post_init__(self) -> None:
        metric_name(self.metric)


def asha(grace: float = 0.1, reduction: float = 3) -> Any:
    """A scheduler of asynchronous successive halving (Li et al. 2020) over the fraction
    of a trial that is done.

    A restarted search compares only the trials since the restart.

    Parameters
    ----------
    grace
        Fraction of a trial from which on it may be stopped.
    reduction
        At every `reduction`-fold of `grace`, only the best 1/`reduction` of the trials
        that have reached it continue.
    """
    from ray.tune.schedulers import ASHAScheduler

    return ASHAScheduler(
        time_attr="fraction", grace_period=grace, max_t=1.0, reduction_factor=reduction
    )


@dataclass(frozen=True)
class Sweep:
    """The declaration of a sweep.

    Parameters
    ----------
    name
        Name of the MLflow experiment, a plain file name (ValueError otherwise).
    cells
        profile -> cells: each a `Cell`, or a flat dict of plain values (see
        `canonical`).
    trial
        (pack, report) -> None, runs and reports the cells of a pack; must be importable
        on the workers.
    profiles
        name -> instance of a subclass of `Profile`; at least `smoke`, `laptop`
        (default) and `paper`.
    resources
        Resources of a trial in Ray: `cpu`, and `gpu` (a fraction or whole number; 1 if
        missing).
    axes
        Settings that only select cells. A replaced setting that is no axis is a part of
        the label.
    pack_by
        Fields that the cells of a pack share, by device ("cpu", "gpu"); None: one cell
        per pack.
    data
        cell -> its `datasets.DataSet`s, the inputs of its run; their content is read on
        the worker.
    tags
        cell -> further tags of its run.
    choices
        setting -> valid values, or a check that raises ValueError.
    ranges
        Settings that consist of a lowest and a highest value.
    check
        cell -> None, raises ValueError for a cell that cannot be run, before anything
        starts.
    cost
        cell -> relative work; the costliest packs start first.
    search
        Early stopping of cells, or a search of configurations.
    version
        Version of the method; with a new version every cell is run again.
    """

    name: str
    cells: Callable[[Any], Iterable[AnyCell]]
    trial: Callable[[Pack[Any], Report], None]
    profiles: Mapping[str, Profile]
    resources: Mapping[str, float] = field(default_factory=lambda: {"cpu": 1})
    axes: Sequence[str] = ("seeds",)
    pack_by: Mapping[str, Sequence[str]] | None = None
    data: Callable[[Any], Sequence[DataSet]] = lambda cell: ()
    tags: Callable[[Any], Mapping[str, str]] = lambda cell: {}
    choices: Mapping[str, Sequence[str] | Callable[[str], Any]] = field(
        default_factory=dict
    )
    ranges: Sequence[str] = ()
    check: Callable[[Any], None] | None = None
    cost: Callable[[Any], float] = lambda cell: 1.0
    search: Search | None = None
    version: int = 1

    def __post_init__(self) -> None:
        plain_name("the name of a sweep", self.name)
        for name in self.profiles:
            plain_name("the name of a profile", name)

    @property
    def about(self) -> str:
        """The question of the sweep, with its explanation: the docstring of its module."""
        # several sweeps may have the same trial
        return inspect.getdoc(sys.modules[self.cells.__module__]) or ""

    @property
    def question(self) -> str:
        """The question of the sweep, on one line."""
        return " ".join(self.about.partition("\n\n")[0].split())

    def profile(
        self, name: str, overrides: Mapping[str, str] | None = None
    ) -> tuple[str, Profile]:
        """The label of a profile's cells and its settings. Raises ValueError for an
        unknown profile or setting.
        """
        if name not in self.profiles:
            raise UnknownName(
                f"profile of {self.name} must be one of {', '.join(self.profiles)}, "
                f"got {name!r}"
            )
        overrides = overrides or {}
        label = name
        for setting, text in sorted(overrides.items()):
            if setting not in self.axes:
                label += f" {setting}={text}"
        require_text("the label of the settings", label, TAG_LENGTH // 8)
        settings = self.profiles[name].override(overrides)
        for setting in overrides:
            self._check_setting(setting, getattr(settings, setting))
        return label, settings

    def _check_setting(self, name: str, value: Any) -> None:
        values = value if isinstance(value, tuple) else (value,)
        text = ",".join(map(str, values))
        if name in self.ranges:
            if len(values) != 2 or values[0] > values[1]:
                raise WrongType(
                    f"setting {name} must be a lowest and a highest value, as in 1,2, "
                    f"got {shown(text)}."
                )
        elif len(set(values)) < len(values):
            raise Conflict(
                f"setting {name} must have different values, got {shown(text)}"
            )
        valid = self.choices.get(name)
        if not valid:
            return
        for word in values:
            if callable(valid):
                valid(word)
            elif word not in valid:
                raise UnknownName(
                    f"setting {name} must be among {', '.join(valid)}, got "
                    f"{shown(word)}"
                )

    def plan(self, profile: Profile) -> dict[str, AnyCell]:
        """The checked cells of a profile by key. Raises ValueError for an invalid or
        repeated cell.
        """
        plan: dict[str, AnyCell] = {}
        for cell in self.cells(profile):
            if self.check is not None:
                self.check(cell)
            # after the check: a tag may need the data of the cell
            self.require_names(cell)
            key = self.key(cell)
            if key in plan:
                raise Conflict(
                    f"sweep {self.name} has the cell {plain(cell)} twice; cells must "
                    "differ in some value"
                )
            plan[key] = cell
        if not plan:
            raise TooFew(
                f"sweep {self.name} has no cells under these settings; give every "
                "axis at least one value"
            )
        return plan

    def require_names(self, cell: AnyCell) -> None:
        """Raises ValueError if a field of a cell, or a tag of its run, has a reserved
        name.
        """
        for name in plain(cell):
            require_free_name("the name of a cell's field", name)
        self.tags_of(cell)

    def key(self, cell: AnyCell) -> str:
        """The cell's identity: a hash of the sweep's name, its version and the cell's
        values.
        """
        identity = f"{self.name}|{self.version}|{canonical(cell)}"
        return hashlib.sha256(identity.encode()).hexdigest()[:16]

    def tags_of(self, cell: AnyCell) -> dict[str, str]:
        """Further tags of a cell's run, and the names of its data. Raises ValueError
        for invalid or reserved ones.
        """
        tags = {}
        datasets = self.data(cell)
        if datasets:
            names = dict.fromkeys(data.name for data in datasets)
            tags[DATA] = ", ".join(names)
        tags = require_tags(tags | dict(self.tags(cell)))
        for name in tags.keys() & TAKEN:
            raise ValueError(
                f"a tag of sweep {self.name} must not be {name!r}, a reserved name"
            )
        return tags

    def run_here(self, pack: Pack[Any], report: Report) -> None:
        """Computes one pack in this process, without Ray and MLflow. Raises TypeError if
        `report` is no `Report`.
        """
        missing = [
            name for name in REPORTED if not callable(getattr(report, name, None))
        ]
        if missing:
            raise TypeError(
                "report must be an infoscope.tracking.Report (inherit from it), got "
                f"{type(report).__name__} without "
                f"{', '.join(missing)}."
            )
        self.trial(pack, report)

    def packs(
        self, cells: Mapping[str, AnyCell], device: str
    ) -> list[dict[str, AnyCell]]:
        """The cells grouped into packs for a device ("cpu" or "gpu"), the costliest
        first.
        """
        shared = self.pack_by.get(device) if self.pack_by else None
        packs: dict[Any, dict[str, AnyCell]] = {}
        for key, cell in cells.items():
            group = key if shared is None else _values_of(cell, shared)
            packs.setdefault(group, {})[key] = cell
        return sorted(packs.values(), key=self.pack_cost, reverse=True)

    def pack_cost(self, pack: Mapping[str, AnyCell]) -> float:
        """The relative work of a pack."""
        return sum(map(self.cost, pack.values()))


@dataclass(frozen=True)
class Pack(Generic[OneCell]):
    """Cells that are computed together, and their device ("cpu" or "cuda"). Fields with
    a common value are attributes.
    """

    cells: tuple[OneCell, ...]
    device: str = "cpu"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        cells = [plain(cell) for cell in self.cells]
        values = [cell[name] for cell in cells if name in cell]
        if not values or any(value != values[0] for value in values):
            raise AttributeError(
                f"the cells of this pack have no common value of {name!r}"
            )
        return values[0]


class Report(Protocol):
    """The methods that `Sweep.trial` may call. A subclass overrides the methods it
    needs; the others do nothing.
    """

    def metrics(
        self, cell: AnyCell, values: Mapping[str, float], step: int = 0
    ) -> None:
        """Reports numbers of a cell at a step; of a repeated step the last value
        counts. Infinities become NaN.

        Raises ValueError for a name or step that MLflow would reject, the name of a
        field or a column of every run, and a value that is no number.
        """

    def curve(self, cell: AnyCell, values: Mapping[str, float], step: int) -> None:
        """Reports points of learning curves of a cell, some hundreds each. Raises
        ValueError like `metrics`.
        """

    def constants(self, cell: AnyCell, values: Mapping[str, float]) -> None:
        """Reports numbers known without training, such as exact values; columns of
        `runs`. Raises like `metrics`.
        """

    def table(self, cell: AnyCell, name: str, columns: Mapping[str, Any]) -> None:
        """Stores a table as the artifact NAME.parquet. Raises ValueError for an invalid
        name or columns.
        """

    def arrays(self, cell: AnyCell, name: str, arrays: Mapping[str, Any]) -> None:
        """Stores arrays as the artifact NAME.npz. TypeError for Python objects,
        ValueError for an invalid name.
        """

    def model(
        self,
        cells: Sequence[AnyCell],
        name: str,
        module: Any,
        example: Mapping[str, Any],
    ) -> None:
        """Logs a trained model of all cells that share it (see `models.write_model`);
        ValueError: invalid name.
        """

    def progress(self, fraction: float, **metrics: float) -> None:
        """Reports the fraction of the pack done, in [0, 1], in a search with its
        metric; it may then end the trial.

        Raises ValueError for a fraction outside of [0, 1], and if the metric of a
        search is missing or no number.
        """

    def member(self, cell: AnyCell) -> contextlib.AbstractContextManager[None]:
        """A context for the work on one cell of the pack: an exception inside fails
        this cell only.
        """
        return contextlib.nullcontext()

    def save(self, state: Callable[[], Mapping[str, Any]]) -> None:
        """Saves `state()`, tensors and plain values, for `restore`; at intervals, not
        at every call.
        """

    def restore(self) -> Mapping[str, Any] | None:
        """The state that an interrupted process last saved for this pack, or None. Call
        it before the first report.
        """


REPORTED = [name for name in vars(Report) if not name.startswith("_")]


def varying(cells: Iterable[AnyCell]) -> list[str]:
    """The fields in which cells differ, among the cells that have them."""
    texts: dict[str, set[str]] = {}
    for cell in cells:
        for name, value in plain(cell).items():
            different = texts.setdefault(name, set())
            if value is not None:
                different.add(text(value))
    return [name for name, different in texts.items() if len(different) > 1]


def names(cells: Mapping[str, AnyCell]) -> dict[str, str]:
    """A short name for every cell: the values in which cells differ, numbers with the
    name of the field.
    """
    fields = varying(cells.values())
    short = {key: short_name(cell, fields) for key, cell in cells.items()}
    if all(short.values()) and len(set(short.values())) == len(short):
        return short
    return {key: short_name(cell, plain(cell)) for key, cell in cells.items()}


def short_name(cell: AnyCell, fields: Iterable[str]) -> str:
    """The values of these fields, numbers with the name of the field."""
    values = plain(cell)
    words = []
    for name in fields:
        value = values.get(name)
        if value in ("", None):
            continue
        word = value if isinstance(value, str) else f"{name}={text(value)}"
        if word not in words:
            words.append(word)
    return " ".join(words)


def title(cell: AnyCell, space: Iterable[str]) -> str:
    """A short name of a suggested cell: the values of the searched fields."""
    values = plain(cell)
    words = []
    for name in space:
        value = values[name]
        short = f"{value:.3g}" if isinstance(value, float) else text(value)
        words.append(f"{name}={short}")
    return " ".join(words)


def text(value: Any) -> str:
    """A plain value as MLflow shows it."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)


def grid(make: Callable[..., Made] = dict, /, **axes: Any) -> list[Made]:
    """Cells with every combination of the values in lists; other values are the same in
    all cells.

    Parameters
    ----------
    make
        The class of the cells; without one they are dicts.
    **axes
        Values, or lists of values, of each field.

    Examples
    --------
    >>> grid(rate=0.1, seed=[0, 1])
    [{'rate': 0.1, 'seed': 0}, {'rate': 0.1, 'seed': 1}]
    """
    lists = {name: values for name, values in axes.items() if isinstance(values, list)}
    fixed = {name: value for name, value in axes.items() if name not in lists}
    cells = []
    for combination in itertools.product(*lists.values()):
        varied = dict(zip(lists, combination))
        cells.append(make(**fixed, **varied))
    return cells


def _values_of(cell: AnyCell, fields: Iterable[str]) -> tuple[str, ...]:
    values = plain(cell)
    return tuple(canonical({name: values.get(name)}) for name in fields)


def canonical(cell: AnyCell) -> str:
    """The cell as JSON with sorted keys. Raises ValueError for names or values that
    MLflow would reject or shorten.
    """
    values = plain(cell)
    for name, value in values.items():
        entity_name("the name of a cell's field", name)
        items = value if isinstance(value, tuple | list) else (value,)
        for item in items:
            if not isinstance(item, bool | int | float | str | None) or item != item:
                raise WrongType(
                    f"cell value {name} must be a number, string, boolean, None or a "
                    f"tuple of them, got {shown(value)}"
                )
        try:
            require_text(f"cell value {name}", text(value), PARAM_LENGTH)
        except ValueError as error:
            if "digits" in str(error):  # Python's own limit for writing an integer
                raise OutOfRange(f"cell value {name} must have fewer digits") from None
            raise
    return require_text(
        "a cell as JSON", json.dumps(values, sort_keys=True), TAG_LENGTH
    )
