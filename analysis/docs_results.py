"""The pages of docs/results, from what MLflow holds: `make docs-results`, of some
analyses with ARGS="known-laws".

A page for every analysis that has finished runs, with long tables as CSV files beside
it, and the list of all pages. Pages of analyses without runs in this store stay as they
are.
"""

import contextlib
import html
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click

from analysis import published_page
from analysis.common.tables import Result, file_name, render, write_csv
from analysis.published_page import FULL
from analysis.report import (
    ORDER,
    Section,
    make_command,
    name_of,
    section,
    title_of,
)
from infoscope.checks import one_of
from infoscope.command_line import FAILED, command
from infoscope.tracking import runs
from infoscope.tracking.archive.format import SUFFIX
from infoscope.tracking.status import status
from infoscope.tracking.store import labels

FOLDER = Path("docs") / "results"
UNTRIED = "smoke"  # a profile that only tries whether things run
HEADING = "## Profile "
IN_PART = "Run in part: "
FEW = 3  # rows of a table that is shown as it is
EMPTY = ("", "-")  # cells
FILES = re.compile(r"\]\(([\w.-]+\.(?:png|csv))\)")  # beside a page, in its links
MAX_PAGE_ROWS = 100  # of a table; a longer one is a CSV file beside the page
HOURS = (
    "Run: the setting, as given to make (PROFILE=, SET=): paper is the published one, "
    "laptop a smaller one. Published: figures that were run, and the median difference "
    "of ours in the published setting. Hours: in "
    "which at least one cell was under way, on 2 cores beside other work; a machine of "
    "its own is faster."
)
MADE = "<!-- written by `make docs-results`: not to be edited -->\n"


def main(arguments: SimpleNamespace) -> int:
    """Writes the pages and prints their paths; the exit status: 1 where an analysis
    failed.
    """
    modules = {name_of(module): module for module in ORDER}
    for name in arguments.names:
        one_of("an analysis", name, modules)
    FOLDER.mkdir(parents=True, exist_ok=True)
    problems = 0
    for name in arguments.names or modules:
        module = modules[name]
        experiment = module.ANALYSIS.experiment
        sections = {
            profile: section(module, profile) for profile in profiles_of(experiment)
        }
        for profile, part in sections.items():
            if part.problem:
                problems += part.failed
                print(
                    f"error: {name}, profile {profile}: {part.problem}", file=sys.stderr
                )
        if not any(part.pictures for part in sections.values()):
            continue
        path = FOLDER / f"{name}.md"
        lost = lost_cells(path, experiment)
        if lost:
            problems += 1
            print(f"error: {lost}", file=sys.stderr)
        else:
            before = files_of(path)
            print(write(path, page(module, sections).removesuffix("\n")))
            for old in before - files_of(path):
                (FOLDER / old).unlink(missing_ok=True)
            published_page.save(FOLDER, name, sections)
    shown = published_page.contents(FOLDER, modules)
    if shown:
        text = render(
            "published.jinja", made=MADE, table=table, short_table=short_table, **shown
        )
        print(write(FOLDER / "published.md", text))
    lines = index(modules, shown.get("finding", ""))
    print(write(FOLDER / "index.md", "\n".join(lines)))
    return FAILED if problems else 0


def write(path: Path, text: str) -> Path:
    """Writes a text with a line break at its end; returns the path."""
    path.write_text(text + "\n", encoding="utf-8")
    return path


