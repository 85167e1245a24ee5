"""The page of all published figures with ours, and of all claims by verdict:
docs/results/published.md, from what the pages of the analyses were written from.
"""

import itertools
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

from analysis.common.claims import VERDICTS, Claim
from analysis.common.published import (
    LEVEL,
    UNLIKE,
    beyond_chance,
    deviation,
    standard_errors,
)
from analysis.common.tables import plus_minus, short
from analysis.report import Section, make_command
from infoscope.tracking.recorded import sample_times
from infoscope.tracking.status import mean_work, status

WORKS = {
    "mi_benchmark": "Benchmark of neural estimators",
    "disentanglement": "Disentanglement (UniBound)",
    "usable_information": "Usable information",
    "partition": "Partitioned latents",
    "sample_estimators": "Estimates from samples (ours)",
}
DECIDED = ("confirmed", "contradicted")
CLAIM = [
    "claim", "verdict", "evidence", "value", "low", "high", "above", "below", "unit", "n",
    "over", "ours", "profile",
]  # fmt: skip
PAUSE = pd.Timedelta(minutes=30)  # the longest between two samples of a machine at work
ROUNDING = 1e-6  # of the numbers in a CSV file
# settings: as published; at its first true values only; with other data or training
PUBLISHED, IN_PART, OTHER = "published", "published, in part", "other"
FULL = "paper"  # the published setting, or all of it where nothing is published
# of a profile, on its page, for the pages that list all
FACTS = re.compile(r"^<!-- facts: (.*) -->$", re.M)


class Link(str):
    """A link in Markdown, which a table shows as it is."""


def facts(profile: str, part: Section, runs: pd.DataFrame) -> dict:
    """Cells and seeds of a profile, its setting, and the hours in which they ran."""
    results = [picture.result for picture in part.pictures]
    is_unlike = any(UNLIKE in note for result in results for note in result.notes)
    for result in results:
        if result.against is not None:
            is_unlike |= (result.against["unlike"] != "").any()
    setting = PUBLISHED if profile == FULL else IN_PART
    if is_unlike or not profile.startswith(FULL):
        setting = OTHER
    seeds = runs["seed"].nunique() if "seed" in runs else 0
    return {
        "profile": profile,
        "setting": setting,
        "cells": len(runs),
        "seeds": seeds,
        "hours": round(hours(runs), 2),
    }


def hours(runs: pd.DataFrame) -> float:
    """The hours in which at least one of the runs was under way, without pauses."""
    rows = []
    for run in runs.itertuples():
        rows += _spans(run.run_id, run.start, pd.Timedelta(run.seconds, unit="s"))
    spans = pd.DataFrame(rows, columns=["begin", "end"]).sort_values("begin")
    before = spans["end"].cummax().shift(fill_value=spans["begin"].iloc[0])
    alone_from = spans["begin"].where(spans["begin"] > before, before)
    alone = (spans["end"] - alone_from).clip(lower=pd.Timedelta(0))
    return alone.sum() / pd.Timedelta(hours=1)


def _spans(
    run_id: str, start: pd.Timestamp, duration: pd.Timedelta
) -> list[tuple[pd.Timestamp, pd.Timestamp]]:
    """Begin and end of a run; of each of its parts, where it was interrupted."""
    end = start + duration
    sampled = sample_times(run_id) if duration > PAUSE else []
    if not sampled:
        return [(start, end)]
    parts = []
    begin = start
    for earlier, later in itertools.pairwise([start, *sampled, end]):
        if later - earlier > PAUSE:
            parts.append((begin, earlier))
            begin = later
    return [*parts, (begin, end)]


