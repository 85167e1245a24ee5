"""Runs that are no cell's, or only by half, put into an experiment: what other programs, people with a mouse and
machines that died have left there. Nothing that reads the experiment may stop at them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mlflow.tracking import MlflowClient

from infoscope.tracking.sending.checkpoint import TAG
from infoscope.tracking.tags import ALIVE, CELL, CELLS, DRIVER, KEY, OUTCOME, PARENT, PROFILE

POISONED = "drill.poison"  # a tag of these runs
NO_CELLS = {
    "no cell": None,
    "not JSON": "{seed: 0",
    "empty": "",
    "a number": "5",
    "a list": '["seed", 0]',
    "null": "null",
    "nested": '{"seed": {"of": [0]}}',
    "deep": "[" * 3000,
}
NEVER = "0" * 32  # the id of no run


def poison(
    client: MlflowClient, experiment_id: str, label: str, cells: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, str]:
    """Makes runs of many kinds; id by kind. label: the profile in them; cells: by key, real ones that they imitate."""
    cells = cells or {"poisoned": {"poisoned": True}}
    key, cell = next(iter(cells.items()))
    made = {}

    def make(kind: str, status: str | None, **tags: str) -> None:
        run = client.create_run(experiment_id, run_name=f"poison: {kind}", tags={POISONED: "yes", **tags})
        made[kind] = run.info.run_id
        client.log_metric(made[kind], "level", 1e6)
        if status:
            client.set_terminated(made[kind], status)

    make("another program's", "FINISHED")
    make("another program's, running", None, **{"mlflow.user": "somebody"})
    for kind, text in NO_CELLS.items():
        tags = {KEY: key, PROFILE: label, OUTCOME: "complete"} | ({} if text is None else {CELL: text})
        make(f"cell: {kind}", "FINISHED", **tags)
        make(f"cell: {kind}, running", None, **tags)
    whole = {KEY: key, CELL: json.dumps(cell, sort_keys=True), PROFILE: label}
    make("finished by hand", "FINISHED", **whole)
    make("finished by hand, without a result", "FINISHED", **whole, **{OUTCOME: ""})
    make("an outcome that is none", "FINISHED", **whole, **{OUTCOME: "perhaps"})
    make("scheduled", "SCHEDULED", **whole)
    make("a parent that is gone", "KILLED", **whole, **{PARENT: NEVER})
    make("a parent that is gone, running", None, **whole, **{PARENT: NEVER, DRIVER: "elsewhere:/runs"})
    make("a key with quotes", "FINISHED", **{KEY: "a' or '1' = `1", CELL: "{", PROFILE: label, OUTCOME: "complete"})
    make("a checkpoint that is none", "KILLED", **whole, **{TAG: "{"})
    for name, alive in {"words": "yesterday", "a fraction": "1e400", "nothing": "", "long ago": "-5"}.items():
        make(f"alive: {name}", None, **{CELLS: "2", ALIVE: alive, DRIVER: "elsewhere:/runs", PROFILE: label})
    make("alive: other digits", None, **{CELLS: "2", ALIVE: "²", DRIVER: "elsewhere:/runs", PROFILE: label})
    make("cells: words", None, **{CELLS: "many", ALIVE: "1", DRIVER: "elsewhere:/runs", PROFILE: label})
    return made
