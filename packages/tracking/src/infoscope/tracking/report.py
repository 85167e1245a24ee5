"""The report of a trial, which writes metrics, tables and models to the folders of the
cells.
"""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pyarrow.lib import ArrowException

from infoscope.errors import InvalidInput, OutOfRange, WrongType
from infoscope.tracking.cell_folder import CellFolder, storable
from infoscope.tracking.checkpoint import Checkpoint
from infoscope.tracking.checks import (
    NAME_LENGTH,
    first_line,
    metric_name,
    metric_step,
    metric_value,
    plain_name,
    require_free_name,
    require_text,
    shown,
    storable_text,
    without_password,
)
from infoscope.tracking.sweep import AnyCell, Cell, Report, canonical, plain
from infoscope.tracking.tags import CURVES, FRACTION, METRIC, PROGRESS, SYSTEM
from infoscope.tracking.weights import write_model

if TYPE_CHECKING:
    import torch

# between two checkpoints
CHECKPOINT_SECONDS = float(os.environ.get("INFOSCOPE_CHECKPOINT_SECONDS", 20))
CHECKPOINT_SHARE = 0.02  # of the time of a trial, that its checkpoints may take
SEND_SECONDS = 1.0  # between two messages about progress to the driver
SEARCH_STEP = 0.01  # fraction of a trial between two messages in a search
ROUNDING = 1e-9  # tolerance for a fraction that a trial has summed up
# Tune's name of the metric of a search; its own name could be one of Tune's
JUDGED = "judged"
_ADVICE = {  # on metrics whose names begin like those that are recorded otherwise
    CURVES: "report a point of a curve by report.curve(cell, {{{!r}: value}}, step)",
    SYSTEM: "this prefix is MLflow's, for the load of the machine",
    PROGRESS: "report.progress records the progress of a search",
}


