"""What each block of a representation of your own carries, and what leaks: a heat map in bits, with 95 % intervals.

DATA is a table or a .npz. X names its columns: PREFIX* is the block of the columns that begin so, and plain names
are one block; in a .npz each array is a block. TARGETS are the variables that blocks may carry, DOMAIN the one
that they should not, ITEMS names of the rows. Written: tables, a figure, one page to send, and one run in MLflow.
"""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from analysis.common.marks import save
from analysis.common.own_data import (
    GRADES,
    TYPES,
    announce,
    conclude,
    listed,
    options,
    progress,
    read_options,
    read_representation,
    stem_of,
)
from analysis.common.tables import Page, Result, printable, require_writable, short
from infoscope.checks import require_int
from infoscope.command_line import FAILED, command, option
from infoscope.errors import InvalidInput
from infoscope.metrics.representation import RepresentationReport, report

EXPERIMENT = "represent"
SIDES = {
    "x": "PREFIX* or columns (default: all that nothing else names)", "targets": "variables that blocks may carry",
    "domain": "column: what blocks should not carry", "items": "column: names of the rows",
}  # fmt: skip
RECORDED = ("information_low", "information_high", "reading", "linear", "richer", "unique_low", "unique_high")


def results(found: RepresentationReport, name: str, digest: str) -> list[Result]:
    """The table of blocks and targets, with its heat map; then the hardest items, scores and the partition."""
    groups = f" in {found.groups:,} groups" if found.groups < found.n else ""
    caption = [
        f"What blocks of {name} carry about targets, bits, n = {found.n:,} rows{groups}. Usable: by predictors on "
        "held-out rows, a lower bound on the information. Only there: in no other block. Information: best guess "
        f"and 95 % interval for the true value. {GRADES} H(target): its entropy.",
        *found.details.get("What to doubt", ()),
        f"SHA-256 of the data: {digest}.",
    ]
    made = [Result("represent", found.table, found.text, caption, lambda *paths: save(found.plot().figure, paths, 150))]
    for title, figures, said in (
        ("hardest", found.hardest, "Items of least PVI, by the richer family from all blocks; bits."),
        ("scores", found.scores, "Scores of disentanglement, of columns and of blocks."),
        ("partition", found.tables.get("partition"), "The partition by every route; bits."),
    ):
        if figures is not None and len(figures):
            made.append(Result(title, figures, figures.map(short), said))
    return made


def main(given: SimpleNamespace) -> int:
    """Prints, writes and records; the exit status: 1 where a target or the domain could not be measured."""
    path = Path(given.data)
    try:
        require_int("--seed", given.seed, 0)
        data = read_representation(
            path, listed(given.x), listed(given.targets), given.domain, given.groups, given.items,
            **{name: listed(getattr(given, name)) for name in TYPES}, each=given.each, options=read_options(given),
        )  # fmt: skip
        announce(given, data.understood)
        require_writable(stem_of("represent", given))
        found = report(
            data.blocks, data.targets, data.domain, data.groups, data.items, label=given.label, rows=given.rows,
            generator=np.random.default_rng(given.seed), progress=progress(),
        )  # fmt: skip
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    found = replace(
        found, domain=given.domain or found.domain, each_column="the same command with ARGS=--each shows which"
    )
    made = results(found, path.name, data.digest)
    title = f"{path.name}: what each block carries, in bits (n = {found.n:,})"
    details = {name: content for name, content in found.details.items() if name != "What to doubt"}
    params = {
        "n": found.n, "rows": given.rows, "x": ",".join(found.blocks), "targets": given.targets, "domain": given.domain,
    }  # fmt: skip
    conclude(EXPERIMENT, given, Page(title, found.answers, details), made, data, params, _metrics(found))
    for name, why in found.unanswered.items():
        print(f"error: nothing was measured about {name}: {printable(why)}", file=sys.stderr)
    return FAILED if found.unanswered else 0


def _metrics(found: RepresentationReport) -> dict[tuple[str, ...], float]:
    return {
        (row["block"], row["target"], f"{name}_bits"): float(row[f"{name}_bits"])
        for row in found.table.to_dict("records")
        for name in RECORDED
    }


COMMAND = command("represent", main, [
    *options(SIDES),
    option("label", help="the target that z_y is meant for, of blocks z_y, z_d, z_dy, z_x"),
    option("each", is_flag=True, help="every column is a block of its own"),
    option("rows", type=int, default=4000, help="that families are fitted to, at most (default: 4000)"),
    option("seed", type=int, default=0, help="of folds, halves and rows (default: 0)"),
], __doc__)  # fmt: skip
