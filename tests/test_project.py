"""Licence, citation, paper, changelog and package metadata: each complete, all of one
version.
"""

import datetime
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).parents[1]
LICENCE = "Apache-2.0"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
SECTIONS = [  # the Journal of Open Source Software requires them
    "Summary", "Statement of need", "State of the field", "Software design", "Research impact statement",
    "AI usage disclosure", "Acknowledgements", "References",
]  # fmt: skip


def test_the_citation_follows_its_schema():
    program = Path(sys.executable).with_name("check-jsonschema")
    command = [
        program,
        "--builtin-schema",
        "vendor.citation-file-format",
        "CITATION.cff",
    ]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_version_and_date():
    """In pyproject.toml, CITATION.cff, codemeta.json, .zenodo.json, the conda recipe,
    and at the top of the changelog.
    """
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    described = json.loads((REPOSITORY / "codemeta.json").read_text())
    deposit = json.loads((REPOSITORY / ".zenodo.json").read_text())
    recipe = yaml.safe_load(
        (REPOSITORY / "infra" / "conda" / "recipe.yaml").read_text()
    )
    changelog = (REPOSITORY / "CHANGELOG.md").read_text()
    version, date = re.search(r"^## (\S+) \((\S+)\)$", changelog, re.MULTILINE).groups()
    assert {
        PROJECT["version"],
        citation["version"],
        described["version"],
        deposit["version"],
        recipe["context"]["version"],
    } == {version}
    assert citation["date-released"] == datetime.date.fromisoformat(date)
    assert described["dateModified"] == deposit["publication_date"] == date
    assert citation["license"] == recipe["about"]["license"] == LICENCE
    assert deposit["license"] == LICENCE
    assert described["license"].endswith(LICENCE)
    assert citation["keywords"] == described["keywords"] == deposit["keywords"]
    assert citation["title"] == deposit["title"]
    assert described["name"] in citation["title"]


def test_the_conda_recipe_requires_what_the_distribution_requires():
    recipe = yaml.safe_load(
        (REPOSITORY / "infra" / "conda" / "recipe.yaml").read_text()
    )
    wanted = {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}
    assert {text.replace(" ", "") for text in recipe["requirements"]["run"]} == wanted


def test_the_changelog_is_kept_by_version():
    """Newest first, each but what is unreleased with a date, under the headings of
    keepachangelog.com and Numbers.
    """
    changelog = (
        (REPOSITORY / "CHANGELOG.md").read_text().replace("## Unreleased\n", "", 1)
    )
    releases = re.findall(
        r"^## (\d+)\.(\d+)\.(\d+) \((\d{4}-\d\d-\d\d)\)$", changelog, re.MULTILINE
    )
    versions = [(*map(int, numbers), date) for *numbers, date in releases]
    assert len(versions) == len(re.findall(r"^## ", changelog, re.MULTILINE)) >= 2
    assert versions == sorted(versions, reverse=True)
    headings = set(re.findall(r"^### (.+)$", changelog, re.MULTILINE))
    headings.discard("Removed in 0.3")  # what the next minor version has no more, apart
    assert headings <= {
        "Added",
        "Changed",
        "Deprecated",
        "Numbers",
        "Removed",
        "Fixed",
        "Security",
    }


def test_the_paper_has_the_sections_and_length_of_its_journal():
    text = (REPOSITORY / "paper.md").read_text().split("---\n", 2)[2]
    assert re.findall(r"^# (.+)$", text, re.MULTILINE) == SECTIONS
    assert 750 <= len(text.split()) <= 1000


def test_the_paper_has_its_references():
    """All that are cited are there, and no others."""
    paper = REPOSITORY / "paper.md"
    references = REPOSITORY / "paper.bib"
    cited = set(re.findall(r"@([a-z]+\d{4}[a-z]+)", paper.read_text()))
    listed = re.findall(r"^@[a-z]+\{(\w+),$", references.read_text(), re.MULTILINE)
    assert len(listed) > 10
    assert sorted(listed) == sorted(cited)


@pytest.mark.parametrize(
    "name",
    [
        "paper.md",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CODE_OF_CONDUCT.md",
    ],
)
def test_no_link_to_a_file_that_is_not_there(name):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (REPOSITORY / name).read_text())
    for link in links:
        assert (REPOSITORY / link).exists()
