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
import sqlite3
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
from mlflow.tracking import MlflowClient
from threadpoolctl import threadpool_limits

from infoscope.checks import one_of
from infoscope.command_line import command, option
from infoscope.data import GaussianPairs
from infoscope.estimators import Training, estimate, knn, make_critic
from infoscope.metrics import pid
from infoscope.tracking import Pack, Profile, Report, Sweep, grid, runs
from infoscope.tracking.tags import CELL, KEY
from infra.drill.places import Processes, Server

ALONE, DECOMPOSITION = "neighbours, the estimate alone", "Gaussian decomposition (PID)"
METHODS = {
    "neighbours, with interval": "ksg",
    "Gaussian copula": "gcmi",
    "logistic regression, cross-fitted": "classifier",
    "critic (SMILE), cross-fitted": "smile-5",
}
STEPS, SIDE = 40, 20  # of critics in a pack: steps, and columns a side
SIZES = {"rows": (1_000, 10_000, 100_000, 1_000_000), "columns": (2, 20, 200)}
FIXED = {"rows": {"columns": 5}, "columns": {"rows": 2_000}}
WARM_UP = {"rows": 200, "columns": 2}
MEMBERS = (1, 4, 16, 64)  # critics in a pack
STORED, SWEPT = (1_000, 10_000, 100_000), (100, 400)
FIRST = 25  # cells that are really run, before their runs are copied
PAGE, LAST_PAGE = 100, 10  # runs on a page of the UI; the last page that is measured
REQUEST = re.compile(r"\"(?:GET|POST|PATCH|PUT|DELETE) \S+ HTTP/")
VALUES = 13  # of a cell
RUN_SWEEP = "from infra.scale import SWEEP; from infoscope.tracking import main; main(SWEEP)"


def trial(pack: Pack, report: Report) -> None:
    """A short curve and a few numbers for each cell, which take no time."""
    for cell in pack.cells:
        for step in range(VALUES - 3):
            report.metrics(cell, {"level": cell["number"] + step / 10}, step)
        report.metrics(cell, {"mean": float(cell["number"]), "bias": 0.25, "variance": 0.5})


def cells(profile: Profile) -> list[dict]:
    """One cell per number."""
    return grid(number=list(range(profile.count)))


SWEEP = Sweep("scale", cells, trial, {"laptop": Profile(count=100)}, axes=("count",))


def estimates(kind: str, rows: int, columns: int) -> Callable[[], Any]:
    """One estimate between normal columns, those of y correlated by .5 with those of x; classes are cells of y."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, columns))
    y = 0.5 * x + 0.75**0.5 * rng.standard_normal(x.shape)
    if kind == ALONE:
        return partial(knn.mutual_information, x, y)
    if kind == DECOMPOSITION:
        return partial(pid.gaussian_from_arrays, x[:, : columns // 2], x[:, columns // 2 :], y)
    if METHODS[kind] == "classifier":
        y = np.digitize(y[:, 0], np.linspace(-1.5, 1.5, 9))
    return partial(estimate, x, y, method=METHODS[kind], generator=np.random.default_rng(0))


def packs(members: int) -> Callable[[], Any]:
    """Steps of critics of the width and batch of the profile laptop, which see the same pairs."""
    critic = make_critic("joint", SIDE, SIDE, depth=2, width=64, members=members)
    pairs = GaussianPairs(SIDE, mutual_information=2.0)
    training = Training(pairs, critic, "smile-5", STEPS, packed=True, learning_rate=5e-4)
    return partial(training.advance, STEPS)


def cost_of(prepare: Callable[..., Callable[[], Any]], warm_up: Mapping, settings: Mapping) -> tuple[float, float]:
    """Of `prepare(**settings)()` on one thread of a fresh process, after a warm-up: processor seconds, and how far the
    peak of memory rose, MiB.
    """
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
    """Of one call in this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


