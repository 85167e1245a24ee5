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
    """Simulated data sets: `facts`, a row each with the columns FACTS (truth in nats),
    and `figures` float32 [m, p].

    given  whether they are triples x, y, z, with CONDITIONAL_FACTS and the figures of `figures_conditional`
    """

    facts: pd.DataFrame
    figures: NDArray[np.float32]
    given: bool = False

    def __len__(self) -> int:
        return len(self.facts)

    def where(self, kept: NDArray[np.bool_]) -> Simulated:
        """Some of the rows."""
        return Simulated(
            self.facts[kept].reset_index(drop=True), self.figures[kept], self.given
        )

    @property
    def families(self) -> list[tuple[str, ...]]:
        """The base families of each distribution."""
        return [tuple(name.split(_SEPARATOR)) for name in self.facts["families"]]

    def save(self, path: Path) -> None:
        """Writes a Parquet file: a row for each data set, with its facts, and its
        figures to four digits.
        """
        kind, facts = format_of(self.given)
        names = list(kind.NAMES)
        values = pd.DataFrame(rounded(self.figures), columns=names)
        rows = pd.concat(
            [self.facts[list(facts)].reset_index(drop=True), values], axis=1
        )
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
    """Values with a relative error of at most 2^-BITS, which take less space in a file."""
    mantissa, exponent = np.frexp(values)
    mantissa = np.round(mantissa * 2.0**BITS) / 2.0**BITS
    return np.ldexp(mantissa, exponent).astype(np.float32)


def format_of(given: bool) -> tuple[ModuleType, tuple[str, ...]]:
    """The module of the figures, and the facts, of pairs or of triples."""
    return kind_of(given), CONDITIONAL_FACTS if given else FACTS


def load(paths: Iterable[Path]) -> Simulated:
    """The data sets of some files, each once; the same number names another one in each
    version of the prior.

    UnreadableFile: not such a file, figures of another version, or pairs beside
    triples.
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
    return Simulated(
        rows[list(facts)], rows[list(kind.NAMES)].to_numpy(np.float32), is_conditional
    )


def _read(path: Path) -> pd.DataFrame:
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
