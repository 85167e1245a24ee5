"""Names of older runs, as `docs/results/runs` has them, become those that sweeps report
now.
"""

from pathlib import Path

import pytest

from infoscope.tracking import curve
from infoscope.tracking.archive.format import read_archive
from infoscope.tracking.renamed import present_name, present_names
from infoscope.tracking.store import Store
from tests.tracking.cells import begun, closed

ARCHIVES = sorted(
    (Path(__file__).parents[2] / "docs" / "results" / "runs").glob("*.jsonl.gz")
)


@pytest.mark.parametrize(
    "experiment, older, present",
    [
        ("critic-capacity", "at 2 bits/mse_bits2", "mse_bits2 at 2 bits"),
        ("known-laws", "truth_error", "true_nats_error"),
        ("known-laws", "covered", "covering_intervals"),
        ("reading", "covered", "coverage"),
        (
            "vae-zoo",
            "evaluation 2/total_correlation",
            "evaluation 2/total_correlation_nats",
        ),
        ("mine", "covered", "covered"),
    ],
)
def test_an_older_name_is_translated_in_its_experiment_only(experiment, older, present):
    assert present_name(experiment, older) == present


def test_a_curve_is_read_by_its_present_name(own_folder):
    store = Store.open("dataset-difficulty", create=True)
    folder = begun(own_folder / "cells")
    for step in range(2):
        folder.metrics({"Curves/H_yb": step / 2}, step)
    folder.metrics({"H_yb": 9.0, "best_bits": 0.25}, 0)
    run_id = closed(folder, store)
    assert curve(run_id, "null_entropy_bits").to_dict() == {0: 0.0, 1: 0.5}
    assert curve(run_id, "best_v_information_bits").to_dict() == {0: 0.25}
    assert curve(run_id, "absent").empty


def test_some_archives_have_older_names():
    older = set()
    for path in ARCHIVES:
        archive = read_archive(path)
        for run in archive.runs:
            if (
                present_names(archive.experiment, run.metrics).keys()
                != run.metrics.keys()
            ):
                older.add(archive.experiment)
    assert {"critic-capacity", "known-laws", "toy-model"} <= older


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def test_names_of_an_archive_stay_different_and_are_translated_once(path):
    archive = read_archive(path)
    names = set()
    for run in archive.runs:
        for name in run.metrics:
            names.add(name)
    present = present_names(archive.experiment, dict.fromkeys(names, 0))
    assert len(present) == len(names)
    assert present_names(archive.experiment, present) == present
