"""What of a report goes into its files and into the metrics of its run."""

import pandas as pd
import pytest

from analysis.common.own_report import metrics_of, results_of
from infoscope.estimators.result import Estimate, undefined
from infoscope.metrics.report import Report, ReportRow


class Found(Report):
    n = 90
    answers = ("z holds the size.",)
    caption = "What z holds."
    record = (
        ReportRow(
            "richer",
            Estimate(1.0, unit="bits", interval=(0.5, 1.5)),
            {"block": "z", "target": "size"},
        ),
        ReportRow("MIG", Estimate(0.5, unit="share of H(y)")),
        ReportRow("SAP", undefined("why", "share")),
    )
    lists = {"hardest": pd.DataFrame({"item": ["a"]}), "none": pd.DataFrame()}


def test_metrics_are_values_and_intervals_by_what_they_are_of():
    ends = {"richer_bits": 1.0, "richer_low_bits": 0.5, "richer_high_bits": 1.5}
    expected = {("z", "size", name): value for name, value in ends.items()}
    assert metrics_of(Found()) == expected | {("MIG",): 0.5}
    assert metrics_of(Found(), ["MIG"]) == {("MIG",): pytest.approx(0.5)}


def test_a_report_has_one_table_and_a_file_for_each_list():
    table, hardest = results_of("represent", Found(), "0" * 64)
    assert table.figures["what"].tolist() == ["richer", "MIG", "SAP"]
    assert table.finding == "What z holds. 90 rows."
    assert "SHA-256 of the data: 000" in table.notes[0]
    assert hardest.name == "hardest"
    assert hardest.rows == [["a"]]
