"""How experiments are scheduled and recorded: Ray Tune and MLflow, and nothing of the science.

Sweep, Profile, grid            declare what to run
Search, asha                    ... with early stopping, or as a search of a space
Pack, Report                    what a trial gets; a Report of your own inherits from it (Sweep.run_here)
run, main, Summary              run it (from Python, from the command line)
runs, curve, table, arrays, parents    read the record back
attach, log_results             add a report or a figure to an invocation, what a later evaluation found to a run
StoreUnreachable                raised when the tracking store does not answer
publish                         the tables and figures of an analysis, to the invocation that they are about
load_model                      a logged model, rebuilt from its configuration and weights
"""

from importlib import import_module
from typing import Any

from infoscope.tracking.store.publish import publish
from infoscope.tracking.store.store import StoreUnreachable, arrays, attach, curve, log_results, parents, runs, table

# Torch takes seconds to import: only for those who run a sweep or load a model, not for who reads the record.
_LATE = {
    "cli": ("main",),
    "models": ("load_model",),
    "scheduling.driver": ("run",),
    "scheduling.watch": ("Summary",),
    "sweep": ("Pack", "Profile", "Report", "Search", "Sweep", "asha", "grid"),
}
_MODULE_OF = {name: module for module, names in _LATE.items() for name in names}

__all__ = [
    "StoreUnreachable", "arrays", "attach", "curve", "log_results", "parents", "publish", "runs", "table", *_MODULE_OF,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
