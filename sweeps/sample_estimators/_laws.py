"""Which laws of the exam can be asked about here: those whose items are there."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence

from infoscope.data import data_root
from infoscope.data.tasks import catalogue, resampled
from infoscope.errors import UnknownName
from infoscope.tracking.datasets import DataSet
from sweeps import datasets


def laws_of(asked: Sequence[str], collections: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The laws of each collection that are asked for; ("all",): every one. ValueError for an unknown law."""
    known = {law for laws in collections.values() for law in laws}
    if unknown := [law for law in asked if law not in (*known, "all")]:
        raise UnknownName(f"laws must be of the collections {', '.join(collections)}, got {unknown[0]!r}.")
    return {
        collection: tuple(law for law in laws if "all" in asked or law in asked)
        for collection, laws in collections.items()
    }


@functools.cache
def data_sets(name: str) -> tuple[DataSet, ...]:
    """A law, and the items that it pairs where it is of items."""
    if not catalogue.needs_data(name):
        return (datasets.law(name),)
    pool = catalogue.pool_of(name)
    return datasets.law(name), datasets.items(pool, resampled.POOLS[pool], "items", synthetic=False)


def there(laws: Iterable[tuple[str, str]]) -> Iterator[tuple[str, float]]:
    """Laws that are available, with their maximum number of rows; a warning names those left out."""
    left_out, missing = {}, set()
    for name, law in laws:
        if catalogue.needs_data(law) and data_root() is None:
            left_out[name] = True
            continue
        try:
            most = catalogue.most_rows(law)
        except FileNotFoundError as error:
            missing.add(str(error))
            continue
        yield law, most
    if left_out:
        names = ", ".join(sorted(left_out))
        warnings.warn(f"INFOSCOPE_DATA is not set: laws of images and texts ({names}) are left out.", stacklevel=2)
    for reason in sorted(missing):
        warnings.warn(f"Laws of items that are not there are left out: {reason}", stacklevel=2)
