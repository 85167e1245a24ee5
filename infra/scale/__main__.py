"""Measures how time and memory grow, and writes the tables of docs/scale.md in Markdown."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import secrets
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from infra.drill.places import Nodes, Server
from infra.drill.processes import Processes
from infra.scale import cells, work
from infra.scale.watch import Cost, cost_of

GROWTH = {"rows": (1_000, 10_000, 100_000, 1_000_000), "columns": (2, 20, 200)}
FIXED = {"rows": {"columns": 5}, "columns": {"rows": 2_000}}
MEMBERS, NODES, SWEPT = (1, 4, 16, 64), (1, 2, 4), (100, 400)
LAST_PAGE = 10
BAD_INPUT, INTERRUPTED = 2, 130
REQUEST = re.compile(r"\"(?:GET|POST|PATCH|PUT|DELETE) \S+ HTTP/")


def grown(name: str, most: int, limit: float) -> Iterator[list[str]]:
    """A row for each estimate: its cost by rows or by columns, each beside its ratio to the size before; no further
    than `most`, nor where a power law through the last two sizes says more than `limit` seconds.
    """
    for kind in work.ESTIMATES:
        row, before = [kind], []
        for size in GROWTH[name]:
            expected = forecast(before, size)
            if size > most or expected > limit:
                row.append("not run" + (f": {expected:,.0f} s to be expected" if math.isfinite(expected) else ""))
                continue
            cost = cost_of(work.estimates, kind, FIXED[name] | {name: size})
            row.append(_shown(cost, before[-1][1] if before else None))
            before.append((size, cost))
        yield row


def forecast(before: Sequence[tuple[int, Cost]], size: int) -> float:
    """Seconds of a size, by a power law through the last two measured ones, at least in proportion to it."""
    if not before:
        return -math.inf
    (last, cost), power = before[-1], 1.0
    if len(before) > 1:
        (first, of_first), _ = before[-2:]
        power = max(1.0, math.log(cost.seconds / of_first.seconds) / math.log(last / first))
    return cost.seconds * (size / last) ** power


def _shown(cost: Cost, before: Cost | None) -> str:
    ratio = f", x {cost.seconds / before.seconds:.1f}" if before else ""
    return f"{cost.seconds:,.2f} s{ratio}; {cost.mib:,.0f} MiB"


def in_packs() -> Iterator[list[str]]:
    """A row for each size of a pack: milliseconds of a step, and of a member's."""
    for members in MEMBERS:
        cost = cost_of(work.packs, work.CRITICS, {"members": members})
        step = 1000 * cost.seconds / work.STEPS
        yield [f"{members}", f"{step:.2f}", f"{step / members:.2f}", f"{cost.mib:,.0f}"]


def in_store(folder: Path, sizes: Sequence[int], processes: Processes) -> Iterator[list[str]]:
    """A row for each number of cells: planning, starting, reading, UI pages (wall seconds), and file size."""
    server = Server(processes, folder / "server", cells.environment())
    server.wait()
    store = folder / "server" / "mlflow.db"
    uri = f"sqlite:///{store}"
    cells.swept(folder, cells.FIRST, MLFLOW_TRACKING_URI=uri)
    for size in sizes:
        cells.fill(store, size)
        again = cells.swept(folder, size, MLFLOW_TRACKING_URI=uri)
        with _variable("MLFLOW_TRACKING_URI", uri):
            cells.read()
            found, seconds = cells.read()
        if found != size:
            raise RuntimeError(f"the store has {found} cells where it was given {size}.")
        pages = [
            _second(cells.page_seconds, server.uri, page, order)
            for page, order in ((1, "start_time DESC"), (1, "metrics.mean DESC"), (LAST_PAGE, "start_time DESC"))
        ]
        row = [cells.planned(size), again.driver, seconds, *pages]
        yield [f"{size:,}", *(f"{value:.2f}" for value in row), f"{again.memory:,.0f}",
               f"{store.stat().st_size / 1e6:,.0f}"]  # fmt: skip


def on_server(folder: Path, processes: Processes) -> Iterator[list[str]]:
    """One row: what a cell asks of an MLflow server, beyond what starting and ending a sweep does."""
    server = Server(processes, folder / "asked", cells.environment())
    server.wait()
    cells.swept(folder, cells.FIRST, MLFLOW_TRACKING_URI=server.uri)  # what is done once
    told = [_asked(server, processes)]
    for size in SWEPT:
        cells.swept(folder, size, MLFLOW_TRACKING_URI=server.uri)
        told.append(_asked(server, processes))
    (of_none, none), (of_few, few), (of_many, many) = told
    new = (SWEPT[1] - SWEPT[0]) - (SWEPT[0] - cells.FIRST)  # cells of the second sweep less those of the first
    requests, seconds = (of_many - 2 * of_few + of_none) / new, (many - 2 * few + none) / new
    yield [f"{requests:.1f}", f"{1000 * seconds:.1f}", f"{1000 * seconds / requests:.1f}"]


