"""The tags by which runs are found in MLflow, and what is known of them."""

# of a cell's run
KEY, CELL, PROFILE, VERSION = "infoscope.key", "infoscope.cell", "infoscope.profile", "infoscope.version"
OUTCOME, ERROR, PARENT = "infoscope.outcome", "infoscope.error", "mlflow.parentRunId"
ATTEMPT = "infoscope.attempt"  # which attempt at the cell its run holds; later ones sort behind earlier ones
# a run that another attempt has replaced has these instead of KEY: the cell's key, and the run that is the cell's now
SUPERSEDED, SUPERSEDED_BY = "infoscope.superseded", "infoscope.superseded_by"
SUPERSEDES = "infoscope.supersedes"  # the run that one replaces
SET_ASIDE = "infoscope.set_aside"  # of a run of which the store has refused something: how much, and why
CONSTANTS = "infoscope.constants"  # and " PLACE": what `report.constants` was told, as JSON, by the place in its names
DATA = "infoscope.data"  # the name of what the cell reads
SECOND = "infoscope.second_of"  # of a second run of a cell: the id of the one that counts

# of a summary's run
SUMMARY = "infoscope.summary"  # a hash of its configuration
SUMMARY_OF = "infoscope.summary_of"  # a hash of its runs and of what they hold

# of an invocation's run, the parent of its cells
CELLS = "infoscope.cells"  # how many it set out to run
ALIVE = "infoscope.alive"  # when its process last said that it lives, in milliseconds

CLAIM = "infoscope.claim"  # how far it has got with its claim to its cells; CLAIM.N: their keys

# of both
IDENTITY = "infoscope.identity"  # of the working tree from which they were made
DRIVER = "infoscope.driver"  # its machine and folder, to be read

TAKEN = frozenset(
    {KEY, CELL, PROFILE, VERSION, OUTCOME, ERROR, PARENT, ATTEMPT, SUPERSEDED, SUPERSEDED_BY, SUPERSEDES, SET_ASIDE}
    | {CONSTANTS, SECOND, CELLS, ALIVE, CLAIM, IDENTITY, DRIVER}
)
