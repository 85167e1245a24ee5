"""Items of a data set: right and wrong predictions by PVI, the overlap of pairs, and the hardest items."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.difficulty_runs import NAMES, Figure, drawn_in, less_than
from analysis.report import Claim, Result, plus_minus
from infoscope.estimators.classifier_terms import clustered_error
from infoscope.metrics import difficulty
from infoscope.metrics.pvi import threshold_window

HARDEST = 10
MOST_OVERLAP = 10  # shared tokens from which on they are one column
ROUNDING = 1e-4  # bits
FEW = 20  # pairs below which their mean is not judged
WORDS = 120  # characters of a text that a table shows

Tables = Mapping[str, pd.DataFrame]


def results(tables: Tables, family: str, words: Sequence[str]) -> list[Result]:
    """The tables of the items of every data set, as one family sees them."""
    if not tables:
        return []
    with_overlap = {name: table for name, table in tables.items() if "overlap" in table}
    with_text = {name: table for name, table in tables.items() if "text" in table}
    found = [right_and_wrong(tables, family, words)]
    found += [overlap(with_overlap, family, words)] if with_overlap else []
    return [*found, hardest(with_text, family, words)] if with_text else found


def right_and_wrong(tables: Tables, family: str, words: Sequence[str]) -> Result:
    """Figure 3: the PVI of right and wrong predictions, with the window in which both can be."""
    figures = pd.DataFrame([window_row(name, label, own, table["label"].nunique())
                            for name, table in tables.items() for label, own in table.groupby("label")])  # fmt: skip
    text = pd.DataFrame(
        {
            "data": figures["data"].map(NAMES),
            "class": figures["label"],
            "mean PVI": [plus_minus(*pair, "-") for pair in zip(figures["mean_bits"], figures["mean_bits_error"])],
            "H(y)": figures["H_yb"].map("{:.3f}".format),
            "right from": figures["window_low"].map("{:+.3f}".format),
            "wrong up to": figures["window_high"].map("{:+.3f}".format),
            "least right": figures["least_right"].map(signed),
            "largest wrong": figures["largest_wrong"].map(signed),
            "in the window": [f"{inside} of {n}" for inside, n in zip(figures["in_window"], figures["n"])],
            "wrong": figures["wrong"],
        }
    )
    beyond = int(figures["beyond"].sum())
    statement = (
        "Where predictions turn wrong (figure 3) follows from arithmetic: H(y) - log2 C to H(y) - 1 bits, by class."
    )
    evidence = f"{beyond} of {figures['n'].sum():,} items of {len(tables)} data sets are outside of what it allows."
    caption = [
        f"{family}, held out; bits. H(y) = -log2 of a class's probability without an input. Whatever the family and "
        "the data, a right prediction has a PVI of at least H(y) - log2 C and a wrong one of at most H(y) - 1: with "
        "two classes PVI alone tells right from wrong, with three even ones both occur between 0 and 0.585 bits, the "
        '"0.5 bits" of the paper. Dotted lines in the figure.',
        *words,
    ]
    claim = Claim(statement, "does not hold" if beyond else "holds", evidence)
    return Result("right-and-wrong", figures, text, "\n".join(caption), functools.partial(draw_right, tables), [claim])


def signed(bits: float) -> str:
    """A PVI as text; none where there is no such item."""
    return f"{bits:+.3f}" if np.isfinite(bits) else "none"


def window_row(name: str, label: object, own: pd.DataFrame, classes: int) -> dict:
    """One class of a data set: the window by arithmetic, and what was found."""
    entropy, bits = float(own["H_yb"].iloc[0]), own["pvi_bits"]
    low, high = threshold_window(entropy, classes)
    right, wrong = bits[own["correct"]], bits[~own["correct"]]
    beyond = (right < low - ROUNDING).sum() + (wrong > high + ROUNDING).sum()
    codes = np.unique(own["group"], return_inverse=True)[1]
    return {
        "data": name,
        "label": label,
        "mean_bits": bits.mean(),
        "mean_bits_error": clustered_error(bits.to_numpy(), codes),
        "H_yb": entropy,
        "window_low": low,
        "window_high": high,
        "least_right": right.min(),
        "largest_wrong": wrong.max(),
        "in_window": int(bits.between(low, high).sum()),
        "n": len(own),
        "wrong": len(wrong),
        "beyond": int(beyond),
    }


def draw_right(tables: Tables, path: Path) -> None:
    """Figure 3: a panel for each data set, histograms of PVI, and every class's window."""

    def draw(axes: np.ndarray) -> None:
        for axis, (name, table) in zip(axes[0], tables.items()):
            bits = table["pvi_bits"]
            edges = np.histogram_bin_edges(bits, 60)
            for correct, label in ((True, "right"), (False, "wrong")):
                axis.hist(bits[table["correct"] == correct], edges, alpha=0.6, density=True, label=label)
            for number, (label, own) in enumerate(table.groupby("label")):
                window = threshold_window(float(own["H_yb"].iloc[0]), table["label"].nunique())
                for place, bound in enumerate(window):
                    axis.axvline(bound, linestyle=":", color=f"C{2 + number}",
                                 label=None if place else f"window of {label}")  # fmt: skip
            axis.set(title=NAMES[name], xlabel="PVI (bits)")
            axis.legend(fontsize="x-small")
        axes[0][0].set_ylabel("density, of the right and of the wrong")

    drawn_in(len(tables), 1, 4.2, 3.6, draw, path)


