"""The pages of docs/results, from what MLflow holds: `make docs-results`, of some analyses with ARGS="known-laws".

A page for every analysis that has finished runs, with long tables as CSV files beside it, and the list of all pages.
Pages of analyses without runs in this store stay as they are.
"""

import html
import itertools
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import pandas as pd

from analysis.common.tables import file_name, published, render, write_csv
from analysis.report import ORDER, Section, compared, deviations, make_command, name_of, section, title_of
from infoscope.checks import one_of
from infoscope.command_line import FAILED, command
from infoscope.tracking import runs
from infoscope.tracking.archive.format import SUFFIX
from infoscope.tracking.status import status
from infoscope.tracking.store import labels

FOLDER = Path("docs") / "results"
UNTRIED = "smoke"  # a profile that only tries whether things run
FULL = "paper"  # the published setting, or all of it where nothing is published
HEADING = "## Profile "
IN_PART = "Run in part: "
MAX_PAGE_ROWS = 100  # of a table; a longer one is a CSV file beside the page
FACTS = re.compile(r"^<!-- facts: (.*) -->$", re.M)  # of a profile, for the list of all pages
MADE = "<!-- written by `make docs-results`: not to be edited -->\n"
BESIDE = (
    "Deviation: the absolute difference of ours from the paper's figure, as a part of it; the paper's figures are one "
    "run each, without errors."
)


def main(given: SimpleNamespace) -> int:
    """Writes the pages and prints their paths; the exit status: 1 where an analysis failed."""
    modules = {name_of(module): module for module in ORDER}
    failed = 0
    for name in given.names:
        one_of("an analysis", name, modules)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in given.names or modules:
        profiles = profiles_of(modules[name].ANALYSIS.experiment)
        shown = [(profile, section(modules[name], profile)) for profile in profiles]
        for profile, part in shown:
            if part.problem:
                failed += part.failed
                print(f"error: {name}, profile {profile}: {part.problem}", file=sys.stderr)
        path = FOLDER / f"{name}.md"
        if not any(part.pictures for _, part in shown):
            continue
        lost = lost_cells(path, modules[name].ANALYSIS.experiment)
        if lost:
            failed += 1
            print(f"error: {lost}", file=sys.stderr)
        else:
            print(write(path, page(modules[name], shown).removesuffix("\n")))
    print(write(FOLDER / "index.md", "\n".join(index(modules))))
    return FAILED if failed else 0


def write(path: Path, text: str) -> Path:
    path.write_text(text + "\n", encoding="utf-8")
    return path


