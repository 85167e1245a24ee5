"""Which families can still use information that was to be hidden?

The blocks of logged domain models, and features trained to hide a label from one family
(Xu et al. 2020, section 6.4).
"""

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.claims import Claim, negative, with_interval
from analysis.common.marks import sheet
from analysis.common.runs import newest, ordered
from analysis.common.tables import (
    Analysis,
    Result,
    plus_minus,
    plus_minus_column,
    ranged,
    spread,
)
from analysis.usable_information._runs import described, over_seeds
from infoscope import tracking
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics import replicated
from infoscope.notebook import heat
from sweeps.usable_information.settings import NOTHING

# of what was hidden from; models come by name
ORDER = (NOTHING, "linear", "softplus-50", "relu-50", "relu-50x50")
# the simplest reader, and the block that should carry nothing about the domain
LINEAR, OF_CLASS = "logistic", "z_y"
# the family that looks as a network does from which is hidden, where the names differ
READER = {"linear": "logistic"}
LABELS = {
    "class": "the class of the items",
    "domain": "the domain of the items",
    "hidden": "the parity of a digit, which was to be hidden",
    "kept": (
        "the pair that a digit is in (0-1 to 8-9), all but independent of the parity, "
        "which was not to be hidden"
    ),
}
TRAINING = {  # figures of the training of hidden features
    "reconstruction": "error of reconstruction",
    "adversary_log_loss": "adversary's log loss (bits)",
}
MUCH = 0.1  # of what a family finds in features that hide nothing
WEAK = (
    "The error of reconstruction is the mean squared error (1 if nothing is kept): "
    "the cost of hiding. If the family "
    f"that the features were hidden from may still find {MUCH:.0%} of what it finds in "
    "features that hide nothing (by "
    "its 95 % interval), the adversary was too weak in training: nothing is hidden, "
    "and nothing follows for other families."
)
SELECTED = (
    "In the claims the family that still finds most is chosen by these figures, which "
    "favours `confirmed`."
)
CELL = ["study", "source", "representation", "against", "seed"]


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """A matrix for each label of the two studies."""
    columns = runs.columns.union([*CELL, "model"], sort=False)
    runs = runs.reindex(columns=columns)
    selected, left_out = newest(runs, CELL)
    words = [described(selected), *left_out]
    results = []
    for study, members in selected.groupby("study", sort=False):
        for label, rows in leakage(members).groupby("label", sort=False):
            results.append(matrix(study, label, rows, words))
    return results


def leakage(runs: pd.DataFrame) -> pd.DataFrame:
    """The tables of all runs as one, with what each is of: `row` is a model's block, or
    what was hidden from.
    """
    tables = []
    for run in runs.to_dict("records"):
        table = tracking.table(run["run_id"], "leakage").assign(seed=run["seed"])
        if run["study"] == "blocks":
            representation = run["representation"]
            drawn = "" if representation == "mean" else f" ({representation})"
            table = table.assign(of=run["model"] + drawn, row=table["block"])
        else:
            table = table.assign(
                of=run["against"],
                row="features",
                reconstruction=run["reconstruction_mse"],
                adversary_log_loss=run["adversary_log_loss_nats"],
            )
        tables.append(table)
    leakage = pd.concat(tables, ignore_index=True)
    names = sorted(set(leakage["of"]) - set(ORDER[1:]))
    return ordered(leakage, ["of"], of=[*names, *ORDER[1:]])


def matrix(study: str, label: str, rows: pd.DataFrame, words: Sequence[str]) -> Result:
    """Families x blocks, or families x families: means over seeds."""
    is_hiding = study == "hiding"
    first = "hidden from" if is_hiding else "model"
    figures = pooled(rows, TRAINING if is_hiding else ())
    shown = figures.assign(cell=plus_minus_column(figures, "value_bits"))
    wide = spread(shown, ["of", "block"], "family", "cell")
    text = wide[["of", "block", *figures["family"].unique()]].rename(
        columns={"of": first}
    )
    if is_hiding:
        costs = figures.groupby("of")[list(TRAINING)].first()
        costs["adversary_log_loss"] /= NATS_PER_BIT
        costs = costs.map("{:.3f}".format).rename(columns=TRAINING)
        text = text.drop(columns="block").join(costs, on=first)
    claims = []
    if label == "hidden":
        claims = transfers(rows)
    elif label == "domain":
        claims = leaks(rows)
    caption = [
        finding(is_hiding, label, figures),
        f"What every family (columns) can use about {LABELS[label]}, bits, "
        "cross-fitted on unseen items; of at most "
        f"{figures['ceiling_bits'].mean():.3f} bits. ± is over items, and over "
        "trainings where there are several. "
        "Nothing is clipped: 0 within its error, or less: that family detects none; "
        "others may. "
        f"{ranged(figures['n'])} items, {ranged(figures['seeds'])} trainings each.",
    ]
    if is_hiding:
        caption.append(WEAK)
    if claims:
        caption.append(SELECTED)
    draw_matrix = functools.partial(draw, figures, study, label)
    return Result(
        f"{study}-{label}", figures, text, [*caption, *words], draw_matrix, claims
    )


