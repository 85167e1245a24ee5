"""The tags by which runs are found in MLflow, and what is known of them."""

import re

_HIDDEN = "mlflow."  # before a name: MLflow's pages do not show it, for it is of use to programs alone

# of a cell's run
KEY, PROFILE, VERSION = "infoscope.key", "infoscope.profile", "infoscope.version"
CELL = f"{_HIDDEN}infoscope.cell"  # its fields, with their types, as JSON
OUTCOME, ERROR, PARENT = "infoscope.outcome", "infoscope.error", "mlflow.parentRunId"
ATTEMPT = f"{_HIDDEN}infoscope.attempt"  # which attempt at the cell its run holds; later ones sort behind earlier ones
# a run that another attempt has replaced has these instead of KEY: the cell's key, and the run that is the cell's now
SUPERSEDED, SUPERSEDED_BY = "infoscope.superseded", "infoscope.superseded_by"
SUPERSEDES = "infoscope.supersedes"  # the run that one replaces
SET_ASIDE = "infoscope.set_aside"  # of a run of which the store has refused something: how much, and why
CONSTANTS = f"{_HIDDEN}infoscope.constants"  # and " PLACE": of `report.constants`, as JSON, by the place in its names
DATA = "infoscope.data"  # the name of what the cell reads
LOADED_FROM = "infoscope.loaded_from"  # of a run that came from a file, and of the parent of such: its name, its digest
LOADED_RUN = "infoscope.loaded_run"  # the id that a run had in the store that it was saved from
SECOND = "infoscope.second_of"  # of a second run of a cell: the id of the one that counts

# of a summary's run
SUMMARY = "infoscope.summary"  # a hash of its configuration
SUMMARY_OF = f"{_HIDDEN}infoscope.summary_of"  # a hash of its runs and of what they hold

# of an invocation's run, the parent of its cells
CELLS = "infoscope.cells"  # how many it set out to run
ALIVE = f"{_HIDDEN}infoscope.alive"  # when its process last said that it lives, in milliseconds

CLAIM = f"{_HIDDEN}infoscope.claim"  # how far it has got with its claim to its cells; CLAIM.N: their keys

# of both
IDENTITY = f"{_HIDDEN}infoscope.identity"  # of the working tree from which they were made
DRIVER = "infoscope.driver"  # its machine and folder, to be read

TAKEN = frozenset(
    {KEY, CELL, PROFILE, VERSION, OUTCOME, ERROR, PARENT, ATTEMPT, SUPERSEDED, SUPERSEDED_BY, SUPERSEDES, SET_ASIDE}
    | {CONSTANTS, LOADED_FROM, LOADED_RUN, SECOND, CELLS, ALIVE, CLAIM, IDENTITY, DRIVER}
)

_SHOWN_BEFORE = re.compile(r"infoscope\.(cell|attempt|constants|summary_of|alive|claim|identity)(?![a-z_])")


def add_hidden(tags: dict[str, str]) -> None:
    """Adds the names of today to the tags of a run of before, when MLflow's pages showed all of them."""
    for name in [name for name in tags if _SHOWN_BEFORE.match(name)]:
        tags.setdefault(_HIDDEN + name, tags[name])
