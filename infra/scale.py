"""Measures how time and memory grow: estimates by rows and columns, packs by members, sweeps by cells.

Prints tables in Markdown, which docs/scale.md sums up.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import resource
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
from threadpoolctl import threadpool_limits

from infoscope.checks import one_of
from infoscope.command_line import command, option
from infoscope.data import GaussianPairs
from infoscope.estimators import Training, estimate, knn, make_critic
from infoscope.metrics import pid
from infoscope.tracking import Pack, Profile, Report, Sweep, grid, runs
from infra.drill.processes import Processes, Server

KNN, PID = "k-nearest-neighbour estimate", "Gaussian decomposition (PID)"
METHODS = {
    "k-nearest-neighbour estimate with interval": "ksg",
    "Gaussian copula": "gcmi",
    "logistic regression, cross-fitted": "classifier",
    "critic (SMILE), cross-fitted": "smile-5",
}
SIZES = {"rows": (1_000, 10_000, 100_000, 1_000_000), "columns": (2, 20, 200)}
FIXED = {"rows": {"columns": 5}, "columns": {"rows": 2_000}}
WARM_UP = {"rows": 200, "columns": 2}
MEMBERS = (1, 4, 16, 64)  # critics in a pack
STEPS, COLUMNS = 40, 20  # of critics in a pack: training steps, and columns of x and of y
CELLS = (25, 100, 400)  # of the sweeps; the cost of the first includes what is done once
VALUES = 13  # metric values of a cell
REQUEST = re.compile(r"\"(?:GET|POST|PATCH|PUT|DELETE) \S+ HTTP/")  # a line of the server's log
RUN_SWEEP = "from infra.scale import SWEEP; from infoscope.tracking import main; main(SWEEP)"


def trial(pack: Pack, report: Report) -> None:
    """Reports a short curve and three numbers for each cell, without any work."""
    for cell in pack.cells:
        for step in range(VALUES - 3):
            report.metrics(cell, {"level": cell["number"] + step / 10}, step)
        report.metrics(cell, {"mean": float(cell["number"]), "bias": 0.25, "variance": 0.5})


def cells(profile: Profile) -> list[dict]:
    """One cell per number."""
    return grid(number=list(range(profile.count)))


SWEEP = Sweep("scale", cells, trial, {"laptop": Profile(count=100)}, axes=("count",))


def prepare_estimate(kind: str, rows: int, columns: int) -> Callable[[], Any]:
    """An estimate on normal columns with correlation 0.5 between x and y; for a classifier y is binned."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, columns))
    y = 0.5 * x + 0.75**0.5 * rng.standard_normal(x.shape)
    if kind == KNN:
        return partial(knn.mutual_information, x, y)
    if kind == PID:
        return partial(pid.gaussian_from_arrays, x[:, : columns // 2], x[:, columns // 2 :], y)
    if METHODS[kind] == "classifier":
        y = np.digitize(y[:, 0], np.linspace(-1.5, 1.5, 9))
    return partial(estimate, x, y, method=METHODS[kind], generator=np.random.default_rng(0))


def prepare_pack(members: int) -> Callable[[], Any]:
    """Training steps of critics with the width and batch size of the profile laptop, on the same pairs."""
    critic = make_critic("joint", COLUMNS, COLUMNS, depth=2, width=64, members=members)
    pairs = GaussianPairs(COLUMNS, mutual_information=2.0)
    training = Training(pairs, critic, "smile-5", STEPS, packed=True, learning_rate=5e-4)
    return partial(training.advance, STEPS)


def cost_of(prepare: Callable[..., Callable[[], Any]], warm_up: Mapping, settings: Mapping) -> tuple[float, float]:
    """Processor seconds and added peak memory (MiB) of `prepare(**settings)()`, on one thread of a fresh process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        return fresh.submit(_cost, prepare, dict(warm_up), dict(settings)).result()


def _cost(prepare: Callable[..., Callable[[], Any]], warm_up: dict, settings: dict) -> tuple[float, float]:
    with threadpool_limits(1):
        prepare(**warm_up)()
        work = prepare(**settings)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds = processor_seconds(work)
    return seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024


def processor_seconds(work: Callable[[], object]) -> float:
    """Processor seconds of one call in this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


# Each part yields the title of a table, its columns, and its rows as they are measured -----------------------------
def estimates(name: str, limit: float, folder: Path, processes: Processes) -> Iterator[list[str]]:
    """A row for each estimate: its cost by rows or columns, and the ratio to the smaller size.

    A size is skipped if the estimate would take more than `limit` seconds, should its time grow in proportion.
    """
    yield [f"Estimates by {name} ({', '.join(f'{size:,} {what}' for what, size in FIXED[name].items())})"]
    yield ["estimate", *map("{:,}".format, SIZES[name])]
    for kind in (KNN, *METHODS, PID):
        row, before, seconds = [kind], 0, 0.0
        for size in SIZES[name]:
            if before and seconds * size / before > limit:
                row.append(f"not run: {seconds * size / before:,.0f} s at least")
                continue
            last, settings = seconds, {"kind": kind, name: size} | FIXED[name]
            seconds, mib = cost_of(prepare_estimate, {"kind": kind} | WARM_UP, settings)
            row.append(f"{seconds:,.2f} s{f', x {seconds / last:.1f}' if before else ''}; {mib:,.0f} MiB")
            before = size
        yield row


def packs(limit: float, folder: Path, processes: Processes) -> Iterator[list[str]]:
    """A row for each size of a pack: milliseconds of a step, and of one member's step."""
    yield [f"A pack of critics (joint, {COLUMNS} + {COLUMNS} columns, width 64, batch 64)"]
    yield ["members", "ms a step", "ms a step and member", "MiB"]
    for members in MEMBERS:
        seconds, mib = cost_of(prepare_pack, {"members": 1}, {"members": members})
        step = 1000 * seconds / STEPS
        yield [f"{members}", f"{step:.2f}", f"{step / members:.2f}", f"{mib:,.0f}"]


def run_sweep(processes: Processes, folder: Path, count: int, **variables: str) -> tuple[float, float]:
    """The driver of a sweep of `count` cells: processor seconds, peak memory (MB). RuntimeError when it fails."""
    driver, memory = 0.0, 0.0
    command, log = [sys.executable, "-c", RUN_SWEEP, "--set", f"count={count}"], folder / f"{count}.log"
    process = processes.start(command, folder, log, **variables)
    while process.poll() is None:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            driver, memory = sum(process.cpu_times()[:2]), max(memory, process.memory_info().rss / 1e6)
            process.wait(0.5)
    if process.returncode:
        raise RuntimeError(f"a sweep of {count} cells failed; see {log}.")
    return driver, memory


def stored_cells(limit: float, folder: Path, processes: Processes) -> Iterator[list[str]]:
    """A row for each number of cells: the driver's start when all are recorded, reading them, and file size."""
    yield ["A store of cells that take no time (SQLite; processor seconds)"]
    yield ["cells", "start, all recorded", "`runs()`", "driver (MB)", "store (MB)"]
    store = folder / "mlflow.db"
    os.environ["MLFLOW_TRACKING_URI"] = uri = f"sqlite:///{store}"
    for size in CELLS:
        run_sweep(processes, folder, size, MLFLOW_TRACKING_URI=uri)
        driver, memory = run_sweep(processes, folder, size, MLFLOW_TRACKING_URI=uri)
        if (found := len(runs(SWEEP.name))) != size:  # also reads the store once, so that the next reading is warm
            raise RuntimeError(f"the store has {found} cells after a sweep of {size}.")
        seconds = processor_seconds(lambda: runs(SWEEP.name))
        yield [f"{size:,}", f"{driver:.2f}", f"{seconds:.2f}", f"{memory:,.0f}", f"{store.stat().st_size / 1e6:,.0f}"]


def served_cells(limit: float, folder: Path, processes: Processes) -> Iterator[list[str]]:
    """One row: requests and processor time per cell of the server and the driver, without start and end."""
    none, few, many = CELLS
    yield [f"An MLflow server (SQLite, one worker; {few} and {many} cells, {VALUES} values each)"]
    yield ["requests a cell", "server's processor ms a cell", "ms a request", "driver's processor ms a cell"]
    server = Server(processes, folder / "server")
    server.wait()
    costs = []
    for size in CELLS:
        driver, _ = run_sweep(processes, folder, size, MLFLOW_TRACKING_URI=server.uri)
        seconds = sum(sum(process.cpu_times()[:2]) for process in processes.members(server.process.pid))
        costs.append((len(REQUEST.findall(server.log.read_text(errors="replace"))), seconds, driver))
    new = (many - few) - (few - none)  # cells of the third sweep less those of the second
    requests, seconds, driver = ((last - 2 * second + first) / new for first, second, last in zip(*costs))
    yield [f"{requests:.1f}", f"{1000 * seconds:.1f}", f"{1000 * seconds / requests:.1f}", f"{1000 * driver:.1f}"]


PARTS: Mapping[str, Callable[[float, Path, Processes], Iterator[list[str]]]] = {
    "rows": partial(estimates, "rows"),
    "columns": partial(estimates, "columns"),
    "members": packs,
    "cells": stored_cells,
    "server": served_cells,
}


def main(given: SimpleNamespace) -> None:
    """Measures and prints."""
    for ending in (signal.SIGINT, signal.SIGTERM):  # shells make background jobs ignore the first
        signal.signal(ending, signal.default_int_handler)
    parts = [one_of("--parts", name, PARTS) for name in given.parts.split(",")]
    kept = {name: value for name, value in os.environ.items() if name not in ("MLFLOW_TRACKING_URI", "RAY_ADDRESS")}
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    processes = Processes(kept | token | {"PYTHONPATH": str(Path(__file__).parents[1])})
    with tempfile.TemporaryDirectory(prefix="infoscope-scale-") as folder:
        try:
            for name in parts:
                rows = PARTS[name](given.limit, Path(folder), processes)
                (title,), columns = next(rows), next(rows)
                print(f"\n**{title}**\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
                for row in rows:
                    print(f"| {' | '.join(row)} |", flush=True)
        finally:
            processes.end_all()


COMMAND = command("scale", main, [
    option("parts", default=",".join(PARTS), help=f"(default: {','.join(PARTS)})"),
    option("limit", type=float, default=120, help="seconds one estimate may take (default: 120)"),
], __doc__)  # fmt: skip
