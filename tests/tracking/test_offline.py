"""A sweep without Ray and MLflow, published later, is in the table as if it had been
run here.
"""

import re
import subprocess
import sys
from pathlib import Path

from infoscope.tracking import runs
from infoscope.tracking.offline import run_offline
from infoscope.tracking.sync import sync
from tests.refusals import refused
from tests.tracking import toy_search, toy_sweep
from tests.tracking.processes import REPOSITORY, environment


def test_an_offline_run_is_published_once(own_folder, capsys):
    place = own_folder / "offline"
    settings = {"kinds": "plain,fails"}
    # only what has failed
    for counts in (
        "2 completed, 2 failed of 4 cells",
        "0 completed, 2 failed of 4 cells",
    ):
        assert run_offline(toy_sweep.SWEEP, "smoke", place, settings, "cpu") == 1
        printed = capsys.readouterr().err
        assert counts in printed
        (file, *_) = re.findall("^failed: .*; traceback: (.*)$", printed, re.MULTILINE)
        assert "Error: " in Path(file).read_text()
    (synced,) = sync(folder=place)
    assert synced.published == 4
    assert not synced.unsent
    frame = runs("toy", "smoke")
    assert sorted(frame["seed"]) == [0, 1]
    assert frame["level"].tolist() == [seed + 0.2 for seed in frame["seed"]]
    assert not any((place / "toy").iterdir())


def test_a_search_needs_the_recorded_cells(tmp_path):
    with refused(code="invalid"):
        run_offline(toy_search.SWEEP, "smoke", tmp_path)


def test_neither_ray_nor_mlflow_is_imported(tmp_path):
    code = (
        "import sys; from infoscope.__main__ import main; "
        "status = main(['sweep', 'toy-model', '--profile', 'smoke', '--offline', "
        f"{str(tmp_path)!r}]); "
        "print(status, {'ray', 'mlflow', 'optuna'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines()[-1:] == ["0 set()"], done.stderr
