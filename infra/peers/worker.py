"""Calls the packages of one environment: python -I worker.py CALLS DESCRIPTOR.

Runs with the Python of that environment and needs only numpy. CALLS is a Python file whose functions import a package
and return a function: `make()` -> `measure(x, y, labels, seed)`, which returns nats as a float, or a dict with "value"
and any of "interval" and "notes". DESCRIPTOR is that of a pipe with requests and answers in JSON:

    {"make": name}                                          imports the package, so that its time is not measured
    {"call": name, "data": path, "labels": bool, "seed": int}

`data` is an .npz of float64 arrays x [n, c] and y [n, d]; with `labels`, y [n, 1] holds category codes. For a selection
of columns of x it also has `categories` [c]: which columns hold codes. An answer has "error" (a sentence), or "made",
or "value" and "interval" in nats and "notes", or "selected", the positions of columns.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import sys
import threading
import time
import warnings
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

import numpy as np

_MAX_WARNINGS, _MAX_LENGTH = 3, 200  # different warnings in an answer, and characters of each


def end_with_parent() -> None:
    """Makes this process end when its parent is gone, even during a long call."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def load(path: str) -> ModuleType:
    """The file of calls as a module."""
    spec = importlib.util.spec_from_file_location("calls", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(function: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request for an estimate or a selection."""
    with np.load(request["data"], allow_pickle=False) as data:
        arguments = [data["x"], data["y"], *([data["categories"]] if "categories" in data else [])]
    seed = int(request["seed"])
    random.seed(seed)
    np.random.seed(seed)  # for packages that use numpy's global state
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = function(*arguments, bool(request["labels"]), seed)
    if "categories" in data:
        return {"selected": [int(place) for place in found]}
    found = found if isinstance(found, dict) else {"value": found}
    interval = found.get("interval")
    shown = [one.message for one in caught if issubclass(one.category, (UserWarning, RuntimeWarning))]
    texts = list(dict.fromkeys(" ".join(str(message).split())[:_MAX_LENGTH] for message in shown))
    return {
        "value": float(found["value"]),
        "interval": None if interval is None else [float(end) for end in interval],
        "notes": [*found.get("notes", ()), *(f"it warns: {text}" for text in texts[:_MAX_WARNINGS])],
    }


def main(path: str, descriptor: str) -> None:
    connection, calls, made = Connection(int(descriptor)), load(path), {}
    end_with_parent()
    while True:
        try:
            request = json.loads(connection.recv_bytes())
        except EOFError:
            return
        try:
            if "make" in request:
                if request["make"] not in made:
                    made[request["make"]] = getattr(calls, request["make"])()
                answer = {"made": request["make"]}
            else:
                answer = measure(made[request["call"]], request)
        except Exception as error:  # an exception of a package is its answer
            text = f"{type(error).__name__}: {' '.join(str(error).split())}"
            answer = {"error": text[: 2 * _MAX_LENGTH].rstrip(": ")}
        connection.send_bytes(json.dumps(answer).encode())


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
