"""The descriptions of runs in MLflow: Markdown with links to related pages of the
MLflow UI.
"""

from __future__ import annotations

import math
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from infoscope.tracking.checks import clipped, storable_text

# in addresses; otherwise the UI shows its pages for language models
VIEW = "workflowType=machine_learning"
_MAX_LENGTH = 7500  # characters of a description; MLflow stores 8,000
_MAX_ABOUT = 4000  # characters of its part without results
_MAX_PICTURES = 4
# heading below the results of the analysis, which another analysis replaces
_ABOUT = "\n\n### About\n\n"

_ESCAPED = {sign: f"\\{sign}" for sign in "\\`*_[]|#!"} | {"<": "&lt;", ">": "&gt;"}


def run_page(experiment_id: str, run_id: str, tab: str = "") -> str:
    """The address of a run's page, or of its tab "model-metrics" or "artifacts/FOLDER"."""
    page = f"#/experiments/{experiment_id}/runs/{run_id}"
    if tab:
        page += f"/{tab}"
    return f"{page}?{VIEW}"


def runs_page(experiment_id: str) -> str:
    """The address of the list of an experiment's runs."""
    return f"#/experiments/{experiment_id}/runs?{VIEW}"


def _cells_page(experiment_id: str, parent: str) -> str:
    children = urllib.parse.quote(f"tags.`mlflow.parentRunId` = '{parent}'")
    # in another order than by time, MLflow unfolds the children
    by_name = urllib.parse.quote("tags.`mlflow.runName`")
    return f"{runs_page(experiment_id)}&searchFilter={children}&orderByKey={by_name}&orderByAsc=true"


def parent_note(
    about: str, command: str, cells: int, skipped: int, experiment_id: str, parent: str
) -> str:
    """The description of the parent run of a sweep."""
    recorded = f"; {skipped} were already recorded" if skipped else ""
    text = (
        f"{about}\n\nRun as {code(command)}: [{cells} "
        f"cells]({_cells_page(experiment_id, parent)}) to run{recorded}. "
        "[Tables and "
        f"figures]({run_page(experiment_id, parent, 'artifacts/analysis')})."
    )
    return clipped(storable_text(text), _MAX_ABOUT)


def loaded_note(
    question: str, file: str, cells: int, experiment_id: str, parent: str
) -> str:
    """The description of the parent of cells that were run elsewhere and loaded from a
    file.
    """
    text = (
        f"{escape(question)}\n\n[{cells} "
        f"cells]({_cells_page(experiment_id, parent)}), run elsewhere, were loaded "
        f"from {code(file)}. [Tables and "
        f"figures]({run_page(experiment_id, parent, 'artifacts/analysis')})."
    )
    return clipped(storable_text(text.lstrip()), _MAX_ABOUT)


def add_tables(
    note: str,
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[str]], str]],
    pictures: Mapping[str, str] | None = None,
) -> str:
    """The description of an invocation with tables (name, header, rows, caption) and
    pictures.
    """
    about = note.split(_ABOUT, 1)[-1]
    if not tables:
        return storable_text(about)
    rest = f"{_ABOUT}{clipped(about, _MAX_ABOUT)}" if about else ""
    longest = _MAX_LENGTH - len(rest)
    shown = ""  # below the first table
    for name, address in list((pictures or {}).items())[:_MAX_PICTURES]:
        shown += f"![{escape(name)}]({address})\n\n"
    results = ""
    for name, header, rows, caption in tables:
        lines = [_row(header), _row(["---"] * len(header)), *map(_row, rows)]
        results = append_rows(
            f"{results}**{escape(name)}**\n\n", lines, longest - len(shown)
        )
        results += "\n"
        if caption:
            first = caption.splitlines()[0]
            results += f"{escape(first)}\n\n"
        results += shown
        shown = ""
    return storable_text(clipped(results.rstrip("\n"), longest) + rest)


def picture(run_id: str, path: str) -> str:
    """The address of an artifact of a run, for a picture in its description."""
    return f"get-artifact?path={urllib.parse.quote(path, safe='')}&run_uuid={run_id}"


def append_rows(note: str, lines: Sequence[str], longest: int = _MAX_LENGTH) -> str:
    """A description with as many lines of a table below it as fit."""
    for place, line in enumerate(lines):
        if len(note) + len(line) > longest - 150:
            return (
                f"{note}\nThe metrics and artifacts have {len(lines) - place} more "
                "rows.\n"
            )
        note += line + "\n"
    return note


def number(value: float) -> str:
    """A number with four digits."""
    if not math.isfinite(value):
        return "not finite"
    if value == round(value) and abs(value) < 1e6:
        return f"{value:.0f}"
    return f"{value:.4g}"


def _row(cells: Sequence[Any]) -> str:
    texts = [escape(str(cell)).replace("\n", " ") for cell in cells]
    return "| " + " | ".join(texts) + " |"


def code(value: str) -> str:
    """A text as code in Markdown."""
    words = value.replace("`", "'").split()
    return "`" + " ".join(words) + "`"


def escape(value: str) -> str:
    """A text escaped for Markdown, without links, pictures and HTML."""
    return "".join(_ESCAPED.get(sign, sign) for sign in value)
