"""Evaluations of many trained models: by kind over trainings, in paired differences, and next to published ranges."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
from sklearn.metrics import mutual_info_score

from analysis.common.tables import ERROR, Claim, plus_minus, published, verdict
from analysis.partition._evaluation import DRAWS, Evaluation
from infoscope.estimators.result import BITS, SHARE, Estimate
from infoscope.estimators.units import NATS_PER_BIT
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
LEAKS = ("I(z_y;D|Y)", "I(z_d;Y|D)", "I(z_x;Y,D)")
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
UNITS = {"seed": ""}  # of quantities that are not in bits


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
    """What to quote of each model, by classifiers: the score, what leaks (bits), and the information of all blocks."""
    kinds = set(figures["model"])
    quoted = [kind for kind in kinds if is_quoted(kind, kinds)]
    shown = figures[(figures["route"] == CLASSIFIER) & figures["model"].isin(quoted)]
    text = shown[["model", "trainings"]].copy()
    for name in ("unique", *LEAKS, "sufficiency"):
        title = f"{name} (bits)" if name in QUANTITIES else name
        text[title] = [cell_text(row, name) for _, row in shown.iterrows()]
    return text


def is_quoted(kind: str, kinds: Collection[str]) -> bool:
    """Whether a kind of evaluation is to be quoted: draws of a model with posteriors, else its codes.

    The decoder sees draws. A mean is a deterministic function of the item, of which Shannon information is all or
    nothing.
    """
    return kind + OF_DRAWS not in kinds


def finding(evaluations: Sequence[Evaluation]) -> str:
    """Which model keeps label and domain apart best, by the score unique with its 95 % interval, and what leaks."""
    kinds = by_kind(evaluations)
    scores = {}
    for kind, trainings in kinds.items():
        unique = interval_of([one.routes()[CLASSIFIER]["unique"] for one in trainings])
        if is_quoted(kind, kinds) and math.isfinite(unique.value):
            scores[kind] = unique
    if not scores:
        return "The score unique does not apply to these models: each lacks z_y or z_d."
    best = max(scores, key=lambda kind: scores[kind].value)
    leak = interval_of([one.routes()[CLASSIFIER]["I(z_y;D|Y)"] for one in kinds[best]])
    start = f"{best} keeps label and domain apart best: its" if len(scores) > 1 else f"{best}: the"
    return (
        f"{start} score unique is {with_interval(scores[best])} of 1, and its z_y carries {with_interval(leak)} bits "
        f"about the domain ({within(len(kinds[best]))})."
    )


def with_interval(mean: Estimate) -> str:
    if not math.isfinite(mean.low):
        return f"{mean.value:.2f}"
    return f"{mean.value:.2f} (95 %: {mean.low:.2f} to {mean.high:.2f})"


def within(trainings: int) -> str:
    """What an interval is over."""
    return f"over {trainings} trainings" if trainings > 1 else "over items of one training"


def with_units(figures: pd.DataFrame) -> pd.DataFrame:
    """The same figures with the unit in the names of columns."""
    titles = {}
    for column in figures:
        for name in QUANTITIES:
            if column.startswith(name):
                titles[column] = column.replace(name, f"{name}_bits", 1)
    return figures.rename(columns=titles)


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
        unit = BITS if name in QUANTITIES else SHARE
        rows.append({"quantity": name, "unit": unit, "a": a, "b": b, "difference": over.value,
                     "standard_error": over.standard_error, "low": over.low, "high": over.high,
                     "trainings": over.n})  # fmt: skip
    return pd.DataFrame(rows)


def differences_text(over: pd.DataFrame, within: pd.DataFrame) -> pd.DataFrame:
    """Differences from the first kind to read: over trainings, and of how many single seeds the sign is sure."""
    rows = []
    titles = {"seed": OLD_SUM} | {name: f"{name} (bits)" for name in QUANTITIES}
    shown = over[over["quantity"].isin(COMPARED) & np.isfinite(over["difference"]) & alike(over)]
    for row in shown.itertuples():
        same = (within["a"] == row.a) & (within["b"] == row.b) & (within["quantity"] == row.quantity)
        sure = within[same]
        rows.append({
            "a": row.a, "b": row.b, "quantity": titles.get(row.quantity, row.quantity),
            "a - b": plus_minus(row.difference, row.standard_error),
            "95 % interval over trainings": interval(row.low, row.high),
            "sure over items (p Holm < 0.05)": f"{int((sure['p_holm'] < 0.05).sum())} of {len(sure)} seeds"
            if len(sure) else "no error over items",
        })  # fmt: skip
    return pd.DataFrame(rows)


def largest_difference(over: pd.DataFrame) -> str:
    """The largest difference in the score unique, with its 95 % interval over trainings, in a sentence."""
    shown = over[(over["quantity"] == "unique") & over["difference"].notna() & alike(over)]
    if shown.empty:
        return "The score unique, which needs z_y and z_d, compares no two of these models."
    row = shown.loc[shown["difference"].abs().idxmax()]
    size = f"{row['difference']:+.3f} (95 %: {interval(row['low'], row['high'])})"
    return f"{row['a']} and {row['b']} differ most in the score unique: by {size}."


def alike(over: pd.DataFrame) -> pd.Series:
    """Which rows compare the first kind with others, means with means and draws with draws."""
    first, kinds = over["a"].iloc[0], {*over["a"], *over["b"]}
    of_means = (over["a"] == first) & ~over["b"].str.endswith(OF_DRAWS)
    random = {kind for kind in kinds if kind + OF_DRAWS in kinds}
    return of_means | (over["a"] == first + OF_DRAWS) & ~over["b"].isin(random)


def interval(low: float, high: float) -> str:
    return f"{low:+.3f} to {high:+.3f}" if math.isfinite(low) else "one training"


def beside_published(figures: pd.DataFrame) -> pd.DataFrame:
    """Published figures of models that were evaluated, bits, compared with ours in the same way and by classifiers."""
    rows = []
    for row in published("domain_partition").itertuples():
        of_model = figures[figures["model"].str.split(" ").str[0] == row.model]
        for kind in dict.fromkeys(of_model["model"]):
            own = of_model[of_model["model"] == kind].set_index("route")
            rows.append({"model": kind, "quantity": row.quantity, "published": row.bits} | {
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
                scale = 1.0 if row.quantity in UNITS else NATS_PER_BIT  # expectations are in nats
                found.append(in_range(kind, trainings, row.quantity, row.low / scale, row.high / scale))
    return found + list(order(evaluations))


def in_range(kind: str, trainings: Sequence[Evaluation], quantity: str, low: float, high: float) -> Claim:
    """Whether a quantity is in a range, by its 95 % interval over trainings; fails where the labels cannot reach it."""
    model, *settings = kind.split(" ", 1)
    unit = UNITS.get(quantity, " bits")
    between = f"{low:.3g} to {high:.3g}" if low < high else f"{low:.3g}"
    said = f"{NAMES.get(quantity, quantity)} {between}{unit}"
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
        return Claim(statement, "contradicted", f"with these labels it cannot exceed {ceiling:.3f}{unit}, whatever "
                     f"the model; {evidence}.")  # fmt: skip
    inside = low <= over.low and over.high <= high
    outside = over.high < low or over.low > high
    return Claim(statement, "confirmed" if inside else "contradicted" if outside else "undecided", f"{evidence}.")


def interval_of(figures: Sequence[Estimate]) -> Estimate:
    """Mean and 95 % interval over trainings; of one training, over its items."""
    if len(figures) == 1:
        (one,) = figures
        return replace(one, n=1)
    return replicated([figure.value for figure in figures])


def said_interval(over: Estimate, trainings: int) -> str:
    return f"95 % interval {over.low:.3f} to {over.high:.3f} {within(trainings)}, by classifiers"


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
    """I(Y;D) of the items themselves, bits: 0 where every class is equally frequent in every domain."""
    return float(mutual_info_score(of.report.items.y, of.report.items.d)) / NATS_PER_BIT


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
    zero = "which is 0 here, so it cannot be positive" if shared < ROUNDING else f"which is {shared:.4f} bits here"
    return [
        "By arithmetic: the co-information of a block with Y and D is I(Y;D) - I(Y;D|block), so at most I(Y;D), "
        f"{zero}. What the {OLD_SUM} adds for it is error of the estimate.",
        f"The {OLD_SUM} of these labels cannot exceed {ceiling:.3f} with terms in nats, with any model.",
    ]
