"""The import contract of the house, and what must not be in the repository."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]


def test_import_contract():
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [program, "--no-cache"], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_namespace_stays_implicit():
    """One __init__.py in packages/*/src/infoscope would hide the other packages."""
    assert not list(REPOSITORY.glob("packages/*/src/infoscope/__init__.py"))


def test_constraints_are_exact_and_name_no_index():
    for line in (REPOSITORY / "constraints.txt").read_text().splitlines():
        name, equals, version = line.partition("==")
        assert equals and version and " " not in line and "/" not in line, line
    assert "://" not in (REPOSITORY / "requirements.txt").read_text()