def lost_cells(path: Path, experiment: str) -> str:
    """Why a page would lose cells that it shows if it were written from this store; empty if it would not."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    held = cells_of(experiment)
    for shown in map(json.loads, FACTS.findall(text)):
        profile, cells = shown["profile"], shown["cells"]
        if held[profile] < cells:
            archive = FOLDER / "runs" / f"{experiment}{SUFFIX}"
            return (
                f"{path} shows {cells:,} cells of profile {profile}, and this store has {held[profile]:,}: add the "
                f"others (`make runs-load ARGS={archive}`), or remove the page first"
            )
    return ""


def cells_of(experiment: str) -> Counter[str]:
    """The number of finished runs of an experiment by label."""
    try:
        return Counter(label for profile in runs(experiment)["profile"] for label in labels(profile))
    except LookupError:
        return Counter()


def profiles_of(experiment: str) -> list[str]:
    """The labels under which an experiment has finished runs: the full setting, then those with the most runs."""
    found = cells_of(experiment)
    return sorted(
        (label for label in found if label.split()[0] != UNTRIED), key=lambda one: (one != FULL, -found[one], one)
    )


def page(module: ModuleType, shown: Sequence[tuple[str, Section]]) -> str:
    """An analysis, profile by profile, as Markdown."""
    name, experiment = name_of(module), module.ANALYSIS.experiment
    archive = FOLDER / "runs" / f"{experiment}{SUFFIX}"
    return render(
        "results.jinja",
        name=name,
        title=title_of(module),
        experiment=experiment,
        made=MADE,
        heading=HEADING,
        finding=next(picture.result.finding for _, part in shown for picture in part.pictures),
        not_run="" if FULL in dict(shown) else make_command(experiment, FULL),
        in_part=in_part(experiment) if FULL in dict(shown) else "",
        archive=archive.as_posix() if archive.exists() else "",
        parts=[profile_part(name, experiment, *one) for one in shown],
        escaped=escaped,
        table=table,
    )


def profile_part(name: str, experiment: str, profile: str, part: Section) -> dict[str, Any]:
    """What a page shows of one profile; its figures are drawn."""
    if part.problem:
        return {"profile": profile, "problem": part.problem}
    found, shows = runs(experiment, profile), f"make table-{name} PROFILE={shlex.quote(profile)}"
    devices = sorted({tags.get("infoscope.device", "unknown") for tags in found["tags"]})
    hardware = escaped(", ".join(devices))
    about = f"{len(found)} finished cells of `{make_command(experiment, profile)}`; `{shows}`. Hardware: {hardware}."
    told = json.dumps(facts(profile, part, found)).replace("<", r"\u003c").replace(">", r"\u003e")
    pictures = []
    for picture in part.pictures:
        drawn = csv = ""
        stem = file_name("-".join([name, *profile.split(), picture.result.name]))
        if picture.result.draw is not None and not picture.result.quotes:
            drawn = f"{stem}.png"
            picture.result.draw(FOLDER / drawn)
        if len(picture.result.rows) > MAX_PAGE_ROWS and not picture.result.quotes:
            csv = f"{stem}.csv"
            write_csv(picture.result, FOLDER / csv)
        pictures.append((picture, drawn, csv))
    lines = Counter(line for picture in part.pictures for line in dict.fromkeys(picture.result.notes))
    shared = [line for line, results in lines.items() if results > 1]
    return {
        "profile": profile, "shows": shows, "about": about, "facts": told, "pictures": pictures, "shared": shared,
    }  # fmt: skip


def facts(profile: str, part: Section, found: pd.DataFrame) -> dict:
    """What a page says of one profile to the list of all: cells, and what stands beside published tables."""
    beside = []
    for result in (picture.result for picture in part.pictures if picture.result.beside):
        of = deviations(compared(result.figures))
        for column, kind in (("mse_bits2", "MSE"), ("mean_bits", "mean")):
            if column in of.index:
                shown = of.loc[column]
                told = dict(table=result.beside, kind=kind, figures=int(shown["n"]), of=len(published(result.beside)))
                beside.append(told | dict(mean=shown["mean"], largest=shown["largest"], where=shown["place"]))
                break
    return dict(profile=profile, cells=len(found), beside=beside)


def in_part(experiment: str) -> str:
    """How much of the full setting was run; nothing where that is all of it."""
    (found,) = status([experiment], FULL)
    done, more = found.counts.get("done", 0), f"`{make_command(experiment, FULL)}` goes on where it stopped."
    if found.cells is None:  # its note may name folders of this machine
        return (
            f"**{IN_PART}{done:,} cells**; of how many cannot be said without all the data of the full setting. {more}"
        )
    return f"**{IN_PART}{done:,} of {found.cells:,} cells** of the full setting; {more}" if done < found.cells else ""


def table(header: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(escaped(str(cell)) for cell in row)} |" for row in lines) + "\n"


def escaped(text: str) -> str:
    """A text as Markdown that shows it: what comes from a store is neither a tag nor the end of a cell."""
    parts = re.split(r"(`[^`|]*`)", " ".join(text.split()))
    plain = (re.sub(r"([|\[*_])", r"\\\1", html.escape(part, quote=False)) for part in parts[::2])
    return "".join(itertools.chain.from_iterable(itertools.zip_longest(plain, parts[1::2], fillvalue="")))


def index(modules: dict[str, ModuleType]) -> Iterator[str]:
    """How far ours are from published tables, every analysis with its finding, and what was not run."""
    rows, missing, beside, deviating = [], [], [], []
    for name, module in modules.items():
        path, full = FOLDER / f"{name}.md", make_command(module.ANALYSIS.experiment, FULL)
        if not path.exists():
            missing.append(f"- {escaped(title_of(module))}: `{full}`")
            continue
        text = path.read_text(encoding="utf-8")
        shown = re.findall(rf"^{HEADING}(.*)$", text, re.M)
        part = re.search(rf"^\*\*{IN_PART}(.*)\*\*", text, re.M)
        finding = re.search(r"^\*\*(.*)\*\*$", text, re.M)
        run = f"{shown[0]}, {part[1]}" if part else ", ".join(shown)
        rows.append(f"| [{escaped(title_of(module))}]({name}.md) | {finding[1] if finding else '-'} | {run} |")
        for page in map(json.loads, FACTS.findall(text)):
            for one in page["beside"]:
                table_name = escaped(one["table"].replace("table", "table "))
                deviating.append(f"{table_name} by {one['mean']:.1%} on average and {one['largest']:.1%} at most")
                beside.append(
                    f"| {table_name} | [{name}]({name}.md) | {page['profile']} | {page['cells']:,} | "
                    f"{one['figures']} of {one['of']} | {one['kind']}: {one['mean']:.1%} | "
                    f"{one['largest']:.1%} ({escaped(one['where'])}) |"
                )
    yield "# Results\n"
    if deviating:
        yield f"**Ours differ from the published figures of {'; of '.join(deviating)}.**\n"
    yield MADE
    yield "\n".join(["| analysis | finding | run |", "|---|---|---|", *rows])
    if beside:
        head = ("published", "analysis", "profile", "cells run", "published figures beside ours",
                "mean deviation from the paper's", "largest")  # fmt: skip
        yield f"\n## Compared with published tables\n\n{BESIDE}\n"
        yield "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *beside])
    if missing:
        yield "\n".join(["\n## Not run\n", *missing])


COMMAND = command("docs-results", main, [click.Argument(["names"], nargs=-1)], __doc__)
