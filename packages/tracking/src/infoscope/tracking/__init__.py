"""How experiments are scheduled and recorded: Ray Tune and MLflow, and nothing of the science.

Sweep, Profile, Search, grid    declare what to run
Pack, Report                    what a trial gets
run, main, Summary              run it (from Python, from the command line)
runs, table, StoreUnreachable   read the record back
load_model                      a logged model, rebuilt from its configuration and weights
"""

from infoscope.tracking.command import main
from infoscope.tracking.driver import Summary, run
from infoscope.tracking.models import load_model
from infoscope.tracking.store import StoreUnreachable, runs, table
from infoscope.tracking.sweep import Pack, Profile, Search, Sweep, grid
from infoscope.tracking.worker import Report

__all__ = [
    "Pack",
    "Profile",
    "Report",
    "Search",
    "StoreUnreachable",
    "Summary",
    "Sweep",
    "grid",
    "load_model",
    "main",
    "run",
    "runs",
    "table",
]
