"""In which column of a code of your own each factor is: a verdict, a map of columns and
factors, scores.

DATA is a table or a .npz with a row for each item. X names the columns of the code
(PREFIX*: all columns whose names start with PREFIX), FACTORS what was varied:
categories, or numbers, which are cut into ten parts. Written: a table, a figure, one
page to send, and one run in MLflow.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

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
from analysis.common.tables import require_writable
from infoscope.checks import require_int
from infoscope.command_line import command, option
from infoscope.errors import InvalidInput, TooFew
from infoscope.estimators import Continuous, Discrete
from infoscope.estimators.column_types import as_variable
from infoscope.metrics.disentanglement import report
from infoscope.metrics.disentanglement.reporting import HEADLINES

EXPERIMENT = "disentangle"
SIDES = {"x": "PREFIX* or columns of the code (default: all that nothing else names)"}
MIN_ROWS_OF_VALUE = 10  # whole numbers with a rarer value are taken as numbers
STRENGTH = 4.0  # of both attacks, the largest of Tokui & Sato 2021


def factor(name: str, values: Any) -> Continuous | Discrete:
    """A factor as numbers or as classes; whole numbers are classes unless a value is
    rare.
    """
    variable = as_variable(f"factor {name!r}", values)
    if variable.kind != "discrete":
        return Continuous(variable.continuous)
    is_whole = isinstance(values, pd.Series) and values.dtype.kind in "iu"
    if is_whole and np.bincount(variable.codes).min() < MIN_ROWS_OF_VALUE:
        return Continuous(values.to_numpy(float))
    return Discrete(variable.codes)


def column(block: np.ndarray) -> np.ndarray:
    """A column of a code: its numbers, or the codes of categories given as a 0 or 1 for
    each.
    """
    return block[:, 0] if block.shape[1] == 1 else block.argmax(axis=1)


def main(arguments: SimpleNamespace) -> None:
    """Measures, prints, writes and records."""
    names = listed(arguments.factors)
    try:
        require_int("--seed", arguments.seed, 0)
        require_int("--rows", arguments.rows, 20)
        if len(names) == 1:
            raise TooFew(f"FACTORS must name two columns or more, got {names[0]} only.")
        data = read_representation(
            Path(arguments.data),
            listed(arguments.x),
            names,
            groups=arguments.groups,
            each=True,
            options=read_options(arguments),
            named="FACTORS",
            **{kind: listed(getattr(arguments, kind)) for kind in TYPES},
        )
        announce(arguments, data.understood)
        require_writable(stem_of(EXPERIMENT, arguments))
        factors = [factor(name, values) for name, values in data.targets.items()]
        numbers = any(isinstance(values, Continuous) for values in factors)
        categories = [
            place
            for place, block in enumerate(data.blocks.values())
            if block.shape[1] > 1
        ]
        result = report(
            pd.DataFrame({name: column(block) for name, block in data.blocks.items()}),
            factors,
            categorical=categories,
            items=arguments.rows,
            generator=np.random.default_rng(arguments.seed),
            progress=progress(),
            groups=data.groups,
            scores=(*HEADLINES, "sap" if numbers else "sap_thresholds"),
            factor_names=names,
            attack=STRENGTH if arguments.attack else 0.0,
        )
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    params = {
        "n": result.n,
        "rows": limit_of_rows(arguments.rows, result.n),
        "x": arguments.x,
        "factors": arguments.factors,
        "attack": arguments.attack,
    }
    conclude_report(
        EXPERIMENT, arguments, "where each factor is, and scores", result, data, params
    )


COMMAND = command("disentangle", main, [
    *options(SIDES),
    option("factors", default="", metavar="NAMES", help="columns, with commas between: what was varied, two or more"),
    option("attack", is_flag=True, help="also score the code after both entanglement attacks, as a check of scores"),
    option("rows", type=int, default=2000, help="drawn at random that scores take at most (default: 2000)"),
    option("seed", type=int, default=0, help="of rows and folds (default: 0)"),
], __doc__)  # fmt: skip
