"""Critics on arrays: any bound of `neural.bounds`, with held-out rows.

A critic is trained, stopped and evaluated on three different parts of the rows.

A fifth of the training rows judge the objective, and the weights of the best smoothed
judgement are kept (after Abdelaleem, Martini & Nemenman 2025, 2506.00330). Batches hold
one row of a group at most; off-diagonal scores are derangements (2305.20025).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from infoscope.checks import one_of
from infoscope.errors import InvalidInput, OutOfRange
from infoscope.estimators.arrays.fitting import Preparation, Split, splits
from infoscope.estimators.arrays.protocol import ANY, Described
from infoscope.estimators.neural.bounds import Bound, Scores, as_bound, split
from infoscope.estimators.neural.critics import Critic, make_critic
from infoscope.estimators.neural.precision import PRECISIONS
from infoscope.estimators.neural.training import Training
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import BITS, Estimate
from infoscope.estimators.threads import threads_for
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.estimators.variables import Variable
from infoscope.notebook import axes
from infoscope.notes import Note

_MAX_JUDGEMENTS = 40  # times at which unseen rows judge a training
_MIN_UNITS = 16  # independent rows of a batch or a read-out
_MAX_BLOCKS = 20  # of units, left out in turn for the error
# whose pairs are scored at once; judgements are many, and fewer rows are faster
_ROWS_OF_JUDGEMENT = 512
_ROWS_OF_READ_OUT = 2048  # whose pairs are scored at once, in 32 MiB
_SOURCES = {
    "nwj": "Nguyen et al. 2010; Poole et al. 2019",
    "js": "Poole et al. 2019",
    "infonce": "van den Oord et al. 2018, eq. 4",
    "dv": "Donsker & Varadhan 1983",
    "mine": "Belghazi et al. 2018",
    "infonce-anchor": "Ryu et al. 2026 (2510.25983)",
    "flo": "Guo et al. 2022 (2107.01131)",
    "dime-kl": "Letizia et al. 2024 (2305.20025)",
    "dime-gan": "Letizia et al. 2024 (2305.20025)",
    "dime-hellinger": "Letizia et al. 2024 (2305.20025)",
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CriticEstimate(Estimate):
    """An estimate by critics, and how they were trained.

    seen   the critics' report on their training rows, nats: too high, an upper limit for more data
    curve  a row for every judgement: fold, restart, step, training (mean report since the last, nats), judged (the
           objective on unseen rows), kept (whether the weights were taken)
    """

    seen: float
    curve: pd.DataFrame

    def plot_curve(self, ax: Any = None, unit: str = BITS, color: str = "C0") -> Any:
        """Draws the reports on training batches by step; returns the matplotlib axes.

        There is one line for each training, with dots where weights were stored.
        """
        ax = axes(ax)
        label = ", ".join(filter(None, (self.method, self._size())))
        scale = NATS_PER_BIT if unit == BITS else 1
        for _, part in self.curve.groupby(["fold", "restart"]):
            if "training" in part:
                chosen = part["kept"]
                steps = part["step"]
                reports = part["training"] / scale
                ax.plot(steps, reports, color=color, lw=1, label=label)
                ax.plot(steps[chosen], reports[chosen], "o", color=color)
                ax.legend()
                label = ""
        ax.set(
            xlabel="step (dot: weights that were kept)",
            ylabel=f"report on training batches ({unit})",
        )
        return ax


@dataclass(frozen=True)
class CriticMethod(Described):
    """A bound on critics that are trained on some rows and evaluated on the others.

    bound          a name (any of `BOUNDS`, smile-<clip> for every clip) or a Bound
    critic         separable, joint, bilinear or inner (`make_critic`), with depth, width and embed
    steps          at most, for each fold; stopped early without progress in the last quarter
    batch          pairs of a step
    restarts       trainings of a fold; the one that unseen rows judge best is used
    margins        of the columns (`Preparation.fit`)
    components     leading principal components of x and of y; None: the columns themselves
    precision      of the products of a training: float32 or bf16; judgements and read-outs are float32
    """

    bound: str | Bound = "infonce-anchor"
    critic: str = "separable"
    depth: int = 1
    width: int = 128
    embed: int = 32
    steps: int = 2000
    batch: int = 128
    learning_rate: float = 5e-4
    folds: int = 5
    restarts: int = 1
    margins: str = "auto"
    components: int | None = None
    precision: str = "float32"

    takes: ClassVar[str] = ANY
    use: ClassVar[str] = (
        "wide columns such as images, thousands of rows; so is the name of any bound, "
        "such as smile-5, nwj or dv"
    )
    cost: ClassVar[str] = "steps, n of a read-out; 12 s"
    least: ClassVar[Mapping[str, int]] = {"batch": 2, "depth": 0}

    @property
    def name(self) -> str:
        return as_bound(self.bound).name

    @property
    def source(self) -> str:
        default = (
            "Song & Ermon 2020"
            if self.name.startswith("smile")
            else "a bound of your own"
        )
        return _SOURCES.get(self.name, default)

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> CriticEstimate:
        bound = as_bound(self.bound)
        folds = []
        with threads_for(self.work(pairs.x.dim + pairs.y.dim)):
            for number, rows in enumerate(splits(pairs, self.folds, generator)):
                folds.append(self._fold(number, bound, pairs, rows, generator))
        return _combined(self, bound, pairs, folds)

    def work(self, columns: int) -> int:
        """Multiplications that decide on the number of threads.

        They are a sixteenth of a layer's multiplications in a step.
        """
        return self.batch * self.width * max(self.batch, self.width, columns) // 16

    def _fold(
        self,
        fold: int,
        bound: Bound,
        pairs: Pairs,
        part: Split,
        generator: np.random.Generator,
    ) -> _Fold:
        x = _prepared(self, pairs.x, part.seen)
        y = _prepared(self, pairs.y, part.seen)
        training = Rows(x[part.training], y[part.training], pairs.units[part.training])
        some_training = _rows_of_some_units(
            part.training, pairs.units, len(part.held), generator
        )

        def batches_of(rows: NDArray[np.intp], at_once: int) -> list[Batch]:
            return _independent_batches(
                pairs.units[rows], x[rows], y[rows], at_once, generator
            )

        stopping = batches_of(part.stopping, _ROWS_OF_JUDGEMENT)
        held_out = batches_of(part.held, _ROWS_OF_READ_OUT)
        seen = batches_of(some_training, _ROWS_OF_READ_OUT)
        fits = [
            self.fit(bound, training, stopping, generator) for _ in range(self.restarts)
        ]
        best = max(fits, key=lambda fit: fit.judged)
        curves = [
            fit.curve.assign(fold=fold, restart=number)
            for number, fit in enumerate(fits)
        ]
        curve = pd.concat(curves)
        return _Fold.read(
            bound, best.critic, held_out, seen, pairs.units[part.held], curve, generator
        )

    def fit(
        self,
        bound: Bound,
        rows: Rows,
        stopping: list[Batch],
        generator: np.random.Generator,
    ) -> Fit:
        """A critic trained on `rows` and stopped early by its objective on `stopping`."""
        one_of("precision", self.precision, PRECISIONS)
        draws = torch_generator(generator)
        critic = make_critic(
            self.critic, rows.dim_x, rows.dim_y, self.depth, self.width, self.embed, generator=draws,
            second=bound.objective.second is not None,
        )  # fmt: skip
        judged = [_judge(bound, critic, stopping)]
        if not list(critic.parameters()):
            return Fit(critic, judged[0], pd.DataFrame({"step": [0], "kept": [True]}))
        training = Training(
            rows, critic, bound, self.steps, batch=min(self.batch, rows.units), learning_rate=self.learning_rate,
            generator=draws, precision=self.precision,
        )  # fmt: skip
        pause = math.ceil(self.steps / _MAX_JUDGEMENTS)
        steps = [0]
        reports = [math.nan]
        weights = [_weights_of(critic)]
        best = 0
        while (
            training.done < training.total
            and len(steps) - 1 - best <= _MAX_JUDGEMENTS // 4
        ):
            training.advance(pause)
            of_steps = training.trace.values[0, steps[-1] :]
            steps.append(training.done)
            reports.append(float(of_steps.mean()))
            judged.append(_judge(bound, critic, stopping))
            weights.append(_weights_of(critic))
            best = _best(judged)
        critic.load_state_dict(weights[best])
        curve = pd.DataFrame({"step": steps, "training": reports, "judged": judged})
        curve["kept"] = curve.index == best
        return Fit(critic, judged[best], curve)


def torch_generator(generator: np.random.Generator) -> torch.Generator:
    """A generator for torch, seeded by the next number of `generator`."""
    return torch.Generator().manual_seed(int(generator.integers(2**63)))


def _prepared(
    method: CriticMethod, variable: Variable, rows: NDArray[np.intp]
) -> Tensor:
    """All rows of a variable, float32 [n, d], by a preparation fitted to `rows`."""
    preparation = Preparation.fit(variable, rows, method.margins, method.components)
    return torch.from_numpy(preparation(variable).astype(np.float32))


def _rows_of_some_units(
    rows: NDArray[np.intp],
    units: NDArray[np.intp],
    count: int,
    generator: np.random.Generator,
) -> NDArray[np.intp]:
    """The first `count` of these rows, with units in random order.

    Rows of a unit stay together.
    """
    _, codes = np.unique(units[rows], return_inverse=True)
    places = generator.permutation(codes.max() + 1)[codes]
    order = np.argsort(places, kind="stable")
    return rows[order[:count]]


# x, y and the places of independent rows
Batch = tuple[Tensor, Tensor, NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Fit:
    """A trained critic, its objective on the rows that stopped it, and its curve."""

    critic: Critic
    judged: float
    curve: pd.DataFrame


class Rows:
    """Rows of two arrays as a source of pairs.

    A batch has different rows, and at most one row of a unit.
    """

    def __init__(self, x: Tensor, y: Tensor, units: NDArray[np.intp]) -> None:
        """Rows of x [n, dim_x] and y [n, dim_y], and the unit [n] of each row.

        Rows of one unit depend on one another. ValueError: fewer than 16 units.
        """
        codes = np.unique(units, return_inverse=True)[1]
        sizes = np.bincount(codes)
        self.units = len(sizes)
        if self.units < _MIN_UNITS:
            raise OutOfRange(
                f"groups must be at least {_MIN_UNITS} in training for a critic, got "
                f"{self.units}: use method ksg."
            )
        order = torch.from_numpy(np.argsort(codes, kind="stable"))
        self._x, self._y = x[order], y[order]
        self._sizes = None if sizes.max() == 1 else torch.from_numpy(sizes)
        self._starts = torch.from_numpy(np.cumsum(sizes) - sizes)

    @property
    def dim_x(self) -> int:
        return self._x.shape[1]

    @property
    def dim_y(self) -> int:
        return self._y.shape[1]

    def sample(
        self, n: int, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> tuple[Tensor, Tensor]:
        """n different rows, at most `units`; of several rows of a unit, one."""
        if self._sizes is None:
            chosen = _distinct_numbers(n, self.units, generator)
        else:  # a unit by its size, so that every row is equally likely
            units = torch.multinomial(self._sizes.double(), n, generator=generator)
            within = (
                torch.rand(n, generator=generator, dtype=torch.float64)
                * self._sizes[units]
            )
            chosen = self._starts[units] + within.long()
        return self._x[chosen].to(device), self._y[chosen].to(device)


def _distinct_numbers(n: int, among: int, generator: torch.Generator) -> Tensor:
    """n different numbers below `among` [n]."""
    if 4 * n * n > among:
        return torch.randperm(among, generator=generator)[:n]
    while True:  # a permutation of a million rows takes longer than a step
        chosen = torch.randint(among, (n,), generator=generator)
        if len(chosen.unique()) == n:
            return chosen


def _independent_batches(
    units: NDArray[np.intp],
    x: Tensor,
    y: Tensor,
    at_once: int,
    generator: np.random.Generator,
) -> list[Batch]:
    """All rows in batches of at most `at_once` rows, each with one row of a unit.

    ValueError: such batches are too small.
    """
    order = generator.permutation(len(units))
    _, codes = np.unique(units[order], return_inverse=True)
    by_unit = np.argsort(codes, kind="stable")
    sorted_codes = codes[by_unit]
    first = np.searchsorted(sorted_codes, sorted_codes)
    layer = np.empty(len(units), np.intp)
    layer[by_unit] = np.arange(len(units)) - first  # which of its unit's rows it is
    usable = []
    for number in range(int(layer.max()) + 1):
        rows = order[layer == number]
        parts = np.array_split(rows, math.ceil(len(rows) / at_once))
        usable += [part for part in parts if len(part) >= _MIN_UNITS]
    if sum(map(len, usable)) < 0.9 * len(units):
        raise InvalidInput(
            "groups must be many and of similar size for a critic (a batch has one "
            "row of each group), got "
            f"{codes.max() + 1} groups for {len(units)} rows; use a method without "
            "negatives, such as ksg."
        )
    return [(x[rows], y[rows], rows) for rows in usable]


def scores_of(critic: Critic, x: Tensor, y: Tensor) -> Scores:
    """The scores of all pairs of rows, float64.

    The exponential of a float32 overflows at 88 nats.
    """
    with torch.no_grad():
        second = critic.second_scores(x, y)
        if second is not None:
            second = second.double()
        return split(critic(x, y).double(), second)


def _judge(bound: Bound, critic: Critic, batches: list[Batch]) -> float:
    """The mean of the bound's objective over the rows of the batches."""
    return _mean_over_rows(bound.objective.judge, critic, batches)


