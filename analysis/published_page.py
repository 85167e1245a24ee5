"""The page of all published figures with ours, and of all claims by verdict:
docs/results/published.md, from what the pages of the analyses were written from.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.published import (
    LEVEL,
    UNLIKE,
    beyond_chance,
    deviation,
    standard_errors,
)
from analysis.common.tables import VERDICTS, plus_minus, short
from analysis.report import Section, make_command
from infoscope.tracking.status import mean_work, status

WORKS = {
    "mi_benchmark": "Benchmark of neural estimators",
    "disentanglement": "Disentanglement (UniBound)",
    "usable_information": "Usable information",
    "partition": "Partitioned latents",
    "sample_estimators": "Estimates from samples (ours)",
}
COUNTED = [*VERDICTS, "runs"]  # of the claims of an analysis
ROUNDING = 1e-6  # of the numbers in a CSV file
PUBLISHED = "published"  # a setting
FULL = "paper"  # the published setting, or all of it where nothing is published
# of a profile, on its page, for the pages that list all
FACTS = re.compile(r"^<!-- facts: (.*) -->$", re.M)


class Link(str):
    """A link in Markdown, which a table shows as it is."""


def facts(profile: str, part: Section, runs: pd.DataFrame) -> dict:
    """Cells and seeds of a profile, whether they have the published setting, the hours
    in which they ran, and its claims by verdict.
    """
    results = [picture.result for picture in part.pictures]
    is_unlike = any(UNLIKE in note for result in results for note in result.notes)
    for result in results:
        if result.against is not None:
            is_unlike |= (result.against["unlike"] != "").any()
    verdicts = Counter(claim.verdict for claim in part.claims)
    seeds = runs["seed"].nunique() if "seed" in runs else 0
    return {
        "profile": profile,
        "published": profile.startswith(FULL) and not bool(is_unlike),
        "cells": len(runs),
        "seeds": seeds,
        "hours": round(hours(runs), 2),
        "claims": {verdict: verdicts[verdict] for verdict in VERDICTS},
    }


def hours(runs: pd.DataFrame) -> float:
    """The hours in which at least one of the runs was under way."""
    begins = runs["start"]
    ends = begins + pd.to_timedelta(runs["seconds"], unit="s")
    spans = pd.DataFrame({"begin": begins, "end": ends}).sort_values("begin")
    before = spans["end"].cummax().shift(fill_value=spans["begin"].iloc[0])
    alone_from = spans["begin"].where(spans["begin"] > before, before)
    alone = (spans["end"] - alone_from).clip(lower=pd.Timedelta(0))
    return alone.sum() / pd.Timedelta(hours=1)


def facts_on(page: Path) -> list[dict]:
    """The facts of each profile on a page of an analysis; empty without a page."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return [json.loads(part) for part in FACTS.findall(text)]


def save_figures(folder: Path, name: str, sections: dict[str, Section]) -> None:
    """Writes the published figures of an analysis, and ours, as CSV below the folder of
    results.
    """
    parts = []
    for profile, section in sections.items():
        for picture in section.pictures:
            if picture.result.against is not None:
                parts.append(picture.result.against.assign(profile=profile))
    path = _csv_of(folder, name)
    if parts:
        path.parent.mkdir(exist_ok=True)
        figures = pd.concat(parts, ignore_index=True)
        figures.to_csv(path, index=False, float_format="%.6g")


def _csv_of(folder: Path, name: str) -> Path:
    """The file with the published figures of an analysis."""
    return folder / "published" / f"{name}.csv"


def difference_text(folder: Path, name: str) -> str:
    """How many published figures of an analysis were run, and by how much ours differ
    in the median, in words.
    """
    path = _csv_of(folder, name)
    if not path.exists():
        return "-"
    figures = pd.read_csv(path).sort_values("runs", na_position="first")
    figures = figures.drop_duplicates(["source", "place", "quantity"], keep="last")
    run = figures[figures["ours"].notna()]
    text = f"{len(run)} of {len(figures)}"
    part = deviation(run[run["unlike"].isna()])
    part = part[np.isfinite(part)]
    return f"{text}, {part.median():.1%}" if len(part) else text


