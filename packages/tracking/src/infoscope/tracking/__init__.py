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

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