def _mean_over_rows(
    statistic: Callable[[Scores], Tensor], critic: Critic, batches: list[Batch]
) -> float:
    """The mean of a statistic of the scores of each batch, weighted by rows."""
    values = [float(statistic(scores_of(critic, x, y))) for x, y, _ in batches]
    sizes = [len(rows) for *_, rows in batches]
    return float(np.average(values, weights=sizes))


def _best(judged: list[float]) -> int:
    """The place of the greatest mean of three successive judgements.

    Values that are not finite are worst.
    """
    values = np.where(np.isfinite(judged), judged, -np.inf)
    with np.errstate(invalid="ignore"):
        smooth = [values[max(0, i - 1) : i + 2].mean() for i in range(len(values))]
    return int(np.argmax(smooth))


def _weights_of(critic: Critic) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in critic.state_dict().items()}


@dataclass(frozen=True, eq=False)
class _Fold:
    """One held-out part.

    value      the bound's report, nats
    seen       the report on training rows, nats
    influence  of each of the blocks that are left out in turn, nats
    rows       how many are held out
    largest    rows of the largest batch
    curve      of the trainings
    """

    value: float
    seen: float
    influence: NDArray[np.float64]
    rows: int
    largest: int
    curve: pd.DataFrame

    @property
    def was_trained(self) -> bool:
        """Whether training improved on the first weights, if there are any."""
        first = self.curve["step"] == 0
        improved = self.curve["kept"] & ~first
        return bool(improved.any() or first.all())

    @classmethod
    def read(
        cls,
        bound: Bound,
        critic: Critic,
        batches: list[Batch],
        training: list[Batch],
        units: NDArray[np.intp],
        curve: pd.DataFrame,
        generator: np.random.Generator,
    ) -> _Fold:
        """The bound's report on the held-out rows, and its jackknife values.

        The jackknife leaves out each of 20 blocks of whole units.
        """
        distinct, codes = np.unique(units, return_inverse=True)
        blocks = min(_MAX_BLOCKS, len(distinct))
        block = (generator.permutation(len(distinct)) % blocks)[codes]
        total = 0.0
        totals_without = np.zeros(blocks)
        rows_without = np.zeros(blocks)
        for x, y, rows in batches:
            scores = scores_of(critic, x, y)
            total += len(rows) * float(bound.estimate(scores))
            for number in range(blocks):
                others = torch.from_numpy(np.flatnonzero(block[rows] != number))
                second = None if scores.second is None else scores.second[others]
                part = split(scores.matrix[others[:, None], others], second)
                totals_without[number] += len(others) * float(bound.estimate(part))
                rows_without[number] += len(others)
        jackknifed = totals_without / rows_without
        influence = math.sqrt((blocks - 1) / blocks) * (jackknifed.mean() - jackknifed)
        sizes = [len(rows) for *_, rows in batches]
        count = sum(sizes)
        seen = _mean_over_rows(bound.estimate, critic, training)
        return cls(total / count, seen, influence, count, max(sizes), curve)


