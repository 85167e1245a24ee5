"""How names are drawn: one colour and one marker for each, the same in every panel of every figure.

A mark goes by the name alone, never by the order of rows or by what else was run. The colours are those of Okabe & Ito
2008 (without yellow, and black for truths), with three of Tol 2021 that stay apart from them for the colour-blind;
markers differ as well, for figures in grey.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import pandas as pd

matplotlib.use("Agg")  # figures go to files: no analysis needs a screen
matplotlib.rcParams["pdf.fonttype"] = 42  # TrueType: text stays text, as journals ask

BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"
WINE, OLIVE, INDIGO = "#882255", "#999933", "#332288"  # of Tol's muted scheme
COLOURS = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, WINE, OLIVE, INDIGO)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", ">", "d")
STYLES = ("-", "--", ":", "-.")
PLAIN = (1e-4, 1e5)  # ticks that are written without a power of ten
FEW_TICKS, MANY_TICKS = 3, 7  # that a logarithmic axis shows at least, and about at most
MANY_POINTS = 2000  # of a line or cloud, from which on it is an image in a PDF
PRINTED = 300  # dots an inch of what is an image in a PDF

# By what they are names of. A place in a row is for good: new names go to its end.
NAMES: dict[str, tuple[Any, ...]] = {
    "bound": ("nwj", "js", "infonce", "dv", "mine", "smile-1", "smile-5", "smile-inf", "mine-one-step"),
    "critic": ("joint", "separable", "bilinear", "inner"),
    "contestant": ("ksg", "reduced-ksg", "gcmi", "lmi", "ksg-2", "gaussian", "kl-weighted", "gaussian-mixture",
                   "infonce-anchor", "smile-5", "infonce", "ksg-lnc", "student-copula", "fitted-law", "certified"),
    "model": ("nvae", "diva", "dann", "augmented-dann", "irm", "erm", "coral", "fishr", "di-erm",
              "balanced-erm", "uninformed-erm"),
    "score": ("beta_vae", "factor_vae", "mig", "unibound", "informativeness", "sap"),
    "label": ("entailment", "neutral", "contradiction", "acceptable", "unacceptable", "positive", "negative"),
    "detector": ("pvi", "self_confidence", "margin", "confident_joint", "aum", "confidence", "forgetting", "el2n"),
    "data": ("snli", "mnli", "cola", "sst2", "imdb", "imdb-bert", "imdb-roberta", "generated-nli",
             "generated-reviews", "mnli-dev", "digits", "mnist"),
    "method": ("v-information", "knn", "as-numbers", "partitioning", "kernel-density"),
    "family": ("lexical-logistic", "tfidf-logistic", "logistic", "small-bert", "hub:bert-base-cased"),
    "factors": (2, 3, 4, 5, 6, 7, 8, 10, 20),
}  # fmt: skip


class Mark(NamedTuple):
    """The colour and the marker of a name."""

    color: str
    marker: str


def mark(of: str, name: Any) -> Mark:
    """The mark of a name among those of one kind, a key of `NAMES`; unlisted names get one by their hash."""
    known = NAMES[of]
    if name in known:
        return _mark(known.index(name))
    every = len(COLOURS) * len(MARKERS)  # as many as there are, for the lengths have no common factor
    return _mark(len(known) + zlib.crc32(str(name).encode()) % (every - len(known)))


def _mark(number: int) -> Mark:
    return Mark(COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)])


def style(of: str, name: Any) -> str:
    """The line style of a name, where colours stand for something else."""
    return STYLES[NAMES[of].index(name) % len(STYLES)] if name in NAMES[of] else STYLES[-1]


def in_order(of: str, names: Any) -> list[Any]:
    """Different names in the order in which figures show them: as listed, then others sorted."""
    known = NAMES[of]
    return sorted(set(names), key=lambda name: (known.index(name), "") if name in known else (len(known), str(name)))


def lines(rows: pd.DataFrame, of: str, column: str | None = None) -> Iterator[tuple[Any, pd.DataFrame, dict[str, str]]]:
    """Each name of a column (default: named as its kind) with its rows and its mark, as arguments of a drawing."""
    column = column or of
    for name in in_order(of, rows[column]):
        yield name, rows[rows[column] == name], mark(of, name)._asdict()


def legend(figure: Any, loc: str = "outside right upper", **settings: Any) -> None:
    """One legend beside all panels of a figure, of what is drawn in any of them."""
    found: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            found.setdefault(label, handle)
    if found:
        figure.legend(found.values(), found.keys(), loc=loc, **{"fontsize": "small"} | settings)


def save(figure: Any, paths: Sequence[Path], dpi: int, **settings: Any) -> None:
    """Writes a figure at each path in the format of its suffix, and closes it; PDFs have no date."""
    import matplotlib.pyplot as plt

    readable(figure)
    for place, path in enumerate(paths):
        if place:
            figure.set_layout_engine("none")  # all is where the first has put it
        if path.suffix == ".pdf":
            flattened(figure)
            figure.savefig(path, dpi=PRINTED, metadata={"CreationDate": None}, **settings)
        else:
            figure.savefig(path, dpi=dpi, **settings)
    plt.close(figure)


def flattened(figure: Any) -> None:
    """Has what is of many points drawn as an image, which a page shows at once; all else stays lines and letters."""
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D

    for axes in figure.axes:
        for drawn in axes.get_children():
            of = {Line2D: "get_xdata", PathCollection: "get_offsets"}.get(type(drawn))
            if of and len(getattr(drawn, of)()) >= MANY_POINTS:
                drawn.set_rasterized(True)


def readable(figure: Any) -> None:
    """Labels some ticks of every logarithmic axis in plain numbers; chosen ticks stay."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() != "log":
                continue
            axis.set_minor_formatter(NullFormatter())
            if isinstance(axis.get_major_locator(), FixedLocator):
                continue
            ticks = log_ticks(*sorted(axis.get_view_interval()))
            axis.set_major_locator(FixedLocator(ticks))
            axis.set_major_formatter(FixedFormatter(written(ticks)))


def log_ticks(low: float, high: float) -> list[float]:
    """Three to seven round numbers from low to high > low > 0, about evenly spaced in the logarithm."""
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        found = [float(f"{digit}e{int(decade)}") for decade in decades for digit in digits]
        found = [tick for tick in found if low <= tick <= high]
        if len(found) >= FEW_TICKS:
            return found[:: -(-len(found) // MANY_TICKS)]
    from matplotlib.ticker import MaxNLocator

    return [float(tick) for tick in MaxNLocator(4).tick_values(low, high) if low <= tick <= high]


def written(ticks: Sequence[float]) -> list[str]:
    """The ticks of an axis in plain figures, or where one is far from 1 all as powers of ten."""
    if all(PLAIN[0] <= tick < PLAIN[1] for tick in ticks):
        return [np.format_float_positional(tick, trim="-") if tick < 1e3 else f"{tick:,.0f}" for tick in ticks]
    parts = [f"{tick:e}".split("e") for tick in ticks]
    times = ["" if float(digits) == 1 else rf"{float(digits):g} \cdot " for digits, _ in parts]
    return [f"${by}10^{{{int(exponent)}}}$" for by, (_, exponent) in zip(times, parts)]
