"""The tags by which runs are found in MLflow, and what is known of them."""

_HIDDEN = "mlflow."  # before a name: MLflow's pages do not show it, for it is of use to programs alone

# of a cell's run
KEY, PROFILE, VERSION = "infoscope.key", "infoscope.profile", "infoscope.version"
CELL = f"{_HIDDEN}infoscope.cell"  # its fields, with their types, as JSON
OUTCOME, ERROR, PARENT = "infoscope.outcome", "infoscope.error", "mlflow.parentRunId"
CONSTANTS = f"{_HIDDEN}infoscope.constants"  # and " PLACE": of `report.constants`, as JSON, by the place in its names
DATA = "infoscope.data"  # the name of what the cell reads
LOADED_FROM = "infoscope.loaded_from"  # of a run that came from a file, and of the parent of such: its name, its digest
LOADED_RUN = "infoscope.loaded_run"  # the id that a run had in the store that it was saved from

# of a summary's run
SUMMARY = "infoscope.summary"  # a hash of its configuration
SUMMARY_OF = f"{_HIDDEN}infoscope.summary_of"  # a hash of its runs and of what they hold

# of an invocation's run, the parent of its cells
CELLS = "infoscope.cells"  # how many it set out to run
ALIVE = f"{_HIDDEN}infoscope.alive"  # when its process last said that it lives, in milliseconds

# of both
DRIVER = "infoscope.driver"  # the machine and folder that they were made from

TAKEN = frozenset({KEY, CELL, PROFILE, VERSION, OUTCOME, ERROR, PARENT, CONSTANTS, LOADED_FROM, LOADED_RUN, CELLS})
TAKEN |= {ALIVE, DRIVER}
