"""Names of older runs, as `docs/results/runs` has them, become those that sweeps report
now.
"""

from pathlib import Path

import pytest

from infoscope.tracking.archive.format import read_archive
from infoscope.tracking.renamed import RENAMED, present_name, present_names

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
    if archive.experiment in RENAMED:
        assert names - present.keys()
