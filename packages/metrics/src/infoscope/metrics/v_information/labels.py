"""Which labels are wrong, how many, and how much of the label a model can use: a report
on labelled items.

from infoscope.metrics import labels

print(labels.report(given, texts))  # or columns of numbers, embeddings
print(labels.report(given, probabilities=q))  # of a model of your own, on items that it was not trained on
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from infoscope.errors import (
    Conflict,
    MissingValues,
    NoVariation,
    OutOfRange,
    TooFew,
    UnknownName,
    WrongShape,
    WrongType,
)
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.columns import as_matrix
from infoscope.estimators.families.protocol import Outcome, as_outcome, take
from infoscope.estimators.families.registry import as_family
from infoscope.estimators.families.scikit import columns_logistic
from infoscope.estimators.result import Estimate, mean_of
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.report import (
    Report,
    ReportRow,
    amount,
    at_most,
    cell,
    listed,
    share,
)
from infoscope.metrics.v_information.label_noise import (
    LABELS,
    LOWEST,
    LabelNoise,
    fit_noise,
)
from infoscope.metrics.v_information.predictions import (
    FLOOR,
    Predictions,
    as_groups,
    check_length,
    cross_fitted,
    with_floor,
)
from infoscope.notebook import axes
from infoscope.notes import Note

Values = NDArray[np.float64]
Codes = NDArray[np.int64]

# of logistic regression; the one of least held-out loss is used
PENALTIES = (0.1, 1.0, 10.0)
FOLDS = 5
MIN_ITEMS = 2  # of a class, in as many groups
# of the interval, share of the items, beyond which the number is hardly known
MAX_WIDTH = 0.1
MAX_PAIRS = 10  # pairs of classes that are reported
SHOWN = 30  # suspects on a page
WIDTH = 160  # characters of an item there
SENTENCE_PAIRS = 3  # confused pairs in a sentence
ASSUMPTION = (
    "A label is counted as wrong if the model is certain of another class, and this "
    "label would be very unlikely "
    "under the model. Items whose class the model leaves open are not counted. Errors "
    "are assumed to depend on the "
    "class, not on the item. In tests the interval contained the number of flipped "
    "labels in 86 to 100 % of the sets."
)
WEAK = Note(
    "The model can use little of the label, so the number of wrong labels is very "
    "uncertain: other features, or a "
    "model of your own (probabilities), narrow it.",
    "weak model",
    "x",
)
WORSE = Note(
    "The model predicts labels worse than their frequencies. Check that its rows "
    "match the labels, and that it is not "
    "over-confident.",
    "negative information",
    "probabilities",
)
NO_INTERVAL = Note("cleanlab reports no interval.", "no interval", "cleanlab")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LabelReport(Report):
    """Usable information, wrong labels, suspects and confused classes.

    names        of the classes
    codes        [n], the labels as places in `names`
    logs, null   held-out log probabilities [n, classes] with the input, and [n] of the own class without
    noise        the fitted noise of labels
    information  usable V-information, nats
    lost         V-information that goes where an input is left out, by its name
    family       the model
    rows, items  [n], numbers or names of the items, and their texts
    heading      what `rows` are: "row", or the name of a column
    groups       number of independent groups
    notes        what was left out
    beside       numbers of other packages
    """

    names: NDArray[Any]
    codes: Codes
    logs: Values
    null: Values
    noise: LabelNoise
    information: Estimate
    entropy: Estimate
    lost: Mapping[str, Estimate]
    family: str
    rows: NDArray[Any]
    heading: str
    items: Sequence[Any]
    groups: int
    notes: Sequence[str]
    beside: Sequence[ReportRow]

    @property
    def n(self) -> int:
        return len(self.codes)

    @cached_property
    def wrong(self) -> Estimate:
        """The number of wrong labels."""
        return self.noise.number(np.arange(len(self.names)) != self.codes[:, None])

    @cached_property
    def likely(self) -> Codes:
        """The most probable other class of each item [n]."""
        others = np.where(self.noise.model.indicators > 0, -1.0, self.noise.posterior)
        return others.argmax(axis=1)

    @cached_property
    def suspects(self) -> pd.DataFrame:
        """All items, the most suspicious first: row (or `heading`), item, label, likely
        label, probability that the label is wrong, PVI and self-confidence (the
        held-out probability of the label).
        """
        log_probability = self.logs[np.arange(self.n), self.codes]
        table = pd.DataFrame(
            {
                self.heading: self.rows,
                "item": list(self.items),
                "label": self.names[self.codes],
                "likely": self.names[self.likely],
                "wrong": self.noise.wrong,
                "pvi_bits": (log_probability - self.null) / NATS_PER_BIT,
                "self_confidence": np.exp(log_probability),
            }
        )
        return table.sort_values(
            ["wrong", "self_confidence"], ascending=[False, True], ignore_index=True
        )

    @cached_property
    def confused(self) -> list[tuple[str, str, Estimate]]:
        """The most frequent pairs of a label and a true class, with the number of such
        labels.
        """
        classes = np.arange(len(self.names))
        expected = np.empty((len(classes), len(classes)))
        for label in classes:
            posterior = self.noise.posterior[self.codes == label]
            expected[label] = posterior.sum(axis=0)
        np.fill_diagonal(expected, 0.0)
        pairs = []
        for place in np.argsort(-expected, axis=None, kind="stable")[:MAX_PAIRS]:
            label, true = np.unravel_index(place, expected.shape)
            if label == true:
                continue
            is_labelled = self.codes == label
            number = self.noise.number(is_labelled[:, None] & (classes == true))
            pairs.append((str(self.names[label]), str(self.names[true]), number))
        return sorted(pairs, key=lambda pair: -pair[2].value)

    @property
    def record(self) -> list[ReportRow]:
        """Every number."""
        used = self.information.share_of(self.entropy, "share of H(label)")
        rows = [
            ReportRow("wrong labels", self.wrong, meaning=f"of {self.n:,}"),
            ReportRow(
                "usable information",
                self.information,
                meaning=f"by {self.family}, held out",
            ),
            ReportRow("entropy of the label", self.entropy),
            ReportRow("usable share", used),
            *(
                ReportRow("lost information", lost, {"without": name})
                for name, lost in self.lost.items()
            ),
            *(
                ReportRow("labels", number, {"likely class": likely, "labelled": label})
                for label, likely, number in self.confused
            ),
        ]
        return [*rows, *self.beside]

    @property
    def answers(self) -> list[str]:
        """The verdict on the labels, how to find them, the classes, and what the model
        can use.
        """
        wrong = self.wrong
        count = round(wrong.value)
        if wrong.low == 0:
            first = (
                f"No wrong labels are detected: at most {wrong.high:,.0f} of "
                f"{self.n:,} (95 %)."
            )
            return [first, *self._usable]
        hits = self.suspects["wrong"][:count].mean()
        errors = [
            f"{likely} labelled {label}, {cell(number, 0)}"
            for label, likely, number in self.confused
        ]
        return [
            f"{count:,} of {self.n:,} labels are wrong (95 %: {wrong.low:,.0f} to "
            f"{wrong.high:,.0f}).",
            f"Of the {count:,} most suspicious labels {100 * hits:.0f} % are expected "
            "to be wrong.",
            f"The most frequent errors are {'; '.join(errors[:SENTENCE_PAIRS])}.",
            *self._usable,
        ]

    @property
    def _usable(self) -> list[str]:
        """What the model can use, and what goes without a column."""
        used = self.information.share_of(self.entropy)
        family = self.family[0].upper() + self.family[1:]
        sentences = [
            f"{family} reads {amount(self.information.bits)} of the label: "
            f"{share(used, 'its entropy')}."
        ]
        for name, lost in self.lost.items():
            bits = lost.bits
            how_many = amount(bits) if bits.low > 0 else at_most(bits)
            sentences.append(f"Without {name}, {how_many} are lost.")
        return sentences

    @property
    def caption(self) -> str:
        return (
            f"The {min(SHOWN, self.n)} most suspicious items, by the probability that "
            "the label is wrong; the file of "
            "suspects has every item. PVI: the bits by which the model prefers the "
            "label to the label's frequency; "
            "below 0 it prefers other classes."
        )

    @property
    def doubts(self) -> list[str]:
        """Notes on classes left out, on assumptions, and on a model that can use too
        little.
        """
        width = self.wrong.high - self.wrong.low
        doubts = [*self.notes, ASSUMPTION]
        if width > MAX_WIDTH * self.n:
            doubts.append(WEAK)
        if self.information.high < 0.0:
            doubts.append(WORSE)
        return doubts

    @property
    def text(self) -> pd.DataFrame:
        """The first suspects, to read."""
        shown = self.suspects.head(SHOWN)
        return pd.DataFrame(
            {
                self.heading: shown[self.heading],
                "label": shown["label"],
                "likely": shown["likely"],
                "wrong": shown["wrong"].map(_percent),
                "item": [
                    textwrap.shorten(str(item), WIDTH, placeholder=" ...")
                    for item in shown["item"]
                ],
                "PVI (bits)": shown["pvi_bits"].map("{:.2f}".format),
            }
        )

    @property
    def more(self) -> dict[str, Any]:
        """The confused classes, and every number, for a page."""
        numbers = pd.DataFrame([row.cells() for row in self.record]).fillna("")
        lines = []
        for label, likely, number in self.confused:
            lines.append((likely, label, cell(number, 0)))
        columns = ["likely class", "labelled", "labels (95 %)"]
        confused = pd.DataFrame(lines, columns=columns)
        return {"Confused classes": confused, "Every number": numbers}

    @property
    def lists(self) -> dict[str, pd.DataFrame]:
        """Every item, the most suspicious first."""
        return {"suspects": self.suspects}

    def plot(self, ax: Any = None) -> Any:
        """A histogram of PVI; every item is divided by the probability that its label
        is wrong.
        """
        ax = axes(ax, (6.4, 3.6))
        table = self.suspects
        low = table["pvi_bits"].quantile(0.002)
        bits = np.maximum(table["pvi_bits"], low)
        weights = [1.0 - table["wrong"], table["wrong"]]
        labels = ["probably right", "probably wrong"]
        ax.hist(
            [bits, bits], bins=50, weights=weights, stacked=True, log=True, label=labels
        )
        ax.legend(title="label")
        ax.set(
            xlabel="PVI: bits by which the model prefers the label to its frequency",
            ylabel="items",
        )
        ax.set_ylim(bottom=0.5)
        ax.set_title(self.answers[0], fontsize=9)
        return ax


@aligns("x", "probabilities", "labels", "folds", "groups", "items", "rows")
def report(
    labels: ArrayLike,
    x: Any = None,
    *,
    probabilities: Any = None,
    classes: Sequence[Any] | None = None,
    folds: ArrayLike | None = None,
    family: Any = None,
    without: Sequence[str] = (),
    groups: ArrayLike | None = None,
    items: Sequence[Any] | NDArray[Any] | None = None,
    rows: ArrayLike | None = None,
    heading: str = "row",
    generator: np.random.Generator | None = None,
    progress: Callable[[float, str], None] = lambda done, what: None,
) -> LabelReport:
    """Which of n labels are wrong, how many, and what a model can use.

    Parameters
    ----------
    labels
        [n], classes; classes of one item are left out, with a note.
    x
        Texts [n], numbers [n, d], or a data frame of columns of texts and numbers.
    probabilities
        [n, classes], held-out probabilities or log probabilities of your own model,
        instead of x.
    classes
        Names of the columns of `probabilities`; default: the sorted labels.
    folds
        [n], the fold of each item for `probabilities`; the entropy of a label then
        comes from the labels of the other folds.
    family
        As in `v_information.estimate`; default: logistic regression, texts by TF-IDF.
    without
        Columns of a data frame x, each to be left out once.
    groups
        [n], labels of dependent items.
    items
        [n], what the report shows of an item; default: x.
    rows
        [n], numbers or names of the items; default: from 0.
    heading
        The title of the column of `rows`.

    Raises
    ------
    InfoscopeError
        Neither x nor probabilities, or both; one class; other lengths; probabilities
        that are neither.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1], 300)
    >>> x = truth[:, None] + 0.2 * generator.normal(size=(600, 1))
    >>> given = truth.copy()
    >>> given[:20] = 1
    >>> report(given, x).wrong.value
    22
    """
    if (x is None) == (probabilities is None):
        raise Conflict(
            "x must be given, or probabilities, but got "
            f"{'none' if x is None else 'both'}."
        )
    generator = generator_or_default(generator)
    labels = np.asarray(labels)
    n = len(labels)
    is_used = np.ones(n, dtype=bool)
    notes = []
    if x is not None:
        is_used, notes = _frequent(labels, as_groups(groups, n))
    rows = np.arange(n) if rows is None else np.asarray(rows)
    if items is None:
        items = x if isinstance(x, Sequence) else rows
    check_length(items, n, "items")
    used_groups = None if groups is None else np.asarray(groups)[is_used]
    codes = as_groups(used_groups, int(is_used.sum()))
    if x is None:
        model = _from_probabilities(labels, probabilities, classes, folds)
    else:
        check_length(x, n)
        inputs = take(x, is_used)
        model = _from_inputs(
            inputs, labels[is_used], family, without, codes, generator, progress
        )
    progress(0.8, "wrong labels")
    outcome = model.outcome
    assert outcome.labels is not None
    logs = with_floor(model.logs, FLOOR)
    log_probability = logs[np.arange(len(logs)), outcome.values]
    groups_per_row = min(1.0, (codes.max() + 1) / len(codes))
    return LabelReport(
        names=outcome.labels,
        codes=outcome.values,
        logs=logs,
        null=model.null,
        noise=fit_noise(model.logs, outcome.values, groups_per_row),
        information=mean_of(
            log_probability - model.null, codes, method=model.name, settings="held out"
        ),
        entropy=mean_of(-model.null, codes),
        lost=model.lost,
        family=model.name,
        rows=rows[is_used],
        heading=heading,
        items=take(items, is_used),
        groups=int(codes.max()) + 1,
        notes=notes,
        beside=_cleanlab(outcome.values, logs),
    )


@dataclass(frozen=True, eq=False)
class _Model:
    """What a model says of labels: held-out log probabilities, its name, and what goes
    without an input.

    logs, null  [n, classes] with the input, [n] of the own class without one
    """

    logs: Values
    null: Values
    outcome: Outcome
    name: str
    lost: Mapping[str, Estimate]


def _percent(probability: float) -> str:
    """A probability below 1 in whole per cent, which is not 100 %."""
    return "> 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def _frequent(
    labels: NDArray[Any], groups: Codes
) -> tuple[NDArray[np.bool_], list[Note]]:
    """A mask of the items whose class is in `MIN_ITEMS` groups or more, and notes on
    others. NoVariation: one class.
    """
    members = pd.DataFrame({"label": labels, "group": groups}).drop_duplicates()
    counts = members["label"].value_counts()
    rare = counts.index[(counts < MIN_ITEMS).to_numpy()]
    if len(counts) - len(rare) < 2:
        raise NoVariation(
            f"labels must have two classes of {MIN_ITEMS} items or more, got "
            f"{len(counts) - len(rare)}."
        )
    is_frequent = ~np.isin(labels, list(rare))
    if not len(rare):
        return is_frequent, []
    sentence = f"Classes of a single item are left out: {listed(map(str, rare))}."
    return is_frequent, [Note(sentence, "rare class", "labels")]


def _from_inputs(
    x: Any, labels: NDArray[Any], family: Any, without: Sequence[str], groups: Codes,
    generator: np.random.Generator, progress: Callable[[float, str], None],
) -> _Model:  # fmt: skip
    """The held-out predictions of a family from inputs, and from those without each of
    some columns.
    """
    predictions, name, outcome = _fitted(x, labels, family, groups, generator, progress)
    lost: dict[str, Estimate] = {}
    for column in without:
        fewer, *_ = _fitted(
            _without(x, column), labels, family, groups, generator, progress
        )
        lost[column] = mean_of(predictions.informed - fewer.informed, groups)
    assert predictions.logs is not None
    return _Model(predictions.logs, predictions.null, outcome, name, lost)


def _fitted(
    x: Any, labels: NDArray[Any], family: Any, groups: Codes, generator: np.random.Generator,
    progress: Callable[[float, str], None],
) -> tuple[Predictions, str, Outcome]:  # fmt: skip
    """Held-out predictions of the family, or of the logistic regression of least loss;
    its name; the outcome.
    """
    if family is not None:
        families = [as_family(family)]
        x = _bare(x) if isinstance(x, pd.DataFrame) else x
    else:
        x = _columns(x)
        families = [columns_logistic(x, penalty) for penalty in PENALTIES]
    outcome = as_outcome(families[0], labels)
    smallest = np.bincount(outcome.values).min()
    folds = FOLDS if smallest >= FOLDS else 3
    seed = int(generator.integers(2**63))
    candidates = []
    for place, candidate in enumerate(families):
        progress(0.6 * place / len(families), candidate.name)
        generator = np.random.default_rng(seed)
        predictions = cross_fitted(
            candidate, x, outcome, folds, groups, FLOOR, generator
        )
        candidates.append((predictions, candidate.name))
    best, name = max(candidates, key=lambda fit: fit[0].informed.mean())
    return best, name, outcome


def _without(x: Any, column: str) -> pd.DataFrame:
    """The other columns of a data frame. UnknownName: it has no such column. TooFew: it
    has no other.
    """
    if not isinstance(x, pd.DataFrame) or column not in x:
        names = listed(map(str, getattr(x, "columns", [])))
        raise UnknownName(
            "without must name columns of a data frame x, "
            f"{names or 'which it is not'}, got {column!r}."
        )
    if len(x.columns) < 2:
        raise TooFew(
            f"without must leave a column of x, got {column!r}, the only column."
        )
    return x.drop(columns=column)


def _columns(x: Any) -> pd.DataFrame:
    """Texts [n] or numbers [n, d] as a data frame. WrongType, MissingValues: other or
    missing values.
    """
    frame = x
    if not isinstance(x, pd.DataFrame):
        frame = pd.DataFrame({"text": x} if isinstance(x, list) else x)
    numbers = frame.select_dtypes(["number", "bool"])
    if len(numbers.columns) or frame.columns.empty:
        as_matrix("x", numbers)
    for name in frame.columns.difference(numbers.columns, sort=False):
        others = [value for value in frame[name] if not isinstance(value, str)]
        if others:
            raise WrongType(
                f"x must be texts or numbers, got {others[0]!r} among the texts of "
                f"column {name!r}."
            )
    return frame


def _bare(x: pd.DataFrame) -> Any:
    """A data frame as families take it: texts, pairs of texts, or numbers [n, d]."""
    words = x.select_dtypes(exclude=["number", "bool"])
    texts = [column.tolist() for _, column in words.items()]
    if not texts:
        return x.to_numpy(dtype=np.float64)
    return texts[0] if len(texts) == 1 else list(zip(*texts))


def _from_probabilities(
    labels: NDArray[Any],
    probabilities: Any,
    classes: Sequence[Any] | None,
    folds: ArrayLike | None,
) -> _Model:
    """The user's own model; without an input, the frequencies of the other folds."""
    logs = as_logs(probabilities)
    names = np.unique(labels) if classes is None else np.asarray(classes)
    if logs.shape != (len(labels), len(names)):
        raise WrongShape(
            f"probabilities must be [{len(labels)}, {len(names)}], a row for each "
            "label and a column for each of "
            f"{listed(map(str, names))}, got {list(logs.shape)}."
        )
    place = {str(name): code for code, name in enumerate(names)}
    unknown = sorted({str(label) for label in labels} - place.keys())
    if unknown:
        raise UnknownName(
            f"labels must be among the classes {listed(place)}, got {listed(unknown)}."
        )
    codes = np.array([place[str(label)] for label in labels])
    fold = np.arange(len(codes))
    if folds is not None:
        fold = np.unique(folds, return_inverse=True)[1]
    counts = np.zeros((fold.max() + 1, len(names)), np.int64)
    np.add.at(counts, (fold, codes), 1)
    others = counts.sum(axis=0) - counts
    total = others.sum(axis=1, keepdims=True)
    if (total == 0).any():
        raise TooFew("folds must be two or more, got one.")
    with np.errstate(divide="ignore"):
        frequencies = with_floor(np.log(others / total), FLOOR)
    null = frequencies[fold, codes]
    return _Model(logs, null, Outcome(codes, names), "the model", {})


