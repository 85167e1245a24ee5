"""Evaluations of many trained models: by kind over trainings, in paired differences, and next to published ranges."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
from sklearn.metrics import mutual_info_score

from analysis.common.tables import ERROR, Claim, plus_minus, published, verdict
from analysis.partition._evaluation import DRAWS, Evaluation
from infoscope.estimators.result import Estimate
from infoscope.metrics import replicated
from infoscope.metrics.partition.labels_as_numbers import AS_NUMBERS
from infoscope.metrics.partition.report import OLD_SUM, compare
from infoscope.metrics.partition.terms import CLASSIFIER, NEIGHBOURS, POSTERIOR

# the evaluation's quantities, and the entropy that is the most each can be (None: see `most`)
QUANTITIES = {
    "I(z_y;Y|D)": "H(Y|D)",
    "I(z_y;D|Y)": "H(D|Y)",
    "I(z_d;D|Y)": "H(D|Y)",
    "I(z_d;Y|D)": "H(Y|D)",
    "I(z_dy;Y,D)": "H(Y,D)",
    "co-information(z_dy;Y;D)": "I(Y;D)",
    "I(z_x;Y,D)": "H(Y,D)",
}
SCORES = ("unique", "unique_without_z_dy", "seed")
COMPARED = ("unique", "seed", "I(z_y;D|Y)", "I(z_d;Y|D)")  # in the text of the differences
OF_DRAWS = f" {DRAWS}"  # ending of a kind that is evaluated by draws
BESIDE = ("unique_y_raw", "unique_d_raw", "sufficiency")
ROUTES = (CLASSIFIER, NEIGHBOURS, AS_NUMBERS, POSTERIOR)
ABSENT = "not applicable"
OVER_ITEMS = "_items_error"  # suffix: standard error over items of one trained model, root mean square of the trainings
EXPECTATIONS = "domain_expectations"
ROUNDING = 1e-9
NAMES = {"nvae": "NVAE", "diva": "DIVA", "seed": f"Partition Quality ({OLD_SUM})"}
UNITS = {"seed": ""}  # of quantities that are not in nats


def by_kind(evaluations: Sequence[Evaluation]) -> dict[str, list[Evaluation]]:
    """The trainings of each kind of model, in the order in which the kinds appear."""
    kinds: dict[str, list[Evaluation]] = {}
    for one in evaluations:
        kinds.setdefault(one.candidate.kind, []).append(one)
    return kinds


def most(name: str) -> str | None:
    """What a quantity cannot exceed, as a quantity or score of the same report."""
    return "seed_ceiling" if name == "seed" else QUANTITIES.get(name)


def comparison(evaluations: Sequence[Evaluation]) -> pd.DataFrame:
    """One row per kind and route: mean over trainings, its standard error (`NAME_error`) and that over items."""
    rows = []
    for kind, trainings in by_kind(evaluations).items():
        for route in ROUTES:
            found = [one.routes()[route] for one in trainings if route in one.routes()]
            if len(found) < len(trainings):
                continue
            row = {"model": kind, "route": route, "trainings": len(found), "items": trainings[0].report.n,
                   "groups": trainings[0].report.groups}  # fmt: skip
            for name in (*QUANTITIES, *SCORES, *BESIDE, "seed_bits", "seed_ceiling"):
                figures = [one[name] for one in found if name in one]
                if len(figures) < len(found):
                    continue
                over = replicated([figure.value for figure in figures])
                squares = np.square([figure.standard_error for figure in figures])
                row |= {
                    name: over.value,
                    name + ERROR: over.standard_error,
                    name + OVER_ITEMS: math.sqrt(squares.mean()),
                }
            rows.append(row)
    return pd.DataFrame(rows)


def comparison_text(figures: pd.DataFrame) -> pd.DataFrame:
    """The rows of the classifier route to read, with the seed's score as it was measured there."""
    shown = figures[figures["route"] == CLASSIFIER]
    text = shown[["model", "trainings"]].copy()
    for name in (*SCORES, *QUANTITIES, "sufficiency"):
        text[name] = [cell_text(row, name) for _, row in shown.iterrows()]
    text = text.rename(columns={name: name.replace("co-information", "co-I") for name in text} | {"seed": OLD_SUM})
    numbers = figures[figures["route"] == AS_NUMBERS].set_index("model")
    text[f"{OLD_SUM} (labels as numbers)"] = [cell_text(numbers.loc[model], "seed") for model in text["model"]]
    return text