def contents(folder: Path, modules: dict[str, ModuleType]) -> dict[str, Any]:
    """What the page shows: its finding, tables by source, claims, and what is missing;
    empty without any published figure.
    """
    parts = []
    for name in modules:
        path = _csv_of(folder, name)
        if path.exists():
            parts.append(pd.read_csv(path).assign(analysis=name))
    if not parts:
        return {}
    figures = pd.concat(parts, ignore_index=True)
    figures["unlike"] = figures["unlike"].astype(object).fillna("")
    figures["sure"] = beyond_chance(figures)
    figures["part"] = deviation(figures)
    on_pages = {name: facts_on(folder / f"{name}.md") for name in modules}
    verdicts = _claims_by_work(modules, on_pages)
    sources = []
    tables = {}
    for names, part in figures.groupby(["analysis", "profile", "source"], sort=False):
        name, profile, source = names
        sources.append(_source_row(name, profile, source, part, on_pages[name]))
        tables[f"{source}, {profile}"] = _figure_rows(part)
    experiments = {}
    for name, module in modules.items():
        experiments.setdefault(module.ANALYSIS.experiment, on_pages[name])
    return {
        "finding": finding(figures, verdicts),
        "sources": sources,
        "claims": verdicts,
        "counted": COUNTED,
        "missing": list(_missing_rows(experiments)),
        "figures": tables,
    }


def finding(figures: pd.DataFrame, verdicts: Sequence[Sequence[object]]) -> str:
    """How many published figures were run again, how far ours are from them, and how
    many claims hold.
    """
    place = ["source", "place", "quantity"]
    order = figures.assign(runs=figures["runs"].fillna(0)).sort_values("runs")
    newest = order.drop_duplicates(place, keep="last")
    run = newest[newest["runs"] > 0]
    same = run[run["unlike"] == ""]
    tested = same[standard_errors(same).notna()]
    ratio = same["part"][np.isfinite(same["part"])]
    formulas = figures[figures["runs"].isna() & figures["ours"].notna()]
    is_wrong = (formulas["ours"] - formulas["published"]).abs() > ROUNDING
    left = len(newest) - len(formulas) - len(run)
    beyond = int(tested["sure"].sum())
    exact = ""
    if len(formulas):
        exact = (
            f"Of {len(formulas)} values of printed formulas {is_wrong.sum()} differ "
            "from the exact ones. "
        )
    return (
        f"{len(same)} published figures were run again in their published setting: "
        f"ours differ by {ratio.median():.1%} (median) and {ratio.quantile(0.9):.1%} "
        f"(nine of ten), and beyond sampling error in {beyond} of {len(tested)} "
        "figures with several "
        f"runs ({LEVEL * len(tested):.0f} by chance alone). {len(run) - len(same)} "
        f"more stand beside runs in another setting; {left} were not run. "
        f"{exact}{_claims_text(verdicts)}"
    )


def _claims_text(claims: Sequence[Sequence[Any]]) -> str:
    """How many claims hold, in words: of all rows, and of the published setting."""
    counts = pd.DataFrame([row[3:] for row in claims], columns=COUNTED)
    is_published = [row[2].startswith(PUBLISHED) for row in claims]
    confirmed, contradicted, undecided, not_tested = counts[list(VERDICTS)].sum()
    published = counts[is_published].sum()
    return (
        f"Of {confirmed + contradicted + undecided} claims that were tested "
        f"{confirmed} are confirmed ({published['confirmed']} in the published "
        f"setting), {contradicted} contradicted ({published['contradicted']}) and "
        f"{undecided} undecided ({published['undecided']}); {not_tested} were not "
        "tested."
    )


