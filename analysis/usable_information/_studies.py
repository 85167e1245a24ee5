"""What explains difficulty, and what over-fitting does to V-information."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.common.marks import mark, sheet
from analysis.common.tables import Claim, Result, published, told, verdict
from analysis.usable_information._items import shortened
from analysis.usable_information._runs import (
    INPUTS,
    NAMES,
    Z95,
    Figure,
    described,
    items,
    less_than,
    of_study,
    over_seeds,
)
from infoscope import tracking
from sweeps.usable_information.settings import FREQUENT

TOKENS = 5  # shown for each class, the most helpful ones
BERT = "bert-base-cased"


def explained(runs: pd.DataFrame, words: Sequence[str]) -> list[Result]:
    """Table 7, examples of the transformations; and the token artefacts. words: the end of their captions."""
    measured = of_study(runs, "difficulty", estimator="held-out")
    with_text = measured[~measured["data"].str.startswith("imdb-")]
    found = [examples(with_text, [described(with_text), *words])] if len(with_text) else []
    marked = measured[measured["artefacts"] > 0]
    if "artefact_texts" in marked and marked["artefact_texts"].notna().any():
        marked = marked[marked["artefact_texts"].notna()]
        found.append(artefacts(marked, [described(marked), *words]))
    return found


def examples(runs: pd.DataFrame, words: Sequence[str]) -> Result:
    """Table 7: what every transformation leaves of one item of each data set, the first that all of them measured."""
    rows = []
    for data, of_data in runs.groupby("data", sort=False):
        own = of_data.drop_duplicates("transformation").set_index("transformation")["run_id"]
        tables = {name: items(own[name]) for name in INPUTS if name in own}
        first = next(iter(tables.values()))
        shared = set.intersection(*(set(table["id"]) for table in tables.values()))
        if not shared:
            continue
        chosen = next(item for item in first["id"] if item in shared)
        for name, table in tables.items():
            row = table[table["id"] == chosen].iloc[0]
            rows.append({"data": data, "transformation": name, "label": row["label"], "text": row["text"]})
    figures = pd.DataFrame(rows, columns=["data", "transformation", "label", "text"])
    text = pd.DataFrame(
        {
            "data": figures["data"].map(NAMES),
            "input": figures["transformation"].map(INPUTS),
            "class": figures["label"],
            "text": figures["text"].map(shortened),
        }
    )
    caption = (
        "What each transformation leaves of an item; the information of what is left is that of a family fitted to it."
    )
    return Result("transformations", figures, text, "\n".join([caption, *words]), quotes=True)


def artefacts(runs: pd.DataFrame, words: Sequence[str]) -> Result:
    """The tokens that help most, by class."""
    rows = []
    for _, run in runs.drop_duplicates(["data", "family"]).iterrows():
        table = tracking.table(run["run_id"], "artefacts")
        for label, own in table.groupby("label", sort=False):
            best = own[own["occurrences"] >= FREQUENT].nlargest(TOKENS, "mean_bits")
            rows.append(best.assign(data=run["data"], family=run["family"], input=run["transformation"], label=label))
    figures = pd.concat(rows, ignore_index=True)
    bits = told(figures.rename(columns={"standard_error_bits": "mean_bits_error"}), "mean_bits", "-")
    shown = figures.assign(
        tokens=[f"{token} {said} ({count})" for token, said, count in zip(figures["token"], bits,
                                                                        figures["occurrences"])],
        data=figures["data"].map(NAMES),
        input=figures["input"].map(INPUTS),
    )  # fmt: skip
    text = shown.groupby(["data", "input", "family", "label"], sort=False)["tokens"].agg("; ".join).reset_index()
    caption = [
        f"The {TOKENS} tokens that help most to predict each class: H(y | x without the token) - H(y | x), bits, ± its "
        f"standard error over texts (and occurrences), of tokens that occur {FREQUENT} times or more in the class, in "
        f"{', '.join(f'{count:,.0f}' for count in sorted(set(runs['artefact_texts'])))} held-out texts. Tokens are "
        "words, and signs of punctuation apart from them, as published (the tokenizers' Whitespace). Members are not "
        "fitted again. The largest of many: a token that leads by its error only may lead by luck.",
        *words,
    ]
    return Result("artefacts", figures, text.rename(columns={"label": "class"}), caption)


def epochs(runs: pd.DataFrame, words: Sequence[str]) -> list[Result]:
    """Figure 2: V-information and accuracy after every epoch; nothing where it was not run."""
    if runs.empty:
        return []
    curves = [tracking.table(run["run_id"], "epochs").assign(data=run["data"], family=run["family"], seed=run["seed"])
              for _, run in runs.iterrows()]  # fmt: skip
    rows = []
    for (data, family, epoch), own in pd.concat(curves).groupby(["data", "family", "epoch"], sort=False):
        bits = over_seeds(own["v_information_bits"], own["standard_error_bits"], int(own["n"].iloc[0]))
        spread = np.sqrt(own["accuracy"] * (1 - own["accuracy"]) / own["n"])  # that of a share: groups change it little
        right = over_seeds(own["accuracy"], spread, bits.n)
        rows.append(
            {"data": data, "family": family, "epoch": int(epoch), "v_information_bits": bits.value,
             "v_information_bits_error": bits.error, "accuracy": right.value, "accuracy_error": right.error,
             "training_loss": own["training_loss"].mean(), "H_yb": own["H_yb"].mean(), "n": bits.n, "runs": bits.seeds}
        )  # fmt: skip
    figures = pd.DataFrame(rows)
    text = figures[["data", "family", "epoch"]].assign(
        data=figures["data"].map(NAMES),
        **{
            "V-information": told(figures, "v_information_bits"),
            "accuracy": told(figures, "accuracy"),
            "training loss (nats)": figures["training_loss"].map("{:.3f}".format),
        },
    )
    caption = [
        "V-information (bits) and accuracy of held-out items after every epoch of one training, ± standard error over "
        "items and, of several trainings, over these. Its learning rate falls to 0 over all epochs, so that an early "
        "one is not the same as a training of so many. The claims take the best epoch by these figures, which favours "
        "a fall. The figure has BERT-base's as published (dashed; whole training sets, not comparable in level).",
        described(runs),
        *words,
    ]
    found = [claim for group in curve_groups(figures) for claim in falls(*group)]
    return [Result("epochs", figures, text, caption, functools.partial(draw_epochs, figures), found)]


def curve_groups(figures: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Every curve with its name."""
    groups = figures.groupby(["data", "family"], sort=False)
    return [(f"{NAMES[data]}, {family}", own) for (data, family), own in groups]