def finding(is_hiding: bool, label: str, figures: pd.DataFrame) -> str:
    """How much the best family finds, of features that are hidden from each network, or
    of all models and blocks.
    """
    places = figures["value_bits"].idxmax()
    if is_hiding:
        places = figures.groupby("of", sort=False)["value_bits"].idxmax()
    parts = []
    for _, row in figures.loc[np.atleast_1d(places)].iterrows():
        bits = plus_minus(row["value_bits"], row["value_bits_error"])
        where = f"{row['block']} of {row['of']}"
        if is_hiding:
            where = f"features trained to hide it from {row['of']}"
        if is_hiding and row["of"] == NOTHING:
            where = "features that hide nothing"
        parts.append(f"{bits} in {where} ({row['family']})")
    ceiling = figures["ceiling_bits"].mean()
    return (
        f"Of {ceiling:.3f} bits about {LABELS[label]}, the family that finds most "
        f"finds {'; '.join(parts)}."
    )


def pooled(rows: pd.DataFrame, costs: Iterable[str]) -> pd.DataFrame:
    """A row per model or features, block and family: means over seeds. costs: columns
    of which to have the mean.
    """
    figures = []
    for (of, row, family), members in rows.groupby(["of", "row", "family"], sort=False):
        bits = over_seeds(
            members["value_bits"], members["standard_error_bits"], members["n"].iloc[0]
        )
        figure = {
            "of": of,
            "block": row,
            "family": family,
            "value_bits": bits.value,
            "value_bits_error": bits.error,
            "ceiling_bits": members["ceiling_bits"].mean(),
            "n": bits.n,
            "seeds": bits.seeds,
            "floored": members["floored"].mean(),
        }
        for name in costs:
            figure[name] = members[name].mean()
        figures.append(figure)
    return pd.DataFrame(figures)


def transfers(rows: pd.DataFrame) -> list[Claim]:
    """Whether hiding works against the family it was trained against, and, where it
    does, whether another one still finds more.
    """
    values = rows.pivot_table(
        index=["of", "seed"], columns="family", values="value_bits"
    )
    if NOTHING not in values.index.get_level_values("of"):
        return []
    plain = values.loc[NOTHING]
    claims = []
    for against in rows["of"].unique():
        reader = READER.get(against, against)
        if against == NOTHING or reader not in values:
            continue
        hidden = values.loc[against]
        seeds = hidden.index.intersection(plain.index)
        statement = (
            f"Features hidden from {against} networks show {reader} less than "
            "features that hide nothing."
        )
        difference = hidden.loc[seeds, reader] - plain.loc[seeds, reader]
        claims.append(
            negative(statement, replicated(difference.to_numpy()), "difference", "bits")
        )
        beginning = f"Features hidden from {against} networks still show"
        claim = shown_to_another(beginning, hidden, reader)
        remaining = replicated(hidden.loc[seeds, reader].to_numpy())
        much = MUCH * plain.loc[seeds, reader].mean()
        if not remaining.high < much:
            evidence = (
                f"the features do not surely hide it: {reader} still finds "
                f"{with_interval(remaining, 'bits', '.3f')}, not surely less than "
                f"{much:.3f} bits."
            )
            claim = Claim(claim.statement, "not tested", evidence)
        claims.append(claim)
    return claims


def leaks(rows: pd.DataFrame) -> list[Claim]:
    """Whether some family uses more about the domain in the class's block than a linear
    one.
    """
    of_class = rows[rows["row"] == OF_CLASS]
    values = of_class.pivot_table(
        index=["of", "seed"], columns="family", values="value_bits"
    )
    if LINEAR not in values or len(values.columns) < 2:
        return []
    claims = []
    for model in of_class["of"].unique():
        beginning = f"The domain in {OF_CLASS} of {model}: it shows"
        claims.append(shown_to_another(beginning, values.loc[model], LINEAR))
    return claims


def shown_to_another(beginning: str, values: pd.DataFrame, family: str) -> Claim:
    """Whether the family that finds most finds more than this one; values [seeds,
    families], bits.
    """
    best = values.drop(columns=family).mean().idxmax()
    difference = values[family] - values[best]
    statement = f"{beginning} {best} more than {family}."
    what = f"difference, {best} chosen by these runs"
    return negative(statement, replicated(difference.to_numpy()), what, "bits")


def draw(figures: pd.DataFrame, study: str, label: str, *paths: Path) -> None:
    """The matrix in colours."""
    wide = spread(figures, ["of", "block"], "family", "value_bits", np.nan).set_index(
        ["of", "block"]
    )
    bits = wide[list(figures["family"].unique())].astype(float)
    names = [f"{of} {block}" if study == "blocks" else of for of, block in bits.index]
    size = (0.7 * bits.shape[1] + 3.3, 0.4 * len(bits) + 2.0)
    with sheet(paths, size=size) as ((axis,),):
        top = max(float(figures["ceiling_bits"].max()), 1e-9)
        texts = bits.map("{:.2f}".format)
        image = heat(
            axis, bits.to_numpy(), texts.to_numpy(), names, bits.columns, top, 10
        )
        axis.tick_params(axis="x", rotation=20)
        about = LABELS[label].partition(",")[0]
        axis.set(
            title=f"bits about {about}",
            ylabel="" if study == "blocks" else "hidden from",
            xlabel="read by",
        )
        axis.figure.colorbar(image, ax=axis, label="bits, up to H(Y)")


ANALYSIS = Analysis(
    "usable-leakage", analyse, claims_from="Xu et al. 2020, section 6.4"
)
