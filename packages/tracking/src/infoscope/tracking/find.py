"""A search over the cells of all sweeps."""

from __future__ import annotations

import pandas as pd
from mlflow.utils.search_utils import SearchUtils

from infoscope.tracking.checks import COLUMNS
from infoscope.tracking.store import Store, by_key, frame_of, is_finished

_UNITS = {"_bits2": "bits²", "_bits": "bits", "_nats": "nats", "seconds": "s", "_mib": "MiB", "_megabytes": "MB"}


def find(where: str = "", finished: bool = True) -> pd.DataFrame:
    """The cells of all sweeps that match an MLflow filter: one row each with sweep, run, fields and metrics.

    where: such as "metrics.`unibound` > 0.5 and params.model = 'beta-vae'". finished: only completed cells.
    `attrs["units"]`: column -> unit in its name; other information is in nats. Raises StoreUnreachable, and MLflow's
    exceptions for an invalid filter.
    """
    frames = []
    for name in Store.names():
        store = Store.open(name)
        # an earlier run of a cell may match where the one that counts does not
        matching = {run.info.run_id: run for run in store.cells(where)}
        cells = by_key(store.cells() if where and matching else matching.values()).values()
        if chosen := [run for run in cells if run.info.run_id in matching and (is_finished(run) or not finished)]:
            frames.append(frame_of(chosen).assign(sweep=name))
    found = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["sweep", *COLUMNS])
    found = found[["sweep", *(column for column in found if column != "sweep")]]
    found.attrs["units"] = {column: known for column in found if (known := unit(column))}
    return found


def unit(name: str) -> str:
    """The unit in the name of a column, also of an error or limit; empty if there is none."""
    stem = name.removesuffix("_error").removesuffix("_low").removesuffix("_high")
    return next((unit for ending, unit in _UNITS.items() if stem.endswith(ending)), "")


def fields_in(where: str) -> list[str]:
    """The metrics and fields in a filter, in its order."""
    conditions = SearchUtils.parse_search_filter(where)
    return list(dict.fromkeys(one["key"] for one in conditions if one["type"] in ("metric", "parameter")))
