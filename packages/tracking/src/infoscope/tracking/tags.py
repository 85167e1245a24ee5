"""The tags by which runs are found in MLflow."""

_HIDDEN = "mlflow."  # prefix of tags that MLflow's pages do not show
RUN_NAME = "mlflow.runName"

# of a cell's run
KEY = "infoscope.key"
PROFILE = "infoscope.profile"
VERSION = "infoscope.version"
CELL = f"{_HIDDEN}infoscope.cell"  # its fields with their types, as JSON
OUTCOME = "infoscope.outcome"
ERROR = "infoscope.error"
PARENT = "mlflow.parentRunId"
# of `report.constants`, as JSON; for names PLACE/NAME it ends in " PLACE"
CONSTANTS = f"{_HIDDEN}infoscope.constants"
DATA = "infoscope.data"  # the names of its data sets
# name and digest of the file of a loaded run, also of its parent
LOADED_FROM = "infoscope.loaded_from"
# the id of a loaded run in the store it was saved from
LOADED_RUN = "infoscope.loaded_run"

# of an invocation's run, the parent of its cells
CELLS = "infoscope.cells"  # the number of cells it was started for

# of both
DRIVER = "infoscope.driver"  # the machine and folder they were made from

TAKEN = frozenset(
    {
        KEY,
        CELL,
        PROFILE,
        VERSION,
        OUTCOME,
        ERROR,
        PARENT,
        CONSTANTS,
        LOADED_FROM,
        LOADED_RUN,
        CELLS,
        DRIVER,
        RUN_NAME,
    }
)

# prefixes of the names of metrics
SYSTEM = "system/"  # of MLflow's metrics of the machine
CURVES = "Curves/"  # of `report.curve`: the UI shows a section of this name first
# of a search: the fraction done, and the metric that it compares
PROGRESS = "progress/"
FRACTION = f"{PROGRESS}fraction"
METRIC = PROGRESS + "{}"
# of metrics that are not results of the cell as a whole
NOT_RESULTS = (CURVES, SYSTEM, PROGRESS)