def as_logs(probabilities: Any) -> Values:
    """Log probabilities [n, classes] of probabilities, or of log probabilities, such as
    those of a language model's options, which need not sum to 1.

    >>> np.exp(as_logs([[-1.0, -1.0]])).tolist()
    [[0.5, 0.5]]

    MissingValues: NaN. OutOfRange: neither.
    """
    values = np.asarray(probabilities, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] < 2:
        raise WrongShape(
            "probabilities must be [n, classes], two classes or more, got "
            f"{list(values.shape)}."
        )
    if np.isnan(values).any():
        raise MissingValues(
            "probabilities must be numbers, got NaN in "
            f"{int(np.isnan(values).any(axis=1).sum())} rows."
        )
    sums = values.sum(axis=1)
    if (values >= 0.0).all() and np.allclose(sums, 1.0, atol=0.02):
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(values / sums[:, None]), LOWEST)
    if (values <= 0.0).all():
        return log_softmax(np.maximum(values, 10.0 * LOWEST), axis=1)
    raise OutOfRange(
        "probabilities must be at least 0 and sum to 1 in each row, or be log "
        "probabilities, at most 0, got values "
        f"from {values.min():g} to {values.max():g} and sums from {sums.min():g} to "
        f"{sums.max():g}."
    )


def _cleanlab(codes: Codes, logs: Values) -> list[ReportRow]:
    """The number of wrong labels by cleanlab, where it is installed (extra `labels`)."""
    try:
        from cleanlab.count import num_label_issues
    except ModuleNotFoundError:
        return []
    number = float(num_label_issues(codes, np.exp(logs)))
    estimate = Estimate(
        number, unit=LABELS, n=len(codes), method="cleanlab", notes=(NO_INTERVAL,)
    )
    return [ReportRow("wrong labels by cleanlab", estimate)]
