"""What a sweep is: cells (one configuration and one seed each), packed into trials, under named profiles."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from infoscope.errors import Conflict, OutOfRange, TooFew, UnknownName, WrongType
from infoscope.tracking.checks import (
    PARAM_LENGTH,
    TAG_LENGTH,
    entity_name,
    free_name,
    metric_name,
    plain_name,
    shown,
    stored_tags,
    stored_text,
)
from infoscope.tracking.datasets import DataSet, joined_names
from infoscope.tracking.tags import DATA, TAKEN

Cell = dict[str, Any]


class Profile:
    """Named settings of a sweep, read as attributes: `Profile(steps=200, seeds=(0, 1)).steps`."""

    def __init__(self, **settings: Any):
        self._settings = settings

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._settings:
            raise AttributeError(f"the profile has no setting {name!r}")
        return self._settings[name]

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Name and value of every setting; no method, whose name a setting could have."""
        return iter(self._settings.items())

    def override(self, texts: Mapping[str, str]) -> Profile:
        """The profile with settings replaced by text, parsed as the replaced type ("0,1,2" for a tuple)."""
        settings = dict(self._settings)
        for name, text in texts.items():
            if name not in settings:
                raise UnknownName(f"setting {name!r} must be one of {', '.join(settings)}, got {name}={text}")
            settings[name] = _parse(name, text, settings[name])
        return Profile(**settings)


def _parse(name: str, text: str, like: Any) -> Any:
    if isinstance(like, tuple):
        if not text.strip(","):
            raise TooFew(f"setting {name} must list at least one value, got {shown(text)}.")
        return tuple(_parse(name, part, like[0]) for part in text.split(",") if part)
    if isinstance(like, bool):
        if text.lower() not in ("true", "false"):
            raise WrongType(f"setting {name} must be true or false, got {text!r}.")
        return text.lower() == "true"
    try:
        value = type(like)(text)
    except ValueError:
        raise WrongType(f"setting {name} is {shown(text)}, which is not a valid {type(like).__name__}") from None
    if not isinstance(value, str) and not 0 <= value < math.inf:
        raise OutOfRange(f"setting {name} must be a finite number of at least 0, got {shown(text)}.")
    return value


@dataclass(frozen=True)
class Search:
    """Early stopping over the cells of a sweep by `report.progress(fraction, metric=...)`; with a space, also their
    choice.

    metric, mode: of `report.progress`, "min" or "max".
    scheduler: makes a fresh Ray Tune scheduler without a metric of its own, such as `asha` (its time is `fraction`).
    space: profile -> name -> distribution, of optuna.distributions or ray.tune (uniform, loguniform, randint,
    choice). The sweep's `cells` give exactly one dict of fixed values then.
    trials: how many configurations, recorded ones included, or profile -> how many; list the setting in the sweep's
    `axes`.
    seed: of the suggestions.
    """

    metric: str
    mode: str
    scheduler: Callable[[], Any]
    space: Callable[[Profile], Mapping[str, Any]] | None = None
    trials: int | Callable[[Profile], int] = 20
    seed: int = 0

    def __post_init__(self) -> None:
        metric_name(self.metric)


def asha(grace: float = 0.1, reduction: float = 3) -> Any:
    """Asynchronous successive halving (Li et al. 2020) over the fraction that a trial has done: from `grace` on, at
    every `reduction`-fold of it, only the best 1/`reduction` of what got that far goes on.

    On a restarted search it compares with the trials that run since.
    """
    from ray.tune.schedulers import ASHAScheduler

    return ASHAScheduler(time_attr="fraction", grace_period=grace, max_t=1.0, reduction_factor=reduction)