class RecordedReport(Report):
    """Writes the reports of a pack to the folders of its cells, and reports progress to
    the driver.

    cells, folders: by key. send: passes a dict to the driver. metric: of the search.
    after: called after every report, with the folders.
    """

    def __init__(
        self,
        cells: Mapping[str, AnyCell],
        folders: Mapping[str, CellFolder],
        checkpoint: Checkpoint,
        send: Callable[[dict[str, Any]], None],
        metric: str | None = None,
        after: Callable[[], None] = lambda: None,
    ):
        self._folders = folders
        self._checkpoint = checkpoint
        self._send = send
        self._metric = metric
        self._after = after
        self._keys = {canonical(cell): key for key, cell in cells.items()}
        self._fields = {key: plain(cell) for key, cell in cells.items()}
        # faster than by value
        self._keys_by_id = {id(cell): key for key, cell in cells.items()}
        self._sent_at = time.monotonic()
        self._save_from = time.monotonic() + CHECKPOINT_SECONDS
        self.errors: dict[str, str] = {}
        self.judged: dict[str, float] = {}

    def _folder(self, cell: AnyCell) -> CellFolder:
        if not isinstance(cell, Cell | Mapping):
            raise WrongType(f"the cell must be one of pack.cells, got {shown(cell)}")
        key = self._keys_by_id.get(id(cell)) or self._keys.get(canonical(cell))
        if key is None:
            raise InvalidInput(f"the cell must be one of this pack, got {shown(cell)}")
        return self._folders[key]

    def _checked(
        self, cell: AnyCell, values: Mapping[str, float]
    ) -> tuple[CellFolder, dict[str, float]]:
        """The folder of a cell, and its metrics by name. Raises InvalidInput for names
        and values that MLflow would reject.
        """
        folder = self._folder(cell)
        if not isinstance(values, Mapping):
            raise WrongType(
                f"values must be a dict from names to numbers, got {shown(values)}"
            )
        fields = self._fields[folder.key]
        checked = {}
        for name, value in values.items():
            require_free_name("the name of a metric", metric_name(name), fields)
            for prefix, advice in _ADVICE.items():
                if name.startswith(prefix):
                    use = advice.format(name.removeprefix(prefix))
                    raise InvalidInput(
                        f"the name of a metric must not begin with {prefix!r}, got "
                        f"{name!r}; {use}"
                    )
            checked[name] = metric_value(name, value)
        return folder, checked

    def metrics(
        self, cell: AnyCell, values: Mapping[str, float], step: int = 0
    ) -> None:
        folder, checked = self._checked(cell, values)
        folder.metrics(checked, metric_step(step))
        self._after()

    def curve(self, cell: AnyCell, values: Mapping[str, float], step: int) -> None:
        folder, checked = self._checked(cell, values)
        points = {metric_name(CURVES + name): value for name, value in checked.items()}
        folder.metrics(points, metric_step(step))
        self._after()

    def constants(self, cell: AnyCell, values: Mapping[str, float]) -> None:
        folder, checked = self._checked(cell, values)
        constants = {name: storable(value) for name, value in checked.items()}
        folder.append({"constants": constants})

    def table(
        self, cell: AnyCell, name: str, columns: Mapping[str, np.ndarray]
    ) -> None:
        file = f"{plain_name('the name of a table', name)}.parquet"
        with self._folder(cell).file(file) as path:
            try:
                pd.DataFrame(columns).to_parquet(path, index=False)
            except (
                ValueError,
                TypeError,
                ArrowException,
            ) as error:  # surrogates, mixed types, unequal lengths
                raise ValueError(
                    f"table {name} cannot be stored: {first_line(error)}"
                ) from error

    def arrays(
        self, cell: AnyCell, name: str, arrays: Mapping[str, np.ndarray]
    ) -> None:
        plain_name("the name of arrays", name)
        for key, array in arrays.items():
            require_text(f"the name of an array of {name}", key, NAME_LENGTH)
            if key in ("file", "allow_pickle") or key.endswith(".npy"):
                raise ValueError(
                    f"the name of an array of {name} must not be {key!r}, which NumPy "
                    "uses itself"
                )
            if np.asarray(array).dtype.hasobject:
                raise TypeError(
                    f"array {key!r} of {name} must hold numbers or fixed-width "
                    "strings, not Python objects"
                )
        with self._folder(cell).file(f"{name}.npz") as path, open(path, "wb") as file:
            np.savez_compressed(file, **arrays)

    def model(
        self,
        cells: Sequence[AnyCell],
        name: str,
        module: torch.nn.Module,
        example: Mapping[str, np.ndarray],
    ) -> None:
        folders = [self._folder(cell) for cell in cells]
        owner = folders[0]
        owner.require_current()
        write_model(module, example, owner.model(name))
        for folder in folders:
            folder.append({"model": name, "owner": owner.key})

    def progress(self, fraction: float, **metrics: float) -> None:
        value = metric_value("fraction", fraction)
        if not -ROUNDING <= value <= 1 + ROUNDING:
            raise OutOfRange(
                "the fraction done must be a number from 0 to 1, got "
                f"{shown(fraction)}."
            )
        fraction = min(max(value, 0.0), 1.0)
        if self._metric is not None:
            self._judge(fraction, self._metric, metrics)
        elif time.monotonic() - self._sent_at > SEND_SECONDS:
            self._sent_at = time.monotonic()
            self._send({"fraction": fraction, "cells": len(self._folders)})
        self._after()

    def _judge(
        self, fraction: float, metric: str, reported: Mapping[str, float]
    ) -> None:
        """Records the metric of a search and sends it to the scheduler, which may end
        the trial.
        """
        if metric not in reported:
            raise InvalidInput(
                "report.progress must have the metric of the search, "
                f"report.progress(fraction, **{{{metric!r}: "
                f"value}}), got {sorted(reported)}"
            )
        value = metric_value(metric, reported[metric])
        advance = fraction - self.judged.get("fraction", -1.0)
        if fraction < 1 and advance < SEARCH_STEP:
            return
        self.judged = {"fraction": fraction, JUDGED: value}
        metrics = {FRACTION: fraction, METRIC.format(metric): value}
        for folder in self._folders.values():
            folder.metrics(metrics, round(1000 * fraction))
        if fraction < 1:  # a finished trial must not be stopped
            self._send(self.judged)

    @contextlib.contextmanager
    def member(self, cell: AnyCell) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.fail(self._folder(cell), error)

    def fail(self, folder: CellFolder, error: Exception) -> None:
        """Notes the error that has ended a cell, and writes its traceback."""
        self.errors[folder.key] = storable_text(
            without_password(f"{type(error).__name__}: {error}")
        )
        with folder.file("traceback.txt") as path:
            path.write_text(storable_text(without_password(traceback.format_exc())))

    def save(self, state: Callable[[], Mapping[str, Any]]) -> None:
        began = time.monotonic()
        if began < self._save_from:
            return
        reported = {key: folder.packed() for key, folder in self._folders.items()}
        self._checkpoint.save({"state": state(), "errors": self.errors}, reported)
        now = time.monotonic()
        pause = max(CHECKPOINT_SECONDS, (now - began) / CHECKPOINT_SHARE)
        self._save_from = now + pause

    def restore(self) -> Mapping[str, Any] | None:
        restored = self._checkpoint.restore()
        if restored is None:
            return None
        state, reported = restored
        for key, folder in self._folders.items():
            folder.unpack(reported[key])
        self.errors |= state["errors"]  # failed members stay failed
        return state["state"]
