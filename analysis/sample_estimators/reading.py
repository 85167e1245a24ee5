"""Do the intervals of a reading contain the true value, and are they narrow?

Every distribution of the prior, and every process of series, is read by a reader that
was trained without its family. Where the sweep known-laws was run with the method
reading, a table shows its collections, on which no reader was trained.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.common.marks import BLUE, ORANGE, sheet
from analysis.common.runs import latest, newest, versions
from analysis.common.tables import Analysis, Result, share_text, text_of
from infoscope.estimators.reading.reader import (
    FEW_COLUMNS,
    FEW_ROWS,
    MANY_COLUMNS,
    SERIES_TYPE,
    SOME_ROWS,
    A,
    C,
    is_narrow,
)
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.shares import clopper_pearson
from infoscope.tracking import runs as runs_of
from infoscope.tracking import table

COMPARED = ("ksg", "gcmi")
WIDE_COLUMNS = 12  # of x and y together; above it data are called wide
CELL = ("type", "columns", "rows")  # the groups in which intervals are judged
GIVEN_CELL = ("type", "columns_z")
# each above a number of columns
COLUMN_GROUPS = {"2 to 11": 0, "12 to 60": FEW_COLUMNS, "above 60": MANY_COLUMNS}
ROW_GROUPS = {"100 to 300": 0, "301 to 1,000": FEW_ROWS, "1,001 to 5,000": SOME_ROWS}
MIN_GROUP = 50  # data sets of a group that can be the worst
HARD_FAMILIES = ("parity_and_interactions", "hidden_mechanism", "derived")
WEAK = (1, 20)  # 2 n I, nats
NEAR = math.sqrt(2)  # about n rows: from n / NEAR to n x NEAR
USABLE_WIDTH, MOST_USABLE_WIDTH = 0.2 / NATS_PER_BIT, 1 / NATS_PER_BIT  # bits
USABLE_FEW = {300: 75, 1000: 95}  # rows -> target, per cent
USABLE_WIDE = {1000: 55, 4000: 70}
# axis of the figure -> (column, edges of its groups; none where its values are groups)
EDGES = {
    "rows": ("n", (100, 200, 500, 1000, 2000, 5000)),
    "columns of x and y": ("columns", (2, 4, 11, 41, 151, 1100)),
    "type of the pair": ("type", ()),
    "numbers": ("ties", ()),
    "idle columns": ("idle", (0, 1, 10, 100, 1100)),
    "true information (bits)": ("truth", (0, 1e-9, 0.1, 0.5, 1, 2, 3, 4, 15)),
}
# its name, target from and to (per cent), and of which data sets it holds
Measure = tuple[str, int, int, pd.Series]
Edges = Mapping[str, tuple[str, tuple[float, ...]]]
GIVEN_EDGES: Edges = {
    "columns of z": ("columns_z", (1, 2, 4, 6, 11, 60)),
    **{
        name: EDGES[name]
        for name in (
            "rows",
            "columns of x and y",
            "type of the pair",
            "true information (bits)",
        )
    },
}
MEMORY = "lag-one correlation"
SERIES_EDGES: Edges = {
    "rows": ("n", (200, 500, 1000, 2000, 5000, 10_000)),
    MEMORY: ("memory", (-1, 0.2, 0.5, 0.8, 0.9, 0.95, 1.0)),
    "type of the pair": ("type", ()),
    "true information (bits)": ("truth", (0, 1e-9, 0.01, 0.03, 0.1, 0.3, 1, 5)),
}
MEMORY_GROUPS = {
    "below 0.5": -1,
    "0.5 to 0.8": 0.5,
    "0.8 to 0.95": 0.8,
    "above 0.95": 0.95,
}
SERIES_CELL = ("type", "memory")
# of columns of z, each above a number
GIVEN_GROUPS = {"1": 0, "2 to 5": 1, "6 to 10": 5, "above 10": 10}


def read(runs: pd.DataFrame) -> pd.DataFrame:
    """Every simulated data set with its reading, over seeds of the reader."""
    parts = [
        table(run["run_id"], "left-out").assign(seed=run["seed"])
        for _, run in runs.iterrows()
    ]
    found = pd.concat(parts, ignore_index=True)
    nats = [
        name for name in ("value", "low", "high", "truth", *COMPARED) if name in found
    ]
    found[nats] /= NATS_PER_BIT
    ties = np.where(found["tied"], "tied", "all distinct")
    return found.assign(columns=found["columns_x"] + found["columns_y"], ties=ties)


def in_cells(sets: pd.DataFrame) -> pd.DataFrame:
    """The data sets with numbers of columns and rows in groups, as text."""
    columns = grouped(sets["columns"], COLUMN_GROUPS)
    rows = grouped(sets["n"], ROW_GROUPS)
    groups = sets.assign(columns=columns, rows=rows)
    if "columns_z" in sets:
        groups["columns_z"] = grouped(sets["columns_z"], GIVEN_GROUPS)
    return groups


def grouped(numbers: pd.Series, groups: Mapping[str, int]) -> NDArray[np.str_]:
    """The name of the group [m] of each number: the last one that it is above."""
    names = np.array(list(groups))
    return names[np.searchsorted(list(groups.values()), numbers) - 1]


def summarised(sets: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Counts and errors of readings by group, with a last row of all; bits."""
    groups = [
        *sets.groupby(list(by)),
        (("all",) + ("",) * (len(by) - 1), sets),
    ]
    return pd.DataFrame(
        [dict(zip(by, group)) | _summary(rows) for group, rows in groups]
    )


