"""Which score finds wrong labels, the loss of a held-out prediction or PVI, which knows how frequent labels are?

Labels as they are: data maps (Swayamdipta et al. 2020) with the hardest items.
"""

import functools
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.marks import lines, panel_by_panel, sheet
from analysis.common.runs import ordered
from analysis.common.tables import Analysis, Result, plus_minus_column, share_text, with_interval
from analysis.usable_information._items import shortened
from analysis.usable_information._runs import NAMES, TAIL, cautions, described, hardest_shown, items, newest_of
from infoscope import tracking
from infoscope.command_line import option
from infoscope.errors import UnknownName
from infoscope.estimators.result import Estimate
from infoscope.metrics import replicated
from infoscope.metrics.v_information.label_errors import SCORES
from infoscope.metrics.v_information.pvi import hardest
from sweeps.usable_information.settings import HARDEST, NOT_FLIPPED

PLACE = ["data", "family", "noise", "rate"]
MEASURES = {"average_precision": "average precision", "auroc": "AUROC", "precision": "precision"}
RANKED = "average_precision"  # what scores are compared by
REFERENCE = "pvi"
TITLES = {
    **{key: score.title for key, score in SCORES.items()},
    "margin": "normalised margin",  # this and those below are in runs of versions up to 0.2
    "confident_joint": "confident joint",
    "aum": "AUM",
    "confidence": "data-map confidence",
    "forgetting": "forgetting events",
    "el2n": "EL2N",
}
COLUMNS = 5  # of panels in a row
PICTURES = 5  # in a row
WIDTH = 110  # characters of a line of text beside a map


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """How well labels are found by score and by setting; and the data maps."""
    runs, left_out = newest_of(runs, [*PLACE, "seed"])
    words = [*cautions(runs), described(runs), *left_out]
    noisy, maps = runs[runs["noise"] != NOT_FLIPPED], runs[runs["noise"] == NOT_FLIPPED]
    family = arguments.family or str(runs.groupby("family")["v_information_bits"].mean().idxmax())
    if family not in set(runs["family"]):
        raise UnknownName(f"family must be one of {', '.join(sorted(set(runs['family'])))}, got {family!r}.")
    results = []
    if len(noisy):
        results += [overall(noisy, words), by_setting(noisy, family, words)]
    maps = maps[maps["family"] == family]
    return [*results, mapped(maps, family, words)] if len(maps) else results


