"""Schedules sweeps on Ray Tune and records them in MLflow.

Sweep, Profile, Cell, grid      declare what to run
Search, asha                    add early stopping, or a search of a space
Pack, Report                    the arguments of a trial; your own Report inherits from it (Sweep.run_here)
run, main, Summary              run a sweep from Python, or from the command line
runs, curve, table, arrays, parents    read the recorded results
attach, log_results             add files to an invocation, and results of a later evaluation to a run
publish                         add tables and figures of an analysis to an invocation
load_model                      load a logged model, rebuilt from its configuration and weights
StoreUnreachable                raised when the tracking store does not answer
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
