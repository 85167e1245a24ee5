"""The table of what an installation brings."""

import sys

import pytest

from infra import environments


def test_a_row_takes_the_place_of_the_one_of_its_python_and_extra(monkeypatch, tmp_path):
    page = tmp_path / "page.md"
    monkeypatch.setattr(environments, "PAGE", page)
    page.write_text("# Title\n\n| Python | extra | size |\n|---|---|---|\n")
    for row in (["3.12", "core", "2 MB"], ["3.11", "torch", "not done: too large"], ["3.12", "core", "3 MB"]):
        environments.put(row)
    assert page.read_text().splitlines()[4:] == ["| 3.11 | torch | not done: too large |", "| 3.12 | core | 3 MB |"]


def test_the_page_has_every_python_and_extra():
    lines = [line for line in environments.PAGE.read_text().splitlines() if line.startswith("| 3")]
    rows = [line.strip("| ").split(" | ") for line in lines]
    assert [tuple(row[:2]) for row in rows] == [
        (one, two) for one in environments.PYTHONS for two in environments.EXTRAS
    ]
    assert all(row[-1] == "none" for row in rows)


def test_what_fails_says_why():
    version = "{}.{}".format(*sys.version_info)
    python = environments.interpreter(version)
    assert environments.run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip() == version
    assert environments.interpreter("2.99") is None
    with pytest.raises(environments.NotDone, match="no such thing"):
        environments.run(python, "-c", "raise SystemExit('no such thing')")