def cell_text(row: pd.Series, name: str) -> str:
    """Mean ± standard error over trainings; of one training, over items."""
    error = row.get(name + ERROR, math.nan)
    error = row.get(name + OVER_ITEMS, math.nan) if row["trainings"] == 1 else error
    return plus_minus(row.get(name, math.nan), error, ABSENT)


def same_items(evaluations: Sequence[Evaluation]) -> Iterator[dict[str, Evaluation]]:
    """Evaluations on the same items, by kind: those of one seed of a sweep. Of a kind that occurs twice, the first."""
    groups: dict[str, dict[str, Evaluation]] = {}
    for one in evaluations:
        groups.setdefault(one.items, {}).setdefault(one.candidate.kind, one)
    yield from (group for group in groups.values() if len(group) > 1)


def within_items(evaluations: Sequence[Evaluation]) -> pd.DataFrame:
    """Paired differences a - b of two trained models on the same items, with errors over groups of items (see
    `partition.compare`): a row for each quantity, pair of kinds and seed.
    """
    found = []
    for group in same_items(evaluations):
        frame = compare({kind: one.report for kind, one in group.items()})
        found.append(frame.assign(seed=next(iter(group.values())).candidate.seed))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def over_trainings(evaluations: Sequence[Evaluation]) -> pd.DataFrame:
    """Paired differences a - b of two kinds of model within seeds, by classifiers: mean over seeds, standard error and
    95 % interval (Student t). NaN where one of the two has no such figure.
    """
    differences: dict[tuple[str, str, str], list[float]] = {}
    for group in same_items(evaluations):
        for a, b in combinations(group, 2):
            one, other = (group[kind].routes()[CLASSIFIER] for kind in (a, b))
            for name in (*QUANTITIES, *SCORES, *BESIDE):
                if name in one and name in other:
                    differences.setdefault((name, a, b), []).append(one[name].value - other[name].value)
    rows = []
    for (name, a, b), values in differences.items():
        over = replicated(values)
        rows.append({"quantity": name, "a": a, "b": b, "difference": over.value, "standard_error": over.standard_error,
                     "low": over.low, "high": over.high, "trainings": over.n})  # fmt: skip
    return pd.DataFrame(rows)


def differences_text(over: pd.DataFrame, within: pd.DataFrame) -> pd.DataFrame:
    """Differences from the first kind to read: over trainings, and of how many single seeds the sign is sure."""
    rows = []
    shown = over[over["quantity"].isin(COMPARED) & np.isfinite(over["difference"]) & alike(over)]
    for row in shown.itertuples():
        same = (within["a"] == row.a) & (within["b"] == row.b) & (within["quantity"] == row.quantity)
        sure = within[same]
        rows.append({
            "a": row.a, "b": row.b, "quantity": OLD_SUM if row.quantity == "seed" else row.quantity,
            "a - b": plus_minus(row.difference, row.standard_error),
            "95 % interval over trainings": interval(row.low, row.high),
            "sure over items (p Holm < 0.05)": f"{int((sure['p_holm'] < 0.05).sum())} of {len(sure)} seeds"
            if len(sure) else "no error over items",
        })  # fmt: skip
    return pd.DataFrame(rows)


def alike(over: pd.DataFrame) -> pd.Series:
    """Which rows compare the first kind with others, means with means and draws with draws."""
    first, kinds = over["a"].iloc[0], {*over["a"], *over["b"]}
    of_means = (over["a"] == first) & ~over["b"].str.endswith(OF_DRAWS)
    random = {kind for kind in kinds if kind + OF_DRAWS in kinds}
    return of_means | (over["a"] == first + OF_DRAWS) & ~over["b"].isin(random)


def interval(low: float, high: float) -> str:
    return f"{low:+.3f} to {high:+.3f}" if math.isfinite(low) else "one training"


def beside_published(figures: pd.DataFrame) -> pd.DataFrame:
    """Published figures of models that were evaluated, nats, compared with ours in the same way and by classifiers."""
    rows = []
    for row in published("domain_partition").itertuples():
        of_model = figures[figures["model"].str.split(" ").str[0] == row.model]
        for kind in dict.fromkeys(of_model["model"]):
            own = of_model[of_model["model"] == kind].set_index("route")
            rows.append({"model": kind, "quantity": row.quantity, "published": row.bits * math.log(2)} | {
                route: own.loc[route].get(row.quantity, math.nan) for route in (AS_NUMBERS, CLASSIFIER)
            })  # fmt: skip
    return pd.DataFrame(rows)


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
    """The same with labels taken as numbers, which is no valid estimate."""
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
    return float(mutual_info_score(of.report.items.y, of.report.items.d))


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