# Parts: each yields the title of a table, its columns, and its rows, measured when they are taken ---------------------
def grown(name: str, limit: float, folder: Path, processes: Processes) -> Iterator[list[str]]:
    """A row for each estimate: its cost by rows or by columns with its ratio to the size before. A size is not run
    that takes more than `limit` seconds if the time grows in proportion to it.
    """
    yield [f"Estimates by {name} ({', '.join(f'{size:,} {what}' for what, size in FIXED[name].items())})"]
    yield ["estimate", *map("{:,}".format, SIZES[name])]
    for kind in (ALONE, *METHODS, DECOMPOSITION):
        row, before, seconds = [kind], 0, 0.0
        for size in SIZES[name]:
            if before and seconds * size / before > limit:
                row.append(f"not run: {seconds * size / before:,.0f} s at least")
                continue
            last, settings = seconds, {"kind": kind, name: size} | FIXED[name]
            seconds, mib = cost_of(estimates, {"kind": kind} | WARM_UP, settings)
            row.append(f"{seconds:,.2f} s{f', x {seconds / last:.1f}' if before else ''}; {mib:,.0f} MiB")
            before = size
        yield row


def in_packs(limit: float, folder: Path, processes: Processes) -> Iterator[list[str]]:
    """A row for each size of a pack: milliseconds of a step, and of a member's."""
    yield [f"A pack of critics (joint, {SIDE} + {SIDE} columns, width 64, batch 64)"]
    yield ["members", "ms a step", "ms a step and member", "MiB"]
    for members in MEMBERS:
        seconds, mib = cost_of(packs, {"members": 1}, {"members": members})
        step = 1000 * seconds / STEPS
        yield [f"{members}", f"{step:.2f}", f"{step / members:.2f}", f"{mib:,.0f}"]


def swept(processes: Processes, folder: Path, count: int, **places: str) -> tuple[float, float]:
    """Of the driver of a sweep of `count` cells: processor seconds, peak of memory (MB). RuntimeError when it fails."""
    driver, memory = 0.0, 0.0
    command = [sys.executable, "-c", RUN_SWEEP, "--set", f"count={count}"]
    process = processes.start(command, folder, folder / f"{count}.log", **places)
    while process.poll() is None:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            driver, memory = sum(process.cpu_times()[:2]), max(memory, process.memory_info().rss / 1e6)
            process.wait(0.5)
    if process.returncode:
        raise RuntimeError(f"a sweep of {count} cells failed; {folder / f'{count}.log'} says why.")
    return driver, memory


def plan(count: int) -> dict[str, dict]:
    """Key -> cell of a sweep of `count` cells."""
    return SWEEP.plan(SWEEP.profile("laptop", {"count": str(count)})[1])


def fill(store: Path, count: int) -> None:
    """Fills an SQLite store up to `count` cells with copies of its first ones."""
    keys = list(plan(count))
    with contextlib.closing(sqlite3.connect(store, timeout=60)) as base, base:
        run_of = {key: run for run, key in base.execute("SELECT run_uuid, value FROM tags WHERE key = ?", (KEY,))}
        base.execute("CREATE TEMP TABLE copies (original TEXT, copied TEXT, number INTEGER, cell_key TEXT)")
        missing = [number for number, key in enumerate(keys) if key not in run_of]
        rows = [(run_of[keys[number % FIRST]], f"{number:032x}", number, keys[number]) for number in missing]
        base.executemany("INSERT INTO copies VALUES (?, ?, ?, ?)", rows)
        base.execute("CREATE INDEX temp.by_original ON copies (original)")
        cell = "json_object('number', number)"
        own = {
            "tags": f"CASE source.key WHEN '{KEY}' THEN cell_key WHEN '{CELL}' THEN {cell} ELSE source.value END",
            "params": "CASE source.key WHEN 'number' THEN number ELSE source.value END",
        }
        for table in ("runs", "params", "tags", "metrics", "latest_metrics"):
            names = [row[1] for row in base.execute(f"PRAGMA table_info({table})")]
            changed = {"run_uuid": "copied"} | ({"value": own[table]} if table in own else {})
            taken = ", ".join(changed.get(name, f"source.{name}") for name in names)
            base.execute(
                f"INSERT INTO {table} ({', '.join(names)}) SELECT {taken} FROM {table} AS source "
                "JOIN copies ON source.run_uuid = original"
            )


def page_seconds(client: MlflowClient, experiment: str, page: int, order: str) -> float:
    """Wall seconds of one page of runs from a server, without those before it."""
    token, seconds = None, 0.0
    for _ in range(page):
        began = time.monotonic()
        token = client.search_runs([experiment], max_results=PAGE, order_by=[order], page_token=token).token
        seconds = time.monotonic() - began
    return seconds


