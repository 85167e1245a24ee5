"""Measures how time and memory grow: estimates by rows and columns, packs by members, sweeps by cells and by nodes of
Ray; prints the tables of docs/scale.md in Markdown.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
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
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import psutil
from threadpoolctl import threadpool_limits

from infoscope.checks import one_of
from infoscope.command_line import command, option
from infoscope.data import GaussianPairs
from infoscope.estimators import Training, estimate, knn, make_critic
from infoscope.metrics import pid
from infoscope.tracking import Pack, Profile, Report, Sweep, grid, runs
from infoscope.tracking.store.client import environment as variables
from infoscope.tracking.tags import CELL, KEY
from infra.drill.places import Nodes, Processes, Server

ALONE, DECOMPOSITION = "neighbours, the estimate alone", "Gaussian decomposition (PID)"
METHODS = {
    "neighbours, with interval": "ksg",
    "Gaussian copula": "gcmi",
    "logistic regression, cross-fitted": "classifier",
    "critic (SMILE), cross-fitted": "smile-5",
}
ESTIMATES = (ALONE, *METHODS, DECOMPOSITION)
STEPS, SIDE = 40, 20  # of critics in a pack: steps, and columns a side
GROWTH = {"rows": (1_000, 10_000, 100_000, 1_000_000), "columns": (2, 20, 200)}
FIXED = {"rows": {"columns": 5}, "columns": {"rows": 2_000}}
WARM_UP = {"rows": 200, "columns": 2}
MEMBERS = (1, 4, 16, 64)  # critics in a pack
STORED, SWEPT, NODES = (1_000, 10_000, 100_000), (100, 400), (1, 2, 4)
FIRST = 25  # cells that are really run, before their runs are copied
PAGE, LAST_PAGE = 100, 10  # runs on a page of the UI; the last page that is measured
API = "/ajax-api/2.0/mlflow"
REQUEST = re.compile(r"\"(?:GET|POST|PATCH|PUT|DELETE) \S+ HTTP/")
BAD_INPUT, INTERRUPTED = 2, 130


NAME, PROFILE, VALUES = "scale", "laptop", 13


def cells(profile: Profile) -> list[dict]:
    """One cell per number."""
    return grid(number=list(range(profile.count)))


def trial(pack: Pack, report: Report) -> None:
    """A short curve and a few numbers for each cell, which take no time."""
    for cell in pack.cells:
        for step in range(VALUES - 3):
            report.metrics(cell, {"level": cell["number"] + step / 10}, step)
        report.metrics(cell, {"mean": float(cell["number"]), "bias": 0.25, "variance": 0.5})


SWEEP = Sweep(NAME, cells, trial, {PROFILE: Profile(count=100)}, axes=("count",))
RUN_SWEEP = "from infra.scale import SWEEP; from infoscope.tracking import main; main(SWEEP)"


def estimates(kind: str, rows: int, columns: int) -> Callable[[], Any]:
    """One estimate between normal columns, those of y correlated by .5 with those of x; classes are cells of y."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, columns))
    y = 0.5 * x + 0.75**0.5 * rng.standard_normal(x.shape)
    if kind == ALONE:
        return functools.partial(knn.mutual_information, x, y)
    if kind == DECOMPOSITION:
        return functools.partial(pid.gaussian_from_arrays, x[:, : columns // 2], x[:, columns // 2 :], y)
    if METHODS[kind] == "classifier":
        y = np.digitize(y[:, 0], np.linspace(-1.5, 1.5, 9))
    return functools.partial(estimate, x, y, method=METHODS[kind], generator=np.random.default_rng(0))


def packs(members: int) -> Callable[[], Any]:
    """Steps of critics of the width and batch of the profile laptop, which see the same pairs."""
    critic = make_critic("joint", SIDE, SIDE, depth=2, width=64, members=members)
    pairs = GaussianPairs(SIDE, mutual_information=2.0)
    training = Training(pairs, critic, "smile-5", STEPS, packed=True, learning_rate=5e-4)
    return functools.partial(training.advance, STEPS)


class Cost(NamedTuple):
    """Of one piece of work on one thread: processor seconds, and how far the peak of memory rose, MiB."""

    seconds: float
    mib: float


def cost_of(prepare: Callable[..., Callable[[], Any]], warm_up: Mapping, settings: Mapping) -> Cost:
    """Cost of `prepare(**settings)()` in a fresh process after a warm-up. Raises RuntimeError when that fails."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(send, prepare, dict(warm_up), dict(settings)))
    process.start()
    send.close()
    try:
        return receive.recv()
    except EOFError:
        raise RuntimeError(f"{prepare.__name__} with {dict(settings)} failed; see above.") from None
    finally:
        process.join()


def _child(send: Any, prepare: Callable[..., Callable[[], Any]], warm_up: dict, settings: dict) -> None:
    with threadpool_limits(1):
        prepare(**warm_up)()
        work = prepare(**settings)
        peak, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        work()
        seconds = time.process_time() - began
    send.send(Cost(seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024))


def grown(name: str, limit: float) -> Iterator[list[str]]:
    """A row for each estimate: its cost by rows or by columns with its ratio to the size before. A size is not run
    where a power law through the last two extends to more than `limit` seconds.
    """
    for kind in ESTIMATES:
        row, before = [kind], []
        for size in GROWTH[name]:
            expected = forecast(before, size)
            if expected > limit:
                row.append(f"not run: {expected:,.0f} s to be expected")
                continue
            cost = cost_of(estimates, {"kind": kind} | WARM_UP, {"kind": kind, name: size} | FIXED[name])
            ratio = f", x {cost.seconds / before[-1][1]:.1f}" if before else ""
            row.append(f"{cost.seconds:,.2f} s{ratio}; {cost.mib:,.0f} MiB")
            before.append((size, cost.seconds))
        yield row


def forecast(before: Sequence[tuple[int, float]], size: int) -> float:
    """Seconds of a size, by a power law through the last two measured ones, at least in proportion to it."""
    if not before:
        return -math.inf
    (last, seconds), power = before[-1], 1.0
    if len(before) > 1:
        first, of_first = before[-2]
        power = max(1.0, math.log(seconds / of_first) / math.log(last / first))
    return seconds * (size / last) ** power


def in_packs() -> Iterator[list[str]]:
    """A row for each size of a pack: milliseconds of a step, and of a member's."""
    for members in MEMBERS:
        cost = cost_of(packs, {"members": 1}, {"members": members})
        step = 1000 * cost.seconds / STEPS
        yield [f"{members}", f"{step:.2f}", f"{step / members:.2f}", f"{cost.mib:,.0f}"]


class Used(NamedTuple):
    """Of a sweep's driver: its processor seconds, wall seconds, and peak of memory, MB."""

    driver: float
    wall: float
    memory: float


def environment(**places: str) -> dict[str, str]:
    """This process's variables, but for those that name a store or a cluster, which `places` may."""
    left_out = ("MLFLOW_TRACKING_URI", "RAY_ADDRESS")
    own = {name: value for name, value in os.environ.items() if name not in left_out}
    return own | {"PYTHONPATH": str(Path(__file__).parents[1])} | places


def swept(folder: Path, count: int, **places: str) -> Used:
    """What a sweep of `count` cells costs that is started in a folder. Raises RuntimeError when it fails."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", RUN_SWEEP, "--profile", PROFILE, "--set", f"count={count}"]
    began, driver, memory = time.monotonic(), 0.0, 0.0
    process = psutil.Popen(command, env=environment(**places), cwd=folder, stdout=sys.stderr)
    while process.poll() is None:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            driver, memory = sum(process.cpu_times()[:2]), max(memory, process.memory_info().rss / 1e6)
            process.wait(0.5)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with status {process.returncode}.")
    return Used(driver, time.monotonic() - began, memory)


def plan(count: int) -> dict[str, dict]:
    """Key -> cell of a sweep of `count` cells."""
    return SWEEP.plan(SWEEP.profiles[PROFILE].override({"count": str(count)}))


def processor_seconds(work: Callable[[], object]) -> float:
    """Of one call in this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


def fill(store: Path, count: int) -> None:
    """Fills an SQLite store up to `count` cells with copies of its first ones."""
    keys = list(plan(count))
    with contextlib.closing(sqlite3.connect(store, timeout=60)) as base, base:
        run_of = {key: run for run, key in base.execute("SELECT run_uuid, value FROM tags WHERE key = ?", (KEY,))}
        missing = [number for number, key in enumerate(keys) if key not in run_of]
        base.execute("CREATE TEMP TABLE copies (original TEXT, copied TEXT, number INTEGER, cell_key TEXT)")
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


def page_seconds(address: str, page: int, order: str) -> float:
    """Wall seconds of one page of runs from a server, without those before it."""
    name = urllib.parse.urlencode({"experiment_name": NAME})
    with urllib.request.urlopen(f"{address}{API}/experiments/get-by-name?{name}") as answer:
        experiment = json.load(answer)["experiment"]["experiment_id"]
    query, seconds = {"experiment_ids": [experiment], "max_results": PAGE, "order_by": [order]}, math.nan
    headers = {"Content-Type": "application/json"}
    for _ in range(page):
        request = urllib.request.Request(f"{address}{API}/runs/search", json.dumps(query).encode(), headers)
        began = time.monotonic()
        with urllib.request.urlopen(request, timeout=600) as answer:
            query["page_token"] = json.load(answer).get("next_page_token")
        seconds = time.monotonic() - began
    return seconds


def in_store(folder: Path, processes: Processes) -> Iterator[list[str]]:
    """A row for each number of cells: planning, starting, reading, UI pages (wall seconds), and file size. What is
    read or shown is measured the second time, when files are in memory.
    """
    server = Server(processes, folder / "server")
    server.wait()
    store = folder / "server" / "mlflow.db"
    uri = f"sqlite:///{store}"
    swept(folder, FIRST, MLFLOW_TRACKING_URI=uri)
    for size in STORED:
        fill(store, size)
        again = swept(folder, size, MLFLOW_TRACKING_URI=uri)
        with variables({"MLFLOW_TRACKING_URI": uri}):
            if (found := len(runs(NAME, PROFILE))) != size:
                raise RuntimeError(f"the store has {found} cells where it was given {size}.")
            seconds = processor_seconds(lambda: runs(NAME, PROFILE))
        shown = ((1, "start_time DESC"), (1, "metrics.mean DESC"), (LAST_PAGE, "start_time DESC"))
        pages = [[page_seconds(server.uri, *page) for _ in range(2)][1] for page in shown]
        planned = processor_seconds(lambda size=size: SWEEP.packs(plan(size), "cpu"))
        row = [f"{value:.2f}" for value in (planned, again.driver, seconds, *pages)]
        yield [f"{size:,}", *row, f"{again.memory:,.0f}", f"{store.stat().st_size / 1e6:,.0f}"]


def on_server(folder: Path, processes: Processes) -> Iterator[list[str]]:
    """One row: the requests and processor time of a cell at an MLflow server, without those of starting and ending a
    sweep.
    """
    server = Server(processes, folder / "asked")
    server.wait()
    costs = []
    for size in (FIRST, *SWEPT):  # the first includes what is done once
        swept(folder, size, MLFLOW_TRACKING_URI=server.uri)
        seconds = sum(sum(process.cpu_times()[:2]) for process in processes.members(server.process.pid))
        costs.append((len(REQUEST.findall(server.log.read_text(errors="replace"))), seconds))
    new = (SWEPT[1] - SWEPT[0]) - (SWEPT[0] - FIRST)  # cells of the second sweep less those of the first
    requests, seconds = ((many - 2 * few + none) / new for none, few, many in zip(*costs))
    yield [f"{requests:.1f}", f"{1000 * seconds:.1f}", f"{1000 * seconds / requests:.1f}"]


def on_nodes(folder: Path, processes: Processes) -> Iterator[list[str]]:
    """A row for each number of nodes: what a cell costs beyond starting and ending, and the driver's part of it."""
    few, many = SWEPT
    for count in NODES:
        place = folder / f"nodes-{count}"
        place.mkdir()
        nodes = Nodes(processes, place, count)
        server = Server(processes, place / "server")  # nodes cannot share SQLite
        server.wait()
        token = {name: processes.environment[name] for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")}
        places = token | {"RAY_ADDRESS": nodes.address, "MLFLOW_TRACKING_URI": server.uri}
        first, last = (swept(place / f"{size}", size, **places) for size in SWEPT)
        more = (many - few) - few  # cells of the second sweep, which finds those of the first, less those of the first
        driver, wall = (last.driver - first.driver) / more, (last.wall - first.wall) / more
        yield [f"{count}", f"{1000 * wall:.0f}", f"{1000 * driver:.1f}", f"{100 * driver / wall:.0f} %"]
        processes.end_all()


def parts(limit: float, folder: Path, processes: Processes) -> dict[str, tuple[str, Sequence[str], Iterator]]:
    """Name -> title, columns and rows of a table; a row is measured when it is taken."""
    growth = {
        name: (f"Estimates by {name} ({fixed:,} {what})", ["estimate", *map("{:,}".format, GROWTH[name])],
               grown(name, limit))
        for name in GROWTH for what, fixed in FIXED[name].items()
    }  # fmt: skip
    return growth | {
        "members": (
            f"A pack of critics (joint, {SIDE} + {SIDE} columns, width 64, batch 64)",
            ["members", "ms a step", "ms a step and member", "MiB"],
            in_packs(),
        ),
        "cells": (
            "A store of cells that take no time (SQLite; processor seconds, wall seconds of the UI)",
            ["cells", "plan", "start, all recorded", "`runs()`", "UI, first page", "UI, by a metric",
             f"UI, page {LAST_PAGE}", "driver (MB)", "store (MB)"],
            in_store(folder, processes),
        ),
        "server": (
            f"An MLflow server (SQLite, one worker; {SWEPT[0]} and {SWEPT[1]} cells, {VALUES} values each)",
            ["requests a cell", "server's processor ms a cell", "ms a request"],
            on_server(folder, processes),
        ),
        "nodes": (
            f"Ray nodes of one core each, an MLflow server beside them ({SWEPT[0]} and {SWEPT[1]} cells, a trial each)",
            ["nodes", "wall ms a cell", "driver ms a cell", "driver's share"],
            on_nodes(folder, processes),
        ),
    }  # fmt: skip


def main(given: SimpleNamespace) -> None:
    """Measures and prints."""
    for ending in (signal.SIGINT, signal.SIGTERM):  # shells have the former ignored by what they run in the background
        signal.signal(ending, signal.default_int_handler)
    processes = Processes(environment(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32)))
    with tempfile.TemporaryDirectory(prefix="infoscope-scale-") as folder:
        possible = parts(given.limit, Path(folder), processes)
        asked = [one_of("--parts", name, possible) for name in given.parts.split(",")]
        try:
            for title, names, rows in map(possible.get, asked):
                print(f"\n**{title}**\n\n| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)
                for row in rows:
                    print(f"| {' | '.join(row)} |", flush=True)
        finally:
            processes.end_all()


PARTS = "rows,columns,members,cells,server,nodes"
COMMAND = command("scale", main, [
    option("parts", default=PARTS, help=f"(default: {PARTS})"),
    option("limit", type=float, default=120, help="seconds one estimate may take (default: 120)"),
], __doc__)  # fmt: skip
