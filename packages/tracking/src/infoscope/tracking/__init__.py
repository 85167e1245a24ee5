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

from infoscope.errors import StoreUnreachable
from infoscope.late import late, names_of

# MLflow and torch take seconds to import: only for those who read the record, or run a sweep.
_LATE = names_of(
    {
        "cli": ("main",),
        "models": ("load_model",),
        "scheduling.driver": ("run",),
        "scheduling.watch": ("Summary",),
        "store.publish": ("attach", "log_results", "publish"),
        "store.store": ("arrays", "curve", "parents", "runs", "table"),
        "sweep": ("Pack", "Profile", "Report", "Search", "Sweep", "asha", "grid"),
    }
)

__all__ = ["StoreUnreachable", *_LATE]
__getattr__ = late(__name__, _LATE)