def _summary(rows: pd.DataFrame) -> dict[str, float]:
    narrow, truth = rows[rows["grade"] == A], rows["truth"]
    found = {
        "sets": len(rows), "covered": int(rows["covered"].sum()), "grade_a": len(narrow),
        "grade_c": int((rows["grade"] == C).sum()), "wrong_a": int((~narrow["covered"]).sum()),
        "width_a": (narrow["high"] - narrow["low"]).median(), "rmse": _rmse(rows["value"] - truth),
    }  # fmt: skip
    for name in COMPARED:
        if name in rows:
            # where the estimator has a value; the reading on the same data sets
            there = rows[name].notna()
            found[f"rmse_{name}"] = _rmse((rows[name] - truth)[there])
            found[f"rmse_beside_{name}"] = _rmse((rows["value"] - truth)[there])
    return found


def _rmse(errors: pd.Series) -> float:
    return math.sqrt((errors**2).mean())


def figures_text(figures: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The figures as text."""
    rows = list(figures.itertuples())
    columns = {
        "distributions": ("sets", "{:,}"),
        "interval contains the truth": [
            share_text(row.covered, row.sets, ".1f") for row in rows
        ],
        "grade A": [f"{100 * row.grade_a / row.sets:.0f} %" for row in rows],
        "wrong, of grade A": [
            share_text(row.wrong_a, row.grade_a, ".1f", "none") for row in rows
        ],
        "median width, A": ("width_a", "{:.3f}", ""),
        "grade C": [f"{100 * row.grade_c / row.sets:.0f} %" for row in rows],
        "RMSE": ("rmse", "{:.3f}", ""),
    }
    columns |= {
        f"RMSE of {name}": (f"rmse_{name}", "{:.3f}", "")
        for name in COMPARED
        if f"rmse_{name}" in figures
    }
    return text_of(figures, by, columns)


def exam() -> pd.DataFrame:
    """Every data set of the sweep known-laws with an estimate by all of these methods;
    empty where it was not run.
    """
    key = ["collection", "law", "n", "block"]
    try:
        runs = newest(runs_of("known-laws"), [*key, "method"])[0]
    except LookupError:
        return pd.DataFrame()
    parts = []
    for _, run in runs[runs["method"].isin(("reading", *COMPARED))].iterrows():
        sets = table(run["run_id"], "sets")
        parts.append(
            sets.assign(
                place=range(len(sets)), truth=run["true_nats"], **run[[*key, "method"]]
            )
        )
    if not parts:
        return pd.DataFrame()
    values = ["value", "low", "high", "truth"]
    wide = pd.concat(parts).pivot_table(
        index=[*key, "place"], columns="method", values=values
    )
    if ("value", "reading") not in wide:
        return pd.DataFrame()
    wide = wide[wide["value"]["reading"].notna()]
    found = pd.DataFrame({name: wide[name]["reading"] for name in values})
    found = found.assign(
        **{name: wide["value"][name] for name in COMPARED if name in wide["value"]}
    ).reset_index()
    narrow = is_narrow(found["value"], found["low"], found["high"])
    nats = [name for name in (*values, *COMPARED) if name in found]
    found[nats] /= NATS_PER_BIT
    return found.assign(
        grade=np.where(narrow, A, "B"),
        covered=found["truth"].between(found["low"], found["high"]),
    )


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """Tables by family and by cell for pairs and for triples, and by collection of
    known distributions; figures.
    """
    results = []
    for _, of_data in runs.groupby("data"):
        of_content, left_out = latest(of_data, ["content"])
        sets, code = read(of_content), versions(of_content)
        series = sets["type"].str.startswith(SERIES_TYPE)
        results += of_collection(sets[~series], code, left_out)
        if series.any():
            results += of_series(sets[series], code, left_out)
    tested = exam()
    if len(tested):
        results.append(of_exam(tested))
    return results


def of_collection(
    sets: pd.DataFrame, code: str, left_out: Sequence[str]
) -> list[Result]:
    """The tables of one collection of simulated data sets, of pairs or of triples, and
    their figure.
    """
    triples = "columns_z" in sets
    made = (
        f"{len(sets):,} simulated data sets, each of a distribution of its own; code "
        f"{code}."
    )
    about = (
        "Bits. Each distribution is read by a reader that was trained without the "
        "family in its row. In brackets: 95 % "
        "Clopper-Pearson interval over distributions. Grade A: half of the interval "
        "is at most 0.14 bits or 25 %; C: "
        "unlike all simulated data. RMSE of ksg and gcmi: on the same data sets, "
        "where they have a value."
    )
    usable = (
        "Usable: grade A or B, and an interval no wider than the estimate (or 0.29 "
        "bits) and than 1.44 bits. These are "
        "of the networks alone; `estimate` takes the upper limit of a weak table from "
        "the likelihood-ratio test, too."
    )
    measures = judged_given(sets) if triples else judged(sets)
    by = GIVEN_CELL if triples else CELL
    families = summarised(sets, ["family"])
    cells = summarised(in_cells(sets), by)
    hits = covered_text(sets)
    name = "given-" if triples else ""
    return [
        Result(f"{name}judged", measures, judged_text(measures), [hits, usable, about, made, *left_out]),
        Result(f"{name}families", families, figures_text(families, ["family"]), [hits, about, made],
               functools.partial(draw, sets, GIVEN_EDGES if triples else EDGES)),
        Result(f"{name}cells", cells, figures_text(cells, by), [hits, about, made]),
    ]  # fmt: skip


def of_series(sets: pd.DataFrame, code: str, left_out: Sequence[str]) -> list[Result]:
    """The tables of pairs of series: of transfer entropies, or of the information of
    the past of x about y now.
    """
    transfers = "columns_z" in sets
    sets = sets.assign(type=sets["type"].str.removeprefix(SERIES_TYPE))
    name, what = "series", "information of the past of x about y now"
    if transfers:
        name, what = "transfers", "transfer entropy of x to y"
    about = (
        f"Bits; {what}. Each process is read by a reader that was trained without its "
        "family. In brackets: 95 % "
        "Clopper-Pearson interval over processes. RMSE of ksg (given the past of y "
        "for a transfer entropy): on "
        "the same data."
    )
    made = (
        f"{len(sets):,} simulated pairs of series, each of a process of its own; code "
        f"{code}."
    )
    measures = judged_series(sets)
    families = summarised(sets, ["family"])
    cells = summarised(
        sets.assign(memory=grouped(sets["memory"], MEMORY_GROUPS)), SERIES_CELL
    )
    hits = covered_text(sets)
    return [
        Result(f"{name}-judged", measures, judged_text(measures), [hits, about, made, *left_out]),
        Result(f"{name}-families", families, figures_text(families, ["family"]), [hits, about, made],
               functools.partial(draw, sets, SERIES_EDGES)),
        Result(f"{name}-cells", cells, figures_text(cells, SERIES_CELL), [hits, about, made]),
    ]  # fmt: skip


def judged_series(sets: pd.DataFrame) -> pd.DataFrame:
    """The measures by which a reader is judged on series, as `counted`."""
    covered = sets["covered"]
    rows = of_any_reader(sets)
    of_memory = grouped(sets["memory"], MEMORY_GROUPS)
    for name in MEMORY_GROUPS:
        rows.append(
            (
                f"interval contains the truth, {MEMORY} {name}",
                93,
                98,
                covered[of_memory == name],
            )
        )
    called = sets["low"] > 0
    slow = (sets["truth"] == 0) & (sets["memory"] > 0.9)
    rows.append(
        (f"called dependent, nothing shared, {MEMORY} above 0.9", 0, 6, called[slow])
    )
    rows.append(
        (
            "called dependent, 0.1 bits or more shared",
            0,
            100,
            called[sets["truth"] >= 0.1],
        )
    )
    for size in (500, 1000, 4000):
        near = sets["n"].between(size / NEAR, size * NEAR)
        rows.append((f"usable, about {size:,} rows", 0, 100, is_usable(sets)[near]))
    return counted(rows)


def of_exam(tested: pd.DataFrame) -> Result:
    """The table of known distributions."""
    collections = summarised(tested, ["collection", "n"])
    text = figures_text(collections, ["collection", "n"]).rename(
        columns={"distributions": "data sets"}
    )
    about = (
        "Bits. Data sets of `make sweep-known-laws`, several per distribution; the "
        "Clopper-Pearson intervals take them "
        "as independent. No reader was trained on them. A figure of joint normality "
        "was added after readings of "
        "beyond-normal were too high; the collections unseen and difficult were held "
        "out until the reader was fixed. "
        "Grades by width alone."
    )
    return Result("exam", collections, text, [covered_text(tested), about])


def covered_text(sets: pd.DataFrame) -> str:
    """How often the interval contains the true value, how often it is narrow, and how
    often narrow ones are wrong.
    """
    counts = _summary(sets)
    hits = share_text(counts["covered"], len(sets), ".1f")
    wrong = share_text(counts["wrong_a"], counts["grade_a"], ".1f", "none")
    share = share_text(counts["grade_a"], len(sets))
    return (
        f"The 95 % interval contains the true value in {hits} of {len(sets):,} data "
        "sets; it is narrow (grade A) in "
        f"{share} of them, and {wrong} of the narrow ones are wrong."
    )


def judged(sets: pd.DataFrame) -> pd.DataFrame:
    """The measures by which a reader of pairs is judged, as `counted`."""
    narrow = sets["grade"] == A
    covered = sets["covered"]
    excess = 2 * sets["n"] * sets["truth"] * NATS_PER_BIT
    weak = (sets["type"] == "categories") & excess.between(*WEAK)
    cells = in_cells(sets)
    cell = worst(cells, CELL)
    worst_cell = (
        f"interval contains the truth, worst cell: {cell[0]}, {cell[1]} columns, "
        f"{cell[2]} rows"
    )
    derived = covered[sets["family"] == "derived"]
    too_low = sets["truth"] > sets["high"]
    rows = [
        *of_any_reader(sets),
        (worst_cell, 88, 100, covered[(cells[list(CELL)] == list(cell)).all(axis=1)]),
        (
            "interval contains the truth, columns computed from columns",
            93,
            100,
            derived,
        ),
        (
            "weak tables (2nI of 1 to 20 nats): truth above the interval",
            0,
            4,
            too_low[weak],
        ),
    ]
    for name in HARD_FAMILIES:
        rows.append(
            (
                f"wrong, of grade A, {name}",
                0,
                5,
                ~covered[narrow & (sets["family"] == name)],
            )
        )
    usable = is_usable(sets)
    for which, targets, some in (
        (f"up to {FEW_COLUMNS}", USABLE_FEW, sets["columns"] <= FEW_COLUMNS),
        (f"above {WIDE_COLUMNS}", USABLE_WIDE, sets["columns"] > WIDE_COLUMNS),
    ):
        for size, least in targets.items():
            near = sets["n"].between(size / NEAR, size * NEAR)
            rows.append(
                (
                    f"usable, {which} columns, about {size:,} rows",
                    least,
                    100,
                    usable[some & near],
                )
            )
    return counted(rows)


def judged_given(sets: pd.DataFrame) -> pd.DataFrame:
    """The measures by which a reader of triples is judged, as `counted`; ksg is that of
    Frenzel and Pompe.
    """
    covered = sets["covered"]
    rows = of_any_reader(sets)
    of_z = grouped(sets["columns_z"], GIVEN_GROUPS)
    for name in GIVEN_GROUPS:
        rows.append(
            (
                f"interval contains the truth, columns of z: {name}",
                93,
                100,
                covered[of_z == name],
            )
        )
    by_type = summarised(sets, ["type"]).iloc[:-1]
    rows.append(
        (
            "types with a lower RMSE than ksg",
            100,
            100,
            by_type["rmse_beside_ksg"] < by_type["rmse_ksg"],
        )
    )
    few = (
        (sets["columns"] <= 3)
        & (sets["columns_z"] <= 5)
        & sets["n"].between(1000 / NEAR, 1000 * NEAR)
    )
    rows.append(
        (
            "usable, 1 + 1 (to 3) columns, up to 5 of z, about 1,000 rows",
            0,
            100,
            is_usable(sets)[few],
        )
    )
    return counted(rows)


def of_any_reader(sets: pd.DataFrame) -> list[Measure]:
    """The measures of a reader of pairs and of one of triples."""
    covered = sets["covered"]
    (family,) = worst(sets, ["family"])
    of_family = covered[sets["family"] == family]
    return [
        ("interval contains the truth", 93, 98, covered),
        (f"interval contains the truth, worst family: {family}", 88, 100, of_family),
        (
            "interval contains the truth, nothing shared",
            95,
            100,
            covered[sets["truth"] == 0],
        ),
        ("wrong, of grade A", 0, 5, ~covered[sets["grade"] == A]),
    ]


def counted(measures: Sequence[Measure]) -> pd.DataFrame:
    """Measures with their target (low and high, per cent) and share: `hits` of `of`
    data sets.
    """
    rows = [
        (name, low, high, int(flags.sum()), len(flags))
        for name, low, high, flags in measures
    ]
    return pd.DataFrame(rows, columns=["measure", "low", "high", "hits", "of"])


def judged_text(figures: pd.DataFrame) -> pd.DataFrame:
    """The measures as text, each with its target and whether it is met."""
    shares = 100 * figures["hits"] / figures["of"]
    met = shares.between(figures["low"], figures["high"])
    targets = []
    for row in figures.itertuples():
        if (row.low, row.high) == (0, 100):
            targets.append("none")
        elif row.low == 0:
            targets.append(f"at most {row.high} %")
        elif row.high == 100:
            targets.append(f"at least {row.low} %")
        else:
            targets.append(f"{row.low} to {row.high} %")
    return pd.DataFrame(
        {
            "measure": figures["measure"],
            "target": targets,
            "measured (95 % interval)": [
                share_text(row.hits, row.of, ".1f") for row in figures.itertuples()
            ],
            "data sets": figures["of"].map("{:,}".format),
            "met": np.where(
                np.array(targets) == "none", "", np.where(met, "yes", "no")
            ),
        }
    )


def is_usable(sets: pd.DataFrame) -> pd.Series:
    """Whether an answer is of grade A or B and its interval is narrow enough to act on;
    widths in bits.
    """
    width = sets["high"] - sets["low"]
    narrow = width <= np.maximum(USABLE_WIDTH, sets["value"])
    return (sets["grade"] != C) & narrow & (width <= MOST_USABLE_WIDTH)


def worst(sets: pd.DataFrame, by: Sequence[str]) -> tuple[str, ...]:
    """The group, of at least MIN_GROUP data sets, whose intervals contain the truth
    least often.
    """
    groups = sets.groupby(list(by))["covered"].agg(["mean", "size"])
    large = groups[groups["size"] >= min(MIN_GROUP, groups["size"].max())]
    return tuple(np.atleast_1d(large["mean"].idxmin()).tolist())


def draw(sets: pd.DataFrame, edges: Edges, *paths: Path) -> None:
    """Share of intervals that contain the truth, their width, and the error beside ksg,
    by the columns of `edges`.
    """
    with sheet(
        paths, len(edges), 3, (8.4, 2.4 * len(edges) + 0.8), sharey="col"
    ) as axes:
        for row, (title, (name, ends)) in zip(axes, edges.items()):
            shares, widths, errors = row
            parts = sets.groupby(
                pd.cut(sets[name], ends, right=False) if ends else name, observed=True
            )
            labels, groups = zip(
                *((_range_text(part) if ends else part, rows) for part, rows in parts)
            )
            _draw_shares(shares, groups, lambda rows: rows["covered"], BLUE)
            _draw_shares(shares, groups, lambda rows: rows["grade"] == A, ORANGE)
            shares.axhline(0.95, color="black", linewidth=0.8, linestyle=":")
            quartiles = [
                np.quantile(rows["high"] - rows["low"], [0.25, 0.5, 0.75])
                for rows in groups
            ]
            low, middle, high = np.array(quartiles).T
            widths.errorbar(
                range(len(groups)),
                middle,
                yerr=[middle - low, high - middle],
                fmt="o",
                color=BLUE,
            )
            widths.set(yscale="log")
            with_ksg = [rows[rows["ksg"].notna()] for rows in groups]
            errors.plot(
                [_rmse(rows["value"] - rows["truth"]) for rows in with_ksg],
                "o",
                color=BLUE,
                label="RMSE of the reading",
            )
            errors.plot(
                [_rmse(rows["ksg"] - rows["truth"]) for rows in with_ksg],
                "x",
                color=ORANGE,
                label="RMSE of ksg",
            )
            errors.set(yscale="log")
            for axis in row:
                axis.set_xlabel(title)
                axis.set_xticks(range(len(labels)), labels, rotation=45, ha="right")
        axes[0, 0].set(title="share of distributions", ylim=(0, 1.02))
        axes[0, 1].set_title("width of the interval (bits),\nmedian and quartiles")
        axes[0, 2].set_title("RMSE (bits)")
        axes[0, 0].plot([], [], "o", color=BLUE, label="interval contains the truth")
        axes[0, 0].plot([], [], "o", color=ORANGE, label="grade A")


def _draw_shares(
    axes, groups, flag: Callable[[pd.DataFrame], pd.Series], colour: str
) -> None:
    for place, rows in enumerate(groups):
        hits = int(flag(rows).sum())
        low, high = clopper_pearson(hits, len(rows))
        axes.plot([place, place], [low, high], color=colour, linewidth=1)
        axes.plot(place, hits / len(rows), "o", color=colour, markersize=4)


def _range_text(part: pd.Interval) -> str:
    if part.left == 0 and part.right in (1e-9, 1):
        return "0"
    return (
        f"{part.left:g} to {part.right:g}"
        if part.left > 1e-6
        else f"below {part.right:g}"
    )


ANALYSIS = Analysis("reading", analyse)
