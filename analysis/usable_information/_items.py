"""Items of a data set: right and wrong predictions by PVI, the overlap of pairs, and
the hardest items.
"""

import functools
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.claims import Claim
from analysis.common.marks import BLUE, ORANGE, lines, panel_by_panel, sheet
from analysis.common.tables import Result, plus_minus_column, spread, text_of
from analysis.usable_information._runs import (
    NAMES,
    TAIL,
    Z95,
    Figure,
    error_of_mean,
    hardest_shown,
    less_than,
)
from infoscope.metrics.v_information import pvi
from infoscope.metrics.v_information.pvi import threshold_window

HARDEST = 10
MOST_OVERLAP = 10  # shared tokens from which on they are one column
ROUNDING = 1e-4  # bits
FEW = 20  # pairs below which their mean is not judged
BARS = 50  # of a histogram
WORDS = 160  # characters of a text that a table shows
HYPOTHESIS = " HYPOTHESIS: "
TOKENS = "Tokens are words and single punctuation marks"

Tables = Mapping[str, pd.DataFrame]


def results(tables: Tables, family: str, words: Sequence[str]) -> list[Result]:
    """The tables of the items of every data set, as one family sees them."""
    with_overlap = {name: table for name, table in tables.items() if "overlap" in table}
    with_text = {name: table for name, table in tables.items() if "text" in table}
    results = [right_and_wrong(tables, family, words)]
    if with_overlap:
        results.append(overlap(with_overlap, family, words))
    if with_text:
        results.append(hardest(with_text, family, words))
    return results


def right_and_wrong(tables: Tables, family: str, words: Sequence[str]) -> Result:
    """Figure 3: the PVI of right and wrong predictions, with the window in which both
    can be.
    """
    rows = []
    for name, table in tables.items():
        for label, items in table.groupby("label"):
            rows.append(window_row(name, label, items, classes_of(table)))
    figures = pd.DataFrame(rows)
    columns = {
        "data": figures["data"].map(NAMES),
        "class": "label",
        "mean PVI": "mean_bits",
        "H(y)": ("H_yb", "{:.3f}"),
        "right from": ("window_low", "{:+.3f}"),
        "wrong up to": ("window_high", "{:+.3f}"),
        "least right": ("least_right", "{:+.3f}", "none"),
        "largest wrong": ("largest_wrong", "{:+.3f}", "none"),
        "in the window": figures["in_window"].astype(str)
        + " of "
        + figures["n"].astype(str),
        "wrong": "wrong",
    }
    text = text_of(figures, [], columns, "-")
    beyond = int(figures["beyond"].sum())
    items = f"{figures['n'].sum():,}"
    statement = (
        "Where predictions turn wrong (figure 3) follows from arithmetic: H(y) - "
        "log2 C to H(y) - 1 bits, by class."
    )
    evidence = (
        f"{beyond} of {items} items of {len(tables)} data sets are outside these "
        "bounds."
    )
    caption = [
        f"{figures['wrong'].sum():,} of {items} predictions are wrong, and {evidence}",
        f"{family}, held out; bits. H(y) = -log2 of a class's probability without an "
        "input. Whatever the family and "
        "the data, a right prediction has a PVI of at least H(y) - log2 C and a wrong "
        "one of at most H(y) - 1: with "
        "two classes PVI and class alone tell right from wrong, with three even ones "
        "both occur between 0 and 0.585 "
        'bits, the "0.5 bits" of the paper. These bounds are dotted lines in the figure, one panel for each class.',
        *words,
    ]
    verdict = "contradicted" if beyond else "confirmed"
    claim = Claim(statement, verdict, evidence, is_ours=True)
    draw = functools.partial(draw_right, tables)
    return Result(
        "right-and-wrong",
        figures,
        text,
        caption,
        draw,
        [claim],
        title="PVI of right and wrong predictions",
    )


def classes_of(table: pd.DataFrame) -> int:
    """How many classes there are, also where one is missing among the items."""
    return len({*table["label"], *table["predicted"]})


def window_row(name: str, label: object, items: pd.DataFrame, classes: int) -> dict:
    """One class of a data set: the window by arithmetic, and the PVI of its items."""
    entropy = float(items["H_yb"].iloc[0])
    low, high = threshold_window(entropy, classes)
    bits = items["pvi_bits"]
    right = bits[items["correct"]]
    wrong = bits[~items["correct"]]
    beyond = (right < low - ROUNDING).sum() + (wrong > high + ROUNDING).sum()
    return {
        "data": name,
        "label": label,
        "mean_bits": bits.mean(),
        "mean_bits_error": error_of_mean(bits, items["group"]),
        "H_yb": entropy,
        "window_low": low,
        "window_high": high,
        "least_right": right.min(),
        "largest_wrong": wrong.max(),
        "in_window": int(bits.between(low, high).sum()),
        "n": len(items),
        "wrong": len(wrong),
        "beyond": int(beyond),
    }


