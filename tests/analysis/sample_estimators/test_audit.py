"""The table of the audit: failures with numbers, and packages that are not installed."""

import importlib

import numpy as np
import pytest

from analysis.common.tables import save
from analysis.sample_estimators import audit
from analysis.sample_estimators.audit import BOTH, LABELS, Audited, audited, estimators, table
from infoscope.command_line import run_command

INVARIANCES = ("permute rows", "rescale x and y", "rescale x alone", "rescale one column", "permute columns",
               "swap x and y")  # fmt: skip
OURS = "infoscope knn", "labels as numbers (KSG)"


def candidates():
    def entropy_of_labels(package, x, y):
        counts = np.unique(y, axis=0, return_counts=True)[1] / len(y)
        return -np.sum(counts * np.log(counts))

    def refuses(package, x, y):
        raise NotImplementedError("two columns")

    yield Audited("entropy", LABELS, "numpy", entropy_of_labels)
    yield Audited("refuses", BOTH, "numpy", refuses)
    yield Audited("absent", BOTH, "nowhere.module", refuses)


def test_failures_refusals_and_absences_are_all_in_the_table(tmp_path):
    found, missing = audited(list(candidates()), 100, 2)
    result = table(found, missing, 100, 2)
    text = result.text.set_index(["y", "check"])
    assert text.loc[("labels", "independence"), "entropy"].startswith("FAILS 1.9")
    assert text.loc[("labels", "permute rows"), "entropy"] == "0.000"
    assert text.loc[("numbers", "independence"), "entropy"] == "not applicable"
    assert text.loc[("numbers", "independence"), "refuses"] == "not offered"
    assert "NotImplementedError: two columns" in result.caption and "nowhere (No module named" in result.caption
    assert [path.suffix for path in save(result, tmp_path / "audit")] == [".csv", ".tex"]


def test_our_estimators_keep_what_needs_no_data():
    """Invariances exactly; independence and H(y) within the tolerance."""
    found, _ = audited([one for one in estimators() if one.name in OURS], 200, 2)
    ours = {(check.y, check.name): check for check in found["infoscope knn"]}
    for kind in BOTH:
        for name in INVARIANCES:
            assert ours[kind, name].violation < 1e-9, (kind, name)
        assert ours[kind, "independence"].verdict == "holds"
    for name in ("rename labels", "one-hot labels"):
        assert ours["labels", name].violation < 1e-9
    assert ours["labels", "at most H(y)"].verdict == "holds"
    as_numbers = {check.name: check.verdict for check in found[OURS[1]]}
    assert as_numbers["rename labels"] == as_numbers["one-hot labels"] == "fails"


def test_the_command_prints_and_saves(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(audit, "estimators", candidates)
    assert run_command(audit.COMMAND, ["--n", "100", "--repeats", "2"]) == 0
    said = capsys.readouterr().out
    assert "entropy" in said and "Failed: " in said
    assert (tmp_path / "runs" / "tables" / "audit.csv").stat().st_size > 1000


def test_too_few_rows_are_an_error_in_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_command(audit.COMMAND, ["--n", "5"]) == 2
    assert capsys.readouterr().err.startswith("error: n must ")


@pytest.mark.parametrize("package", ["npeet_plus", "infomeasure", "ennemi", "npeet"])
def test_installed_packages_are_called_like_their_users_do(package):
    """A number for continuous pairs, near the truth of 0.83 nats; skipped where the package is not installed."""
    pytest.importorskip(package)
    g = np.random.default_rng(0)
    x = g.normal(size=(500, 1))
    y = 0.9 * x + np.sqrt(0.19) * g.normal(size=(500, 1))
    for candidate in estimators():
        if candidate.package.split(".")[0] == package and "numbers" in candidate.y:
            measured = candidate.measure(importlib.import_module(candidate.package), x, y)
            assert measured == pytest.approx(0.83, abs=0.15)
