"""Search of configurations: Ray Tune's `OptunaSearch`, restricted to cells that a sweep
can run.

Results are recorded in MLflow only; each search begins by passing the recorded cells to
Optuna.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import optuna
from mlflow.entities import Run
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState
from ray.tune.search import Searcher
from ray.tune.search.optuna import OptunaSearch
from ray.tune.search.sample import Domain

from infoscope.errors import InvalidInput, OutOfRange, WrongShape, WrongType
from infoscope.tracking.cell_folder import COMPLETE, FAILED
from infoscope.tracking.report import JUDGED, SEARCH_STEP
from infoscope.tracking.store import is_finished, labels_of, values
from infoscope.tracking.sweep import (
    AnyCell,
    Profile,
    Sweep,
    canonical,
    plain,
    title,
    with_values,
)
from infoscope.tracking.tags import FRACTION, KEY, METRIC, OUTCOME
from infoscope.tracking.trial import Bundle

_DRAWS = 500  # random configurations tried before a search gives up


class CellSearch(OptunaSearch):
    """The search of a sweep under one profile. trials: number of configurations;
    exhausted: no others can be found.

    Reproducible given the seed, the cells recorded at its start and the order of
    results; the first ten configurations are random. Raises ValueError if `cells` does
    not give exactly one cell, if the space is empty, invalid or shares a name with the
    fixed values, or if no configuration passes `check`.
    """

    _ot_study: optuna.Study

    def __init__(self, sweep: Sweep, profile: Profile):
        self.sweep = sweep
        search = sweep.search
        assert search is not None and search.space is not None
        fixed = list(sweep.cells(profile))
        if len(fixed) != 1:
            raise ValueError(
                f"the cells of sweep {sweep.name} must be exactly one set of fixed "
                f"values, got {len(fixed)}"
            )
        self.fixed: AnyCell = fixed[0]
        self.distributions = _distributions(search.space(profile), plain(self.fixed))
        trials = search.trials(profile) if callable(search.trials) else search.trials
        if not isinstance(trials, int) or trials < 1:
            raise OutOfRange(
                f"trials must be a whole number of at least 1, got {trials!r}"
            )
        if search.mode not in ("min", "max"):
            raise InvalidInput(f"mode must be 'min' or 'max', got {search.mode!r}")
        configurations = math.prod(map(_size, self.distributions.values()))
        self.trials = int(min(trials, configurations))
        self.exhausted = False
        self._suggested: set[str] = set()  # keys
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        super().__init__(self.distributions, metric=JUDGED, mode=search.mode)
        self._random = optuna.create_study()
        self._seed_samplers(0)
        self._require_valid()

    def _seed_samplers(self, recorded: int) -> None:
        """The number of recorded cells is part of the seed, so a restart draws others."""
        assert self.sweep.search is not None
        seeds = np.random.SeedSequence(
            [self.sweep.search.seed, recorded]
        ).generate_state(2)
        self._ot_study.sampler = optuna.samplers.TPESampler(seed=int(seeds[0]))
        self._random.sampler = optuna.samplers.RandomSampler(seed=int(seeds[1]))

    def _require_valid(self) -> None:
        reason = None
        for _ in range(_DRAWS):
            cell = with_values(self.fixed, self._draw())
            reason = self._rejection(cell)
            if reason is None:
                return
        raise ValueError(
            f"none of {_DRAWS} configurations drawn from the space of sweep "
            f"{self.sweep.name} is valid; the last one: "
            f"{reason}"
        )

    def _draw(self) -> dict[str, Any]:
        return self._random.ask(self.distributions).params

    def _rejection(self, cell: AnyCell) -> str | None:
        """Why a cell cannot be run; None if it can."""
        try:
            self.sweep.key(cell)
            self.sweep.require_names(cell)
            if self.sweep.check is not None:
                self.sweep.check(cell)
        except ValueError as error:
            return str(error)
        return None

    def recall(self, runs: Iterable[Run], label: str) -> dict[str, AnyCell]:
        """Passes the recorded cells to Optuna; returns the cells of this search by key,
        finished ones first.
        """

        def rank(run: Run) -> tuple[bool, int, str]:
            return label not in labels_of(run), run.info.start_time, run.data.tags[KEY]

        recorded = sorted(filter(self._has, runs), key=rank)
        self._seed_samplers(len(recorded))
        finished = []
        begun = []
        for run in recorded:
            if is_finished(run):
                finished.append(run)
            elif label in labels_of(run):
                begun.append(run)
        for run in finished:
            self._suggested.add(run.data.tags[KEY])
            self._add_result(run)
        chosen = finished[: self.trials]
        resumed = begun[: self.trials - len(chosen)]
        for run in resumed:
            self._ot_study.enqueue_trial(self._searched(run))
        return {run.data.tags[KEY]: self._cell_of(run) for run in chosen + resumed}

    def _has(self, run: Run) -> bool:
        """Whether the cell of a run is in this search's space, with the same fixed
        values and version.
        """
        recorded = values(run)
        if set(recorded) != set(plain(self.fixed)) | set(self.distributions):
            return False
        for name, distribution in self.distributions.items():
            if not _contains(distribution, recorded[name]):
                return False
        return self.sweep.key(self._cell_of(run)) == run.data.tags[KEY]

    def _searched(self, run: Run) -> dict[str, Any]:
        recorded = values(run)
        return {name: recorded[name] for name in self.distributions}

    def _cell_of(self, run: Run) -> AnyCell:
        return with_values(self.fixed, self._searched(run))

    def _add_result(self, run: Run) -> None:
        point = self._searched(run)
        metrics = run.data.metrics
        assert self.sweep.search is not None
        value = metrics.get(METRIC.format(self.sweep.search.metric), math.nan)
        if run.data.tags.get(OUTCOME) == COMPLETE and math.isfinite(value):
            self.add_evaluated_point(point, value)
            return
        # a pruned trial is ranked by their number
        reports = max(1, round(metrics.get(FRACTION, 0.0) / SEARCH_STEP))
        self.add_evaluated_point(
            point, None, pruned=True, intermediate_values=[value] * reports
        )

    def suggest(self, trial_id: str) -> Any:
        """The configuration of the next trial: unfinished, suggested or random;
        FINISHED if there is none.
        """
        for attempt in range(_DRAWS):
            if attempt > 0:
                self._ot_study.enqueue_trial(self._draw())
            suggestion = super().suggest(trial_id)
            assert suggestion is not None
            cell = with_values(self.fixed, suggestion)
            key = self.sweep.key(cell)
            if key not in self._suggested and self._rejection(cell) is None:
                self._suggested.add(key)
                titles = {key: title(cell, self.distributions)}
                return {"bundle": Bundle([{key: cell}], titles)}
            rejected = self._ot_trials.pop(trial_id)
            self._ot_study.tell(rejected, state=TrialState.FAIL)
        self.exhausted = True
        return self.FINISHED

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        if JUDGED in result:  # a trial may fail before its first metric
            super().on_trial_result(trial_id, result)

    def on_trial_complete(
        self,
        trial_id: str,
        result: dict[str, Any] | None = None,
        error: bool = False,
    ) -> None:
        """Reports a trial to Optuna; trials that stopped early, or have no finite
        metric, are ranked by their progress.
        """
        last = result or {}
        # only the last report of a trial has it
        outcomes = [outcome for _, outcome, _ in last.get("ended", ())]
        is_complete = outcomes == [COMPLETE] and math.isfinite(
            last.get(JUDGED, math.nan)
        )
        is_failed = error or outcomes == [FAILED]
        super().on_trial_complete(trial_id, last if is_complete else None, is_failed)

    # Tune pickles its searcher for a restore, which is not used
    def __reduce__(self) -> tuple:
        return Searcher, ()

    def save(self, checkpoint_path: str) -> None:
        """Nothing to save: a restart begins from the runs in MLflow."""


def _distributions(space: Any, fixed: Mapping[str, Any]) -> dict[str, BaseDistribution]:
    """The distributions of a search space as Optuna's. Raises ValueError for other
    contents.
    """
    if not isinstance(space, Mapping) or not space:
        raise OutOfRange(
            "the search space must be a dict from names to distributions, not empty, "
            f"got {space!r}"
        )
    converted = {}
    for name, distribution in space.items():
        if name in fixed:
            raise WrongShape(
                f"{name} is in the search space and also fixed at {fixed[name]!r}; "
                "remove one of them"
            )
        if isinstance(distribution, Domain):
            distribution = OptunaSearch.convert_search_space({name: distribution})[name]
        if not isinstance(distribution, BaseDistribution):
            raise InvalidInput(
                "the search space must give a distribution of optuna.distributions "
                f"or ray.tune for {name} (a fixed "
                f"value belongs in the sweep's cells), got {distribution!r}"
            )
        for choice in getattr(distribution, "choices", ()):
            if not isinstance(choice, bool | int | float | str | None):
                raise WrongType(
                    f"{name} must have numbers, strings, booleans or None as choices, "
                    f"got {choice!r}"
                )
            canonical({name: choice})
        converted[name] = distribution
    return converted


def _size(distribution: BaseDistribution) -> float:
    """The number of values that a distribution has; infinite for a continuous one."""
    if isinstance(distribution, CategoricalDistribution):
        return len(distribution.choices)
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    if distribution.step is None:
        return 1 if distribution.single() else math.inf
    steps = (distribution.high - distribution.low) / distribution.step
    return round(steps) + 1


def _contains(distribution: BaseDistribution, value: Any) -> bool:
    try:
        internal = distribution.to_internal_repr(value)
        return distribution._contains(internal)
    except (ValueError, TypeError):
        return False
