"""How difficult is a data set, which of its items are difficult, and why? (Ethayarajh
et al. 2022; Xu et al. 2020)

Families of predictors, from logistic regression to fine-tuned transformers, are fitted
to labelled texts and to transformed versions of them. The mean pointwise V-information
(PVI) of unseen items is the information that a family can use; the PVI of an item
measures its difficulty. There are two studies:

    difficulty  PVI of every item, by data set, transformation and family; tokens that help or mislead
    epochs      V-information and accuracy after every epoch, to show over-fitting

Held-out members are fitted on one part of the data and measured on another (algorithm
1). In cross-fitting every training item is measured by a member fitted to the other
folds. A seed draws the items to fit if not all are used, folds, shuffles and initial
weights. The study of epochs, and quick families, which draw nothing, have the first
seed only.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infoscope.checks import one_of
from infoscope.data.texts import transformations
from infoscope.errors import InvalidInput
from infoscope.estimators.families.protocol import (
    Family,
    Outcome,
    Predictor,
    as_outcome,
    take,
)
from infoscope.estimators.result import clustered_error
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.v_information import difficulty, measures, predictions, pvi
from infoscope.metrics.v_information.measures import (
    CROSS_FITTED,
    HELD_OUT,
    VInformation,
    summary,
)
from infoscope.metrics.v_information.predictions import (
    FLOOR,
    Predictions,
    as_groups,
    fit_nulls,
)
from infoscope.tracking import Pack, Profile, Report, Sweep
from sweeps.checks import require_minimum
from sweeps.streams import draws, stream
from sweeps.usable_information._data import (
    EMBEDDINGS,
    SOURCES,
    DifficultyCell,
    Task,
    amount,
    chosen,
    data_sets,
    family_of,
    is_encoder,
    known_information,
    task_of,
)
from sweeps.usable_information._text_families import (
    STEPS,
    SequenceClassifiers,
    epoch_curve,
    member,
)
from sweeps.usable_information.settings import FREQUENT

PAIR_TRANSFORMATIONS = ("hypothesis", "premise", "raw_overlap", "overlap")
WORDLESS = ("length", "null")  # without words, so not for families that weight words
TRANSFORMATIONS = ("std", "shuffled", *WORDLESS, *PAIR_TRANSFORMATIONS)
CURVES = {  # columns of the table of epochs, with the names of their curves
    "standard_error_bits": "v_information_bits_error",
    "H_yb": "null_entropy_bits",
    "H_yxb": "conditional_entropy_bits",
}
EXCERPT = 600  # characters of a text in the table of items
MINIMUM = {
    "items": 0,
    "measured": 0,
    "folds": 3,
    "epochs": 1,
    "batch": 1,
    "max_length": 3,
    "artefacts": 0,
    "seed": 0,
}


@dataclass(frozen=True)
class DifficultyProfile(Profile):
    """The published settings. "auto" and "none" as in `_data.chosen`."""

    data: tuple[str, ...] = ("snli", "mnli", "cola")
    embeddings: tuple[str, ...] = ("imdb-bert",)
    curves: tuple[str, ...] = ("snli", "cola")  # data of the study of epochs
    encoders: tuple[str, ...] = ("hub:bert-base-cased",)
    quick: tuple[str, ...] = ("lexical-logistic", "tfidf-logistic")
    transformations: tuple[str, ...] = (
        "std", "shuffled", "hypothesis", "premise", "raw_overlap", "overlap", "length",
    )  # fmt: skip
    quick_transformations: tuple[str, ...] = (
        "std", "shuffled", "hypothesis", "premise", "raw_overlap", "overlap",
    )  # fmt: skip
    items: int = 0  # to fit; 0: all
    measured: int = 0  # of the test set; 0: all
    folds: int = 10
    epochs: int = 2
    curve_epochs: int = 10
    batch: int = 32
    max_length: int = 128  # tokens
    null: str = "trained"
    artefacts: int = 2000
    seeds: tuple[int, ...] = (1,)


PAPER = DifficultyProfile()
LAPTOP = replace(
    PAPER,
    data=("auto",),
    embeddings=("auto",),
    curves=("auto",),
    encoders=("small-bert",),
    transformations=("std", "shuffled", "hypothesis"),
    folds=5,
    max_length=64,
    null="frequencies",
    artefacts=500,
    seeds=(0,),
)
SMOKE = replace(
    LAPTOP,
    items=240,
    measured=120,
    folds=3,
    epochs=1,
    curve_epochs=2,
    batch=16,
    max_length=32,
    artefacts=60,
    transformations=("std", "hypothesis"),
    quick_transformations=("std", "shuffled", "hypothesis"),
)
PROFILES = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}


def cells(profile: DifficultyProfile) -> Iterator[DifficultyCell]:
    """The cells of both studies."""
    for name in chosen("data", profile.data):
        for family in named(*profile.quick, *profile.encoders):
            kinds = (
                profile.transformations
                if is_encoder(family)
                else profile.quick_transformations
            )
            if not SOURCES[name].pairs:
                kinds = [kind for kind in kinds if kind not in PAIR_TRANSFORMATIONS]
            for seed, kind in itertools.product(seeds_of(family, profile), kinds):
                yield measuring(profile, name, family, HELD_OUT, kind, seed)
            if not is_encoder(family):
                yield measuring(
                    profile, name, family, CROSS_FITTED, "std", profile.seeds[0]
                )
    for name in chosen("embeddings", profile.embeddings):
        for estimator in (HELD_OUT, CROSS_FITTED):
            yield measuring(
                profile, name, "logistic", estimator, "std", profile.seeds[0]
            )
    for name in chosen("curves", profile.curves):
        for encoder in named(*profile.encoders):
            shared = measuring(
                profile, name, encoder, HELD_OUT, "std", profile.seeds[0]
            )
            yield replace(
                shared, study="epochs", epochs=profile.curve_epochs, artefacts=0
            )


def named(*families: str) -> list[str]:
    """The families without "none", which stands for no family."""
    return [family for family in families if family != "none"]


def seeds_of(family: str, profile: DifficultyProfile) -> tuple[int, ...]:
    """The seeds of a family; quick families draw nothing, so they have one."""
    return profile.seeds if is_encoder(family) else profile.seeds[:1]


def measuring(
    profile: DifficultyProfile,
    name: str,
    family: str,
    estimator: str,
    kind: str,
    seed: int,
) -> DifficultyCell:
    """A cell of the study of difficulty."""
    explained = name not in EMBEDDINGS and kind == (
        "hypothesis" if SOURCES[name].pairs else "std"
    )
    trained = is_encoder(family)
    return DifficultyCell(
        study="difficulty",
        data=name,
        transformation=kind,
        family=family,
        estimator=estimator,
        items=profile.items,
        measured=profile.measured,
        folds=profile.folds,
        epochs=profile.epochs if trained else None,
        batch=profile.batch if trained else None,
        max_length=profile.max_length if trained else None,
        null=profile.null if trained else None,
        artefacts=profile.artefacts if explained and estimator == HELD_OUT else 0,
        seed=seed,
    )


def check(cell: DifficultyCell) -> None:
    require_minimum(cell, MINIMUM)
    one_of("transformation", cell.transformation, TRANSFORMATIONS)
    if cell.transformation in WORDLESS and not is_encoder(cell.family):
        raise InvalidInput(
            f"transformation must leave words for {cell.family}, got "
            f"{cell.transformation!r}"
        )
    family_of(cell)
    data_sets(cell)


def trial(pack: Pack[DifficultyCell], report: Report) -> None:
    """Runs the study of the cell."""
    (cell,) = pack.cells
    if cell.study == "difficulty":
        measure(cell, report)
    else:
        follow(cell, report)


def inputs(cell: DifficultyCell, task: Task) -> Any:
    """The input of the family: transformed texts, or vectors."""
    if cell.data in EMBEDDINGS:
        return task.x
    return transformations.transformed(
        cell.transformation, task.x, stream(cell.seed, "shuffle")
    )


def measure(cell: DifficultyCell, report: Report) -> None:
    """Reports the PVI of every item, the metrics that follow from it, and influential
    tokens.
    """
    task = task_of(cell)
    family = family_of(cell)
    x = inputs(cell, task)
    outcome = as_outcome(family, task.y)
    assert outcome.classes is not None
    splits = splits_of(cell, task, outcome)
    generator = draws(cell.seed, "fit")
    informed = None
    if cell.estimator == HELD_OUT:
        ((fitted, unseen),) = splits
        informed = fitted_member(
            cell,
            family,
            take(x, fitted),
            outcome.values[fitted],
            outcome.classes,
            report,
        )
        nulls = fit_nulls(family, outcome, [fitted], task.groups, generator)
        predicted = predictions.measured(x, outcome, [unseen], [informed], nulls, FLOOR)
    else:
        predicted = predictions.predict(
            family, x, outcome, splits, task.groups, FLOOR, generator
        )
    report.table(cell, "items", items_table(cell, task, x, outcome, predicted))
    estimate = summary(
        predicted, cell.estimator, family.name, task.groups[predicted.rows], FLOOR, None
    )
    report.metrics(cell, figures(estimate, predicted, task, outcome))
    constants: dict[str, float] = {"training_items": int(splits[0][0].sum())}
    information = known_information(cell)
    if information is not None:
        constants["shannon_bits"] = information / NATS_PER_BIT
    report.constants(cell, constants)
    if cell.artefacts:
        assert informed is not None
        explain(
            cell, informed, take(x, predicted.rows), outcome, predicted.rows, report
        )
    if is_encoder(cell.family) and informed is not None:
        example = informed.classifier.encoder.tokenize(take(x, predicted.rows[:2]))
        tensors = {name: values.numpy() for name, values in example.items()}
        report.model([cell], "classifier", informed.classifier.cpu(), tensors)
    report.progress(1.0)


def splits_of(cell: DifficultyCell, task: Task, outcome: Outcome) -> list:
    """Masks of the items that are fitted and measured: training and test set, or folds
    of whole groups, which are the same for all families and transformations of a seed;
    held-out uses the first fold.
    """
    codes = as_groups(task.groups, outcome.n)
    test = np.arange(outcome.n) >= task.fitted if task.fitted else None
    return measures.splits_of(
        cell.estimator, outcome, codes, cell.folds, test, draws(cell.seed, "folds")
    )


def fitted_member(
    cell: DifficultyCell,
    family: Family,
    x: Any,
    y: np.ndarray,
    classes: int,
    report: Report,
) -> Predictor:
    """The fitted member; the training of a transformer is continued from its
    checkpoint.
    """
    if not isinstance(family, SequenceClassifiers):
        return family.fit(x, y, classes, generator=draws(cell.seed, "fit"))
    training = family.training(x, y, classes, draws(cell.seed, "fit"))
    state = report.restore()
    if state is not None:
        training.load_state_dict(state)
    while training.done < training.total:
        training.advance(STEPS)
        report.progress(0.9 * training.done / training.total)
        report.save(training.state_dict)
    return member(training.classifier.eval())


def items_table(
    cell: DifficultyCell, task: Task, x: Any, outcome: Outcome, predicted: Predictions
) -> dict[str, np.ndarray]:
    """A row for each measured item: its PVI (bits), and for texts also its length,
    overlap and beginning.
    """
    rows = predicted.rows
    table = pvi.table(predicted, outcome).assign(
        id=task.ids[rows], group=task.groups[rows]
    )
    if cell.data not in EMBEDDINGS:
        original = take(task.x, rows)
        table["text"] = [text[:EXCERPT] for text in take(x, rows)]
        table["length"] = transformations.lengths(original)
        if SOURCES[cell.data].pairs:
            table["overlap"] = transformations.overlap_lengths(original)
            table["overlap_share"] = transformations.overlap_fractions(original)
    return {name: table[name].to_numpy() for name in table}


def figures(
    estimate: VInformation, predicted: Predictions, task: Task, outcome: Outcome
) -> dict[str, float]:
    """The metrics of an estimate, bits, with standard errors that account for groups of
    items.
    """
    groups = task.groups[predicted.rows]
    codes = np.unique(groups, return_inverse=True)[1]
    classes = outcome.values[predicted.rows]
    assert predicted.logs is not None and outcome.labels is not None
    assert estimate.calibration is not None
    correct = (predicted.logs.argmax(axis=1) == classes).astype(float)
    pvi_bits = (predicted.informed - predicted.null) / NATS_PER_BIT
    values = {
        "v_information_bits": estimate.bits.value,
        "v_information_bits_error": estimate.bits.standard_error,
        "null_entropy_bits": estimate.null_entropy.bits.value,
        "null_entropy_bits_error": estimate.null_entropy.bits.standard_error,
        "conditional_entropy_bits": estimate.conditional_entropy.bits.value,
        "conditional_entropy_bits_error": estimate.conditional_entropy.bits.standard_error,
        "accuracy": correct.mean(),
        "accuracy_error": clustered_error(correct, codes),
        "expected_calibration_error": estimate.calibration.expected_error,
        "best_temperature": estimate.calibration.best_temperature,
        "floored_items": estimate.floored,
        "n": estimate.n,
        "groups": estimate.units,
    }
    for code in np.unique(classes):  # few items may lack a class
        rows = classes == code
        name = f"class {outcome.labels[code]}"
        within = np.unique(groups[rows], return_inverse=True)[1]
        values[f"{name}/v_information_bits"] = pvi_bits[rows].mean()
        values[f"{name}/v_information_bits_error"] = clustered_error(
            pvi_bits[rows], within
        )
        values[f"{name}/n"] = rows.sum()
    return values


def explain(
    cell: DifficultyCell,
    informed: Predictor,
    texts: list[str],
    outcome: Outcome,
    rows: np.ndarray,
    report: Report,
) -> None:
    """Reports how much the frequent tokens of the measured texts help to predict each
    class.
    """
    drawn = np.random.default_rng(0).permutation(len(texts))[: cell.artefacts]
    shown = [texts[place] for place in drawn]
    headers = [
        f"{name}:" for name in (transformations.PREMISE, transformations.HYPOTHESIS)
    ]
    # as published; headers are kept as tokens
    tokens = re.compile("|".join([*headers, r"\w+|[^\w\s]+"])).findall
    frequency = Counter(token for text in shown for token in tokens(text))
    if max(frequency.values(), default=0) < FREQUENT:
        return
    table = difficulty.token_artefacts(
        informed, shown, outcome.values[rows[drawn]], FREQUENT, tokens=tokens
    )
    table = table[~table["token"].isin(headers)]
    assert outcome.labels is not None
    table = table.assign(label=outcome.labels[table["code"]])
    report.table(cell, "artefacts", {name: table[name].to_numpy() for name in table})
    report.metrics(cell, {"artefact_texts": len(drawn)})


def follow(cell: DifficultyCell, report: Report) -> None:
    """Reports V-information and accuracy after every epoch of one training, continued
    from its checkpoint.
    """
    task = task_of(cell)
    family = family_of(cell)
    outcome = as_outcome(family, task.y)
    assert outcome.classes is not None
    ((fitted, measured),) = splits_of(cell, task, outcome)
    x = inputs(cell, task)

    def on_steps(done: float, state: Callable[[], dict[str, Any]]) -> None:
        report.progress(done)
        report.save(state)

    curve = epoch_curve(
        family,
        take(x, fitted),
        outcome.values[fitted],
        take(x, measured),
        outcome.values[measured],
        outcome.classes,
        task.groups[measured],
        generator=draws(cell.seed, "fit"),
        state=report.restore(),
        on_steps=on_steps,
    )
    report.table(cell, "epochs", {name: curve[name].to_numpy() for name in curve})
    shown = curve.drop(columns=["epoch", "n"]).rename(columns=CURVES)
    for epoch, row in zip(curve["epoch"], shown.to_dict("records")):
        report.curve(cell, row, int(epoch))
    best = curve.loc[curve["v_information_bits"].idxmax()]
    report.metrics(
        cell,
        {
            "best_epoch": best["epoch"],
            "best_v_information_bits": best["v_information_bits"],
        },
    )
    report.constants(
        cell, {"n": int(measured.sum()), "training_items": int(fitted.sum())}
    )


def cost(cell: DifficultyCell) -> float:
    """Approximate seconds on one core, from the number of words that are read."""
    fitted, measured, words = amount(cell)
    crossed = cell.estimator == CROSS_FITTED
    if cell.data in EMBEDDINGS:
        return 6.0 if crossed else 4.0
    if not is_encoder(cell.family):
        return 0.2 + 3e-6 * words * (
            cell.folds * fitted if crossed else fitted + measured
        )
    assert cell.epochs is not None and cell.max_length is not None
    evaluations = cell.epochs if cell.study == "epochs" else 1
    # a step costs 3 times
    read = (
        cell.epochs * fitted + (evaluations * measured + cell.artefacts * words) / 3.0
    )
    # BERT-base has 216 times the weights between words
    size = 1.0 if cell.family.startswith("small") else 200.0
    return read * (2.4e-4 + 5.7e-5 * size * min(words, cell.max_length))


SWEEP = Sweep(
    "dataset-difficulty",
    cells,
    trial,
    PROFILES,
    axes=("data", "embeddings", "curves", "encoders", "quick", "transformations",
          "quick_transformations", "seeds"),
    data=data_sets,
    check=check,
    cost=cost,
    version=3,
)  # fmt: skip