def balanced(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of the settings with the most seeds, so that every seed has the same settings."""
    sizes = runs.groupby(PLACE)["run_id"].transform("size")
    return runs[sizes == sizes.max()]


def level(runs: pd.DataFrame, score: str, measure: str, less: str | None = None) -> Estimate:
    """The mean over settings of a score's measure, less that of another score on the same items; over seeds."""
    values = runs[f"{score}/{measure}"] - (runs[f"{less}/{measure}"] if less else 0.0)
    return replicated(values.groupby(runs["seed"]).mean().to_numpy())


def recorded(runs: pd.DataFrame) -> list[str]:
    """The scores that these runs have."""
    return [key for key in TITLES if f"{key}/{RANKED}" in runs]


def rows_of(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """One row of figures for each score."""
    rows = []
    for key in recorded(runs):
        row: dict[str, Any] = {"score": key}
        for measure in MEASURES:
            found = level(runs, key, measure)
            row |= {measure: found.value, f"{measure}_error": found.standard_error}
        difference = level(runs, key, RANKED, less=REFERENCE)
        row |= {"difference": difference.value, "difference_low": difference.low, "difference_high": difference.high,
                "against": "-" if key == REFERENCE else with_interval(difference)}  # fmt: skip
        rows.append(row | {"seeds": difference.n, "n": int(runs["n"].iloc[0]), "flipped": int(runs["flipped"].iloc[0])})
    return rows


def texts_of(figures: pd.DataFrame) -> pd.DataFrame:
    """The columns that both tables of scores show."""
    return pd.DataFrame(
        {
            "score": [TITLES[key] for key in figures["score"]],
            **{title: plus_minus_column(figures, measure, "-") for measure, title in MEASURES.items()},
            "average precision less PVI's": figures["against"],
        }
    )


def overall(noisy: pd.DataFrame, words: Sequence[str]) -> Result:
    """Every score over all settings, and where the best finds more than PVI."""
    runs = balanced(noisy)
    figures = pd.DataFrame(rows_of(runs))
    settings = runs.groupby(PLACE).ngroups
    means = runs.groupby(PLACE)[[f"{key}/{RANKED}" for key in recorded(runs)]].mean()
    best = means.idxmax(axis=1).str.partition("/")[0].value_counts()
    figures["best_in"] = figures["score"].map(best).fillna(0).astype(int)
    text = texts_of(figures).assign(
        **{
            "missed": [f"{1 - value:.1%}" for value in figures["precision"]],
            f"best in, of {settings}": figures["best_in"],
        }
    )
    others = figures[figures["score"] != REFERENCE].set_index("score")
    caption = [
        beside_reference(runs, others[RANKED].idxmax()),
        f"Means over {settings} settings (data, family, noise, rate) of {noisy.groupby(PLACE).ngroups}, those with the "
        f"most seeds, {runs['seed'].nunique()}; ± is the standard error over seeds, which draw items, flips and "
        "trainings; in brackets the 95 % interval of the paired difference. Of as many items inspected as labels are "
        "wrong, precision is the share that is wrong, and missed the share of wrong labels that is not among them. "
        "Labels that were wrong before count as right: they cost all scores alike.",
        *words,
    ]
    return Result("scores", figures.drop(columns="against"), text, caption)


def beside_reference(runs: pd.DataFrame, best: str) -> str:
    """One sentence on a score and PVI, from the paired differences by setting and by what settings differ in."""
    each = [level(setting, best, RANKED, less=REFERENCE) for _, setting in runs.groupby(PLACE)]
    more = sum(difference.low > 0 for difference in each)
    less = sum(difference.high < 0 for difference in each)
    lead = (
        f"{TITLES[best]} finds more than {TITLES[REFERENCE]} in {more} of {len(each)} settings and less in {less}, by "
        "95 % intervals over seeds of the difference in average precision, of which chance alone gives 2.5 % to either "
        f"side; {with_interval(level(runs, best, RANKED, less=REFERENCE))} on average"
    )
    spreads, parts = {}, []
    for factor in PLACE:
        if runs[factor].nunique() == 1:
            continue
        levels = {}
        for value, of_value in runs.groupby(factor, sort=factor == "rate"):
            name = f"{value:.0%}" if factor == "rate" else NAMES.get(value, value)
            levels[name] = level(of_value, best, RANKED, less=REFERENCE)
        spreads[factor] = np.ptp([difference.value for difference in levels.values()])
        named = [f"{name} {with_interval(difference)}" for name, difference in levels.items()]
        parts.append(f"{factor}: {', '.join(named)}")
    if not spreads:
        return f"{lead}."
    return f"{lead}. It depends most on the {max(spreads, key=spreads.__getitem__)}. By {'; by '.join(parts)}."


def by_setting(noisy: pd.DataFrame, family: str, words: Sequence[str]) -> Result:
    """Every score in every setting."""
    rows = [dict(zip(PLACE, place)) | row for place, of in noisy.groupby(PLACE, sort=False) for row in rows_of(of)]
    figures = ordered(pd.DataFrame(rows), PLACE, data=NAMES)
    setting = pd.DataFrame(
        {
            "data": figures["data"].map(NAMES),
            "family": figures["family"],
            "noise": figures["noise"],
            "flipped": [f"{flipped:,} of {n:,}" for flipped, n in zip(figures["flipped"], figures["n"])],
        }
    )
    missed = [f"{flipped * (1 - share):.0f}" for flipped, share in zip(figures["flipped"], figures["precision"])]
    text = pd.concat([setting, texts_of(figures).set_index(figures.index)], axis=1).assign(missed=missed)
    best = figures.loc[figures.groupby(PLACE, sort=False)[RANKED].idxmax(), "score"].value_counts()
    caption = [
        f"{TITLES[best.index[0]]} has the highest average precision in {share_text(best.iloc[0], best.sum())} of "
        f"{best.sum()} settings.",
        f"± is the standard error over {figures['seeds'].min()} to {figures['seeds'].max()} seeds, brackets hold the "
        "95 % interval of the paired difference. missed: of the flipped labels, when as many items are inspected. A "
        "score that knows nothing has the flipped share as its average precision and 0.5 as its AUROC. With two "
        f"classes pair noise is symmetric noise. The figure is of the family {family}.",
        *words,
    ]
    draw = functools.partial(draw_settings, figures[figures["family"] == family])
    return Result("settings", figures.drop(columns="against"), text, caption, draw)


def draw_settings(figures: pd.DataFrame, *paths: Path) -> None:
    """Average precision by the rate of wrong labels: a panel for each data set and noise, a line for each score."""
    groups, ylabel = figures.groupby(["data", "noise"], sort=False), "average precision, ± standard error"
    for axis, ((data, noise), own) in panel_by_panel(paths, groups, (3.2, 3.2), across=COLUMNS, ylabel=ylabel):
        for score, line, of in lines(own, "detector", "score"):
            axis.errorbar(100 * line["rate"], line[RANKED], line[f"{RANKED}_error"], capsize=2, markersize=4,
                          label=TITLES[score], **of)  # fmt: skip
        axis.set(title=f"{NAMES[data]}, {noise}", xlabel="wrong labels (%)", xticks=sorted(set(100 * own["rate"])))


def mapped(maps: pd.DataFrame, family: str, words: Sequence[str]) -> Result:
    """The data map of labels as they are, with the hardest items."""
    runs = maps.drop_duplicates("data").set_index("data")
    tables = {name: items(run) for name, run in runs["run_id"].items()}
    pictures = {name: tracking.arrays(runs.loc[name, "run_id"], "hardest")["pictures"]
                for name, table in tables.items() if "text" not in table}  # fmt: skip
    listed = [hardest(table, HARDEST).assign(data=name) for name, table in tables.items()]
    figures = pd.concat(listed, ignore_index=True).reindex(
        columns=["data", "id", "text", "label", "predicted", "pvi_bits", "confidence", "variability", "correctness"]
    )
    text = pd.DataFrame(
        {
            "data": figures["data"].map(NAMES),
            "item": [item if pd.isna(told) else shortened(told) for item, told in zip(figures["id"], figures["text"])],
            "label": figures["label"],
            "predicted": figures["predicted"],
            **{
                column.partition("_")[0].replace("pvi", "PVI"): figures[column].map("{:.3f}".format)
                for column in ("pvi_bits", "confidence", "variability", "correctness")
            },
        }
    )
    used = plus_minus_column(runs, "v_information_bits")
    sizes = "; ".join(f"{NAMES[name]} {bits} ({n:,.0f} items)" for name, bits, n in zip(runs.index, used, runs["n"]))
    caption = [
        f"Mean PVI (bits): {sizes}.",
        f"Labels as they are: the {HARDEST} items of least held-out PVI (bits) of every data set, {family}, hardest "
        "first, and where they are on its data map. confidence, variability: mean and standard deviation over epochs "
        "of the probability of the label in a training on all items; correctness: the share of epochs that predict "
        "the label. Each is of one item, so without an error. Candidates for a second look, no more. "
        "A family that can use next to nothing is a poor judge of labels. In the figure colour stops at the "
        f"PVI of the hardest {TAIL:.1%}, and rings are the items listed.",
        *words,
    ]
    draw = functools.partial(draw_maps, tables, pictures)
    return Result("maps", figures, text, caption, draw, quotes=True)


def draw_maps(tables: Mapping[str, pd.DataFrame], pictures: Mapping[str, np.ndarray], *paths: Path) -> None:
    """Confidence against variability, coloured by PVI, and beside it the hardest items as pictures or text."""
    size = (14, 4.4 * len(tables))
    with sheet(paths, len(tables), 2, size, legend_at="", width_ratios=(5, 7)) as axes:
        for (axis, beside), (name, table) in zip(axes, tables.items()):
            shown = hardest(table, HARDEST)
            points = axis.scatter(table["variability"], table["confidence"], 6, table["pvi_bits"], cmap="viridis",
                                  vmin=hardest_shown(table["pvi_bits"]), linewidths=0, rasterized=True)  # fmt: skip
            axis.scatter(shown["variability"], shown["confidence"], 60, facecolors="none", edgecolors="black")
            axis.set(xlabel="variability", ylabel="confidence", title=f"{NAMES[name]}, {len(table):,} items")
            axis.figure.colorbar(points, ax=axis, label="held-out PVI (bits)")
            beside.set_axis_off()
            beside.set_title("least PVI first: label (predicted)", fontsize="medium")
            named = [f"{label} ({predicted})" for label, predicted in zip(shown["label"], shown["predicted"])]
            if name in pictures:
                draw_pictures(beside, pictures[name], named)
            else:
                said = [
                    textwrap.fill(f"{of}: {' '.join(text.split())}", WIDTH) for of, text in zip(named, shown["text"])
                ]
                beside.text(0, 1, "\n".join(said), va="top", fontsize="x-small", parse_math=False)


def draw_pictures(axis: Any, pictures: np.ndarray, named: Sequence[str]) -> None:
    """Grey or coloured pictures [n, height, width] in rows, each under its name."""
    height, width = pictures.shape[1:3]
    for place, (picture, name) in enumerate(zip(pictures, named)):
        left, top = 1.2 * width * (place % PICTURES), 1.5 * height * (place // PICTURES)
        axis.imshow(picture, cmap="gray", extent=(left, left + width, top + height, top))
        axis.text(left + width / 2, top - 0.05 * height, name, ha="center", va="bottom", fontsize="small")
    axis.set(xlim=(0, 1.2 * width * PICTURES), ylim=(1.5 * height * -(-len(pictures) // PICTURES), -0.3 * height))


ANALYSIS = Analysis(
    "label-errors", analyse, [option("family", help="whose figures are drawn (default: the one that can use most)")]
)
