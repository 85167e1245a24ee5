"""Tables of every analysis: printed with their captions, saved as CSV, LaTeX and a
figure, and shown on one page.
"""

import base64
import csv
import functools
import hashlib
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import click
import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, select_autoescape
from rich import box
from rich.console import Console
from rich.table import Table

from analysis.common.claims import Claim
from analysis.common.published import ERROR
from infoscope.checks import nearest
from infoscope.command_line import command, profile_option, set_option
from infoscope.errors import StoreUnreachable, UnknownName
from infoscope.estimators.result import Estimate
from infoscope.metrics import replicated
from infoscope.metrics.shares import clopper_pearson
from infoscope.names import in_csv, in_csv_comment, in_latex, printable
from infoscope.tracking.checks import COLUMNS
from infoscope.tracking.home import home, made_home

FOLDER = Path("runs") / "tables"
PICTURE = ".png", ".pdf"  # to look at, for papers
LONGEST_NAME = 200  # of a file, which systems limit to 255 with its suffix
WIDEST = 250  # characters of a line that is printed
LONGEST = 1e5  # from here on figures are printed with an exponent
# what a cell of numbers begins with; names such as 1v1-normal do not
NUMBER = r"[-+]?\d[\d,.]*(?!\w|-[a-z])"
FOLDED = 40  # rows beyond which a table of a page is folded
NO_VALUE = "no value"  # in a cell: not recorded, or not finite


@dataclass(frozen=True)
class Result:
    """One table: figures (with `NAME_error` columns), text, caption (its lines), a
    function that draws it, and claims.

    The first line of the caption is the finding: one plain sentence with its
    uncertainty, which stands before the table wherever it is printed, saved or shown.
    The other lines explain the table. quotes: rows quote items of the data. against:
    published figures with ours (`analysis.common.published`). title: the heading of the
    table (default: its name).
    """

    name: str
    figures: pd.DataFrame
    text: pd.DataFrame
    caption: str | Sequence[str]
    draw: Callable[..., None] | None = None
    claims: Sequence[Claim] = ()
    quotes: bool = False
    against: pd.DataFrame | None = None
    title: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.caption, str):
            object.__setattr__(self, "caption", "\n".join(self.caption))

    @property
    def finding(self) -> str:
        """The table's finding, in one sentence."""
        return self.caption.partition("\n")[0]

    @property
    def notes(self) -> list[str]:
        """The lines that explain the table."""
        return self.caption.splitlines()[1:]

    @property
    def heading(self) -> str:
        """The title of the table on a page."""
        return self.title or self.name.replace("-", " ").capitalize()

    @cached_property
    def rows(self) -> list[list[str]]:
        """The table as text."""
        return self.text.astype(str).values.tolist()

    @cached_property
    def header(self) -> list[tuple[str, bool]]:
        """The title of each column, and whether it is right-aligned: any of its cells
        begins with a number.
        """
        columns = []
        for title, cells in self.text.T.iterrows():
            has_numbers = cells.astype(str).str.match(NUMBER).any()
            columns.append((str(title), bool(has_numbers)))
        return columns

    @property
    def folded(self) -> bool:
        """Whether the table has so many rows that a page folds it."""
        return len(self.rows) > FOLDED

    def labelled(self, section: str) -> list[tuple[str, Claim]]:
        """Its claims, each with the name of a section."""
        return [(section, claim) for claim in self.claims]

    @property
    def words(self) -> tuple[str, list[str], list[list[str]], str]:
        """Name, titles, rows and caption, as runs in MLflow show a table."""
        titles = [str(title) for title in self.text.columns]
        return self.name, titles, self.rows, self.caption


