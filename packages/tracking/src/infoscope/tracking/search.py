"""Search of configurations by Optuna's tree-structured Parzen estimator (Bergstra et al. 2011).

Results are recorded in MLflow only; each search begins by passing the recorded cells to Optuna.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import optuna
from mlflow.entities import Run
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import TrialState

from infoscope.errors import InvalidInput, OutOfRange, WrongShape, WrongType
from infoscope.tracking.cell_folder import COMPLETE, FAILED, STOPPED
from infoscope.tracking.checks import entity_name
from infoscope.tracking.report import JUDGED
from infoscope.tracking.store import is_finished, labels, values
from infoscope.tracking.sweep import AnyCell, Profile, Sweep, canonical, plain, title, with_values
from infoscope.tracking.tags import FRACTION, KEY, METRIC, OUTCOME, PROFILE

log = logging.getLogger(__name__)

_DRAWS = 500  # random configurations tried before a search gives up
STEPS = 1000  # of a whole trial: Optuna counts progress in steps


class SearchState:
    """The search of a sweep under one profile. trials: number of configurations; exhausted: no others can be found.

    Reproducible given the seed, the cells recorded at its start and the order of results; the first ten configurations
    are random. Raises ValueError if `cells` does not give exactly one cell, if the space is empty, invalid or shares a
    name with the fixed values, or if no configuration passes `check`.
    """

    def __init__(self, sweep: Sweep, profile: Profile):
        self.sweep, search = sweep, sweep.search
        fixed = list(sweep.cells(profile))
        if len(fixed) != 1:
            raise ValueError(
                f"the cells of sweep {sweep.name} must be exactly one set of fixed values, got {len(fixed)}"
            )
        self.fixed: AnyCell = fixed[0]
        self.space = _distributions(search.space(profile), self.fixed)
        trials = search.trials(profile) if callable(search.trials) else search.trials
        if not (isinstance(trials, int) and trials >= 1):
            raise OutOfRange(f"trials must be a whole number of at least 1, got {trials!r}")
        if search.mode not in ("min", "max"):
            raise InvalidInput(f"mode must be 'min' or 'max', got {search.mode!r}")
        self.trials = int(min(trials, math.prod(_size(distribution) for distribution in self.space.values())))
        self.exhausted = False
        self._known: set[str] = set()
        self._resumed: list[AnyCell] = []
        self._asked: dict[str, optuna.Trial] = {}
        self._begin(0)
        self._require_valid()

    def _begin(self, known: int) -> None:
        """Makes new studies. The number of known cells is part of the seed, so a restart draws others."""
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        seeds = np.random.SeedSequence([self.sweep.search.seed, known]).generate_state(2)
        direction = "minimize" if self.sweep.search.mode == "min" else "maximize"
        sampler = optuna.samplers.TPESampler(seed=int(seeds[0]))
        self._study = optuna.create_study(sampler=sampler, direction=direction)
        self._random = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=int(seeds[1])))

    def _require_valid(self) -> None:
        for _ in range(_DRAWS):
            reason = self._rejection(with_values(self.fixed, self._random.ask(self.space).params))
            if reason is None:
                return
        raise ValueError(
            f"none of {_DRAWS} configurations drawn from the space of sweep {self.sweep.name} is valid; the last one: "
            f"{reason}"
        )

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
        """Passes the recorded cells to Optuna; returns the cells of this search by key, finished ones first."""
        ours = {run.data.tags[KEY]: (run, cell) for run in runs if (cell := self._cell_of(run)) is not None}
        in_profile = {key: label in labels(run.data.tags.get(PROFILE, "")) for key, (run, _) in ours.items()}
        order = sorted(ours, key=lambda key: (not in_profile[key], ours[key][0].info.start_time, key))
        finished = [key for key in order if is_finished(ours[key][0])]
        begun = [key for key in order if in_profile[key] and key not in set(finished)]
        kept = finished[: self.trials]
        resumed = begun[: self.trials - len(kept)]
        self._begin(len(ours))
        for key in finished:
            run, cell = ours[key]
            metrics = run.data.metrics
            value = metrics.get(METRIC.format(self.sweep.search.metric), math.nan)
            state, result, reported = optuna_result(run.data.tags.get(OUTCOME), value, metrics.get(FRACTION, 0.0))
            parameters = self._searched(cell)
            self._study.add_trial(
                optuna.trial.create_trial(
                    state=state,
                    value=result,
                    params=parameters,
                    distributions=self.space,
                    intermediate_values=reported,
                )
            )
        self._known = set(finished) | set(resumed)
        self._resumed = [ours[key][1] for key in resumed]
        return {key: ours[key][1] for key in [*kept, *resumed]}

    def _cell_of(self, run: Run) -> AnyCell | None:
        """The cell of a run if it is in this search's space, with the same fixed values and version; otherwise None."""
        recorded = values(run)
        if set(recorded) != set(plain(self.fixed)) | set(self.space):
            return None
        cell = with_values(self.fixed, {name: recorded[name] for name in self.space})
        inside = all(_contains(distribution, recorded[name]) for name, distribution in self.space.items())
        return cell if inside and self.sweep.key(cell) == run.data.tags[KEY] else None

    def _searched(self, cell: AnyCell) -> dict[str, Any]:
        values = plain(cell)
        return {name: values[name] for name in self.space}

    def suggest(self) -> tuple[str, AnyCell] | None:
        """The key and cell of the next trial: unfinished, suggested or random; None if there is none."""
        for trial in self._candidates():
            cell = with_values(self.fixed, trial.params)
            key = self.sweep.key(cell)
            if key not in self._known and self._rejection(cell) is None:
                self._known.add(key)
                self._asked[key] = trial
                return key, cell
            self._study.tell(trial, state=TrialState.FAIL)
        return None

    def _candidates(self) -> Iterable[optuna.Trial]:
        if self._resumed:
            cell = self._resumed.pop(0)
            self._known.discard(self.sweep.key(cell))
            self._study.enqueue_trial(self._searched(cell))
        yield self._study.ask(self.space)
        for _ in range(_DRAWS):
            self._study.enqueue_trial(self._random.ask(self.space).params)
            yield self._study.ask(self.space)

    def conclude(self, key: str, outcome: str, value: float, fraction: float) -> None:
        """Reports the end of a trial to Optuna: its outcome, last metric and the fraction done."""
        trial = self._asked.pop(key)
        state, result, reported = optuna_result(outcome, value, fraction)
        for step, intermediate in reported.items():
            trial.report(intermediate, step)
        self._study.tell(trial, result, state=state)

    def searcher(self, config: Callable[[str, AnyCell, str], dict[str, Any]]) -> Any:
        """A Ray Tune searcher that proposes `config(key, cell, name)` for every suggestion."""
        from ray.tune.search import Searcher

        state, keys = self, dict[str, str]()

        class Suggestions(Searcher):
            def __reduce__(self) -> tuple:  # Tune pickles its searcher for a restore, which is not used
                return Searcher, ()

            def set_search_properties(self, metric: str | None, mode: str | None, config: dict, **spec: Any) -> bool:
                return True

            def suggest(self, trial_id: str) -> Any:
                suggestion = state.suggest()
                if suggestion is None:
                    log.warning("the space of sweep %s has no further configuration to run", state.sweep.name)
                    state.exhausted = True
                    return Searcher.FINISHED
                key, cell = suggestion
                keys[trial_id] = key
                return config(key, cell, title(cell, state.space))

            def on_trial_complete(self, trial_id: str, result: dict | None = None, error: bool = False) -> None:
                state.conclude(keys.pop(trial_id), *last_result(result or {}, error))

            def save(self, checkpoint_path: str) -> None:
                """Nothing to save: a restart begins from the runs in MLflow."""

        return Suggestions()


