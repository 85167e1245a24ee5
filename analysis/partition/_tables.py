"""Evaluations of many trained models: by kind over trainings, in paired differences,
and next to published ranges.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
from sklearn.metrics import mutual_info_score

from analysis.common.claims import Claim, decided
from analysis.common.published import ERROR, published
from analysis.common.tables import level_with, plus_minus
from analysis.partition._evaluation import DRAWS, Evaluation
from infoscope.estimators.result import BITS, SHARE, Estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics import replicated
from infoscope.metrics.partition.labels_as_numbers import AS_NUMBERS
from infoscope.metrics.partition.report import OLD_SUM, compare
from infoscope.metrics.partition.terms import CLASSIFIER, NEIGHBOURS, POSTERIOR
from infoscope.metrics.report import listed

# the evaluation's quantities, and the entropy or information that is the most each can
# be
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
# in the text of the differences
COMPARED = ("unique", "seed", "I(z_y;D|Y)", "I(z_d;Y|D)")
MODELS = ("nvae", "diva")  # of the expectations
AS_THEY_DID = "with labels taken as numbers, as they did"
OF_DRAWS = f" {DRAWS}"  # ending of a kind that is evaluated by draws
BESIDE = ("unique_y_raw", "unique_d_raw", "sufficiency")
ROUTES = (CLASSIFIER, NEIGHBOURS, AS_NUMBERS, POSTERIOR)
ABSENT = "not applicable"
# suffix: standard error over items of one trained model, root mean square of the
# trainings
OVER_ITEMS = "_items_error"
ROUNDING = 1e-9
NAMES = {"nvae": "NVAE", "diva": "DIVA", "seed": f"Partition Quality ({OLD_SUM})"}
UNITS = {"seed": ""}  # of quantities that are not in bits


def by_kind(evaluations: Sequence[Evaluation]) -> dict[str, list[Evaluation]]:
    """The trainings of each kind of model, in the order in which the kinds appear."""
    kinds: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        kinds.setdefault(evaluation.candidate.kind, []).append(evaluation)
    return kinds


def comparison(evaluations: Sequence[Evaluation]) -> pd.DataFrame:
    """One row per kind and route: mean over trainings, its standard error
    (`NAME_error`) and that over items.
    """
    rows = []
    for kind, trainings in by_kind(evaluations).items():
        report = trainings[0].report
        for route in ROUTES:
            if not all(route in training.routes for training in trainings):
                continue
            row = {
                "model": kind,
                "route": route,
                "trainings": len(trainings),
                "items": report.n,
                "groups": report.groups,
            }
            by_training = [training.routes[route] for training in trainings]
            for name in (*QUANTITIES, *SCORES, *BESIDE, "seed_bits", "seed_ceiling"):
                if not all(name in figures for figures in by_training):
                    continue
                mean = replicated([figures[name].value for figures in by_training])
                errors = np.array(
                    [figures[name].standard_error for figures in by_training]
                )
                row[name] = mean.value
                row[name + ERROR] = mean.standard_error
                row[name + OVER_ITEMS] = math.sqrt(np.square(errors).mean())
            rows.append(row)
    return pd.DataFrame(rows)


def comparison_text(figures: pd.DataFrame) -> pd.DataFrame:
    """What to quote of each model, by classifiers: the score, what leaks (bits), and
    the information of all blocks.
    """
    kinds = set(figures["model"])
    quoted = [kind for kind in kinds if is_quoted(kind, kinds)]
    shown = figures[(figures["route"] == CLASSIFIER) & figures["model"].isin(quoted)]
    text = shown[["model", "trainings"]].copy()
    for name in ("unique", *LEAKS, "sufficiency"):
        title = f"{name} (bits)" if name in QUANTITIES else name
        text[title] = [cell_text(row, name) for _, row in shown.iterrows()]
    return text


def is_quoted(kind: str, kinds: Collection[str]) -> bool:
    """Whether a kind of evaluation is to be quoted: draws of a model with posteriors,
    else its codes.

    The decoder sees draws. A mean is a deterministic function of the item, of which
    Shannon information is all or nothing.
    """
    return kind + OF_DRAWS not in kinds


def finding(evaluations: Sequence[Evaluation]) -> str:
    """Which models keep label and domain apart best, by the score unique with its 95 %
    interval, and what leaks.
    """
    kinds = by_kind(evaluations)
    scores = {}
    for kind, trainings in kinds.items():
        unique = mean_of(trainings, "unique")
        if is_quoted(kind, kinds) and math.isfinite(unique.value):
            scores[kind] = unique
    if not scores:
        return "The score unique does not apply to these models: each lacks z_y or z_d."
    highest = max(scores, key=lambda kind: scores[kind].value)
    unique = by_items([kinds[kind] for kind in scores], "unique")
    best = level_with(unique[highest], unique)
    best = sorted(best, key=lambda kind: -scores[kind].value)
    values = listed(with_interval(scores[kind]) for kind in best)
    leaks = listed(with_interval(mean_of(kinds[kind], LEAKS[0])) for kind in best)
    figures = f"{values} of 1, and z_y carries {leaks} bits about the domain"
    over = "over items of one training"
    if len(kinds[highest]) > 1:
        over = f"over {len(kinds[highest])} trainings"
    if len(best) > 1:
        return (
            f"{listed(best)} are not told apart by the score unique: {figures}"
            f"{least_leak([kinds[kind] for kind in best])} ({over})."
        )
    start = f"{highest}: the"
    if len(scores) > 1:
        start = f"{highest} keeps label and domain apart best: its"
    return f"{start} score unique is {figures} ({over})."


def least_leak(kinds: Sequence[Sequence[Evaluation]]) -> str:
    """Which of these kinds has surely least about the domain in z_y, as a clause."""
    leaks = by_items(kinds, LEAKS[0])
    least = leaks.mean().idxmin()
    others = level_with(-leaks[least], -leaks)
    return f", least that of {least}" if others == [least] else ""


def by_items(kinds: Sequence[Sequence[Evaluation]], name: str) -> pd.DataFrame:
    """A figure by classifiers [items, kinds]; NaN where a kind was not evaluated on
    these items, and of several trainings on the same items the first.
    """
    values = {}
    for trainings in kinds:
        of_kind: dict[str, float] = {}
        for training in trainings:
            of_kind.setdefault(training.items, training.by_classifier[name].value)
        values[trainings[0].candidate.kind] = of_kind
    return pd.DataFrame(values)


def with_interval(mean: Estimate) -> str:
    """A mean with its 95 % interval, if it has one."""
    if not math.isfinite(mean.low):
        return f"{mean.value:.2f}"
    return f"{mean.value:.2f} (95 %: {mean.low:.2f} to {mean.high:.2f})"


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
    suffix = OVER_ITEMS if row["trainings"] == 1 else ERROR
    return plus_minus(row.get(name, math.nan), row.get(name + suffix, math.nan), ABSENT)


def same_items(evaluations: Sequence[Evaluation]) -> list[dict[str, Evaluation]]:
    """Evaluations on the same items, by kind: those of one seed of a sweep. Of a kind
    that occurs twice, the first.
    """
    groups: dict[str, dict[str, Evaluation]] = {}
    for evaluation in evaluations:
        kinds = groups.setdefault(evaluation.items, {})
        kinds.setdefault(evaluation.candidate.kind, evaluation)
    return [kinds for kinds in groups.values() if len(kinds) > 1]


def within_items(evaluations: Sequence[Evaluation]) -> pd.DataFrame:
    """Paired differences a - b of two trained models on the same items, with errors
    over groups of items (see `partition.compare`): a row for each quantity, pair of
    kinds and seed.
    """
    parts = [pd.DataFrame()]
    for kinds in same_items(evaluations):
        differences = compare(
            {kind: evaluation.report for kind, evaluation in kinds.items()}
        )
        first = next(iter(kinds.values()))
        parts.append(differences.assign(seed=first.candidate.seed))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def over_trainings(evaluations: Sequence[Evaluation]) -> pd.DataFrame:
    """Paired differences a - b of two kinds of model within seeds, by classifiers: mean
    over seeds, standard error and 95 % interval (Student t). NaN where one of the two
    has no such figure.
    """
    differences: dict[tuple[str, str, str], list[float]] = {}
    for kinds in same_items(evaluations):
        for a, b in combinations(kinds, 2):
            first = kinds[a].by_classifier
            second = kinds[b].by_classifier
            for name in (*QUANTITIES, *SCORES, *BESIDE):
                if name in first and name in second:
                    difference = first[name].value - second[name].value
                    differences.setdefault((name, a, b), []).append(difference)
    rows = []
    for (name, a, b), values in differences.items():
        mean = replicated(values)
        rows.append(
            {
                "quantity": name,
                "unit": BITS if name in QUANTITIES else SHARE,
                "a": a,
                "b": b,
                "difference": mean.value,
                "standard_error": mean.standard_error,
                "low": mean.low,
                "high": mean.high,
                "trainings": mean.n,
            }
        )
    return pd.DataFrame(rows)


def differences_text(over: pd.DataFrame, within: pd.DataFrame) -> pd.DataFrame:
    """Differences from the first kind to read: over trainings, and of how many single
    seeds the sign is sure.
    """
    titles = {"seed": OLD_SUM} | {name: f"{name} (bits)" for name in QUANTITIES}
    shown = over[
        over["quantity"].isin(COMPARED) & np.isfinite(over["difference"]) & alike(over)
    ]
    rows = []
    for row in shown.itertuples():
        is_same = (
            (within["a"] == row.a)
            & (within["b"] == row.b)
            & (within["quantity"] == row.quantity)
        )
        p_values = within.loc[is_same, "p_holm"]
        sure = "no error over items"
        if len(p_values):
            sure = f"{(p_values < 0.05).sum()} of {len(p_values)} seeds"
        rows.append(
            {
                "a": row.a,
                "b": row.b,
                "quantity": titles.get(row.quantity, row.quantity),
                "a - b": plus_minus(row.difference, row.standard_error),
                "95 % interval over trainings": interval(row.low, row.high),
                "sure over items (p Holm < 0.05)": sure,
            }
        )
    return pd.DataFrame(rows)


def largest_difference(over: pd.DataFrame) -> str:
    """The largest difference in the score unique, with its 95 % interval over
    trainings, in a sentence.
    """
    shown = over[
        (over["quantity"] == "unique") & over["difference"].notna() & alike(over)
    ]
    if shown.empty:
        return (
            "The score unique, which needs z_y and z_d, compares no two of these "
            "models."
        )
    row = shown.loc[shown["difference"].abs().idxmax()]
    size = f"{row['difference']:+.3f} (95 %: {interval(row['low'], row['high'])})"
    return f"{row['a']} and {row['b']} differ most in the score unique: by {size}."


def alike(over: pd.DataFrame) -> pd.Series:
    """Which rows compare the first kind with others, means with means and draws with
    draws.
    """
    first = over["a"].iloc[0]
    kinds = {*over["a"], *over["b"]}
    with_draws = [kind for kind in kinds if kind + OF_DRAWS in kinds]
    of_means = (over["a"] == first) & ~over["b"].str.endswith(OF_DRAWS)
    of_draws = (over["a"] == first + OF_DRAWS) & ~over["b"].isin(with_draws)
    return of_means | of_draws


def interval(low: float, high: float) -> str:
    """An interval in words."""
    return f"{low:+.3f} to {high:+.3f}" if math.isfinite(low) else "one training"


def beside_published(figures: pd.DataFrame) -> pd.DataFrame:
    """Published figures of models that were evaluated, bits, compared with ours in the
    same way and by classifiers: means over trainings with their errors.
    """
    models = figures["model"].str.split(" ").str[0]
    rows = []
    for row in published("domain_partition").itertuples():
        for kind, members in figures[models == row.model].groupby("model", sort=False):
            ours = members.set_index("route")
            beside = {
                "model": kind,
                "quantity": row.quantity,
                "published": row.bits,
                "trainings": members["trainings"].iloc[0],
            }
            for route in (AS_NUMBERS, CLASSIFIER):
                of_route = ours.loc[route]
                beside[route] = of_route.get(row.quantity, math.nan)
                beside[route + ERROR] = of_route.get(row.quantity + ERROR, math.nan)
            rows.append(beside)
    return pd.DataFrame(rows)


def claims(evaluations: Sequence[Evaluation]) -> list[Claim]:
    """Every expected range and the expected order of the two models, for those of them
    that were evaluated: as the documentation estimates them, of means and with labels
    taken as numbers, and (ours) by classifiers, which is a valid estimate.
    """
    kinds = by_kind(evaluations)
    claims = []
    for row in published("domain_expectations").itertuples():
        # expectations are in nats
        scale = 1.0 if row.quantity in UNITS else NATS_PER_BIT
        limits = (row.low / scale, row.high / scale)
        for kind, trainings in kinds.items():
            if kind.split(" ")[0] != row.model:
                continue
            values = as_numbers(trainings, row.quantity)
            if values and not kind.endswith(OF_DRAWS):
                mean = replicated(list(values.values()))
                claims.append(in_range(kind, row.quantity, mean, *limits, AS_THEY_DID))
            claims.append(by_classifiers(kind, trainings, row.quantity, *limits))
    return claims + order(evaluations)


def in_range(
    kind: str, quantity: str, mean: Estimate, low: float, high: float, how: str
) -> Claim:
    """Whether a quantity is in a range, by its 95 % interval over trainings."""
    model, *settings = kind.split(" ", 1)
    model = NAMES.get(model, model)
    if settings:
        model += f" ({settings[0]})"
    unit = UNITS.get(quantity, " bits")
    place = f"lies between {low:.3g} and {high:.3g}" if low < high else f"is {low:.3g}"
    return decided(
        f"{model}: {NAMES.get(quantity, quantity)} {place}{unit}.",
        mean,
        how,
        unit.strip(),
        ".3f",
        above=low - ROUNDING,
        below=high + ROUNDING,
        over="trainings" if mean.n and mean.n > 1 else "training, over its items",
    )


def by_classifiers(
    kind: str, trainings: Sequence[Evaluation], quantity: str, low: float, high: float
) -> Claim:
    """Whether a quantity by classifiers is in a range; fails where the labels cannot
    reach it.
    """
    mean = mean_of(trainings, quantity)
    claim = in_range(kind, quantity, mean, low, high, "by classifiers")
    claim = claim._replace(is_ours=True)
    if not math.isfinite(mean.value):
        notes: dict[str, None] = {}
        for training in trainings:
            notes |= dict.fromkeys(training.by_classifier[quantity].notes)
        return claim._replace(verdict="not tested", evidence="; ".join(notes))
    ceiling = most_of(trainings, quantity)
    if low <= ceiling + ROUNDING:
        return claim
    unit = UNITS.get(quantity, " bits")
    why = f"with these labels it cannot exceed {ceiling:.3f}{unit}, whatever the model"
    evidence = f"{why}; {claim.evidence}"
    return claim._replace(verdict="contradicted", evidence=evidence)


def mean_of(trainings: Sequence[Evaluation], name: str) -> Estimate:
    """Mean of a figure by classifiers and its 95 % interval over trainings; of one
    training, over its items.
    """
    figures = [training.by_classifier[name] for training in trainings]
    if len(figures) == 1:
        return replace(figures[0], n=1)
    return replicated([figure.value for figure in figures])


def as_numbers(trainings: Sequence[Evaluation], quantity: str) -> dict[str, float]:
    """A quantity with labels taken as numbers, by the items of each training; it is no
    valid estimate.
    """
    values = {}
    for training in trainings:
        figures = training.routes[AS_NUMBERS]
        if quantity in figures:
            values[training.items] = figures[quantity].value
    return values


def most_of(trainings: Sequence[Evaluation], quantity: str) -> float:
    """The most that a quantity, or the score seed, can be with the labels of these
    items.
    """
    name = "seed_ceiling" if quantity == "seed" else QUANTITIES[quantity]
    if name == "I(Y;D)":
        return max(shared_labels(training) for training in trainings)
    return max(training.by_classifier[name].value for training in trainings)


def shared_labels(evaluation: Evaluation) -> float:
    """I(Y;D) of the items themselves, bits: 0 where every class is equally frequent in
    every domain.
    """
    items = evaluation.report.items
    return float(mutual_info_score(items.y, items.d)) / NATS_PER_BIT


def order(evaluations: Sequence[Evaluation]) -> list[Claim]:
    """NVAE should score higher than DIVA: by the documentation's score as it estimates
    it, and (ours) by each score of classifiers; paired within seeds.
    """
    kinds = by_kind(evaluations)
    claims = []
    first, second = (as_numbers(kinds.get(kind, ()), "seed") for kind in MODELS)
    items = [name for name in first if name in second]
    if items:
        difference = replicated([first[name] - second[name] for name in items])
        claims.append(higher("seed", "", difference, AS_THEY_DID))
    over = over_trainings(evaluations)
    if over.empty:
        return claims
    scores = over[
        over["quantity"].isin(("seed", "unique")) & over["difference"].notna()
    ]
    for codes in ("", OF_DRAWS):
        nvae, diva = (kind + codes for kind in MODELS)
        pairs = scores[(scores["a"] == nvae) & (scores["b"] == diva)]
        for row in pairs.itertuples():
            difference = Estimate(
                row.difference, n=row.trainings, interval=(row.low, row.high)
            )
            claim = higher(row.quantity, codes, difference, "by classifiers")
            claims.append(claim._replace(is_ours=True))
    return claims


def higher(score: str, codes: str, difference: Estimate, how: str) -> Claim:
    """A claim that NVAE's score is above DIVA's."""
    of_codes = f" (of{codes})" if codes else ""
    name = NAMES.get(score, f"the score {score}")
    return decided(
        f"NVAE scores higher than DIVA by {name}{of_codes}.",
        difference,
        f"NVAE - DIVA, {how}",
        above=0.0,
        over="pairs of trainings",
    )


def arithmetic(evaluations: Sequence[Evaluation]) -> list[str]:
    """What follows from the labels alone, whatever the model."""
    shared = max(shared_labels(evaluation) for evaluation in evaluations)
    ceiling = max(
        evaluation.by_classifier["seed_ceiling"].value for evaluation in evaluations
    )
    zero = (
        "which is 0 here, so it cannot be positive"
        if shared < ROUNDING
        else f"which is {shared:.4f} bits here"
    )
    return [
        "By arithmetic: the co-information of a block with Y and D is I(Y;D) - "
        "I(Y;D|block), so at most I(Y;D), "
        f"{zero}. What the {OLD_SUM} adds for it is error of the estimate.",
        f"The {OLD_SUM} of these labels cannot exceed {ceiling:.3f} with terms in "
        "nats, with any model.",
    ]
