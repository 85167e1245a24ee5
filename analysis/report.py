"""What every analysis does with its table: choose the runs, print it with its caption, save it as CSV, LaTeX and a
plot.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

from infoscope.metrics import replicated
from infoscope.tracking import StoreUnreachable, runs

FOLDER = Path("runs") / "tables"
ERROR = "_error"  # suffix of the column that holds a column's standard error


@dataclass(frozen=True)
class Result:
    """One table of an analysis: its name, the figures (with `NAME_error` columns), the same as text to read, a caption,
    and a function that draws it.
    """

    name: str
    figures: pd.DataFrame
    text: pd.DataFrame
    caption: str
    draw: Callable[[Path], None]


def main(
    experiment: str, analyse: Callable[[pd.DataFrame, argparse.Namespace], Sequence[Result]], options: dict[str, dict]
) -> None:
    """Prints and saves the results of an analysis. Exits with 2 when there is nothing to analyse or an option is wrong.

    options: further command-line options, name -> arguments of `argparse.add_argument`.
    """
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument(
        "--profile", default="laptop", help="the profile whose runs to read, as recorded (default: laptop)"
    )
    for name, settings in options.items():
        parser.add_argument(f"--{name}", **settings)
    arguments = parser.parse_args()
    try:
        results = analyse(runs(experiment, arguments.profile), arguments)
    except (LookupError, ValueError, StoreUnreachable) as error:
        print(f"error: {error.args[0]}", file=sys.stderr)
        sys.exit(2)
    for result in results:
        stem = "-".join([experiment, *arguments.profile.replace("=", " ").split(), result.name])
        show(result.text)
        print(result.caption, end="\n\n")
        print("saved:", ", ".join(str(path) for path in save(result, FOLDER / stem)), end="\n\n")


def show(text: pd.DataFrame) -> None:
    """Prints a table, as wide as it needs to be."""
    table = Table(*text.columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in text.astype(str).itertuples(index=False):
        table.add_row(*row)
    Console(width=250, highlight=False).print(table)


def save(result: Result, stem: Path) -> list[Path]:
    """Writes STEM.csv, STEM.tex and STEM.png; returns their paths."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.parent / (stem.name + suffix) for suffix in (".csv", ".tex", ".png")]
    comment = "".join(f"# {line}\n" for line in result.caption.splitlines())
    paths[0].write_text(comment + result.figures.to_csv(index=False), encoding="utf-8")
    text = result.text.astype(str).map(_latex).rename(columns=_latex)
    paths[1].write_text(text.to_latex(index=False, escape=False, caption=_latex(result.caption)), encoding="utf-8")
    result.draw(paths[2])
    return paths


def _latex(text: str) -> str:
    for plain, escaped in {"%": r"\%", "&": r"\&", "#": r"\#", "_": r"\_", "±": r"$\pm$", "²": r"$^2$"}.items():
        text = text.replace(plain, escaped)
    return text


def summarise(frame: pd.DataFrame, by: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """Mean over runs (seeds) of every column and its standard error, by group, with the number of runs."""
    rows = []
    for group, members in frame.groupby(list(by), sort=False, dropna=False):
        row = dict(zip(by, group)) | {"runs": len(members)}
        for column in columns:
            over = replicated(members[column].to_numpy())
            row |= {column: over.mean, column + ERROR: over.standard_error}
        rows.append(row)
    return pd.DataFrame(rows)


def published(name: str) -> pd.DataFrame:
    """A published table, as committed with its source under analysis/published."""
    return pd.read_csv(Path(__file__).parent / "published" / f"{name}.csv", comment="#")


def plus_minus(value: float, error: float, missing: str = "diverged") -> str:
    """A figure with its standard error; `missing` if it is not a number, and no error where one run gives none."""
    if not math.isfinite(value):
        return missing
    return f"{value:.3f} ± {error:.3f}" if math.isfinite(error) else f"{value:.3f}"
