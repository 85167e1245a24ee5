"""Which families can still use information that was to be hidden?

The blocks of logged domain models, and features trained to hide a label from one family (Xu et al. 2020, section 6.4).
"""

import functools
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.marks import sheet
from analysis.common.runs import newest
from analysis.common.tables import (
    Analysis,
    Claim,
    Result,
    difference_claim,
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

FEATURES = "features"
ORDER = (NOTHING, "linear", "softplus-50", "relu-50", "relu-50x50")  # of what was hidden from; models come by name
LINEAR, OF_CLASS = "logistic", "z_y"  # the simplest reader, and the block that should carry nothing about the domain
READER = {"linear": "logistic"}  # the family that looks as a network does from which is hidden, where the names differ
LABELS = {
    "class": "the class of the items",
    "domain": "the domain of the items",
    "hidden": "the parity of a digit, which was to be hidden",
    "kept": "digit // 2, all but independent of the parity, which was not to be hidden",
}
TRAINING = {  # figures of the training of hidden features
    "reconstruction": "error of reconstruction",
    "adversary_log_loss": "adversary's log loss (bits)",
}
WEAK = (
    "The error of reconstruction is the mean squared one, 1 if nothing is kept: hiding costs what else there is. Where "
    "the family that was hidden from still finds much, its adversary was too weak in training: the features are not "
    "hidden, and nothing follows for other families."
)
SELECTED = "In the claims the family that still finds most is chosen by these figures, which favours `confirmed`."
CELL = ["study", "source", "representation", "against", "seed"]


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """A matrix for each label of the two studies."""
    runs = runs.reindex(columns=[*runs.columns, *(name for name in (*CELL, "model") if name not in runs)])
    kept, left_out = newest(runs, CELL)
    words = [described(kept), *left_out]
    results = []
    for study, own in kept.groupby("study", sort=False):
        rows = leakage(own)
        for label, of_label in rows.groupby("label", sort=False):
            results.append(matrix(study, label, of_label, words))
    return results


def leakage(runs: pd.DataFrame) -> pd.DataFrame:
    """The tables of all runs as one, with what each is of: `row` is a model's block, or what was hidden from."""
    tables = []
    for _, run in runs.iterrows():
        table = tracking.table(run["run_id"], "leakage").assign(seed=run["seed"])
        if run["study"] == "blocks":
            drawn = "" if run["representation"] == "mean" else f" ({run['representation']})"
            table = table.assign(of=run["model"] + drawn, row=table["block"])
        else:
            costs = {"reconstruction": run["reconstruction_mse"], "adversary_log_loss": run["adversary_log_loss_nats"]}
            table = table.assign(of=run["against"], row=FEATURES, **costs)
        tables.append(table)
    places = {name: place for place, name in enumerate(ORDER)}
    return pd.concat(tables, ignore_index=True).sort_values(
        "of", key=lambda names: names.map(lambda name: (places.get(name, 0), name)), kind="stable"
    )


def matrix(study: str, label: str, rows: pd.DataFrame, words: Sequence[str]) -> Result:
    """Families x blocks, or families x families: means over seeds."""
    figures = []
    for (of, row, family), own in rows.groupby(["of", "row", "family"], sort=False):
        figure = over_seeds(own["value_bits"], own["standard_error_bits"], int(own["n"].iloc[0]))
        figures.append({"of": of, "block": row, "family": family, "value_bits": figure.value,
                        "value_bits_error": figure.error, "ceiling_bits": own["ceiling_bits"].mean(), "n": figure.n,
                        "seeds": figure.seeds, "floored": own["floored"].mean()}
                       | {name: own[name].mean() for name in TRAINING if study == "hiding"})  # fmt: skip
    figures = pd.DataFrame(figures)
    first = {"blocks": "model", "hiding": "hidden from"}[study]
    wide = spread(figures.assign(said=plus_minus_column(figures, "value_bits")), ["of", "block"], "family", "said")
    text = wide[["of", "block", *dict.fromkeys(figures["family"])]].rename(columns={"of": first})
    if study == "hiding":
        costs = figures.groupby("of")[list(TRAINING)].first()
        costs["adversary_log_loss"] /= NATS_PER_BIT
        costs = costs.map("{:.3f}".format)
        text = text.drop(columns="block").join(costs.rename(columns=TRAINING), on=first)
    found = {"hidden": transfers, "domain": leaks}.get(label, lambda rows: [])(rows)
    most = figures.loc[figures["value_bits"].idxmax()]
    caption = [
        f"{most['family']} finds most about {LABELS[label]}: "
        f"{plus_minus(most['value_bits'], most['value_bits_error'])} of {most['ceiling_bits']:.3f} bits in "
        f"{most['block']} of {most['of']}.",
        f"What every family (columns) can use about {LABELS[label]}, bits, cross-fitted on unseen items; of at most "
        f"{figures['ceiling_bits'].mean():.3f} bits. ± is over items, and over trainings where there are several. "
        "Nothing is clipped: 0 within its error, or less: that family detects none; others may. "
        f"{ranged(figures['n'])} items, {ranged(figures['seeds'])} trainings each.",
        *([WEAK] if study == "hiding" else []),
        *([SELECTED] if found else []),
        *words,
    ]
    draw_matrix = functools.partial(draw, figures, study, label)
    return Result(f"{study}-{label}", figures, text, caption, draw_matrix, found)


def transfers(rows: pd.DataFrame) -> list[Claim]:
    """Whether hiding works against the family it was trained against, and against the one that then finds most."""
    found = []
    values = rows.pivot_table(index=["of", "seed"], columns="family", values="value_bits")
    if NOTHING not in values.index.get_level_values("of"):
        return []
    for against in dict.fromkeys(rows["of"]):
        own = READER.get(against, against)
        if against == NOTHING or own not in values:
            continue
        hidden, plain = values.loc[against], values.loc[NOTHING]
        seeds = hidden.index.intersection(plain.index)
        statement = f"Features hidden from {against} networks show {own} less than features that hide nothing."
        difference = (hidden.loc[seeds, own] - plain.loc[seeds, own]).to_numpy()
        found.append(difference_claim(statement, replicated(difference), "difference", "bits"))
        found.append(shown_to_another(f"Features hidden from {against} networks still show", hidden, own))
    return found


def leaks(rows: pd.DataFrame) -> list[Claim]:
    """Whether some family uses more about the domain in the class's block than a linear one."""
    own = rows[rows["row"] == OF_CLASS]
    values = own.pivot_table(index=["of", "seed"], columns="family", values="value_bits")
    if LINEAR not in values or len(values.columns) < 2:
        return []
    return [shown_to_another(f"The domain in {OF_CLASS} of {of}: it shows", values.loc[of], LINEAR)
            for of in dict.fromkeys(own["of"])]  # fmt: skip


def shown_to_another(beginning: str, values: pd.DataFrame, own: str) -> Claim:
    """Whether the family that finds most finds more than `own`; values [seeds, families], bits."""
    best = values.drop(columns=own).mean().idxmax()
    difference = replicated((values[own] - values[best]).to_numpy())
    return difference_claim(f"{beginning} {best} more than {own}.", difference, "difference", "bits")


def draw(figures: pd.DataFrame, study: str, label: str, *paths: Path) -> None:
    """The matrix in colours."""
    wide = spread(figures, ["of", "block"], "family", "value_bits", np.nan).set_index(["of", "block"])
    bits = wide[list(dict.fromkeys(figures["family"]))].astype(float)
    names = [f"{of} {block}" if study == "blocks" else of for of, block in bits.index]
    with sheet(paths, size=(1.1 * bits.shape[1] + 3.5, 0.4 * len(bits) + 2.0)) as ((axis,),):
        top = max(float(figures["ceiling_bits"].max()), 1e-9)
        image = heat(axis, bits.to_numpy(), bits.map("{:.2f}".format).to_numpy(), names, bits.columns, top, 10)
        axis.tick_params(axis="x", rotation=20)
        about = LABELS[label].partition(",")[0]
        axis.set(title=f"bits about {about}", ylabel="" if study == "blocks" else "hidden from", xlabel="read by")
        axis.figure.colorbar(image, ax=axis, label="bits, up to H(Y)")


ANALYSIS = Analysis("usable-leakage", analyse)