def _source_row(
    name: str, profile: str, source: str, figures: pd.DataFrame, on_page: list[dict]
) -> list[str]:
    """One published table under one profile, in a line."""
    run = figures[figures["ours"].notna()]
    same = run[run["unlike"] == ""]
    finite = same["part"][np.isfinite(same["part"])]
    tested = same[standard_errors(same).notna()]
    spent = [part["hours"] for part in on_page if part["profile"] == profile]
    return [
        source,
        Link(f"[{name}]({name}.md), {profile}"),
        f"{len(run)} of {len(figures)}",
        f"{run['runs'].median():.0f}" if run["runs"].notna().any() else "-",
        f"{finite.median():.1%}" if len(finite) else "-",
        f"{finite.quantile(0.9):.1%}" if len(finite) else "-",
        f"{int(tested['sure'].sum())} of {len(tested)}" if len(tested) else "-",
        f"{spent[0]:.1f}" if spent else "-",
    ]


def _claims_by_work(
    modules: dict[str, ModuleType], on_pages: dict[str, list[dict]]
) -> list[list[object]]:
    """Claims by verdict of each analysis, and its runs (seeds), under the setting that
    decides most.
    """
    rows = []
    for name, module in modules.items():
        judged = [
            part for part in on_pages[name] if sum(part.get("claims", {}).values())
        ]
        if judged:
            best = max(judged, key=_decided)
            work = WORKS[module.__name__.split(".")[1]]
            counts = [best["claims"].get(verdict, 0) for verdict in VERDICTS]
            seeds = best.get("seeds") or "-"
            link = Link(f"[{name}]({name}.md)")
            setting = PUBLISHED if best.get("published") else "other"
            rows.append([work, link, f"{setting} ({best['profile']})", *counts, seeds])
    return rows


def _decided(part: dict) -> int:
    """The number of claims that a profile decides."""
    return part["claims"]["confirmed"] + part["claims"]["contradicted"]


def _missing_rows(experiments: dict[str, list[dict]]) -> Iterator[list[str]]:
    """The sweeps whose published setting is not complete: the cells that were run, and
    the hours of the others, at least and at most.
    """
    for experiment, on_page in experiments.items():
        try:
            (planned,) = status([experiment], FULL)
        except LookupError:  # a working folder without this sweep
            continue
        done = sum(part["cells"] for part in on_page if part["profile"] == FULL)
        if planned.cells is not None and done >= planned.cells:
            continue
        cells = f"{done:,}"
        hours_left = ["unknown", "unknown"]
        if planned.cells is None and planned.note:
            hours_left = ["unknown: its data or models are not here", "unknown"]
        if planned.cells is not None:
            cells += f" of {planned.cells:,}"
            hours_left = _hours_of(experiment, planned.cells - done, on_page)
        yield [f"`{make_command(experiment, FULL)}`", cells, *hours_left]


def _hours_of(experiment: str, cells: int, on_page: list[dict]) -> list[str]:
    """The hours of cells of the published setting, at least (each takes as long as the
    largest cells that were run) and at most (longer by the ratio of their work), in
    words.
    """
    measured = {part["profile"]: part for part in on_page if part.get("hours")}
    if not measured:
        return ["unknown", "unknown"]
    try:
        work = {label: mean_work(experiment, label) for label in [FULL, *measured]}
    except (LookupError, ValueError):  # a search, or models that are not here
        work = dict.fromkeys([FULL, *measured], math.nan)
    label = max(measured, key=lambda label: work[label])
    least = cells * measured[label]["hours"] / measured[label]["cells"]
    most = least * np.maximum(1, work[FULL] / work[label])
    text = f"{most:,.1f}" if math.isfinite(most) else "unknown"
    return [f"{least:,.1f} ({label})", text]


def _figure_rows(figures: pd.DataFrame) -> Iterator[list[str]]:
    """A line for each published figure: ours, the difference, and its size in standard
    errors.
    """
    scores = standard_errors(figures)
    for score, row in zip(scores, figures.itertuples()):
        yield [
            f"{row.place}: {row.quantity}",
            row.unit,
            plus_minus(row.published, row.published_error),
            plus_minus(row.ours, row.ours_error, "not run"),
            short(row.ours - row.published),
            f"{score:+.1f}" if np.isfinite(score) and not row.unlike else "-",
            f"{row.runs:.0f}" if row.runs > 0 else "-",
            row.unlike or "-",
        ]