def overlap(tables: Tables, family: str, words: Sequence[str]) -> Result:
    """Figure 5: mean PVI by the number of shared tokens and the class."""
    rows = []
    for name, table in tables.items():
        clipped = table.assign(overlap=table["overlap"].clip(upper=MOST_OVERLAP))
        found = difficulty.slices(clipped, ["overlap", "label"], groups=table["group"]).reset_index()
        rows.append(found.assign(data=name))
    figures = pd.concat(rows, ignore_index=True)
    shown = figures.assign(
        mean=[f"{plus_minus(*pair, '-')} ({n})" for *pair, n in
              zip(figures["mean_bits"], figures["standard_error_bits"], figures["n"])],
        data=figures["data"].map(NAMES),
        overlap=figures["overlap"].map(lambda count: f"{count} or more" if count == MOST_OVERLAP else str(count)),
    )  # fmt: skip
    text = shown.pivot(index=["data", "overlap"], columns="label", values="mean").fillna("-")
    order = shown[["data", "overlap"]].drop_duplicates()
    text = text.loc[[tuple(row) for row in order.itertuples(index=False)]].reset_index()
    caption = [
        f"Mean PVI (bits) ± its standard error (and items) by how many different tokens premise and hypothesis share, "
        f"{family}, held out.",
        *words,
    ]
    draw = functools.partial(draw_overlap, figures)
    return Result("overlap", figures, text, "\n".join(caption), draw, [no_overlap(*pair) for pair in tables.items()])


def no_overlap(name: str, table: pd.DataFrame) -> Claim:
    """Whether entailed pairs without a shared token are harder than all others."""
    chosen = (table["label"] == "entailment") & (table["overlap"] == 0)
    statement = f"{NAMES[name]}: entailed pairs that share no token are harder than others (figure 5)."
    if chosen.sum() < FEW:
        return Claim(statement, "undecided", f"{int(chosen.sum())} such pairs, too few to tell.")
    parts = [table[chosen], table[~chosen]]
    means = [part["pvi_bits"].mean() for part in parts]
    errors = [clustered_error(part["pvi_bits"].to_numpy(), np.unique(part["group"], return_inverse=True)[1])
              for part in parts]  # fmt: skip
    difference = Figure(means[0] - means[1], float(np.hypot(*errors)), int(chosen.sum()), 1)
    return less_than(statement, difference, "difference of means")


def draw_overlap(figures: pd.DataFrame, path: Path) -> None:
    """Figure 5: a panel for each data set, a line for each class."""
    groups = list(figures.groupby("data", sort=False))

    def draw(axes: np.ndarray) -> None:
        for axis, (name, rows) in zip(axes[0], groups):
            for label, line in rows.groupby("label"):
                axis.errorbar(line["overlap"], line["mean_bits"], 1.96 * line["standard_error_bits"], marker="o",
                              capsize=2, label=label)  # fmt: skip
            axis.axhline(0, color="grey", linewidth=0.8)
            more = f" ({MOST_OVERLAP}: or more)" if MOST_OVERLAP in set(rows["overlap"]) else ""
            axis.set(title=NAMES[name], xlabel=f"shared tokens{more}")
            axis.legend(fontsize="small")
        axes[0][0].set_ylabel("mean PVI (bits), 95 % interval")

    drawn_in(len(groups), 1, 4.4, 3.6, draw, path)


def hardest(tables: Tables, family: str, words: Sequence[str]) -> Result:
    """Table 1: the items of least PVI of every data set."""
    columns = ["id", "text", "label", "predicted", "pvi_bits"]
    rows = [difficulty.hardest(table, HARDEST)[columns].assign(data=name) for name, table in tables.items()]
    figures = pd.concat(rows, ignore_index=True)
    text = figures.assign(
        data=figures["data"].map(NAMES),
        text=[f"{text[:WORDS]} ..." if len(text) > WORDS else text for text in figures["text"]],
        pvi_bits=figures["pvi_bits"].map("{:+.3f}".format),
    )[["data", "text", "label", "predicted", "pvi_bits"]]
    caption = [
        f"The {HARDEST} hardest items of every data set, {family}, held out: least PVI (bits), hardest first. "
        "Candidates for a second look at their labels, no more: see how well PVI finds labels known to be wrong.",
        *words,
    ]
    return Result("hardest", figures, text.rename(columns={"pvi_bits": "PVI"}), "\n".join(caption))
