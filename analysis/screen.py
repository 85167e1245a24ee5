"""Which columns of a table of your own depend on a target, or on each other, by how
many bits, and which to keep.

DATA is a table or a .npz, or examples/NAME. TARGET names the column that every other
one is compared with; without it all pairs of columns are. X names the columns to take
(PREFIX*: all columns whose names start with PREFIX; default: all). GIVEN=age,sex tests
and reads every pair given these columns. With TIME=t or SERIES=yes the answer is which
column leads which, in time. A missing value leaves its row out of the pairs that it is
in; names and free texts are left out. Written: a table, a figure, one page to send, and
one run in MLflow.
"""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from analysis.common.marks import save
from analysis.common.own_data import (
    CONDITIONS,
    GRADES,
    TYPES,
    announce,
    conclude,
    listed,
    options,
    progress,
    read_options,
    read_table,
    series_options,
    stem_of,
)
from analysis.common.tables import Page, Result, require_writable
from analysis.series import screen_own_series
from infoscope.checks import require_int
from infoscope.command_line import command, option
from infoscope.errors import InvalidInput, WrongType
from infoscope.metrics.screening import Screen, screen

EXPERIMENT = "screen"
SIDES = {
    "x": "PREFIX*: all columns whose names start with PREFIX; default: all",
    "given": CONDITIONS,
}
FEWEST = 10  # rows that are shown where nothing depends


def result(found: Screen, name: str, digest: str) -> Result:
    """The table: all of it as a file, to read its dependent rows, or the first ones
    where none is; and its figure.
    """
    groups = f" in {found.groups:,} groups" if found.groups else ""
    of, dependent = len(found.table), int(found.table["dependent"].sum())
    text = found.text.head(dependent or FEWEST)
    what = (
        f"each column of {name} shares with {found.target}"
        if found.target
        else f"pairs of columns of {name} share"
    )
    caption = [
        f"How many bits {what}{found.beyond}, n = {found.n:,} rows{groups}, with 95 % "
        "intervals for the true value. "
        f"{GRADES} q: false discovery rate; dependent: at most {found.level:g}. "
        f"{len(text)} of {of:,} are shown; the "
        "CSV has all.",
        *found.notes,
        f"SHA-256 of the data: {digest}.",
    ]
    return Result(
        "screen",
        found.table,
        text,
        caption,
        lambda *paths: save(found.plot().figure, paths, 150),
    )


def metrics(screened: Screen) -> dict[tuple[str, ...], float]:
    """The number of dependent columns or pairs, then bits and q of those that the table
    to read shows.

    A run in MLflow takes a thousand figures at once.
    """
    rows = screened.table.head(len(screened.text)).to_dict("records")
    names = ["column"] if screened.target else ["column", "with"]
    counted = "dependent_columns" if screened.target else "dependent_pairs"
    values = {(counted,): int(screened.table["dependent"].sum())}
    for of in ("bits", "q"):
        for row in rows:
            columns = [row[name] for name in names]
            if not math.isnan(row[of]):
                values[of, *columns] = float(row[of])
    return values


def main(given: SimpleNamespace) -> None:
    """Screens, prints, writes and records."""
    if given.time or given.series:
        screen_own_series(given)
        return
    if given.lags:
        raise InvalidInput("LAGS must be left out without TIME= or SERIES=yes.")
    path, stem = Path(given.data), stem_of("screen", given)
    try:
        require_int("--seed", given.seed, 0)
        types = {name: listed(getattr(given, name)) for name in TYPES}
        file_options = read_options(given)
        conditions = listed(given.given)
        data = read_table(
            path,
            listed(given.x),
            given.target,
            given.groups,
            given.shuffle,
            file_options,
            conditions,
            **types,
        )
        announce(given, data.understood)
        require_writable(stem)
        screened = screen(
            data.columns, given.target or None, data.groups, given=data.conditions, level=given.level, rows=given.rows,
            generator=np.random.default_rng(given.seed) if given.seed else None, progress=progress(),
        )  # fmt: skip
    except ValueError as error:
        how = " X= chooses columns." if isinstance(error, WrongType) else ""
        raise InvalidInput(f"{error}{how}") from error
    of = (
        f"which columns depend on {screened.target}"
        if screened.target
        else "which columns depend on each other"
    )
    of += screened.beyond
    first = f"The first {len(screened.text)} of {len(screened.table):,}"
    details = {
        name: content
        for name, content in screened.details.items()
        if name != "What to doubt"
    }
    page = Page(
        f"{path.name}: {of}, in bits (n = {screened.n:,})",
        screened.answers,
        details | {first: screened.text},
    )
    params = {
        "n": screened.n, "rows": given.rows, "level": given.level, "x": given.x, "target": given.target,
        "given": ",".join(screened.given), "compared": len(screened.table),
    }  # fmt: skip
    conclude(EXPERIMENT, given, page, [result(screened, path.name, data.digest)], data, params, metrics(screened),
             {"columns_to_keep": ", ".join(screened.chosen)} if screened.chosen else {})  # fmt: skip


COMMAND = command("screen", main, [
    *options(SIDES),
    option("target", default="", metavar="NAME", help="column that the others are compared with (default: every pair)"),
    option("level", type=float, default=0.05, help="of the false discovery rate (default: 0.05)"),
    option("rows", type=int, help="that the reading of a pair takes at most (default: 5,000, fewer in large tables)"),
    *series_options(),
    option("seed", type=int, default=0, help="of these rows and of the readings (default: 0, as screen has it)"),
], __doc__)  # fmt: skip
