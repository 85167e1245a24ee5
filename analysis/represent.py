"""What each block of a representation of your own carries, and what leaks: a heat map
in bits, with 95 % intervals.

DATA is a table or a .npz. X names its columns: PREFIX* is the block of the columns that
begin so, and plain names are one block; in a .npz each array is a block. TARGETS are
the variables that blocks may carry, DOMAIN the one that they should not. Written:
tables, a figure, one page to send, and one run in MLflow.
"""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from analysis.common.own_data import (
    TYPES,
    announce,
    limit_of_rows,
    listed,
    options,
    progress,
    read_options,
    read_representation,
    stem_of,
)
from analysis.common.own_report import conclude_report
from analysis.common.tables import printable, require_writable
from infoscope.checks import require_int
from infoscope.command_line import FAILED, command, option
from infoscope.errors import InvalidInput
from infoscope.metrics.representation import report

EXPERIMENT = "represent"
SIDES = {
    "x": "PREFIX* or columns (default: all that nothing else names)", "targets": "variables that blocks may carry",
    "domain": "column: what blocks should not carry",
}  # fmt: skip
# metrics of a run, with their intervals
RECORDED = ("information", "linear", "richer", "unique_low", "unique_high")


def main(arguments: SimpleNamespace) -> int:
    """Prints, writes and records; the exit status: 1 where a target or the domain could
    not be measured.
    """
    path = Path(arguments.data)
    try:
        require_int("--seed", arguments.seed, 0)
        data = read_representation(
            path,
            listed(arguments.x),
            listed(arguments.targets),
            arguments.domain,
            arguments.groups,
            **{name: listed(getattr(arguments, name)) for name in TYPES},
            each=arguments.each,
            options=read_options(arguments),
        )
        announce(arguments, data.understood)
        require_writable(stem_of("represent", arguments))
        result = report(
            data.blocks,
            data.targets,
            data.domain,
            data.groups,
            label=arguments.label,
            rows=arguments.rows,
            generator=np.random.default_rng(arguments.seed),
            progress=progress(),
        )
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    result = replace(
        result,
        domain=arguments.domain or result.domain,
        each_column="the same command with ARGS=--each shows which",
    )
    params = {
        "n": result.n, "rows": limit_of_rows(arguments.rows, result.n), "x": ",".join(result.blocks),
        "targets": arguments.targets, "domain": arguments.domain,
    }  # fmt: skip
    conclude_report(
        EXPERIMENT,
        arguments,
        "what each block carries, in bits",
        result,
        data,
        params,
        RECORDED,
    )
    for name, why in result.unanswered.items():
        print(
            f"error: nothing was measured about {name}: {printable(why)}",
            file=sys.stderr,
        )
    return FAILED if result.unanswered else 0


COMMAND = command("represent", main, [
    *options(SIDES),
    option("label", help="the target that z_y is meant for, of blocks z_y, z_d, z_dy, z_x"),
    option("each", is_flag=True, help="every column is a block of its own"),
    option("rows", type=int, default=4000, help="that families are fitted to, at most (default: 4000)"),
    option("seed", type=int, default=0, help="of folds, halves and rows (default: 0)"),
], __doc__)  # fmt: skip
