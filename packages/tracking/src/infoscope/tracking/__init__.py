"""Schedules sweeps on Ray Tune and records them in MLflow.

cell         one configuration with one seed; in MLflow one run
pack         cells that share data or a model; one call of `Sweep.trial` computes them
trial        what Ray Tune runs on a worker: a pack, or several short ones
profile      named settings of a sweep: smoke, laptop or paper
label        the profile with the replaced settings, such as "smoke steps=3"; tag of a run
invocation   one call of `run`; in MLflow the parent run of the cells that it computes
left cell    Ray Tune has ended its trial before the cell had an outcome
unsent cell  it has an outcome, but MLflow does not have it yet

Sweep, Profile, Cell, grid      declare what to run
Search, asha                    add early stopping, or a search of a space
Pack, Report                    the arguments of `Sweep.trial`; your own Report inherits from it (Sweep.run_here)
run, main, Summary              run a sweep from Python, or from the command line
runs, curve, table, arrays, parents    read the recorded results
attach, log_results             add files to an invocation, later results to the run of a cell
publish                         add tables and figures of an analysis to an invocation
load_model                      load a logged model, rebuilt from its configuration and weights
StoreUnreachable                raised when the tracking store does not answer
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
