"""What a stranger needs before the code: a licence, how to cite, and a paper whose references are all there."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
LICENCE = "Apache-2.0"


def test_one_licence():
    """The standard text, in every package as well."""
    text = (REPOSITORY / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text and "END OF TERMS AND CONDITIONS" in text
    projects = sorted(REPOSITORY.glob("packages/*/pyproject.toml"))
    assert len(projects) == 7
    for project in projects:
        assert tomllib.loads(project.read_text())["project"]["license"] == LICENCE
        assert (project.parent / "LICENSE").read_text() == text


def test_the_citation_follows_its_schema():
    program = Path(sys.executable).with_name("check-jsonschema")
    command = [program, "--builtin-schema", "vendor.citation-file-format", "CITATION.cff"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    version = tomllib.loads((REPOSITORY / "packages/metrics/pyproject.toml").read_text())["project"]["version"]
    cited = (REPOSITORY / "CITATION.cff").read_text()
    assert f"version: {version}" in cited and f"license: {LICENCE}" in cited


def test_the_paper_has_its_references():
    """All that are cited are there, and no others."""
    paper, references = (REPOSITORY / name for name in ("paper.md", "paper.bib"))
    cited = set(re.findall(r"@([a-z]+\d{4}[a-z]+)", paper.read_text()))
    listed = re.findall(r"^@[a-z]+\{(\w+),$", references.read_text(), re.MULTILINE)
    assert len(listed) > 10 and sorted(listed) == sorted(cited)


@pytest.mark.parametrize("name", ["paper.md", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_no_link_to_a_file_that_is_not_there(name):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (REPOSITORY / name).read_text())
    assert not [link for link in links if not (REPOSITORY / link).exists()]
