"""The example of README.md that pulls a logged model back, run on a model of a small training."""

import re
from pathlib import Path

from infoscope.tracking.scheduling.worker import work
from infoscope.tracking.store.store import Store
from sweeps.partition.domain_partition import PROFILES, SWEEP
from tests.tracking.cells import assigned

README = Path(__file__).parents[2] / "README.md"
SMALL = {"models": "nvae", "sample": "300", "steps": "6", "size": "8", "items": "300", "seeds": "0"}


def test_the_example_of_a_logged_model_runs_as_it_stands(own_folder, monkeypatch, capsys):
    (example,) = [
        block for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.S) if "load_model" in block
    ]
    assert len(example.splitlines()) <= 12
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    plan = SWEEP.plan(PROFILES["smoke"].override(SMALL))
    store = Store.open(SWEEP.name, create=True)
    ends = []
    work(SWEEP.trial, assigned(store, own_folder / "records", plan), ends.append, data=SWEEP.data)
    assert not ends[-1]["errors"]
    exec(compile(example, "README.md", "exec"), {})
    assert "z_y" in capsys.readouterr().out
