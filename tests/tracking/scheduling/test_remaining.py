"""The estimate of the time that is left, on sweeps whose truth is known: no Ray, no clock."""

import itertools

import pytest

from infoscope.tracking.scheduling.remaining import Left, Remaining, duration, one_of_each_first, traits
from infoscope.tracking.sweep import grid


@pytest.mark.parametrize("wrong", [0.2, 5.0])
def test_a_wrong_declaration_of_one_kind_is_corrected_when_one_of_it_has_run(wrong):
    """Ten packs of a minute each, one after another; those of the second kind take `wrong` times what is declared."""
    remaining, now = Remaining(1), 0.0
    seconds = [60.0, 60.0 * wrong] * 5
    for number in range(10):
        remaining.add(number, 60.0, (f"kind={number % 2}",))
    assert remaining.left(now) is None  # nothing is known
    for number, taken in enumerate(seconds):
        remaining.begin(number, now)
        remaining.tell(number, 0.5, taken / 2, now + taken / 2)
        if 2 <= number < 9:
            left, truth = remaining.left(now + taken / 2), sum(seconds[number + 1 :]) + taken / 2
            assert left.told and truth / 2 < left.seconds < 2 * truth
        now += taken
        remaining.end(number, taken)


def test_traits_are_what_packs_differ_in_and_one_of_each_kind_comes_first():
    cells = grid(domain=["text", "images"], bound=["dv", "js"], seed=[0, 1, 2], steps=10)
    packs = [
        {str(place): cell for place, cell in enumerate(cells) if (cell["domain"], cell["seed"]) == kind}
        for kind in itertools.product(("text", "images"), range(3))
    ]
    assert traits(packs) == [("domain=text",)] * 3 + [("domain=images",)] * 3
    ordered = one_of_each_first(packs)
    assert [next(iter(pack.values()))["domain"] for pack in ordered[:2]] == ["text", "images"]
    assert sorted(map(id, ordered)) == sorted(map(id, packs))


@pytest.mark.parametrize(
    ("seconds", "words"), [(1, "5 s"), (42, "40 s"), (100, "2 min"), (3000, "50 min"), (1e5, "28 h")]
)
def test_a_time_is_told_as_exactly_as_it_is_known(seconds, words):
    assert duration(seconds) == words
    assert duration(600.0) in str(Left(600.0, 500.0, 720.0)) and duration(300.0) in str(Left(600.0, 300.0, 1200.0))