def in_store(limit: float, folder: Path, processes: Processes) -> Iterator[list[str]]:
    """A row for each number of cells: planning, starting, reading, UI pages (wall seconds), and file size. What is
    read or shown is measured the second time, when files are in memory.
    """
    yield ["A store of cells that take no time (SQLite; processor seconds, wall seconds of the UI)"]
    shown = ["UI, first page", "UI, by a metric", f"UI, page {LAST_PAGE}"]
    yield ["cells", "plan", "start, all recorded", "`runs()`", *shown, "driver (MB)", "store (MB)"]
    server = Server(processes, folder / "server")
    server.wait()
    os.environ["MLFLOW_TRACKING_URI"] = uri = f"sqlite:///{server.store}"
    swept(processes, folder, FIRST, MLFLOW_TRACKING_URI=uri)
    client = MlflowClient(server.uri)
    experiment = client.get_experiment_by_name(SWEEP.name).experiment_id
    for size in STORED:
        fill(server.store, size)
        driver, memory = swept(processes, folder, size, MLFLOW_TRACKING_URI=uri)
        if (found := len(runs(SWEEP.name))) != size:
            raise RuntimeError(f"the store has {found} cells where it was given {size}.")
        seconds = processor_seconds(lambda: runs(SWEEP.name))
        asked = ((1, "start_time DESC"), (1, "metrics.mean DESC"), (LAST_PAGE, "start_time DESC"))
        pages = [[page_seconds(client, experiment, *page) for _ in range(2)][1] for page in asked]
        planned = processor_seconds(lambda size=size: SWEEP.packs(plan(size), "cpu"))
        row = [f"{value:.2f}" for value in (planned, driver, seconds, *pages)]
        yield [f"{size:,}", *row, f"{memory:,.0f}", f"{server.store.stat().st_size / 1e6:,.0f}"]


def on_server(limit: float, folder: Path, processes: Processes) -> Iterator[list[str]]:
    """One row: a cell's requests and processor time, the server's and the driver's, without starting and ending."""
    yield [f"An MLflow server (SQLite, one worker; {SWEPT[0]} and {SWEPT[1]} cells, {VALUES} values each)"]
    yield ["requests a cell", "server's processor ms a cell", "ms a request", "driver's processor ms a cell"]
    server = Server(processes, folder / "asked")
    server.wait()
    costs = []
    for size in (FIRST, *SWEPT):  # the first includes what is done once
        driver, _ = swept(processes, folder, size, MLFLOW_TRACKING_URI=server.uri)
        seconds = sum(sum(process.cpu_times()[:2]) for process in processes.members(server.process.pid))
        costs.append((len(REQUEST.findall(server.log.read_text(errors="replace"))), seconds, driver))
    new = (SWEPT[1] - SWEPT[0]) - (SWEPT[0] - FIRST)  # cells of the second sweep less those of the first
    requests, seconds, driver = ((many - 2 * few + none) / new for none, few, many in zip(*costs))
    yield [f"{requests:.1f}", f"{1000 * seconds:.1f}", f"{1000 * seconds / requests:.1f}", f"{1000 * driver:.1f}"]


PARTS: Mapping[str, Callable[[float, Path, Processes], Iterator[list[str]]]] = {
    "rows": partial(grown, "rows"),
    "columns": partial(grown, "columns"),
    "members": in_packs,
    "cells": in_store,
    "server": on_server,
}


def main(given: SimpleNamespace) -> None:
    """Measures and prints."""
    for ending in (signal.SIGINT, signal.SIGTERM):  # shells have the former ignored by what they run in the background
        signal.signal(ending, signal.default_int_handler)
    asked = [one_of("--parts", name, PARTS) for name in given.parts.split(",")]
    kept = {name: value for name, value in os.environ.items() if name not in ("MLFLOW_TRACKING_URI", "RAY_ADDRESS")}
    own = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    processes = Processes(kept | own)
    with tempfile.TemporaryDirectory(prefix="infoscope-scale-") as folder:
        try:
            for name in asked:
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