def last_result(result: Mapping[str, Any], error: bool) -> tuple[str, float, float]:
    """The outcome, last metric and fraction done, from Tune's last result of a trial."""
    outcome = STOPPED
    if error:
        outcome = FAILED
    elif "ended" in result:  # only the last report of a trial has it
        ((_, outcome, _),) = result["ended"]
    return outcome, result.get(JUDGED, math.nan), result.get("fraction", 0.0)


def optuna_result(outcome: str, value: float, fraction: float) -> tuple[TrialState, float | None, dict[int, float]]:
    """What is reported to Optuna on a trial: state, value, intermediate values by step.

    A trial that was stopped early is pruned (ranked by progress); without a finite metric it is pruned at the start.
    """
    if outcome == FAILED:
        return TrialState.FAIL, None, {}
    if not math.isfinite(value):
        return TrialState.PRUNED, None, {0: math.nan}
    if outcome == COMPLETE:
        return TrialState.COMPLETE, value, {}
    return TrialState.PRUNED, None, {round(STEPS * fraction): value}


def _distributions(space: Any, fixed: AnyCell) -> dict[str, BaseDistribution]:
    from ray.tune.search.optuna import OptunaSearch
    from ray.tune.search.sample import Domain

    if not (isinstance(space, Mapping) and space):
        raise OutOfRange(f"the search space must be a dict from names to distributions, not empty, got {space!r}")
    converted, fixed = {}, plain(fixed)
    for name, distribution in space.items():
        if name in fixed:
            raise WrongShape(f"{name} is in the search space and also fixed at {fixed[name]!r}; remove one of them")
        if isinstance(distribution, Domain):
            distribution = OptunaSearch.convert_search_space({name: distribution})[name]
        if not isinstance(distribution, BaseDistribution):
            raise InvalidInput(
                f"the search space must give a distribution of optuna.distributions or ray.tune for {name} (a fixed "
                f"value belongs in the sweep's cells), got {distribution!r}"
            )
        entity_name("the name of a cell's field", name)
        for choice in getattr(distribution, "choices", ()):
            if not isinstance(choice, bool | int | float | str | None):
                raise WrongType(f"{name} must have numbers, strings, booleans or None as choices, got {choice!r}")
            canonical({name: choice})
        converted[name] = distribution
    return converted


def _size(distribution: BaseDistribution) -> float:
    if isinstance(distribution, CategoricalDistribution):
        return len(distribution.choices)
    if distribution.step is None:
        return 1 if distribution.single() else math.inf
    return round((distribution.high - distribution.low) / distribution.step) + 1


def _contains(distribution: BaseDistribution, value: Any) -> bool:
    try:
        return distribution._contains(distribution.to_internal_repr(value))
    except (ValueError, TypeError):
        return False