@dataclass(frozen=True)
class Sweep:
    """A declaration of what to run.

    name: the MLflow experiment, a plain file name (ValueError otherwise).
    cells: profile -> the cells, flat dicts of plain values (see `canonical`).
    trial: (pack, report) -> None, trains and reports the cells of a pack; must be importable on the workers.
    profiles: name -> Profile; `smoke`, `laptop` (default) and `paper` at least.
    axes: the settings that only choose cells; overriding another one renames the profile in the record.
    pack_by: names of the fields that the cells of a trial share, by device ("cpu", "gpu"); None: one cell per trial.
    resources: of one trial in Ray: `cpu`, and `gpu` (a fraction or whole number; measured if missing, a search: 1).
    data: cell -> its `datasets.DataSet`s, the inputs of its run; content is read on the worker.
    tags: cell -> further tags of its run.
    choices: setting -> the words that it may list, or a check that raises ValueError.
    ranges: the settings that are a lowest and a highest value.
    check: cell -> None, raises ValueError on a cell that cannot be run, before anything starts.
    cost: cell -> relative work, for the remaining-time estimate and to start the longest trials first.
    replicates: the fields over which a summary is a mean.
    best: (metric, "min" or "max") shown while it runs.
    version: of the trial's science; a new one makes every cell unfinished again.
    """

    name: str
    cells: Callable[[Profile], Iterable[Cell]]
    trial: Callable[[Pack, Report], None]
    profiles: Mapping[str, Profile]
    resources: Mapping[str, float] = field(default_factory=lambda: {"cpu": 1})
    axes: Sequence[str] = ("seeds",)
    pack_by: Mapping[str, Sequence[str]] | None = None
    data: Callable[[Cell], Sequence[DataSet]] = lambda cell: ()
    tags: Callable[[Cell], Mapping[str, str]] = lambda cell: {}
    choices: Mapping[str, Sequence[str] | Callable[[str], Any]] = field(default_factory=dict)
    ranges: Sequence[str] = ()
    check: Callable[[Cell], None] | None = None
    cost: Callable[[Cell], float] = lambda cell: 1.0
    best: tuple[str, str] | None = None
    search: Search | None = None
    version: int = 1
    replicates: Sequence[str] = ("seed",)

    def __post_init__(self) -> None:
        plain_name("the name of a sweep", self.name)
        for name in self.profiles:
            plain_name("the name of a profile", name)

    @property
    def about(self) -> str:
        """The question that the sweep asks."""
        return inspect.getdoc(sys.modules[self.cells.__module__]) or ""  # sweeps may share a trial

    def profile(self, name: str, overrides: Mapping[str, str] | None = None) -> tuple[str, Profile]:
        """The profile and the label of its cells. Raises ValueError for an unknown profile or setting."""
        if name not in self.profiles:
            raise UnknownName(f"profile of {self.name} must be one of {', '.join(self.profiles)}, got {name!r}")
        overrides = overrides or {}
        changed = [f"{key}={text}" for key, text in sorted(overrides.items()) if key not in self.axes]
        label = " ".join([name, *changed])
        label = stored_text("what names the settings", label, TAG_LENGTH // 8)
        settings = self.profiles[name].override(overrides)
        for setting in overrides:
            self._check_setting(setting, getattr(settings, setting))
        return label, settings

    def _check_setting(self, name: str, value: Any) -> None:
        values = value if isinstance(value, tuple) else (value,)
        told = ",".join(map(str, values))
        if name in self.ranges:
            if len(values) != 2 or values[0] > values[1]:
                raise WrongType(f"setting {name} must be a lowest and a highest value, as in 1,2, got {shown(told)}.")
        elif len(set(values)) < len(values):
            raise Conflict(f"setting {name} is {shown(told)}; it can list every value only once")
        valid = self.choices.get(name)
        for word in values if valid else ():
            if callable(valid):
                valid(word)
            elif word not in valid:
                raise UnknownName(f"setting {name} must be of {', '.join(valid)}, got {shown(word)}")

    def plan(self, profile: Profile) -> dict[str, Cell]:
        """Key -> checked cell of the profile. Raises ValueError on an invalid or repeated cell."""
        plan: dict[str, Cell] = {}
        for cell in self.cells(profile):
            if self.check is not None:
                self.check(cell)
            self.declared(cell)  # after the check: a tag may need the data that the cell names
            key = self.key(cell)
            if key in plan:
                raise Conflict(f"sweep {self.name} lists the cell {cell} twice; every cell must differ in some value")
            plan[key] = cell
        if not plan:
            raise TooFew(f"sweep {self.name} has no cells under these settings; give every axis at least one value")
        return plan

    def declared(self, cell: Cell) -> None:
        """Raises ValueError where a field of a cell, or a tag that the sweep gives it, has a name that is taken."""
        for name in cell:
            free_name("the name of a cell's field", name)
        self.tags_of(cell)

    def key(self, cell: Cell) -> str:
        """The cell's identity: a hash of the sweep's name, the version of its science and the cell's values."""
        return hashlib.sha256(f"{self.name}|{self.version}|{canonical(cell)}".encode()).hexdigest()[:16]

    def tags_of(self, cell: Cell) -> dict[str, str]:
        """The further tags of a cell's run and the name of its data. Raises ValueError for invalid or reserved ones."""
        named = {DATA: joined_names(found)} if (found := self.data(cell)) else {}
        tags = stored_tags(named | dict(self.tags(cell)))
        for name in tags.keys() & TAKEN:
            raise ValueError(f"a tag of sweep {self.name} is {name!r}, by which runs are found; name it otherwise")
        return tags

    def run_here(self, pack: Pack, report: Report) -> None:
        """One trial in this process, without Ray and MLflow. Raises TypeError for a report that is no `Report`."""
        missing = [name for name in REPORTED if not callable(getattr(report, name, None))]
        if missing:
            raise TypeError(
                f"report must be an infoscope.tracking.Report (inherit from it), got {type(report).__name__} without "
                f"{', '.join(missing)}."
            )
        self.trial(pack, report)

    def packs(self, cells: Mapping[str, Cell], device: str) -> list[dict[str, Cell]]:
        """The cells grouped into trials for a device ("cpu" or "gpu"), costliest first."""
        fields = (self.pack_by or {}).get(device)
        groups: dict[Any, dict[str, Cell]] = {}
        for key, cell in cells.items():
            group = key if fields is None else tuple(canonical({name: cell.get(name)}) for name in fields)
            groups.setdefault(group, {})[key] = cell
        return sorted(groups.values(), key=self.pack_cost, reverse=True)

    def pack_cost(self, pack: Mapping[str, Cell]) -> float:
        return sum(self.cost(cell) for cell in pack.values())


@dataclass(frozen=True)
class Pack:
    """The cells of one trial and its device ("cpu" or "cuda"). A field on which all agree is an attribute."""

    cells: tuple[Cell, ...]
    device: str = "cpu"

    def __getattr__(self, name: str) -> Any:
        values = [] if name.startswith("_") else [cell[name] for cell in self.cells if name in cell]
        if not values or any(value != values[0] for value in values):
            raise AttributeError(f"the cells of this pack do not share one value of {name!r}")
        return values[0]


class Report(Protocol):
    """What a trial may call. A subclass overrides what it is to keep; the rest does nothing."""

    def metrics(self, cell: Cell, values: Mapping[str, float], step: int = 0) -> None:
        """Numbers of a cell at a step; of a repeated step the last value counts. Infinities are stored as NaN.

        Raises ValueError for a name or step that MLflow would not take, a name of a field or column (see
        `store.runs`), and for what is no number.
        """

    def curve(self, cell: Cell, values: Mapping[str, float], step: int) -> None:
        """Learning curves of a cell, some hundreds of points each. Raises ValueError like `metrics`."""

    def constants(self, cell: Cell, values: Mapping[str, float]) -> None:
        """Numbers known without training, such as an exact solution; columns of `runs`. Raises ValueError like
        `metrics`.
        """

    def table(self, cell: Cell, name: str, columns: Mapping[str, Any]) -> None:
        """A table as the artifact NAME.parquet. Raises ValueError for an invalid name or columns."""

    def arrays(self, cell: Cell, name: str, arrays: Mapping[str, Any]) -> None:
        """Arrays as the artifact NAME.npz. Raises TypeError for Python objects, ValueError for an invalid name."""

    def model(self, cells: Sequence[Cell], name: str, module: Any, example: Mapping[str, Any]) -> None:
        """A trained model of all the cells that share it (see `models.write_model`); ValueError: invalid name."""

    def progress(self, fraction: float, **metrics: float) -> None:
        """The fraction of the pack done, in [0, 1], and under a search its metric; then this call may end the trial.

        Raises ValueError for a fraction outside of [0, 1], and when the search's metric is missing or no number.
        """

    def member(self, cell: Cell) -> contextlib.AbstractContextManager[None]:
        """What is done for one cell of the pack only: an exception inside fails this cell, and the others go on."""
        return contextlib.nullcontext()

    def save(self, state: Callable[[], Mapping[str, Any]]) -> None:
        """Keeps `state()`, tensors and plain values, for `restore`; now and then, not at every call."""

    def restore(self) -> Mapping[str, Any] | None:
        """The state last saved for this pack by an unfinished process, or None. Call it before the first report:
        without it an attempt starts anew, in runs of its own.
        """


REPORTED = [name for name in vars(Report) if not name.startswith("_")]


def varying(cells: Iterable[Cell]) -> list[str]:
    """The fields in which those cells differ that have them."""
    cells = list(cells)
    fields = dict.fromkeys(field for cell in cells for field in cell)
    return [field for field in fields if len({text(cell[field]) for cell in cells if cell.get(field) is not None}) > 1]


def names(cells: Mapping[str, Cell]) -> dict[str, str]:
    """A short name for every cell: the values in which they differ, numbers with their field's name."""
    fields = varying(cells.values())
    short = {key: short_name(cell, fields) for key, cell in cells.items()}
    if all(short.values()) and len(set(short.values())) == len(short):
        return short
    return {key: short_name(cell, cell) for key, cell in cells.items()}


def short_name(cell: Cell, fields: Iterable[str]) -> str:
    """The values of these fields, numbers with their field's name."""
    values = {field: cell[field] for field in fields if cell.get(field, "") not in ("", None)}
    shown = (value if isinstance(value, str) else f"{field}={text(value)}" for field, value in values.items())
    return " ".join(dict.fromkeys(shown))


def title(cell: Cell, space: Iterable[str]) -> str:
    """A short name of a suggested cell: the values that were searched."""
    shown = {name: f"{cell[name]:.3g}" if isinstance(cell[name], float) else text(cell[name]) for name in space}
    return " ".join(f"{name}={value}" for name, value in shown.items())


def text(value: Any) -> str:
    """A plain value as MLflow shows it."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def grid(**axes: Any) -> list[Cell]:
    """Every combination of the values given in lists (`seed=[0, 1]`); anything else is the same in every cell."""
    names = [name for name, values in axes.items() if isinstance(values, list)]
    fixed = {name: value for name, value in axes.items() if name not in names}
    return [fixed | dict(zip(names, values)) for values in itertools.product(*(axes[name] for name in names))]


def canonical(cell: Mapping[str, Any]) -> str:
    """The cell as JSON with sorted keys. Raises ValueError for names or values that MLflow would refuse or cut."""
    for name, value in cell.items():
        entity_name("the name of a cell's field", name)
        for item in value if isinstance(value, tuple | list) else (value,):
            if not isinstance(item, bool | int | float | str | None) or item != item:
                raise WrongType(
                    f"cell value {name} is {shown(value)}; a cell holds numbers, strings, booleans, None or tuples of "
                    "them"
                )
        try:
            stored_text(f"cell value {name}", text(value), PARAM_LENGTH)
        except ValueError as error:
            if "digits" in str(error):  # Python's own limit for writing an integer
                raise OutOfRange(f"cell value {name} has more digits than can be written") from None
            raise
    return stored_text("a cell as JSON", json.dumps(cell, sort_keys=True), TAG_LENGTH)