def _combined(
    method: CriticMethod, bound: Bound, pairs: Pairs, folds: list[_Fold]
) -> CriticEstimate:
    """The mean over held-out parts, with its error.

    The sampling error is by the jackknife, the training error by the spread of folds.

    Degrees of freedom by Welch and Satterthwaite. The interval extends to the report on
    training rows.
    """
    rows = np.array([fold.rows for fold in folds])
    shares = rows / rows.sum()
    values = np.array([fold.value for fold in folds])
    influence = np.concatenate(
        [share * fold.influence for share, fold in zip(shares, folds)]
    )
    sampling = float(np.sum(influence**2))
    within_folds = np.array([np.sum(fold.influence**2) for fold in folds])
    between_folds = max(0.0, values.var(ddof=1) - within_folds.mean())
    training = float(between_folds * np.sum(shares**2))
    variance = sampling + training
    degrees = math.nan
    if variance > 0:
        of_sampling = sampling**2 / (len(influence) - len(folds))
        of_training = training**2 / (len(folds) - 1)
        degrees = variance**2 / (of_sampling + of_training)
    largest = max(fold.largest for fold in folds)
    seen = np.array([fold.seen for fold in folds])
    seen = float(shares @ seen)
    curve = pd.concat([fold.curve for fold in folds], ignore_index=True)
    curve.insert(0, "fold", curve.pop("fold"))
    curve.insert(1, "restart", curve.pop("restart"))
    mean = CriticEstimate(
        value=float(shares @ values),
        standard_error=math.sqrt(variance) if math.isfinite(variance) else math.nan,
        n=int(rows.sum()),
        method=f"{bound.name}, {method.critic} critic",
        settings=_settings_in_words(method, len(folds), largest),
        notes=_notes(bound, values, largest, folds),
        units=len(np.unique(pairs.units)),
        degrees=degrees,
        seen=seen,
        curve=curve,
    )
    if not seen > mean.value:
        return mean
    notes = mean.notes
    if seen - mean.value > mean.standard_error:
        sentence = (
            f"On their training rows the critics report {seen / NATS_PER_BIT:.3g} "
            "bits: they partly fit single rows, "
            "so the estimate is too low, and its interval extends up to that."
        )
        notes += (Note(sentence, "overfit"),)
    return replace(
        mean, notes=notes, interval=(mean.low, seen + mean.high - mean.value)
    )


