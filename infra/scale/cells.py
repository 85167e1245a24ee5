"""A sweep whose cells take no time, a store that holds many of them, and what it takes to plan, record and read them.

python -m infra.scale.cells --set count=500
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

from infoscope.tracking import Pack, Profile, Report, Sweep, grid, main, runs
from infoscope.tracking.tags import CELL, KEY
from infra.scale.watch import Used, watched

NAME, PROFILE, VALUES = "scale", "laptop", 13
FIRST = 25  # cells that are really run, before their runs are copied
PAGE, API = 100, "/ajax-api/2.0/mlflow"  # runs that the UI asks for at once, and where


def cells(profile: Profile) -> list[dict]:
    """One cell per number."""
    return grid(number=list(range(profile.count)))


def trial(pack: Pack, report: Report) -> None:
    """A short curve and a few numbers for each cell."""
    for cell in pack.cells:
        for step in range(VALUES - 3):
            report.metrics(cell, {"level": cell["number"] + step / 10}, step)
        report.metrics(cell, {"mean": float(cell["number"]), "bias": 0.25, "variance": 0.5})


SWEEP = Sweep(NAME, cells, trial, {PROFILE: Profile(count=100)}, axes=("count",))


def environment(**places: str) -> dict[str, str]:
    """This process's variables, but for those that name a store or a cluster, which `places` may."""
    left_out = ("MLFLOW_TRACKING_URI", "RAY_ADDRESS")
    own = {name: value for name, value in os.environ.items() if name not in left_out}
    return own | {"PYTHONPATH": str(Path(__file__).parents[2])} | places


def swept(folder: Path, count: int, **places: str) -> Used:
    """What a sweep of `count` cells costs that is started in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "infra.scale.cells", "--profile", PROFILE, "--set", f"count={count}"]
    return watched(command, environment(**places), folder)


def planned(count: int) -> float:
    """Processor seconds to list, check, name and pack `count` cells."""
    began = time.process_time()
    SWEEP.packs(plan(count), "cpu")
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


def plan(count: int) -> dict[str, dict]:
    """Key -> cell of a sweep of `count` cells."""
    return SWEEP.plan(SWEEP.profiles[PROFILE].override({"count": str(count)}))


def read() -> tuple[int, float]:
    """How many cells `runs` finds in the store of this process's environment, and in how many processor seconds."""
    began = time.process_time()
    found = len(runs(NAME, PROFILE))
    return found, time.process_time() - began


def page_seconds(address: str, page: int, order: str) -> float:
    """Wall seconds of one page of runs from a server, without those before it."""
    name = {"experiment_name": NAME}
    with urllib.request.urlopen(f"{address}{API}/experiments/get-by-name?{urllib.parse.urlencode(name)}") as answer:
        experiment = json.load(answer)["experiment"]["experiment_id"]
    query, seconds = {"experiment_ids": [experiment], "max_results": PAGE, "order_by": [order]}, math.nan
    for _ in range(page):
        asked = urllib.request.Request(
            f"{address}{API}/runs/search", json.dumps(query).encode(), {"Content-Type": "application/json"}
        )
        began = time.monotonic()
        with urllib.request.urlopen(asked, timeout=600) as answer:
            query["page_token"] = json.load(answer).get("next_page_token")
        seconds = time.monotonic() - began
    return seconds


if __name__ == "__main__":
    main(SWEEP)
