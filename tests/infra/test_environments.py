"""The table of what an installation brings."""

import sys

import pytest

from infra import environments


def test_the_page_has_every_python_and_extra():
    page = environments.REPOSITORY / "docs" / "results" / "environments.md"
    lines = [line for line in page.read_text().splitlines() if line.startswith("| 3")]
    rows = [line.strip("| ").split(" | ") for line in lines]
    assert [tuple(row[:2]) for row in rows] == [
        (one, two) for one in environments.PYTHONS for two in environments.EXTRAS
    ]
    assert all(row[-1] == "none" for row in rows)


def test_what_fails_says_why():
    with pytest.raises(environments.CommandFailed, match="no such thing"):
        environments.run(sys.executable, "-c", "raise SystemExit('no such thing')")