@dataclass(frozen=True)
class Page:
    """Contents of a page to send, in addition to its results.

    title: the data's name, what is shown, its unit and n; answers: sentences; details:
    by title, tables or sentences; further: tables after the first, by title.
    """

    title: str
    answers: Sequence[str] = ()
    details: Mapping[str, pd.DataFrame | Sequence[str]] = field(default_factory=dict)
    further: Mapping[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Picture:
    """A result as a page shows it; `image`: its figure as PNG in base64, or empty."""

    result: Result
    image: str = ""
    differences: Sequence[str] = ()  # from published figures


@dataclass(frozen=True)
class Saved:
    """The files of a result, and when gone through, those there are: a result that
    cannot be drawn has no figure.
    """

    csv: Path
    tex: Path
    png: Path | None = None
    pdf: Path | None = None

    def __iter__(self) -> Iterator[Path]:
        paths = (self.csv, self.tex, self.png, self.pdf)
        return (path for path in paths if path is not None)


@dataclass(frozen=True)
class Analysis:
    """The tables of one experiment. options: of its command line, in addition to the
    profile. claims_from: the paper and part of it whose sentences are judged.

    analyse: (runs, options) -> results; raises ValueError or LookupError when there is
    nothing to show.
    """

    experiment: str
    analyse: Callable[[pd.DataFrame, SimpleNamespace], Sequence[Result]]
    options: Sequence[click.Option] = ()
    claims_from: str = ""

    def command(self, text: str | None = None) -> click.Command:
        """The command that prints and saves the tables; `text`: its help."""
        options = [
            profile_option("the profile whose runs to read, as recorded"),
            set_option(
                "only the cells of these settings, in files of their own: 'depths=1,2 "
                "seeds=0,1'"
            ),
            *self.options,
        ]
        return command(self.experiment, functools.partial(main, self), options, text)

    def arguments(self, words: Sequence[str]) -> SimpleNamespace:
        """The options that words give; no words give every option's default."""
        context = self.command().make_context(self.experiment, [*words])
        return SimpleNamespace(**context.params)

    def stem(self, profile: str, result: Result) -> str:
        """The name of the files of a result, without a suffix."""
        return file_name("-".join([self.experiment, *profile.split(), result.name]))


def require_writable(stem: Path) -> None:
    """ValueError where no table can be written next to STEM; writes nothing."""
    folder = next(folder for folder in stem.absolute().parents if folder.exists())
    if not os.access(folder, os.W_OK):
        raise ValueError(f"tables go to {stem.parent}, but {folder} cannot be written.")


def main(analysis: Analysis, arguments: SimpleNamespace) -> None:
    """Prints and saves the results of an analysis; of cells chosen by --set, in files
    whose names hold the settings.
    """
    from infoscope.tracking import runs  # MLflow takes two seconds to import

    profile = arguments.profile
    if arguments.set:
        profile, frame = _runs_of_settings(analysis.experiment, profile, arguments.set)
    else:
        frame = runs(analysis.experiment, profile)
    results = _analysed(analysis, frame, arguments)
    page = Page(f"{analysis.experiment}, profile {profile}")
    page_stem = FOLDER / file_name(
        "-".join([analysis.experiment, *profile.split(), "tables"])
    )
    paths = present(
        results, lambda result: FOLDER / analysis.stem(profile, result), page_stem, page
    )
    # a part of the cells must not replace the table of all in the description of their
    # run
    if not arguments.set:
        _publish(analysis.experiment, profile, frame, results, paths)


def _runs_of_settings(
    experiment: str, profile: str, settings: Mapping[str, str]
) -> tuple[str, pd.DataFrame]:
    """The name of a profile with replaced settings, and the finished runs of its cells.
    LookupError if none has.
    """
    from infoscope.tracking import runs
    from infoscope.tracking.status import planned

    replaced = [f"{name}={text}" for name, text in sorted(settings.items())]
    name = " ".join([profile, *replaced])
    label, keys, _ = planned(experiment, profile, settings)
    frame = runs(experiment, label)
    if keys is not None:  # otherwise a search, whose settings choose no cells
        frame = frame[frame["key"].isin(keys)].reset_index(drop=True)
    if frame.empty:
        raise LookupError(f"no cell of {experiment} under {name} has finished")
    return name, frame


def _analysed(
    analysis: Analysis, runs: pd.DataFrame, arguments: SimpleNamespace
) -> Sequence[Result]:
    """The results of an analysis. Raises UnknownName for a metric or field that no run
    has.
    """
    try:
        return analysis.analyse(runs, arguments)
    except KeyError as error:
        name = error.args[0]
        if not isinstance(name, str) or name in runs:
            raise
        columns = [column for column in runs if column not in COLUMNS]
        raise UnknownName(
            f"column {name!r} is recorded by no cell; there are "
            f"{', '.join(columns)}{nearest(name, columns)}"
        ) from error


def present(
    results: Sequence[Result],
    stem: Callable[[Result], Path],
    page_stem: Path,
    page: Page,
) -> list[Path]:
    """Prints the answers of a page and its results, saves each result at its `stem`,
    and the page; returns the paths.

    With answers only the first result is printed and shown, and `page.further`;
    `page.details` has the others.
    """
    for line in page.answers:
        print(printable(line))
    end = "\n" if page.answers else "\n\n"
    paths = []
    pictures = []
    for result in results:
        saved = save(result, stem(result))
        paths += saved
        if not page.answers or not pictures:
            print_result(result, page.further)
            image = base64_of(saved.png) if saved.png else ""
            pictures.append(Picture(result, image))
        print("\nsaved:", ", ".join(map(str, saved)), end=end)
    path = readable(pictures, page_stem, page)
    print("to send:", path)
    return [*paths, path]


def print_result(
    result: Result, further: Mapping[str, pd.DataFrame] = MappingProxyType({})
) -> None:
    """Prints the finding of a table, the table and further ones, what explains it, and
    its claims.
    """
    print(printable(result.finding))
    show(result.text)
    for title, table in further.items():
        print(f"{title}:")
        show(table)
    for line in (*result.notes, *result.claims):
        print(printable(line))


def _publish(
    experiment: str,
    profile: str,
    runs: pd.DataFrame,
    results: Sequence[Result],
    paths: list[Path],
) -> None:
    """Adds tables and their files to the run of the sweep, and prints its address or
    why it cannot.
    """
    from mlflow.exceptions import MlflowException

    from infoscope.tracking import publish
    from infoscope.tracking.ui import shown_at

    tables = [result.words for result in results]
    try:
        page = publish(experiment, profile, runs, tables, paths)
    except (LookupError, MlflowException, OSError, StoreUnreachable) as error:
        reason = printable(error).splitlines()[0]
        print(f"not added to the run in MLflow: {reason}", file=sys.stderr)
    else:
        print(f"added to the run of the sweep in MLflow: {shown_at(page)}")


def readable(pictures: Sequence[Picture], stem: Path, page: Page) -> Path:
    """Writes a page to send, STEM.html, of results with their figures; returns its
    path.
    """
    content = render(
        "tables.html",
        title=page.title,
        answers=page.answers,
        pictures=pictures,
        further=_as_results(page.further),
        details=_as_results(page.details),
    )
    path = stem.parent / f"{stem.name}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def _as_results(contents: Mapping[str, pd.DataFrame | Sequence[str]]) -> dict[str, Any]:
    """Tables as results and sentences as they are, by title."""
    results = dict(contents)
    for title, content in contents.items():
        if isinstance(content, pd.DataFrame):
            results[title] = Result(title, content, content.map(short), "")
    return results


def ranged(counts: Iterable[float]) -> str:
    """Whole numbers: the number where all are equal, or from which to which."""
    counts = [*counts]
    least = f"{min(counts):,.0f}"
    most = f"{max(counts):,.0f}"
    return least if least == most else f"{least} to {most}"


def short(value: object) -> str:
    """A cell to read: numbers with three decimals, nothing where there is none."""
    if isinstance(value, float):
        return f"{value:z.3f}" if math.isfinite(value) else ""
    return str(value)


def base64_of(picture: Path) -> str:
    """The content of an image file in base64, as a page embeds it."""
    return base64.b64encode(picture.read_bytes()).decode("ascii")


def render(template: str, **values: object) -> str:
    """A page of analysis/TEMPLATE; in HTML whatever comes from a store is escaped."""
    folder = FileSystemLoader(Path(__file__).parents[1])
    environment = Environment(
        loader=folder,
        autoescape=select_autoescape(),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(values)


def show(text: pd.DataFrame) -> None:
    """Prints a table with every cell as it is; its titles have a word a line where the
    terminal is narrower.
    """
    console = Console(width=WIDEST, highlight=False, markup=False, emoji=False)
    table = _printed(text, " ")
    if console.measure(table).maximum > shutil.get_terminal_size((WIDEST, 24)).columns:
        table = _printed(text, "\n")
    console.print(table)


def _printed(text: pd.DataFrame, space: str) -> Table:
    titles = [printable(title).replace(" ", space) for title in text.columns]
    table = Table(*titles, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in text.itertuples(index=False):
        table.add_row(*map(printable, row))
    return table


def file_name(text: str) -> str:
    """A text as a file name: other signs become dashes, and a hash replaces the rest of
    a long text.
    """
    name = re.sub(r"[^A-Za-z0-9.,_-]+", "-", text).lstrip(".") or "-"
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def save(result: Result, stem: Path) -> Saved:
    """Writes STEM.csv, STEM.tex and, of a result that can be drawn, STEM.png and for
    papers STEM.pdf.
    """
    if home() in stem.absolute().parents:
        made_home()
    stem.parent.mkdir(parents=True, exist_ok=True)
    cells, tex, png, pdf = (
        stem.parent / (stem.name + suffix) for suffix in (".csv", ".tex", *PICTURE)
    )
    lines = write_csv(result, cells)
    comments = "".join(f"% {in_latex(line)}\n" for line in lines)
    text = result.text.astype(str).map(in_latex)
    text = text.rename(columns=in_latex)
    table = text.to_latex(index=False, escape=False, caption=in_latex(result.finding))
    tex.write_text(comments + table, encoding="utf-8")
    if result.draw is None:
        return Saved(cells, tex)
    result.draw(png, pdf)
    return Saved(cells, tex, png, pdf)


def write_csv(result: Result, path: Path) -> list[str]:
    """Writes the figures of a result, its caption and claims as comments before them;
    returns those lines.
    """
    claims = [str(claim) for claim in result.claims]
    lines = "\n".join([result.caption, *claims]).splitlines()
    comments = "".join(f"# {in_csv_comment(line)}\n" for line in lines)
    figures = result.figures.map(in_csv)
    figures = figures.rename(columns=in_csv)
    cells = figures.to_csv(index=False)
    if "#" in cells:  # quoted, "item #3" is no comment
        cells = figures.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC)
    path.write_text(comments + cells, encoding="utf-8")
    return lines


def summarise(
    frame: pd.DataFrame, by: Sequence[str], columns: Sequence[str]
) -> pd.DataFrame:
    """Mean over runs (seeds) of every column and its standard error, by group, with the
    number of runs.
    """
    rows = []
    for group, members in frame.groupby(list(by), sort=False, dropna=False):
        row = dict(zip(by, group)) | {"runs": len(members)}
        for column in columns:
            row |= with_error(column, replicated(members[column].to_numpy(float)))
        rows.append(row)
    return pd.DataFrame(rows)


def with_error(column: str, estimate: Estimate) -> dict[str, float]:
    """A figure and its standard error, as columns of a table."""
    return {column: estimate.value, column + ERROR: estimate.standard_error}


def level_with(best: pd.Series, others: pd.DataFrame) -> list[str]:
    """The columns that are not surely below the best: the 95 % interval of the paired
    difference over rows reaches 0, or there are too few pairs for one.
    """
    names = []
    for name, values in others.items():
        differences = (best - values).dropna()
        if differences.empty or not replicated(differences.to_numpy()).low > 0:
            names.append(str(name))
    return names


def plus_minus(value: float, error: float, missing: str = NO_VALUE) -> str:
    """A figure with its standard error; `missing` if it is not a number, and no error
    where one run gives none.
    """
    if not math.isfinite(value):
        return missing
    form = "z.3f" if abs(value) < LONGEST else ".2e"
    if not math.isfinite(error):
        return f"{value:{form}}"
    return f"{value:{form}} ± {error:{form}}"


def share_text(
    hits: int, n: int, form: str = ".0f", missing: str = "no interval"
) -> str:
    """A share of data sets in per cent, with its 95 % Clopper-Pearson interval."""
    if not n:
        return missing
    low, high = clopper_pearson(int(hits), int(n))
    return f"{100 * hits / n:{form}} % ({100 * low:.0f} to {100 * high:.0f})"


def plus_minus_column(
    figures: pd.DataFrame, column: str, missing: str = NO_VALUE
) -> list[str]:
    """The figures of a column with their standard errors (its `NAME_error`), where
    there are some, to read.
    """
    values = figures[column]
    errors = figures.get(column + ERROR, [math.nan] * len(values))
    return [plus_minus(value, error, missing) for value, error in zip(values, errors)]


Cells = str | tuple[str, str] | tuple[str, str, str] | Sequence[Any]


def text_of(
    figures: pd.DataFrame,
    names: Sequence[str],
    columns: Mapping[str, Cells],
    missing: str = NO_VALUE,
) -> pd.DataFrame:
    """A table to read: columns of figures as they are, then by title a column, with its
    standard errors if there are some; a name with a format, and perhaps what stands for
    a figure that is not finite; or cells.
    """
    text = figures[list(names)].copy()
    for title, cells in columns.items():
        if isinstance(cells, str):
            has_errors = cells + ERROR in figures
            text[title] = (
                plus_minus_column(figures, cells, missing)
                if has_errors
                else figures[cells]
            )
        elif isinstance(cells, tuple):
            name, form, *absent = cells
            values = figures[name]
            text[title] = values.map(form.format)
            if absent:
                text[title] = text[title].where(np.isfinite(values), absent[0])
        else:
            text[title] = cells
    return text


def spread(
    figures: pd.DataFrame,
    index: Sequence[str],
    columns: str,
    values: str | Sequence[Any],
    missing: str = "-",
    order: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """A table with a column for every value of `columns`, its rows in the order in
    which `figures` has them.

    values  a column, or cells
    order   the values of `columns` that are shown, with their titles
    """
    if not isinstance(values, str):
        figures = figures.assign(_cells=values)
        values = "_cells"
    wide = figures.pivot(index=list(index), columns=columns, values=values).fillna(
        missing
    )
    if order is not None:
        wide = wide[list(order)].rename(columns=order)
    rows = figures[list(index)].drop_duplicates()
    return wide.reindex(pd.MultiIndex.from_frame(rows)).reset_index()