def draw_right(tables: Tables, *paths: Path) -> None:
    """Figure 3: a panel for each class of a data set, histograms of PVI, and the window
    of the class.
    """
    across = max(table["label"].nunique() for table in tables.values())
    with sheet(paths, len(tables), across, (2.8 * across, 2.6 * len(tables))) as axes:
        for row, (name, table) in zip(axes, tables.items()):
            limits = (hardest_shown(table["pvi_bits"]), float(table["pvi_bits"].max()))
            for axis, (label, items) in zip(row, table.groupby("label")):
                window = threshold_window(
                    float(items["H_yb"].iloc[0]), classes_of(table)
                )
                draw_histograms(axis, items, window, limits)
                axis.set(
                    title=f"{NAMES[name]}: {label}", xlim=limits, xlabel="PVI (bits)"
                )
            row[0].set_ylabel(f"items, but for the hardest {100 * TAIL:g} %")


def draw_histograms(
    axis: Any,
    items: pd.DataFrame,
    window: tuple[float, float],
    limits: tuple[float, float],
) -> None:
    """Histograms of the PVI of right and wrong predictions, with the window in which
    both can be.
    """
    low, high = window
    left, right = limits
    width = (right - left) / BARS
    begin = np.floor((left - low) / width)
    end = np.ceil((right - low) / width)
    # an edge is at the bound: no bar is on both sides
    edges = low + width * np.arange(begin, end + 1)
    is_right = items["correct"].astype(bool)
    axis.hist(items["pvi_bits"][is_right], edges, alpha=0.6, color=BLUE, label="right")
    axis.hist(
        items["pvi_bits"][~is_right], edges, alpha=0.6, color=ORANGE, label="wrong"
    )
    if low < high:
        axis.axvspan(low, high, color="grey", alpha=0.15, label="window")
    for bound in window:
        axis.axvline(
            bound,
            linestyle=":",
            color="black",
            linewidth=1.0,
            label="H(y) - log2 C, H(y) - 1",
        )


def widest(figures: pd.DataFrame) -> str:
    """The data set whose means of PVI differ most between numbers of shared tokens, and
    those means, in words.
    """
    ranges = figures.groupby("data")["mean_bits"].agg(np.ptp)
    part = figures[figures["data"] == ranges.idxmax()]
    part = part.assign(bits=plus_minus_column(part, "mean_bits"))
    low = part.loc[part["mean_bits"].idxmin()]
    high = part.loc[part["mean_bits"].idxmax()]
    return (
        f"{NAMES[low['data']]}: {low['bits']} bits at {low['overlap']}, "
        f"{high['bits']} bits at {high['overlap']}"
    )


def overlap(tables: Tables, family: str, words: Sequence[str]) -> Result:
    """Figure 5: mean PVI by the number of shared tokens and the class."""
    rows = []
    claims = []
    for name, table in tables.items():
        clipped = table.assign(overlap=table["overlap"].clip(upper=MOST_OVERLAP))
        slices = pvi.slices(clipped, ["overlap", "label"], groups=table["group"])
        rows.append(slices.reset_index().assign(data=name))
        claims.append(no_overlap(name, clipped))
    figures = pd.concat(rows, ignore_index=True)
    with_errors = figures.assign(mean_bits_error=figures["standard_error_bits"])
    means = plus_minus_column(with_errors, "mean_bits", "-")
    counts = figures["overlap"].astype(str)
    is_most = figures["overlap"] == MOST_OVERLAP
    shown = figures.assign(
        mean=[f"{bits} ({n:,})" for bits, n in zip(means, figures["n"])],
        data=figures["data"].map(NAMES),
        overlap=counts.mask(is_most, counts + " or more"),
    )
    compared = with_errors[figures["n"] >= FEW]
    finding = (
        f"No number of shared tokens has {FEW} pairs, so their means of PVI are not "
        "compared."
    )
    if len(compared):
        finding = f"Mean PVI by shared tokens differs most for {widest(compared)}."
    caption = [
        finding,
        "Mean PVI (bits) ± its standard error (and items) by how many different "
        "tokens premise and hypothesis share, "
        f"{family}, held out. {TOKENS}. Means of fewer than {FEW} pairs are not drawn.",
        *words,
    ]
    more = f" ({MOST_OVERLAP}: or more)" if is_most.any() else ""
    draw = functools.partial(draw_overlap, figures, f"shared tokens{more}")
    text = spread(shown, ["data", "overlap"], "label", "mean")
    return Result("overlap", figures, text, caption, draw, claims)