def _asked(server: Server, processes: Processes) -> tuple[int, float]:
    """Requests that a server has answered, and its processor seconds."""
    seconds = sum(sum(process.cpu_times()[:2]) for process in processes.members(server.process.pid))
    return len(REQUEST.findall(server.log.read_text(errors="replace"))), seconds


def _second(ask: Callable[..., float], *arguments: object) -> float:
    """What is asked for the second time, when files are in memory."""
    ask(*arguments)
    return ask(*arguments)


def on_nodes(folder: Path, processes: Processes) -> Iterator[list[str]]:
    """A row for each number of nodes: what a cell costs beyond starting and ending, and the driver's part of it."""
    few, many = SWEPT
    for count in NODES:
        place = folder / f"nodes-{count}"
        place.mkdir()
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        nodes = Nodes(processes, place, cells.environment(**token), count=count)
        server = Server(processes, place / "server", cells.environment())  # nodes cannot share SQLite
        server.wait()
        places = token | {"RAY_ADDRESS": nodes.address, "MLFLOW_TRACKING_URI": server.uri}
        first, last = (cells.swept(place / f"{size}", size, **places) for size in SWEPT)
        more = (many - few) - few  # cells of the second sweep, which finds those of the first, less those of the first
        driver, wall = ((getattr(last, name) - getattr(first, name)) / more for name in ("driver", "wall"))
        yield [f"{count}", f"{1000 * wall:.0f}", f"{1000 * driver:.1f}", f"{100 * driver / wall:.0f} %"]
        processes.end_all()


@contextlib.contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name) if before is None else os.environ.update({name: before})


def table(title: str, names: Sequence[str], rows: Iterator[list[str]]) -> Iterator[str]:
    """A Markdown table, row by row as it is measured."""
    yield from (f"\n**{title}**\n", f"| {' | '.join(names)} |", f"|{'---|' * len(names)}")
    for row in rows:
        yield f"| {' | '.join(row)} |"


def parts(words: argparse.Namespace, folder: Path, processes: Processes) -> dict[str, Callable[[], Iterator[str]]]:
    """What can be measured, by its name."""
    sizes = [size for size in (1_000, 10_000, 100_000) if size <= words.most_cells]
    return {
        **{
            name: lambda name=name, most=most: table(
                f"Estimates by {name} ({', '.join(f'{value:,} {what}' for what, value in FIXED[name].items())})",
                ["estimate", *(f"{size:,}" for size in GROWTH[name])],
                grown(name, most, words.limit),
            )
            for name, most in (("rows", words.most_rows), ("columns", max(GROWTH["columns"])))
        },
        "members": lambda: table(
            f"A pack of critics (joint, {work.SIDE} + {work.SIDE} columns, width 64, batch 64)",
            ["members", "ms a step", "ms a step and member", "MiB"],
            in_packs(),
        ),
        "cells": lambda: table(
            "A store of cells that take no time (SQLite; processor seconds, wall seconds of the UI)",
            ["cells", "plan", "start, all recorded", "`runs()`", "UI, first page", "UI, by a metric",
             f"UI, page {LAST_PAGE}", "driver (MB)", "store (MB)"],
            in_store(folder, sizes, processes),
        ),
        "server": lambda: table(
            f"An MLflow server (SQLite, one worker; {SWEPT[0]} and {SWEPT[1]} cells, {cells.VALUES} values each)",
            ["requests a cell", "server's processor ms a cell", "ms a request"],
            on_server(folder, processes),
        ),
        "nodes": lambda: table(
            f"Ray nodes of one core each, an MLflow server beside them ({SWEPT[0]} and {SWEPT[1]} cells, a trial each)",
            ["nodes", "wall ms a cell", "driver ms a cell", "driver's share"],
            on_nodes(folder, processes),
        ),
    }  # fmt: skip


def main() -> int:
    """Returns 0, 2 on bad input, 130 when interrupted."""
    parser = argparse.ArgumentParser(prog="python -m infra.scale", description=__doc__)
    parser.add_argument("--parts", default="rows,columns,members,cells,server,nodes", help="(default: %(default)s)")
    parser.add_argument("--limit", type=float, default=120, help="seconds one estimate may take (default: 120)")
    parser.add_argument("--most-rows", type=int, default=1_000_000, help="(default: 1000000)")
    parser.add_argument("--most-cells", type=int, default=100_000, help="(default: 100000)")
    words = parser.parse_args()
    for ending in (signal.SIGINT, signal.SIGTERM):  # shells have the former ignored by what they run in the background
        signal.signal(ending, signal.default_int_handler)
    processes = Processes()
    with tempfile.TemporaryDirectory(prefix="infoscope-scale-") as folder:
        possible = parts(words, Path(folder), processes)
        asked = words.parts.split(",")
        if unknown := [name for name in asked if name not in possible]:
            print(f"error: --parts has {unknown[0]!r}; valid are {', '.join(possible)}", file=sys.stderr)
            return BAD_INPUT
        try:
            for name in asked:
                for line in possible[name]():
                    print(line, flush=True)
        except KeyboardInterrupt:
            return INTERRUPTED
        finally:
            processes.end_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
