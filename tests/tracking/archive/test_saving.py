"""Which runs of an experiment are saved to a file, without names of machines, users and
folders.
"""

import gzip
import json

import pytest
from mlflow.entities import Metric

from infoscope.tracking.archive.format import read_archive
from infoscope.tracking.archive.saving import save
from infoscope.tracking.tags import CURVES
from tests.refusals import refused
from tests.tracking.archive.conftest import FOLDER, HOST, SWEEP, USER, make


def test_the_finished_cells_each_once_and_the_same_bytes_again(made, tmp_path):
    store = made()
    for seed in (2, 0, 1):
        make(store, 1, seed, profile="laptop; paper" if seed else "smoke")
    make(store, 1, 0, profile="paper")  # a second run of a cell: its label counts
    make(store, 2, 0, outcome="stopped")
    make(store, 2, 1, outcome="failed", status="FAILED")
    make(store, 2, 2, outcome="", status="RUNNING")
    saved = save("made", tmp_path / "made.jsonl.gz")
    assert saved.runs == 4
    assert saved.labels == {"laptop": 3, "paper": 3, "smoke": 1}
    archive = read_archive(saved.path)
    keys = [
        SWEEP.key({"depth": depth, "seed": seed})
        for depth, seed in ((1, 0), (1, 1), (1, 2), (2, 0))
    ]
    assert [run.key for run in archive.runs] == sorted(keys)
    assert {run.outcome for run in archive.runs} == {"complete", "stopped"}
    before = saved.path.read_bytes()
    save("made", saved.path)
    assert saved.path.read_bytes() == before
    assert save("made", tmp_path / "paper.gz", "paper").runs == 3
    with pytest.raises(LookupError, match="'x'; .*=laptop"):
        save("made", tmp_path / "none.gz", "x")
    with pytest.raises(LookupError, match="'other'"):
        save("other", tmp_path / "none.gz")
    assert not (tmp_path / "none.gz").exists()


def test_nothing_in_it_names_a_machine_a_person_or_a_folder(made, tmp_path):
    store = made()
    make(store, 1, 0)
    text = gzip.decompress(
        save("made", tmp_path / "made.jsonl.gz").path.read_bytes()
    ).decode()
    for telling in (
        HOST,
        USER,
        FOLDER,
        "secret-project",
        "git.lab",
        str(tmp_path),
        "cpu_utilization",
    ):
        assert telling not in text
    run = json.loads(text.splitlines()[1])
    assert run["tags"]["mlflow.source.name"] == "sweep.py --profile laptop"
    assert run["tags"]["note"] == "see notes.txt"
    assert run["inputs"][0]["source"] == '{"url": "my digits.npz"}'
    assert run["tags"]["version.torch"] == "2.9"


def test_the_newest_point_of_each_metric_is_saved(made, tmp_path):
    store = made()
    run_id = make(store, 1, 0)
    store.client.log_batch(run_id, [Metric(f"{CURVES}loss", 9.0, 1_700_000_000_100, 4)])
    run = read_archive(save("made", tmp_path / "made.gz").path).runs[0]
    assert run.files == {}
    assert run.metrics[f"{CURVES}loss"] == [(4, 100, 9.0)]


def test_a_file_is_not_replaced_by_one_with_fewer_runs(made, tmp_path):
    store = made()
    path = tmp_path / "made.jsonl.gz"
    for seed in range(2):
        make(store, 1, seed, profile="paper" if seed else "laptop")
    save("made", path)
    before = path.read_bytes()
    with refused(code="range"):
        save("made", path, "paper")
    for content in (b'"curves": ', b'"tables": '):
        richer = gzip.compress(
            gzip.decompress(before).replace(content + b"false", content + b"true")
        )
        path.write_bytes(richer)
        with refused(code="invalid"):
            save("made", path)
    make(made("second"), 1, 5)
    with refused(code="range"):
        save("made", path)
    assert path.read_bytes() == richer
    path.write_bytes(b"mine")
    with refused(code="file"):
        save("made", path)
    assert path.read_bytes() == b"mine"
