"""How experiments are scheduled and recorded: Ray Tune and MLflow, and nothing of the science.

Sweep, Profile, grid            declare what to run
Search, asha                    ... with early stopping, or as a search of a space
Pack, Report                    what a trial gets
run, main, Summary              run it (from Python, from the command line)
runs, table, parents            read the record back
attach                          add a report or a figure to it
StoreUnreachable                raised when the tracking store does not answer
load_model                      a logged model, rebuilt from its configuration and weights
"""

from infoscope.tracking.command import main
from infoscope.tracking.driver import run
from infoscope.tracking.models import load_model
from infoscope.tracking.store import StoreUnreachable, attach, parents, runs, table
from infoscope.tracking.sweep import Pack, Profile, Search, Sweep, asha, grid
from infoscope.tracking.watch import Summary
from infoscope.tracking.worker import Report

__all__ = [
    "Pack",
    "Profile",
    "Report",
    "Search",
    "StoreUnreachable",
    "Summary",
    "Sweep",
    "asha",
    "attach",
    "grid",
    "load_model",
    "main",
    "parents",
    "run",
    "runs",
    "table",
]
