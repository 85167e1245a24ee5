"""Answers questions to the packages of one environment: python -I worker.py CALLS.

Runs with the Python of that environment and needs numpy alone of it. CALLS is a file of Python whose functions import a
package and return what measures: `make()` -> `measure(x, y, labels, seed)`, which gives nats as a float, or as a dict
with "value" and any of "interval" and "notes".

One line of JSON comes in for each request, and one goes out for each answer:

    {"make": name}                                          imports what the call needs, so that no answer counts it
    {"call": name, "data": path, "labels": bool, "seed": int}

`data` is an .npz of float64 arrays x [n, c] and y [n, d]; with `labels`, y [n, 1] holds category codes. A selection of
columns of x has `categories` [c] there, too: which of them hold codes. An answer has "error" (a sentence), or "made",
or "value" and "interval" in nats and "notes", or "selected", places of columns. What a package prints goes to standard
error, and it finds nothing on standard input.
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
from types import ModuleType
from typing import Any, TextIO

import numpy as np

_WARNINGS, _LENGTH = 3, 200  # different warnings that are handed on, and how much of each


def own_channels() -> tuple[TextIO, TextIO]:
    """Requests and answers, on descriptors of their own: 0 and 1 are left to the package, as nothing and stderr."""
    requests, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w", buffering=1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return requests, answers


def end_with_parent() -> None:
    """Ends this process when the one that started it is gone, also in the middle of a long call."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def loaded(path: str) -> ModuleType:
    """The file of calls as a module."""
    spec = importlib.util.spec_from_file_location("calls", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measured(measure: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request for a number."""
    with np.load(request["data"], allow_pickle=False) as data:
        arguments = [data["x"], data["y"], *([data["categories"]] if "categories" in data else [])]
    seed = int(request["seed"])
    random.seed(seed)
    np.random.seed(seed)  # of packages that draw from numpy's global state
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = measure(*arguments, bool(request["labels"]), seed)
    if "categories" in data:
        return {"selected": [int(place) for place in found]}
    found = found if isinstance(found, dict) else {"value": found}
    interval = found.get("interval")
    told = [
        " ".join(str(one.message).split())[:_LENGTH]
        for one in caught
        if issubclass(one.category, (UserWarning, RuntimeWarning))
    ]
    return {
        "value": float(found["value"]),
        "interval": None if interval is None else [float(end) for end in interval],
        "notes": [*found.get("notes", ()), *(f"it warns: {text}" for text in list(dict.fromkeys(told))[:_WARNINGS])],
    }


def main(path: str) -> None:
    requests, answers = own_channels()
    end_with_parent()
    calls, made = loaded(path), {}
    for line in requests:
        request = json.loads(line)
        try:
            if "make" in request:
                if request["make"] not in made:
                    made[request["make"]] = getattr(calls, request["make"])()
                answer = {"made": request["make"]}
            else:
                answer = measured(made[request["call"]], request)
        except Exception as error:  # whatever a package raises is its answer
            words = f"{type(error).__name__}: {' '.join(str(error).split())}"
            answer = {"error": words[: 2 * _LENGTH].rstrip(": ")}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