def _settings_in_words(method: CriticMethod, folds: int, largest: int) -> str:
    """How an estimate was made, for results; `largest`: rows of a read-out."""
    trainings = "1 training" if method.restarts == 1 else f"{method.restarts} trainings"
    batches = f"batches of {method.batch}"
    if method.precision == "bf16" and method.critic != "inner":
        batches += ", bf16 products"
    return f"{folds} folds, {trainings} each, {batches}, read out on {largest:,} rows"


JS_BIAS = Note(
    "js reports nwj's formula at the log ratio: with a perfect critic, I - 0.53 bits "
    "(1/e nats).",
    "biased",
    "method",
)


def _notes(
    bound: Bound, values: NDArray[np.float64], largest: int, folds: list[_Fold]
) -> tuple[str, ...]:
    """Notes on the folds' estimates [folds], nats."""
    least = values.min() / NATS_PER_BIT
    most = values.max() / NATS_PER_BIT
    notes = [Note(f"The folds' estimates are {least:.3g} to {most:.3g} bits.", "folds")]
    idle = sum(not fold.was_trained for fold in folds)
    if idle:
        sentence = (
            f"In {idle} of {len(folds)} folds training did not improve on the initial "
            "weights, which are used: the "
            "dependence is too weak, or the rows are too few, for critics."
        )
        notes.append(Note(sentence, "not trained"))
    if bound.name == "js":
        notes.append(JS_BIAS)
    if bound.name in ("infonce", "flo"):
        ceiling = math.log2(largest)
        sentence = (
            f"It cannot exceed log2 {largest:,} = {ceiling:.2f} bits, the rows of a "
            "read-out."
        )
        notes.append(Note(sentence, "ceiling"))
    if not np.isfinite(values).all():
        count = np.sum(~np.isfinite(values))
        sentence = f"The estimates of {count} of {len(values)} folds are not finite."
        notes.append(Note(sentence, "not finite"))
    return tuple(notes)
