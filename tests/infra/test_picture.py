"""The figures of the documents: what they show has closed forms, and they are pictures."""

import math

import pytest

from infra.site import tutorials
from infra.site.picture import parts

TRUTH = {  # bits: unique of a, redundant, synergistic
    "copies": (0, 1, 0), "a alone": (1, 0, 0), "a XOR b": (0, 0, 1),
    "a AND b": (0, 1.5 - 0.75 * math.log2(3), 0.5),
}  # fmt: skip


def test_the_parts_of_coins_are_those_of_their_gates(tmp_path):
    measured = parts(tmp_path / "parts.png")
    assert set(measured) == set(TRUTH)
    assert (tmp_path / "parts.png").stat().st_size > 5_000
    for name, terms in TRUTH.items():
        bits = [
            getattr(measured[name], term) / math.log(2)
            for term in ("unique_a", "redundant", "synergistic")
        ]
        assert bits == pytest.approx(terms, abs=1e-4)


def test_every_tutorial_that_runs_shows_a_small_figure():
    pages = {path.stem: path.read_text() for path in tutorials.FOLDER.glob("*.md")}
    assert set(tutorials.FIGURES) == {
        name for name, text in pages.items() if "python exec" in text
    }
    for name in tutorials.FIGURES:
        assert f"]({name}.png)" in pages[name]
        assert 5_000 < (tutorials.FOLDER / f"{name}.png").stat().st_size < 60_000, name


def test_a_figure_is_drawn_from_the_code_of_its_page(tmp_path):
    assert tutorials.draw("estimate", tmp_path).stat().st_size > 5_000
