"""The open data set of the reading: figures and true information of simulated data sets, one row each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from infoscope.errors import InvalidInput, UnreadableFile
from infoscope.estimators.reading import figures, figures_conditional
from infoscope.files import read_arrays

FACTS = ("number", "n", "type", "families", "columns_x", "columns_y", "tied", "idle", "truth", "truth_error")
CONDITIONAL_FACTS = (*FACTS, "columns_z")  # of triples, whose truth is I(x; y | z)
_SEPARATOR = "+"  # between the families of a distribution


@dataclass(frozen=True, eq=False)
class Simulated:
    """Simulated data sets: `facts`, a row each with the columns FACTS (truth in nats), and `figures` float32 [m, p].

    given  whether they are triples x, y, z, with CONDITIONAL_FACTS and the figures of `figures_conditional`
    """

    facts: pd.DataFrame
    figures: NDArray[np.float32]
    given: bool = False

    def __len__(self) -> int:
        return len(self.facts)

    def where(self, kept: NDArray[np.bool_]) -> Simulated:
        """Some of the rows."""
        return Simulated(self.facts[kept].reset_index(drop=True), self.figures[kept], self.given)

    @property
    def families(self) -> list[tuple[str, ...]]:
        """The base families of each distribution."""
        return [tuple(name.split(_SEPARATOR)) for name in self.facts["families"]]

    def save(self, path: Path) -> None:
        """Writes one compressed file that holds no Python objects."""
        kind, facts = format_of(self.given)
        columns = {f"fact/{name}": self.facts[name].to_numpy() for name in facts}
        columns = {name: values.astype(str) if values.dtype == object else values for name, values in columns.items()}
        np.savez_compressed(
            path, figures=self.figures, names=np.array(kind.NAMES), version=np.array(kind.VERSION), **columns
        )


def format_of(given: bool) -> tuple[ModuleType, tuple[str, ...]]:
    """The module of the figures, and the facts, of pairs or of triples."""
    return (figures_conditional, CONDITIONAL_FACTS) if given else (figures, FACTS)


def load(paths: Iterable[Path], given: bool = False) -> Simulated:
    """The data sets of some files, each once; the same number names another one in each version of the prior.

    UnreadableFile: not such a file, or figures of another version.
    """
    parts = [_read(path, given) for path in paths]
    if not parts:
        raise InvalidInput("paths must name at least one file of simulated data sets, got none.")
    facts = pd.concat([part.facts for part in parts], ignore_index=True)
    first = ~facts.duplicated(["number", "n", "truth"]).to_numpy()
    return Simulated(facts, np.concatenate([part.figures for part in parts]), given).where(first)


def _read(path: Path, given: bool) -> Simulated:
    kind, facts = format_of(given)
    columns = {name: f"fact/{name}" for name in facts}
    start = f"path must be a file of simulated data sets, got {path}"
    stored = read_arrays(path, ("names", "version", "figures", *columns.values()), start)
    if tuple(stored["names"]) != kind.NAMES or int(stored["version"]) != kind.VERSION:
        raise UnreadableFile(f"path must hold figures of version {kind.VERSION}, got {path}.")
    table = pd.DataFrame({name: stored[column] for name, column in columns.items()})
    return Simulated(table, stored["figures"], given)