def facts_on(page: Path) -> list[dict]:
    """The facts of each profile on a page of an analysis; empty without a page."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return [json.loads(part) for part in FACTS.findall(text)]


def save(folder: Path, name: str, sections: dict[str, Section]) -> None:
    """Writes the published figures of an analysis with ours, and the claims with what
    decides them, as CSV below the folder of results.
    """
    figures = []
    claims = []
    for profile, section in sections.items():
        for picture in section.pictures:
            if picture.result.against is not None:
                figures.append(picture.result.against.assign(profile=profile))
        rows = [_claim_row(claim) for claim in section.claims]
        claims.append(pd.DataFrame(rows, columns=CLAIM).assign(profile=profile))
    for kind, parts in (("published", figures), ("claims", claims)):
        table = pd.concat([pd.DataFrame(), *parts], ignore_index=True)
        path = folder / kind / f"{name}.csv"
        path.unlink(missing_ok=True)
        if not table.empty:
            path.parent.mkdir(exist_ok=True)
            table.to_csv(path, index=False, float_format="%.6g")


def _claim_row(claim: Claim) -> dict[str, object]:
    """A claim with the quantity that decides it, if one does, as a row of a table."""
    row: dict[str, object] = {
        "claim": claim.statement,
        "verdict": claim.verdict,
        "evidence": claim.evidence,
        "ours": claim.is_ours,
    }
    if claim.measured is not None:
        row |= {
            "value": claim.measured.value,
            "low": claim.measured.low,
            "high": claim.measured.high,
            "above": claim.above,
            "below": claim.below,
            "unit": claim.measured.unit,
            "n": claim.measured.n,
            "over": claim.over,
        }
    return row


def _saved(folder: Path, kind: str, name: str) -> pd.DataFrame:
    """What `save` wrote of an analysis; empty where it wrote nothing."""
    path = folder / kind / f"{name}.csv"
    return pd.read_csv(path) if path.exists() else pd.DataFrame()


def difference_text(folder: Path, name: str) -> str:
    """How many published figures of an analysis were run, and by how much ours differ
    in the median, in words.
    """
    figures = _saved(folder, "published", name)
    if figures.empty:
        return "-"
    figures = figures.sort_values("runs", na_position="first")
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
    parts = [pd.DataFrame()]
    for name in modules:
        parts.append(_saved(folder, "published", name).assign(analysis=name))
    figures = pd.concat(parts, ignore_index=True)
    if figures.empty:
        return {}
    figures["unlike"] = figures["unlike"].astype(object).fillna("")
    figures["sure"] = beyond_chance(figures)
    figures["part"] = deviation(figures)
    on_pages = {name: facts_on(folder / f"{name}.md") for name in modules}
    claims = _claims(folder, modules, on_pages)
    of_papers = claims[~claims["ours"]]
    is_contradicted = of_papers["verdict"] == "contradicted"
    is_contradicted &= of_papers["setting"] != OTHER
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
        "finding": finding(figures, of_papers),
        "sources": sources,
        "verdicts": list(VERDICTS),
        "claims": list(_claims_by_analysis(of_papers)),
        "contradicted": _linked(of_papers[is_contradicted], ["claim", "evidence"]),
        "by_chance": f"{LEVEL / 2 * of_papers['verdict'].isin(DECIDED).sum():.0f}",
        "every_claim": {
            work: _linked(part, ["whose", "verdict", "claim", "evidence"])
            for work, part in claims.groupby("work", sort=False)
        },
        "missing": list(_missing_rows(experiments)),
        "figures": tables,
    }


def finding(figures: pd.DataFrame, claims: pd.DataFrame) -> str:
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
        f"{exact}{_claims_text(claims)}"
    )


def _claims_text(claims: pd.DataFrame) -> str:
    """How many claims hold, in words: of all, and of those in the published setting or
    a part of it.
    """
    is_other = claims["setting"] == OTHER
    counts = Counter(claims["verdict"])
    published = Counter(claims.loc[~is_other, "verdict"])
    confirmed, contradicted, undecided, not_tested = (
        counts[verdict] for verdict in VERDICTS
    )
    return (
        f"Of {confirmed + contradicted + undecided} claims of papers that were tested "
        f"{confirmed} are confirmed ({published['confirmed']} in the published "
        f"setting or its first true values), {contradicted} contradicted "
        f"({published['contradicted']}) and {undecided} undecided "
        f"({published['undecided']}); {not_tested} were not tested."
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
        Link(f"{_link(name)}, {profile}"),
        f"{len(run)} of {len(figures)}",
        f"{run['runs'].median():.0f}" if run["runs"].notna().any() else "-",
        f"{finite.median():.1%}" if len(finite) else "-",
        f"{finite.quantile(0.9):.1%}" if len(finite) else "-",
        f"{int(tested['sure'].sum())} of {len(tested)}" if len(tested) else "-",
        f"{spent[0]:.1f}" if spent else "-",
    ]


def _claims(
    folder: Path, modules: dict[str, ModuleType], on_pages: dict[str, list[dict]]
) -> pd.DataFrame:
    """The claims of every analysis under the profile that decides most, with its
    setting and runs (seeds).
    """
    parts = [
        pd.DataFrame(columns=[*CLAIM, "work", "source", "analysis", "setting", "runs"])
    ]
    for name, module in modules.items():
        claims = _saved(folder, "claims", name)
        if claims.empty or not on_pages[name]:
            continue
        is_decided = claims["verdict"].isin(DECIDED)
        profile = is_decided.groupby(claims["profile"], sort=False).sum().idxmax()
        by_profile = {part["profile"]: part for part in on_pages[name]}
        facts_of = by_profile.get(profile, {})
        parts.append(
            claims[claims["profile"] == profile].assign(
                source=module.ANALYSIS.claims_from,
                work=WORKS[module.__name__.split(".")[1]],
                analysis=name,
                setting=facts_of.get("setting", OTHER),
                runs=facts_of.get("seeds") or "-",
            )
        )
    claims = pd.concat(parts, ignore_index=True)
    claims["ours"] = claims["ours"].astype(bool)
    return claims.assign(whose=np.where(claims["ours"], "ours", "paper"))


def _claims_by_analysis(claims: pd.DataFrame) -> Iterator[list[object]]:
    """The number of claims by verdict of each analysis, and its runs."""
    names = ["source", "analysis", "setting", "profile", "runs"]
    for names_of, part in claims.groupby(names, sort=False):
        source, name, setting, profile, runs = names_of
        counts = Counter(part["verdict"])
        numbers = [counts[verdict] for verdict in VERDICTS]
        yield [source, _link(name), f"{setting} ({profile})", *numbers, runs]


def _linked(claims: pd.DataFrame, columns: Sequence[str]) -> list[list[object]]:
    """A line for each claim: its page and some columns."""
    rows = []
    for name, values in zip(claims["analysis"], claims[columns].to_numpy().tolist()):
        rows.append([_link(name), *values])
    return rows


def _link(name: str) -> Link:
    """The page of an analysis."""
    return Link(f"[{name}]({name}.md)")


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