def falls(name: str, curve: pd.DataFrame) -> list[Claim]:
    """Whether V-information ends below its best epoch, and whether it loses a larger part than accuracy does."""
    best, last = curve.loc[curve["v_information_bits"].idxmax()], curve.iloc[-1]
    statement = f"{name}: V-information falls again with over-fitting (figure 2)."
    if best["epoch"] == last["epoch"]:
        return [Claim(statement, "does not hold", f"it is largest after the last of {last['epoch']} epochs.")]
    lost, errors = {}, {}
    for column in ("v_information_bits", "accuracy"):
        lost[column] = last[column] - best[column]
        errors[column] = float(np.hypot(best[f"{column}_error"], last[f"{column}_error"]))
    fall = Figure(lost["v_information_bits"], errors["v_information_bits"], int(last["n"]), int(last["runs"]))
    share = lost["v_information_bits"] / last["H_yb"]
    margin = Z95 * float(np.hypot(errors["v_information_bits"] / last["H_yb"], errors["accuracy"]))
    difference = share - lost["accuracy"]
    said = (
        f"from epoch {best['epoch']} to {last['epoch']} V-information changes by {share:+.1%} of H(Y), accuracy by "
        f"{lost['accuracy']:+.1%} of the items; 95 % interval of the difference {difference - margin:+.1%} to "
        f"{difference + margin:+.1%}."
    )
    return [
        less_than(statement, fall, f"from epoch {best['epoch']} to {last['epoch']}"),
        Claim(f"{name}: V-information is more sensitive to over-fitting than accuracy (figure 2).",
              verdict(difference - margin, difference + margin), said),
    ]  # fmt: skip


def draw_epochs(figures: pd.DataFrame, *paths: Path) -> None:
    """Figure 2: V-information above, accuracy below."""
    papers = published("vinfo")
    papers = papers[(papers["model"] == BERT) & papers["epochs"].notna()]
    titles = {"v_information_bits": "V-information (bits)", "accuracy": "accuracy"}
    with sheet(paths, 2, 1, (6.0, 6.0), legend_at="outside lower center", ncols=2) as axes:
        for axis, (column, title) in zip(axes[:, 0], titles.items()):
            for name, curve in curve_groups(figures):
                data, family = curve["data"].iloc[0], curve["family"].iloc[0]
                colour = mark("data", data).color  # and the marker is the family's
                axis.errorbar(curve["epoch"], curve[column], Z95 * curve[f"{column}_error"], capsize=2, color=colour,
                              marker=mark("family", family).marker, label=name)  # fmt: skip
                paper = papers[papers["dataset"] == data].sort_values("epochs")
                if len(paper):
                    axis.plot(paper["epochs"], paper[column], "--", color=colour, marker="x",
                              label=f"{NAMES[data]}, BERT-base (published)")  # fmt: skip
            axis.set(xlabel="epoch", xticks=sorted(set(figures["epoch"])), ylabel=title)
        axes[0][0].axhline(0, color="grey", linewidth=0.8)
        axes[0][0].set_title("with 95 % intervals", fontsize="medium")
