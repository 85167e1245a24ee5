"""The example of README.md that pulls a logged model back, run on a model of a small
training.
"""

import re
from pathlib import Path

from infoscope.tracking.store import Store
from infoscope.tracking.tags import PARENT, PROFILE, VERSION
from infoscope.tracking.trial import Bundle, Job, run_bundle
from sweeps.partition.domain_partition import PROFILES, SWEEP
from tests.tracking.cells import PARENT_RUN

README = Path(__file__).parents[2] / "README.md"
SMALL = {
    "models": "nvae",
    "sample": "300",
    "steps": "6",
    "size": "8",
    "items": "300",
    "seeds": "0",
}


def test_the_example_of_a_logged_model_runs_as_it_stands(
    own_folder, monkeypatch, capsys
):
    (example,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
        if "load_model" in block
    ]
    assert len(example.splitlines()) <= 12
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    plan = SWEEP.plan(PROFILES["smoke"].override(SMALL))
    store = Store.open(SWEEP.name, create=True)
    heard = []
    tags = {PARENT: PARENT_RUN, PROFILE: "smoke", VERSION: str(SWEEP.version)}
    job = Job(SWEEP, own_folder / "cells", "cpu", tags, store)
    run_bundle(Bundle([plan], {key: key for key in plan}), job, heard.append)
    assert {outcome for _, outcome, _ in heard[-1]["ended"]} == {"complete"}
    exec(compile(example, "README.md", "exec"), {})
    assert "z_y" in capsys.readouterr().out
