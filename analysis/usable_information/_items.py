"""Items of a data set: right and wrong predictions by PVI, the overlap of pairs, and the hardest items."""

import functools
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.common.marks import BLUE, ORANGE, lines, panel_by_panel, sheet
from analysis.common.tables import Claim, Result, plus_minus_column, spread
from analysis.usable_information._runs import NAMES, TAIL, Z95, Figure, hardest_shown, less_than
from infoscope.estimators.result import clustered_error
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
    if not tables:
        return []
    with_overlap = {name: table for name, table in tables.items() if "overlap" in table}
    with_text = {name: table for name, table in tables.items() if "text" in table}
    found = [right_and_wrong(tables, family, words)]
    found += [overlap(with_overlap, family, words)] if with_overlap else []
    return [*found, hardest(with_text, family, words)] if with_text else found


def right_and_wrong(tables: Tables, family: str, words: Sequence[str]) -> Result:
    """Figure 3: the PVI of right and wrong predictions, with the window in which both can be."""
    figures = pd.DataFrame([window_row(name, label, own, classes_of(table))
                            for name, table in tables.items() for label, own in table.groupby("label")])  # fmt: skip
    text = pd.DataFrame(
        {
            "data": figures["data"].map(NAMES),
            "class": figures["label"],
            "mean PVI": plus_minus_column(figures, "mean_bits", "-"),
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
        f"{figures['wrong'].sum():,} of {figures['n'].sum():,} predictions are wrong, and {evidence}",
        f"{family}, held out; bits. H(y) = -log2 of a class's probability without an input. Whatever the family and "
        "the data, a right prediction has a PVI of at least H(y) - log2 C and a wrong one of at most H(y) - 1: with "
        "two classes PVI and class alone tell right from wrong, with three even ones both occur between 0 and 0.585 "
        'bits, the "0.5 bits" of the paper. These bounds are dotted lines in the figure, one panel for each class.',
        *words,
    ]
    claim = Claim(statement, "contradicted" if beyond else "confirmed", evidence)
    draw = functools.partial(draw_right, tables)
    return Result("right-and-wrong", figures, text, caption, draw, [claim], title="PVI of right and wrong predictions")


def signed(bits: float) -> str:
    """A PVI as text; none where there is no such item."""
    return f"{bits:+.3f}" if np.isfinite(bits) else "none"


def classes_of(table: pd.DataFrame) -> int:
    """How many classes there are, also where one is missing among the items."""
    return len({*table["label"], *table["predicted"]})


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


def draw_right(tables: Tables, *paths: Path) -> None:
    """Figure 3: a panel for each class of a data set, histograms of PVI, and the window of the class."""
    panels = [(name, table, list(table.groupby("label"))) for name, table in tables.items()]
    across = max(len(classes) for *_, classes in panels)
    with sheet(paths, len(panels), across, (4.2 * across, 2.6 * len(panels))) as axes:
        for row, (name, table, classes) in zip(axes, panels):
            left, right = hardest_shown(table["pvi_bits"]), float(table["pvi_bits"].max())
            width = (right - left) / BARS
            for axis, (label, own) in zip(row, classes):
                window = threshold_window(float(own["H_yb"].iloc[0]), classes_of(table))
                bars = np.arange(np.floor((left - window[0]) / width), np.ceil((right - window[0]) / width) + 1)
                edges = window[0] + width * bars  # one of them at the bound, so that no bar is on both sides
                for correct, name_of, colour in ((True, "right", BLUE), (False, "wrong", ORANGE)):
                    axis.hist(own["pvi_bits"][own["correct"] == correct], edges, alpha=0.6, color=colour, label=name_of)
                if window[0] < window[1]:
                    axis.axvspan(*window, color="grey", alpha=0.15, label="window")
                for bound in window:
                    axis.axvline(bound, linestyle=":", color="black", linewidth=1.0, label="H(y) - log2 C, H(y) - 1")
                axis.set(title=f"{NAMES[name]}: {label}", xlim=(left, right), xlabel="PVI (bits)")
            row[0].set_ylabel(f"items, but for the hardest {100 * TAIL:g} %")


def widest(figures: pd.DataFrame) -> str:
    """The data set whose means of PVI differ most between numbers of shared tokens, and those means, in words."""
    ranges = figures.groupby("data")["mean_bits"].agg(np.ptp)
    part = figures[figures["data"] == ranges.idxmax()]
    part = part.assign(bits=plus_minus_column(part.assign(mean_bits_error=part["standard_error_bits"]), "mean_bits"))
    low, high = part.loc[part["mean_bits"].idxmin()], part.loc[part["mean_bits"].idxmax()]
    return f"{NAMES[low['data']]}: {low['bits']} bits at {low['overlap']}, {high['bits']} bits at {high['overlap']}"


def with_items(figures: pd.DataFrame) -> list[str]:
    """Mean PVI, its standard error and the number of items of each row."""
    errors = figures.assign(mean_bits_error=figures["standard_error_bits"])
    return [f"{bits} ({n:,})" for bits, n in zip(plus_minus_column(errors, "mean_bits", "-"), figures["n"])]


def overlap(tables: Tables, family: str, words: Sequence[str]) -> Result:
    """Figure 5: mean PVI by the number of shared tokens and the class."""
    rows = []
    for name, table in tables.items():
        clipped = table.assign(overlap=table["overlap"].clip(upper=MOST_OVERLAP))
        found = pvi.slices(clipped, ["overlap", "label"], groups=table["group"]).reset_index()
        rows.append(found.assign(data=name))
    figures = pd.concat(rows, ignore_index=True)
    shown = figures.assign(
        mean=with_items(figures),
        data=figures["data"].map(NAMES),
        overlap=figures["overlap"].map(lambda count: f"{count} or more" if count == MOST_OVERLAP else str(count)),
    )
    common = figures[figures["n"] >= FEW]
    finding = f"No number of shared tokens has {FEW} pairs, so their means of PVI are not compared."
    if len(common):
        finding = f"Mean PVI by shared tokens differs most for {widest(common)}."
    caption = [
        finding,
        f"Mean PVI (bits) ± its standard error (and items) by how many different tokens premise and hypothesis share, "
        f"{family}, held out. {TOKENS}. Means of fewer than {FEW} pairs are not drawn.",
        *words,
    ]
    more = f" ({MOST_OVERLAP}: or more)" if MOST_OVERLAP in set(figures["overlap"]) else ""
    draw = functools.partial(draw_overlap, figures, f"shared tokens{more}")
    text = spread(shown, ["data", "overlap"], "label", "mean")
    return Result("overlap", figures, text, caption, draw, [no_overlap(*pair) for pair in tables.items()])


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


def draw_overlap(figures: pd.DataFrame, title: str, *paths: Path) -> None:
    """Figure 5: a panel for each data set, a line for each class, side by side."""
    groups = figures[figures["n"] >= FEW].groupby("data", sort=False)
    for axis, (name, rows) in panel_by_panel(paths, groups, (4.4, 3.6), ylabel="mean PVI (bits), 95 % interval"):
        step = 0.01 * np.ptp(rows["overlap"])
        for number, (label, line, mark) in enumerate(lines(rows, "label")):
            place = line["overlap"] + step * (number - 1)
            axis.errorbar(place, line["mean_bits"], Z95 * line["standard_error_bits"], markersize=4,
                          capsize=2, label=label, **mark)  # fmt: skip
        axis.axhline(0, color="grey", linewidth=0.8)
        axis.set(title=NAMES[name], xlabel=title)


def hardest(tables: Tables, family: str, words: Sequence[str]) -> Result:
    """Table 1: the items of least PVI of every data set."""
    columns = ["id", "text", "label", "predicted", "pvi_bits"]
    rows = [table.nsmallest(HARDEST, "pvi_bits")[columns].assign(data=name) for name, table in tables.items()]
    figures = pd.concat(rows, ignore_index=True)
    text = figures.assign(
        data=figures["data"].map(NAMES),
        text=figures["text"].map(shortened),
        pvi_bits=figures["pvi_bits"].map("{:+.3f}".format),
    )[["data", "text", "label", "predicted", "pvi_bits"]]
    used = "; ".join(f"{NAMES[name]} {table['pvi_bits'].mean():.3f}" for name, table in tables.items())
    least = figures.loc[figures["pvi_bits"].idxmin()]
    caption = [
        f"The hardest item, of {NAMES[least['data']]}, has a PVI of {least['pvi_bits']:+.3f} bits (one item).",
        f"The {HARDEST} hardest items of every data set, {family}, held out: least PVI (bits), hardest first. "
        "Candidates for a second look at their labels, no more: see how well PVI finds labels known to be wrong. "
        f"A family that can use next to nothing ({used} bits on average) is a poor judge of labels.",
        *words,
    ]
    return Result("hardest", figures, text.rename(columns={"pvi_bits": "PVI"}), caption, quotes=True)


def shortened(text: str) -> str:
    """A text cut to about `WORDS` characters; of a pair each side to half of them."""
    sides = text.rsplit(HYPOTHESIS, 1)
    width = WORDS // len(sides)
    return HYPOTHESIS.join(textwrap.shorten(side, width, placeholder=" ...") for side in sides)