def no_overlap(name: str, table: pd.DataFrame) -> Claim:
    """Whether entailed pairs without a shared token have the lowest mean PVI of all
    classes and numbers of shared tokens, among those with enough pairs.
    """
    statement = (
        f"{NAMES[name]}: entailed pairs that share no token have the lowest mean PVI "
        "(figure 5)."
    )
    groups = dict(iter(table.groupby(["label", "overlap"])))
    chosen = groups.pop(("entailment", 0), table.iloc[:0])
    means = {}
    for place, members in groups.items():
        if len(members) >= FEW:
            means[place] = members["pvi_bits"].mean()
    if len(chosen) < FEW or not means:
        why = (
            f"{len(chosen)} such pairs and {len(means)} other groups, too few to tell."
        )
        return Claim(statement, "not tested", why)
    label, overlap = lowest = min(means, key=means.get)
    other = groups[lowest]
    error = np.hypot(
        error_of_mean(chosen["pvi_bits"], chosen["group"]),
        error_of_mean(other["pvi_bits"], other["group"]),
    )
    difference = chosen["pvi_bits"].mean() - means[lowest]
    figure = Figure(difference, float(error), len(chosen) + len(other), 1)
    what = (
        f"{len(chosen):,} such pairs less {len(other):,} of {label} with {overlap} "
        "shared tokens, the lowest others"
    )
    return less_than(statement, figure, what)


def draw_overlap(figures: pd.DataFrame, title: str, *paths: Path) -> None:
    """Figure 5: a panel for each data set, a line for each class, side by side."""
    groups = figures[figures["n"] >= FEW].groupby("data", sort=False)
    for axis, (name, rows) in panel_by_panel(
        paths, groups, (4.4, 3.6), ylabel="mean PVI (bits), 95 % interval"
    ):
        step = 0.01 * np.ptp(rows["overlap"])
        for number, (label, line, mark) in enumerate(lines(rows, "label")):
            place = line["overlap"] + step * (number - 1)
            reach = Z95 * line["standard_error_bits"]
            axis.errorbar(
                place,
                line["mean_bits"],
                reach,
                markersize=4,
                capsize=2,
                label=label,
                **mark,
            )
        axis.axhline(0, color="grey", linewidth=0.8)
        axis.set(title=NAMES[name], xlabel=title)


def hardest(tables: Tables, family: str, words: Sequence[str]) -> Result:
    """Table 1: the items of least PVI of every data set."""
    columns = ["id", "text", "label", "predicted", "pvi_bits"]
    rows = [
        table.nsmallest(HARDEST, "pvi_bits")[columns].assign(data=name)
        for name, table in tables.items()
    ]
    figures = pd.concat(rows, ignore_index=True)
    text = figures[["data", "text", "label", "predicted"]].assign(
        data=figures["data"].map(NAMES),
        text=figures["text"].map(shortened),
        PVI=figures["pvi_bits"].map("{:+.3f}".format),
    )
    used = "; ".join(
        f"{NAMES[name]} {table['pvi_bits'].mean():.3f}"
        for name, table in tables.items()
    )
    least = figures.loc[figures["pvi_bits"].idxmin()]
    caption = [
        f"The hardest item, of {NAMES[least['data']]}, has a PVI of "
        f"{least['pvi_bits']:+.3f} bits (one item).",
        f"The {HARDEST} hardest items of every data set, {family}, held out: least "
        "PVI (bits), hardest first. "
        "Candidates for a second look at their labels, no more: see how well PVI "
        "finds labels known to be wrong. "
        f"A family that can use next to nothing ({used} bits on average) is a poor "
        "judge of labels.",
        *words,
    ]
    return Result("hardest", figures, text, caption, quotes=True)


def shortened(text: str) -> str:
    """A text cut to about `WORDS` characters; of a pair each side to half of them."""
    sides = text.rsplit(HYPOTHESIS, 1)
    width = WORDS // len(sides)
    return HYPOTHESIS.join(
        textwrap.shorten(side, width, placeholder=" ...") for side in sides
    )
