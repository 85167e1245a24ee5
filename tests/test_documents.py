"""The Python of README and docs/, run once: README's kind here, on simulated arrays of
the shapes that it names; tutorials and errata while the site is built
(tests/pages/test_site.py), or here where the site cannot be built.
"""

import importlib.util
import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

REPOSITORY = Path(__file__).parents[1]
LOGGED = Path(__file__).parent / "tracking" / "logged"
PROGRAMS = sorted((REPOSITORY / "docs" / "errata").glob("*.py"))
SMALLER = {"steps=500": "steps=5", "draws=10_000": "draws=1_000"}
without_site = pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is not None, reason="the site build runs them"
)


def blocks(path, marked):
    return re.findall(rf"```python{marked}\n(.*?)```", path.read_text(), re.DOTALL)


PAGES = ("own-data", "python", "independence", "label-errors", "screening")
SHOWN = [
    pytest.param(code, id=f"{name}-{number}")
    for name in ("README.md", *(f"docs/{page}.md" for page in PAGES))
    for number, code in enumerate(blocks(REPOSITORY / name, ""), 1)
    if name != "README.md" or "load_model" not in code  # tests/tracking/test_readme.py
]
KINDS = (
    "angles",
    "counts",
    "classes",
    "images",
    "embeddings",
    "reading",
    "series",
    "representation",
    "pid",
)
RUN = [
    path
    for path in sorted((REPOSITORY / "docs").rglob("*.md"))
    if blocks(path, " exec.*?")
]


def arrays():
    """Latents of 240 rows in 60 groups that carry information about a class, a domain
    and two factors.
    """
    generator = np.random.default_rng(0)
    n = 240
    labels = generator.integers(0, 2, n)
    groups = np.repeat(np.arange(n // 4), 4)
    domains = groups % 3
    factors = np.column_stack([labels, generator.integers(0, 3, n)])
    mean = factors + 0.3 * generator.normal(size=(n, 2))
    z_y = labels[:, None] + 0.5 * generator.normal(size=(n, 1))
    z_d = domains[:, None] + 0.5 * generator.normal(size=(n, 1))
    return {
        "z": mean, "labels": labels, "slide": groups, "hospital": domains, "factors": factors, "mean": mean,
        "scale": np.full((n, 2), 0.3), "z_y": z_y, "z_d": z_d, "z_x": generator.normal(size=(n, 1)), "y": labels,
        "d": domains, "patient": groups, "x": mean, "site": domains, "angle": mean[:, 1], "names": np.arange(n),
        "run_id": str(LOGGED / "nvae"),
        "images": torch.as_tensor(generator.normal(size=(n, 5)), dtype=torch.float32),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("code", SHOWN)
def test_what_is_shown_runs(code, monkeypatch):
    """A row of what a sweep has recorded is made up: it names a logged critic."""
    monkeypatch.setattr(
        "infoscope.tracking.runs",
        lambda *_: pd.DataFrame({"run_id": [str(LOGGED / "joint-critic")]}),
    )
    for shown, smaller in SMALLER.items():
        code = code.replace(shown, smaller)
    exec(compile(code, "what is shown", "exec"), arrays())


@pytest.mark.parametrize("page", KINDS)
def test_an_example_prints_what_stands_below_it(page, capsys):
    """The words exactly, the numbers to a few per cent: machines round differently."""
    text = (REPOSITORY / "docs" / f"{page}.md").read_text()
    (code, output), *more = re.findall(
        r"```python\n((?:(?!```).)*)```\n\n```text\n(.*?)```", text, re.DOTALL
    )
    assert not more
    exec(compile(code, page, "exec"), {})
    number = r"-?\d[\d,]*\.?\d*"
    shown = output.strip()
    printed = capsys.readouterr().out.strip()
    assert re.sub(number, "#", printed) == re.sub(number, "#", shown)
    values = (
        [float(one.replace(",", "")) for one in re.findall(number, text)]
        for text in (printed, shown)
    )
    assert next(values) == pytest.approx(next(values), rel=0.05, abs=0.02)


@pytest.mark.parametrize(
    "path",
    [REPOSITORY / "AGENTS.md", REPOSITORY / "docs" / "llms.txt"],
    ids=lambda path: path.name,
)
def test_what_agents_read_names_what_is_there(path):
    links = re.findall(r"\]\((?!http)([^)#]+)", path.read_text())
    assert len(links) >= 5
    for link in links:
        assert (path.parent / link).is_file()


def test_everything_that_is_promised_is_run():
    assert len(SHOWN) >= 6
    assert len(RUN) >= 7
    assert len(PROGRAMS) >= 41


def test_every_erratum_has_its_program():
    """One entry for each program, which checks what the entry says."""
    linked = re.findall(
        r"^- .*?\]\((errata/\w+\.py)\)",
        (REPOSITORY / "docs" / "errata.md").read_text(),
        re.MULTILINE,
    )
    assert sorted(linked) == [f"errata/{path.name}" for path in PROGRAMS]
    for path in PROGRAMS:
        assert "\nassert " in path.read_text().replace("\n    ", "\n")


@pytest.mark.system
@without_site
@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_a_page_prints_what_it_tells_of(path, capsys, monkeypatch):
    """Every block prints something that the site can show."""
    monkeypatch.chdir(REPOSITORY)
    names = {}
    for code in blocks(path, " exec.*?"):
        exec(compile(code, path.name, "exec"), names)
        assert capsys.readouterr().out.strip()


@pytest.mark.system
@without_site
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_of_the_errata_shows_its_error(path, capsys, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    runpy.run_path(str(path))
    assert capsys.readouterr().out.strip()
