"""The open data set of the reading: figures and true information of simulated data
sets, one row each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from infoscope.errors import InvalidInput, UnreadableFile
from infoscope.estimators.reading.reader import kind_of
from infoscope.files import reading

FACTS = (
    "number",
    "n",
    "type",
    "families",
    "columns_x",
    "columns_y",
    "tied",
    "idle",
    "truth",
    "truth_error",
)
CONDITIONAL_FACTS = (*FACTS, "columns_z")  # of triples, whose truth is I(x; y | z)
BITS = 12  # of the mantissa of a figure that are kept in a file
_SEPARATOR = "+"  # between the families of a distribution
_VERSION = "version of the figures"


@dataclass(frozen=True, eq=False)
class Simulated:
    """Simulated data sets with their true information.

    facts    a row for each data set, with the columns FACTS; truth is in nats
    figures  float32 [m, p]
    given    whether they are triples x, y, z, with CONDITIONAL_FACTS and the figures of `figures_conditional`
    """

    facts: pd.DataFrame
    figures: NDArray[np.float32]
    given: bool = False

    def __len__(self) -> int:
        return len(self.facts)

    def where(self, is_selected: NDArray[np.bool_]) -> Simulated:
        """Some of the data sets, by a mask [m]."""
        facts = self.facts.loc[is_selected].reset_index(drop=True)
        return Simulated(facts, self.figures[is_selected], self.given)

    @property
    def types(self) -> list[str]:
        """The type of each data set, by which intervals are calibrated."""
        return self.facts["type"].tolist()

    @property
    def families(self) -> list[tuple[str, ...]]:
        """The base families of each distribution."""
        return [tuple(name.split(_SEPARATOR)) for name in self.facts["families"]]

    def save(self, path: Path) -> None:
        """Writes a Parquet file of the facts and of the figures to four digits."""
        kind, names_of_facts = format_of(self.given)
        names = list(kind.NAMES)
        values = pd.DataFrame(rounded(self.figures), columns=names)
        facts = self.facts[list(names_of_facts)].reset_index(drop=True)
        rows = pd.concat([facts, values], axis=1)
        rows.attrs = {_VERSION: kind.VERSION}
        rows.to_parquet(
            path,
            index=False,
            compression="zstd",
            compression_level=19,
            use_dictionary=["type", "families"],
            use_byte_stream_split=names,
        )


def rounded(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Values with a relative error of at most 2^-BITS, for smaller files."""
    mantissa, exponent = np.frexp(values)
    mantissa = np.round(mantissa * 2.0**BITS) / 2.0**BITS
    return np.ldexp(mantissa, exponent).astype(np.float32)


def format_of(given: bool) -> tuple[ModuleType, tuple[str, ...]]:
    """The module of the figures, and the facts, of pairs or of triples."""
    return kind_of(given), CONDITIONAL_FACTS if given else FACTS


def load(paths: Iterable[Path]) -> Simulated:
    """The data sets of some files, each once.

    Data sets are equal if number, rows and truth are: another version of the prior has
    other data sets of the same numbers. UnreadableFile: not such a file, figures of
    another version, or pairs beside triples.
    """
    parts = [_read(path) for path in paths]
    if not parts:
        raise InvalidInput(
            "paths must name at least one file of simulated data sets, got none."
        )
    rows = pd.concat(parts, ignore_index=True).drop_duplicates(
        ["number", "n", "truth"], ignore_index=True
    )
    is_conditional = CONDITIONAL_FACTS[-1] in rows
    kind, facts = format_of(is_conditional)
    if set(rows) != {*facts, *kind.NAMES}:
        raise UnreadableFile(
            "paths must be files of pairs or files of triples, got both."
        )
    values = rows[list(kind.NAMES)].to_numpy(np.float32)
    return Simulated(rows.loc[:, list(facts)], values, is_conditional)


def _read(path: Path) -> pd.DataFrame:
    """The rows of one file, with facts and figures."""
    with reading(path, "", f"path must be a file of simulated data sets, got {path}"):
        rows = pd.read_parquet(path)
        version = rows.attrs[_VERSION]
        rows.attrs = {}
    kind, facts = format_of(CONDITIONAL_FACTS[-1] in rows)
    if version != kind.VERSION or tuple(rows.columns) != facts + kind.NAMES:
        raise UnreadableFile(
            f"path must hold figures of version {kind.VERSION}, got {path}."
        )
    return rows
