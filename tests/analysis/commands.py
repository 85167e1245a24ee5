"""What a command on a person's own file leaves in the working folder, or that it leaves
nothing.
"""

import shlex
from pathlib import Path

import pandas as pd

from infoscope.command_line import run_command
from infoscope.tracking.store import Store


def written(stem, *ends):
    """The table of the only report whose name begins so; files with these endings are
    beside it.
    """
    for end in (".csv", *ends):
        (path,) = Path("runs/tables").glob(f"{stem}-????????{end}")
        assert path.stat().st_size > 100, end
    return pd.read_csv(path.with_name(f"{path.name[: len(stem) + 9]}.csv"), comment="#")


def status_of(command, line):
    """The exit status of a command with the words of a line."""
    return run_command(command, shlex.split(line))


def recorded(experiment):
    """The only run of a report."""
    (run,) = Store.open(experiment).search("")
    assert run.info.status == "FINISHED"
    return run


def assert_refused(command, line, part, capsys):
    """Whether words are refused with this part in the error, and nothing is written."""
    assert status_of(command, line) == 2
    printed, errors = capsys.readouterr()
    assert part in errors
    assert not printed
    assert not Path("runs").exists()
