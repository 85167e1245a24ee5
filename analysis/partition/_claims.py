"""What was expected of the partitions of NVAE and DIVA before anything was measured, and whether it is so."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from analysis.common.tables import Claim, plus_minus, published, verdict
from analysis.partition._evaluation import Evaluation
from analysis.partition._tables import ABSENT, OF_DRAWS, by_kind, most, over_trainings
from infoscope.estimators.result import Estimate
from infoscope.metrics import replicated
from infoscope.metrics.partition.published import AS_NUMBERS
from infoscope.metrics.partition.report import OLD_SUM
from infoscope.metrics.partition.terms import CLASSIFIER

EXPECTATIONS = "domain_expectations"
ROUNDING = 1e-9
NAMES = {"nvae": "NVAE", "diva": "DIVA", "seed": f"Partition Quality ({OLD_SUM})"}
UNITS = {"seed": ""}  # of quantities that are not in nats


def claims(evaluations: Sequence[Evaluation]) -> list[Claim]:
    """Every expected range and the expected order of the two models, for those of them that were evaluated."""
    kinds = by_kind(evaluations)
    expected = published(EXPECTATIONS)
    found = []
    for row in expected.itertuples():
        for kind, trainings in kinds.items():
            if kind.split(" ")[0] == row.model:
                found.append(in_range(kind, trainings, row.quantity, row.low, row.high))
    return found + list(order(evaluations))


def in_range(kind: str, trainings: Sequence[Evaluation], quantity: str, low: float, high: float) -> Claim:
    """Whether a quantity is in a range, by its 95 % interval over trainings; fails where the labels cannot reach it."""
    model, *settings = kind.split(" ", 1)
    unit = UNITS.get(quantity, " nats")
    said = f"{NAMES.get(quantity, quantity)} {low:g} to {high:g}{unit}" if low < high else f"{quantity} {low:g}{unit}"
    statement = f"{NAMES.get(model, model)}{''.join(f' ({text})' for text in settings)}: {said}."
    figures = [one.routes()[CLASSIFIER][quantity] for one in trainings]
    over = interval_of(figures)
    if not math.isfinite(over.value):
        reason = "; ".join(dict.fromkeys(note for figure in figures for note in figure.notes))
        return Claim(statement, "undecided", f"{ABSENT if ABSENT in reason else reason}: there is no such block, and "
                     "what is not there is not 0.")  # fmt: skip
    evidence = f"{plus_minus(over.value, over.standard_error)}{unit} ({said_interval(over, len(trainings))})"
    evidence += as_numbers(trainings, quantity)
    ceiling = most_of(trainings, quantity)
    if ceiling is not None and low > ceiling + ROUNDING:
        return Claim(statement, "does not hold", f"with these labels it cannot exceed {ceiling:.3f}{unit}, whatever "
                     f"the model; {evidence}.")  # fmt: skip
    inside = low <= over.low and over.high <= high
    outside = over.high < low or over.low > high
    return Claim(statement, "holds" if inside else "does not hold" if outside else "undecided", f"{evidence}.")


def interval_of(figures: Sequence[Estimate]) -> Estimate:
    """Mean and 95 % interval over trainings; of one training, over its items."""
    if len(figures) == 1:
        (one,) = figures
        return replace(one, n=1)
    return replicated([figure.value for figure in figures])


def said_interval(over: Estimate, trainings: int) -> str:
    over_what = f"{trainings} trainings" if trainings > 1 else "items of one training"
    return f"95 % interval {over.low:.3f} to {over.high:.3f} over {over_what}, by classifiers"


def as_numbers(trainings: Sequence[Evaluation], quantity: str) -> str:
    """The same as it was to be measured, labels as numbers, which is no valid estimate."""
    values = [one.routes()[AS_NUMBERS][quantity].value for one in trainings if quantity in one.routes()[AS_NUMBERS]]
    return f"; with labels taken as numbers, as they did: {replicated(values).value:.3f}" if values else ""


def most_of(trainings: Sequence[Evaluation], quantity: str) -> float | None:
    """The most that a quantity can be with the labels of these items; None where nothing is known."""
    name = most(quantity)
    if name is None:
        return None
    if name == "I(Y;D)":
        return max(shared_labels(one) for one in trainings)
    return max(one.routes()[CLASSIFIER][name].value for one in trainings)


def shared_labels(of: Evaluation) -> float:
    """I(Y;D) of the items themselves, nats: 0 where every class is equally frequent in every domain."""
    counts = pd.crosstab(of.report.items.y, of.report.items.d).to_numpy() / of.report.n
    independent = counts.sum(1, keepdims=True) * counts.sum(0, keepdims=True)
    there = counts > 0
    return float((counts[there] * pd.Series(counts[there] / independent[there]).map(math.log).to_numpy()).sum())


def order(evaluations: Sequence[Evaluation]) -> Iterator[Claim]:
    """NVAE should score higher than DIVA, by each score: paired within seeds."""
    over = over_trainings(evaluations)
    if over.empty:
        return
    pairs = over[over["quantity"].isin(("seed", "unique")) & over["difference"].notna()]
    for codes in ("", OF_DRAWS):
        for row in pairs[(pairs["a"] == "nvae" + codes) & (pairs["b"] == "diva" + codes)].itertuples():
            of = f" (of{codes})" if codes else ""
            statement = f"NVAE scores higher than DIVA by the score {row.quantity}{of}."
            if not math.isfinite(row.low):
                yield Claim(statement, "undecided", f"NVAE - DIVA is {row.difference:+.3f} (one pair of trainings).")
                continue
            said = f"NVAE - DIVA is {row.difference:+.3f}, 95 % interval {row.low:+.3f} to {row.high:+.3f} over "
            yield Claim(statement, verdict(-row.high, -row.low), f"{said}{row.trainings} pairs of trainings.")


def arithmetic(evaluations: Sequence[Evaluation]) -> list[str]:
    """What follows from the labels alone, whatever the model."""
    shared = max(map(shared_labels, evaluations))
    ceiling = max(one.routes()[CLASSIFIER]["seed_ceiling"].value for one in evaluations)
    zero = "which is 0 here, so it cannot be positive" if shared < ROUNDING else f"which is {shared:.4f} nats here"
    return [
        "By arithmetic: the co-information of a block with Y and D is I(Y;D) - I(Y;D|block), so at most I(Y;D), "
        f"{zero}. What the {OLD_SUM} adds for it is error of the estimate.",
        f"The {OLD_SUM} of these labels cannot exceed {ceiling:.3f} in nats, with any model.",
    ]
