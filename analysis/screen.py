"""Which columns of a table of your own depend on a target, or on each other, by how many bits, and what adds nothing.

DATA is a .npz, .csv or .parquet, or examples/NAME. TARGET names the column that all others are held against; without
it every pair of columns is. X names the columns to take (PREFIX*: all that begin so; default: all). Missing values
leave a row out of the pairs that they are in; names and free texts are left out. Written: the table, a figure, one page
to send to a colleague, and one run in MLflow.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from analysis.common.marks import save
from analysis.common.own_data import TYPES, as_options, grades, listed, options, read_table, record, stem_of
from analysis.common.tables import Result, present, printable, require_writable
from infoscope.checks import require_int
from infoscope.command_line import command, option
from infoscope.errors import InvalidInput, WrongType
from infoscope.metrics.screening import Screen, screen

EXPERIMENT = "screen"
SIDES = {"x": "PREFIX*: all that begin so; default: all"}
STEP = 0.1  # of the progress that is printed


def result(found: Screen, name: str, digest: str) -> Result:
    """The table: all of it as a file, its first rows to read, and its figure."""
    groups = f" in {found.groups:,} groups" if found.groups else ""
    shown, of = found.text, len(found.table)
    what = f"each column of {name} shares with {found.target}"
    if not found.target:
        what = f"each pair of columns of {name} shares"
    caption = [
        f"How many bits {what}, n = {found.n:,} rows{groups}; in brackets 95 % intervals. Bits: the reading, for the "
        f"true value ({grades()}). q: the false discovery rate at which a dependence is called; here, at most "
        f"{found.level:g}."
    ]
    if found.chosen:
        caption.append(
            "Chosen: 1, 2, ... in the order of the choice, for each adds something to the others; like: it depends on "
            f"{found.target} but adds nothing that could be found to the chosen ones, of which it depends on this one "
            "most. Adds: information beyond the (other) chosen ones, as of normal variables; columns are chosen by a "
            "test, so this interval may begin below 0."
        )
    if len(shown) < of:
        caption.append(f"The first {len(shown)} of {of:,} are shown; the CSV file has all.")
    caption += [*(as_options(note) for note in found.notes), f"SHA-256 of the data: {digest}."]
    return Result("screen", found.table, shown, caption, lambda *paths: save(found.plot().figure, paths, 120))


def metrics(found: Screen) -> dict[str, float]:
    """Bits and q of the pairs that the table to read shows: a run in MLflow takes a thousand figures at once."""
    rows = found.table.head(len(found.text)).to_dict("records")
    names = ("column",) if found.target else ("column", "with")
    return {"/".join([*(row[name] for name in names), of]): float(row[of]) for row in rows for of in ("bits", "q")}


def progress() -> Callable[[float, str], None]:
    """Prints what is done, at the beginning and after each tenth."""
    steps: set[int] = set()

    def say(share: float, what: str) -> None:
        if int(share / STEP) not in steps:
            steps.add(int(share / STEP))
            print(f"{share:.0%}  {what}", file=sys.stderr, flush=True)

    return say


def main(given: SimpleNamespace) -> None:
    """Screens, prints, writes and records."""
    path, stem = Path(given.data), stem_of("screen", given)
    try:
        require_int("--seed", given.seed, 0)
        types = {name: listed(getattr(given, name)) for name in TYPES}
        data = read_table(path, listed(given.x), given.target, given.groups, **types)
        require_writable(stem)
        found = screen(
            data.columns, given.target or None, data.groups, level=given.level, rows=given.rows,
            generator=np.random.default_rng(given.seed) if given.seed else None, progress=progress(),
        )  # fmt: skip
    except ValueError as error:
        how = " X= chooses columns." if isinstance(error, WrongType) else ""
        raise InvalidInput(f"{as_options(error)}{how}") from error
    made = [result(found, path.name, data.digest)]
    written = present(made, lambda _: stem, stem, found.summary)
    print("\n" + "\n".join(map(printable, found.summary)))
    params = {
        "n": found.n, "rows": given.rows or "", "level": given.level, "x": given.x, "target": given.target,
        "dependent": int(found.table["dependent"].sum()), "of": len(found.table), "chosen": ",".join(found.chosen),
    }  # fmt: skip
    record(EXPERIMENT, given, data.digest, params, metrics(found), made, written)


COMMAND = command("screen", main, [
    *options(SIDES),
    option("target", default="", metavar="NAME", help="column that the others are held against (default: every pair)"),
    option("level", type=float, default=0.05, help="of the false discovery rate (default: 0.05)"),
    option("rows", type=int, help="that the reading of a pair takes at most (default: 5,000, fewer in large tables)"),
    option("seed", type=int, default=0, help="of these rows and of the readings (default: 0, as screen has it)"),
], __doc__)  # fmt: skip