def files_of(page: Path) -> set[str]:
    """The pictures and tables beside a page that it shows; none without a page."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return set(FILES.findall(text))


def lost_cells(path: Path, experiment: str) -> str:
    """Why a page would lose cells that it shows if it were written from this store;
    empty if it would not.
    """
    stored = cells_of(experiment)
    for facts in published_page.facts_on(path):
        profile = facts["profile"]
        cells = facts["cells"]
        if stored[profile] < cells:
            return (
                f"{path} shows {cells:,} cells of profile {profile}, and this store "
                f"has {stored[profile]:,}: add the "
                f"others (`make runs-load ARGS={archive_of(experiment)}`), or remove "
                "the page first"
            )
    return ""


def archive_of(experiment: str) -> Path:
    """The file with the runs of an experiment, if it is committed."""
    return FOLDER / "runs" / f"{experiment}{SUFFIX}"


def cells_of(experiment: str) -> Counter[str]:
    """The number of finished runs of an experiment by label."""
    cells: Counter[str] = Counter()
    with contextlib.suppress(LookupError):
        for profile in runs(experiment)["profile"]:
            cells.update(labels(profile))
    return cells


def profiles_of(experiment: str) -> list[str]:
    """The labels under which an experiment has finished runs: the full setting, then
    those with the most runs.
    """
    cells = cells_of(experiment)
    profiles = [label for label in sorted(cells) if label.split()[0] != UNTRIED]
    return sorted(profiles, key=lambda label: (label != FULL, -cells[label]))


def page(module: ModuleType, sections: Mapping[str, Section]) -> str:
    """An analysis, profile by profile, as Markdown."""
    name = name_of(module)
    experiment = module.ANALYSIS.experiment
    archive = archive_of(experiment)
    findings = [
        picture.result.finding
        for part in sections.values()
        for picture in part.pictures
    ]
    is_full = FULL in sections
    return render(
        "results.jinja",
        name=name,
        title=title_of(module),
        experiment=experiment,
        made=MADE,
        heading=HEADING,
        finding=findings[0],
        not_run="" if is_full else make_command(experiment, FULL),
        in_part=in_part(experiment) if is_full else "",
        archive=archive.as_posix() if archive.exists() else "",
        parts=[
            profile_part(name, experiment, profile, part)
            for profile, part in sections.items()
        ],
        escaped=escaped,
        table=table,
        short_table=short_table,
    )


def profile_part(
    name: str, experiment: str, profile: str, part: Section
) -> dict[str, Any]:
    """What a page shows of one profile; its figures are drawn."""
    if part.problem:
        return {"profile": profile, "problem": part.problem}
    frame = runs(experiment, profile)
    shows = f"make table-{name} PROFILE={shlex.quote(profile)}"
    devices = {tags.get("infoscope.device", "unknown") for tags in frame["tags"]}
    hardware = escaped(", ".join(sorted(devices)))
    about = (
        f"{len(frame)} finished cells of `{make_command(experiment, profile)}`; "
        f"`{shows}`. Hardware: {hardware}."
    )
    text = json.dumps(published_page.facts(profile, part, frame))
    pictures = []
    lines: Counter[str] = Counter()
    for picture in part.pictures:
        result = picture.result
        stem = file_name("-".join([name, *profile.split(), result.name]))
        pictures.append((picture, *write_files(result, stem)))
        lines.update(set(result.notes))
    notes = [line for picture in part.pictures for line in picture.result.notes]
    return {
        "profile": profile,
        "shows": shows,
        "about": about,
        "facts": text.replace("<", r"\u003c").replace(">", r"\u003e"),
        "pictures": pictures,
        "shared": [line for line in dict.fromkeys(notes) if lines[line] > 1],
    }


def write_files(result: Result, stem: str) -> tuple[str, str]:
    """Writes the figure of a result and its table, if it is long; the names of both
    files, empty where there is none.

    Nothing is written of a result that quotes items of the data.
    """
    drawn = ""
    csv = ""
    if result.draw is not None and not result.quotes:
        drawn = f"{stem}.png"
        result.draw(FOLDER / drawn)
    if len(result.rows) > MAX_PAGE_ROWS and not result.quotes:
        csv = f"{stem}.csv"
        write_csv(result, FOLDER / csv)
    return drawn, csv


def in_part(experiment: str) -> str:
    """How much of the full setting was run; nothing where that is all of it."""
    (cells,) = status([experiment], FULL)
    done = cells.counts.get("done", 0)
    more = f"Run `{make_command(experiment, FULL)}` to continue."
    if cells.cells is None:  # its note may name folders of this machine
        return (
            f"**{IN_PART}{done:,} cells**; the total is unknown, as the full data are "
            f"not installed. {more}"
        )
    if done >= cells.cells:
        return ""
    return f"**{IN_PART}{done:,} of {cells.cells:,} cells** of the full setting. {more}"


def table(header: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    titles = list(header)
    lines = []
    for row in (titles, ["---"] * len(titles), *rows):
        cells = []
        for cell in row:
            is_link = isinstance(cell, published_page.Link)
            cells.append(cell if is_link else escaped(str(cell)))
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


def short_table(header: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown; columns with the same cell in every row are a line above it."""
    titles = list(header)
    cells = [list(row) for row in rows]
    common = []
    varying = []
    for place, title in enumerate(titles):
        texts = {str(row[place]) for row in cells}
        if len(texts) == 1 and len(cells) >= FEW:
            (text,) = texts
            common.append(f"{title}: {'none' if text in EMPTY else text}")
        else:
            varying.append(place)
    if not (common and varying):
        return table(titles, cells)
    line = escaped(f"In every row: {'; '.join(common)}.")
    shorter = [[row[place] for place in varying] for row in cells]
    return f"{line}\n\n{table([titles[place] for place in varying], shorter)}"


def escaped(text: str) -> str:
    """A text as Markdown that shows it: what comes from a store is neither a tag nor
    the end of a cell.
    """
    parts = re.split(r"(`[^`|]*`)", " ".join(text.split()))
    for place in range(0, len(parts), 2):  # between them is code, which stays
        plain = html.escape(parts[place], quote=False)
        parts[place] = re.sub(r"([|\[*_])", r"\\\1", plain)
    return "".join(parts)


def index(modules: dict[str, ModuleType], finding_of_all: str) -> Iterator[str]:
    """The finding of all published figures, every analysis with its own, and what was
    not run.
    """
    rows = [
        "| analysis | finding | run | seeds | published | hours |",
        "|---|---|---|---|---|---|",
    ]
    missing = []
    for name, module in modules.items():
        path = FOLDER / f"{name}.md"
        title = escaped(title_of(module))
        if not path.exists():
            missing.append(
                f"- {title}: `{make_command(module.ANALYSIS.experiment, FULL)}`"
            )
            continue
        text = path.read_text(encoding="utf-8")
        profiles = re.findall(rf"^{HEADING}(.*)$", text, re.M)
        part = re.search(rf"^\*\*{IN_PART}(.*)\*\*", text, re.M)
        finding = re.search(r"^\*\*(.*)\*\*$", text, re.M)
        run = f"{profiles[0]}, {part[1]}" if part else ", ".join(profiles)
        shown = published_page.facts_on(path)
        seeds = max((part.get("seeds", 0) for part in shown), default=0)
        hours = sum(part.get("hours", 0) for part in shown)
        beside = published_page.difference_text(FOLDER, name)
        rows.append(
            f"| [{title}]({name}.md) | {finding[1] if finding else '-'} | {run} | "
            f"{seeds or '-'} | {beside} | "
            f"{hours:.1f} |"
        )
    yield "# Results\n"
    if finding_of_all:
        yield f"**{finding_of_all}**\n"
        yield "[Every published figure with ours, every claim](published.md)\n"
    yield MADE
    yield "\n".join(rows)
    yield f"\n{HOURS}"
    if missing:
        yield "\n".join(["\n## Not run\n", *missing])


COMMAND = command("docs-results", main, [click.Argument(["names"], nargs=-1)], __doc__)
