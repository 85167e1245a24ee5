"""How names are drawn: one colour and one marker for each, the same in every panel of
every figure.

A mark goes by the name alone, never by the order of rows or by what else was run. The
colours are those of Okabe & Ito 2008 (without yellow, and black for truths), with three
of Tol 2021 that stay apart from them for the colour-blind; markers differ as well, for
figures in grey.
"""

import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import matplotlib
import numpy as np
import pandas as pd

from infoscope.names import as_written

T = TypeVar("T")
matplotlib.use("Agg")  # figures go to files: no analysis needs a screen
matplotlib.rcParams["pdf.fonttype"] = 42  # TrueType: text stays text, as journals ask

BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#56B4E9",
    "#CC79A7",
)
WINE, OLIVE, INDIGO = "#882255", "#999933", "#332288"  # of Tol's muted scheme
COLOURS = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, WINE, OLIVE, INDIGO)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", ">", "d")
STYLES = ("-", "--", ":", "-.")
LEGEND_COLUMN = 1.6  # inches
PRINTED = 300  # dots an inch of what is an image in a PDF

# By what they are names of. A place in a row is for good: new names go to its end.
NAMES: dict[str, tuple[Any, ...]] = {
    "bound": ("nwj", "js", "infonce", "dv", "mine", "smile-1", "smile-5", "smile-inf", "mine-one-step"),
    "critic": ("joint", "separable", "bilinear", "inner"),
    "model": ("nvae", "diva", "dann", "augmented-dann", "irm", "erm"),
    "score": ("beta_vae", "factor_vae", "mig", "unibound", "informativeness", "sap"),
    "label": ("entailment", "neutral", "contradiction", "acceptable", "unacceptable", "positive", "negative"),
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
    """The mark of a name among those of one kind, a key of `NAMES`; unlisted names get
    one by their hash.
    """
    listed = NAMES[of]
    if name in listed:
        number = listed.index(name)
    else:
        # all of them differ, for the lengths have no common factor
        pairs = len(COLOURS) * len(MARKERS)
        checksum = zlib.crc32(str(name).encode())
        number = len(listed) + checksum % (pairs - len(listed))
    return Mark(COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)])


def critic_style(critic: str) -> str:
    """The line style of a critic, where colours stand for estimators."""
    styles = dict(zip(NAMES["critic"], STYLES))
    return styles.get(critic, STYLES[-1])


def in_order(of: str, names: Any) -> list[Any]:
    """Different names in the order in which figures show them: as listed, then others
    sorted.
    """
    names = set(names)
    listed = [name for name in NAMES[of] if name in names]
    return listed + sorted(names.difference(listed), key=str)


def lines(
    rows: pd.DataFrame, of: str
) -> Iterator[tuple[Any, pd.DataFrame, dict[str, str]]]:
    """Each name of a column, which is named as its kind, with its rows and its mark, as
    arguments of a drawing.
    """
    for name in in_order(of, rows[of]):
        yield name, rows[rows[of] == name], mark(of, name)._asdict()


@contextmanager
def sheet(
    paths: Sequence[Path],
    rows: int = 1,
    columns: int = 1,
    size: tuple[float, float] = (6.4, 4.8),
    dpi: int = 150,
    legend_at: str = "outside lower center",
    ncols: int = 3,
    title: str = "",
    **how: Any,
) -> Iterator[np.ndarray]:
    """The axes [rows, columns] of a figure, `size` in inches, to draw on; saved at the
    paths at the end, panels without data blank, with one legend of all panels, of
    `ncols` columns, unless `legend_at` is empty, and a title above.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        rows, columns, figsize=size, squeeze=False, layout="constrained", **how
    )
    if title:
        figure.suptitle(title, fontsize=9)
    yield axes
    for axis in axes.flat:
        if not axis.has_data():
            axis.set_axis_off()
    if legend_at:
        fitting = max(1, int(size[0] / LEGEND_COLUMN))
        legend(figure, legend_at, ncols=min(ncols, fitting))
    save(figure, paths, dpi)


def panel_by_panel(
    paths: Sequence[Path],
    groups: Iterable[T],
    each: tuple[float, float],
    more: tuple[float, float] = (0.0, 0.0),
    across: int = 2,
    ylabel: str = "",
    **settings: Any,
) -> Iterator[tuple[Any, T]]:
    """The axis of a panel with every group, to draw it; when all are drawn, the figure
    is saved at the paths.

    each      inches of a panel
    more      inches of the figure beside panels
    across    panels in a row; three are hard to read on a phone
    settings  as of `sheet`
    """
    groups = list(groups)
    across = max(1, min(across, len(groups)))
    down = max(1, math.ceil(len(groups) / across))
    width = each[0] * across + more[0]
    height = each[1] * down + more[1]
    with sheet(paths, down, across, (width, height), **settings) as axes:
        yield from zip(axes.flat, groups)
        if ylabel:
            for axis in axes[:, 0]:
                axis.set_ylabel(ylabel)


def legend(figure: Any, loc: str = "outside lower center", **settings: Any) -> None:
    """One legend for all panels of a figure."""
    handles: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    if handles:
        figure.legend(
            handles.values(), handles.keys(), loc=loc, fontsize="small", **settings
        )


def save(figure: Any, paths: Sequence[Path], dpi: int) -> None:
    """Writes a figure at each path in the format of its suffix, and closes it; PDFs
    have no date.
    """
    import matplotlib.pyplot as plt

    readable(figure)
    as_written(figure)
    for number, path in enumerate(paths):
        if number:
            figure.set_layout_engine("none")  # all is where the first has put it
        if path.suffix == ".pdf":
            figure.savefig(path, dpi=PRINTED, metadata={"CreationDate": None})
        else:
            figure.savefig(path, dpi=dpi)
    plt.close(figure)


def readable(figure: Any) -> None:
    """Labels some ticks of every logarithmic axis in plain numbers; chosen ticks stay."""
    from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter

    both = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    for axis in both:
        if axis.get_scale() != "log":
            continue
        axis.set_minor_formatter(NullFormatter())
        if isinstance(axis.get_major_locator(), FixedLocator):
            continue
        low, high = sorted(axis.get_view_interval())
        digits = (1, 2, 5) if high < 1000 * low else (1,)
        axis.set_major_locator(LogLocator(subs=digits))
        axis.set_major_formatter(
            lambda value, place: f"{value:,.10g}" if value >= 1 else f"{value:g}"
        )
