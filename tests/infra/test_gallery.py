"""The gallery: every example draws its picture, and every picture is there, small."""

import re

import pytest

from infra.site.gallery import PAGE, draw, examples

# 5 to 40 seconds
SLOW = {"angles.png", "counts.png", "genes.png", "reading.png", "representation.png"}
EXAMPLES = [
    pytest.param(name, marks=pytest.mark.system if name in SLOW else ())
    for name in examples()
]


def test_every_picture_of_the_page_is_drawn_by_it_and_small():
    shown = re.findall(r"\(gallery/(.+?)\)", PAGE.read_text())
    sizes = {
        path.name: path.stat().st_size for path in (PAGE.parent / "gallery").iterdir()
    }
    assert shown == list(examples())
    assert set(shown) == set(sizes)
    assert len(shown) == 11
    assert max(sizes.values()) < 40_000


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_draws_a_picture(name, tmp_path):
    draw(examples()[name], tmp_path / name)
    assert (tmp_path / name).stat().st_size > 2_000
