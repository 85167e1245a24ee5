"""One round of the fault drill, which checks the history of its sweep; `make drill` has several faults at once."""

import subprocess
import sys

import pandas as pd
import pytest

from infra.drill.history import LOSSES
from tests.tracking.processes import environment

ROUND = ("--rounds", "1", "--faults", "driver", "--packs", "1", "--steps", "60", "--down", "5")


@pytest.mark.system
def test_a_round_loses_nothing(tmp_path):
    command = [sys.executable, "-m", "infoscope", "drill", *ROUND]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), **pipes)
    try:
        output, _ = process.communicate(timeout=900)
    finally:
        process.terminate()  # it ends what it has started
    assert process.returncode == 0, output
    (saved,) = (tmp_path / "runs" / "drill").glob("*/rounds.csv")
    (row,) = pd.read_csv(saved).to_dict("records")
    assert (row["fault"], row["cells"]) == ("driver", 4) and row["runs"] >= 2  # the driver did not survive
    assert row["observed"] > 1 and not any(row[name] for name in LOSSES)
    assert [path.name for path in saved.parent.iterdir()] == ["rounds.csv"]
