"""How many cells of a sweep are done, from one request for a thousand of them."""

import sys
import types
from dataclasses import dataclass

import pytest
from optuna.distributions import IntDistribution

from infoscope.tracking import Profile, Search, Sweep, grid
from infoscope.tracking.publishing import publish
from infoscope.tracking.status import lines, status
from infoscope.tracking.store import Store
from infoscope.tracking.tags import OUTCOME
from tests.tracking.cells import begun, tags_of


def cells(profile):
    return grid(seed=list(profile.seeds), kind="plain")


def point(profile):
    return [{"kind": "searched"}]


def space(profile):
    return {"width": IntDistribution(1, 100)}


def nothing(pack, report):
    pass


@dataclass(frozen=True)
class Seeds(Profile):
    seeds: tuple[int, ...] = (0, 1)


PROFILES = {"laptop": Seeds((0, 1, 2, 3, 4, 5)), "smoke": Seeds()}
LISTED = Sweep("listed-cells", cells, nothing, PROFILES)
SEARCHED = Sweep("searched", point, nothing, PROFILES, search=Search("loss", "min", lambda: None, space, trials=4))


def unplannable(profile):
    raise LookupError("no models")


NEEDY = Sweep("needy", unplannable, nothing, PROFILES)


@pytest.fixture
def store(own_folder, monkeypatch):
    """(sweep) -> its experiment; the sweeps' modules are where they are looked for."""
    for sweep in (LISTED, SEARCHED, NEEDY):
        module = types.ModuleType(f"sweeps.somewhere.{sweep.name.replace('-', '_')}")
        module.SWEEP = sweep
        monkeypatch.setitem(sys.modules, module.__name__, module)
    there = [sweep.name for sweep in (LISTED, SEARCHED, NEEDY)]
    monkeypatch.setattr(
        "infoscope.tracking.status.module_of",
        lambda name: f"sweeps.somewhere.{name.replace('-', '_')}" if name in there else None,
    )
    return lambda sweep: Store.open(sweep, create=True)


def record(tmp_path, sweep, cell, profile="laptop"):
    folder = tmp_path / "runs" / "cells" / sweep.name
    return begun(folder, sweep.key(cell), cell, **{"infoscope.profile": profile})


def test_cells_are_counted_by_their_state(tmp_path, store, command):
    here = store("listed-cells")
    made = [record(tmp_path, LISTED, {"seed": seed, "kind": "plain"}) for seed in range(5)]
    for one, outcome in zip(made, ("complete", "complete", "failed")):
        one.end(outcome)
    for one in made:
        run_id = publish(one, here)
        if one.ending():
            one.remove()
        elif one is made[3]:
            here.end(run_id, "KILLED")
    made[4].end("complete")  # and it is not sent yet
    other = record(tmp_path, LISTED, {"seed": 9, "kind": "plain"}, "laptop seeds=9")  # of no profile below
    other.end("complete")
    publish(other, here)
    other.remove()
    (one,) = status()
    assert one.counts == {"done": 2, "running": 1, "failed": 1, "killed": 1}
    assert (one.cells, one.missing, one.unsent) == (6, 1, 1)
    code, output, _ = command("status")
    head, row = (line.split() for line in output.splitlines())
    assert code == 0 and head[:3] == ["sweep", "cells", "done"] and row == ["listed-cells", *"62111111"]
    assert len({len(line) for line in output.splitlines()}) == 1  # aligned
    assert status(profile="smoke")[0].counts == {"done": 2} and status(profile="smoke")[0].missing == 0
    assert status(profile="smoke")[0].others == 4
    (wider,) = status(["listed-cells"], "smoke", {"seeds": "0,1,9,10"})
    assert (wider.cells, wider.counts, wider.missing) == (4, {"done": 3}, 1)


def test_a_finished_cell_with_a_second_run_is_done(store):
    """Of a store that made a run and died before it could say so."""
    here, cell = store("listed-cells"), {"seed": 0, "kind": "plain"}
    for status_of_run in ("KILLED", "FINISHED", "KILLED"):
        outcome = {OUTCOME: "complete" if status_of_run == "FINISHED" else ""}
        run = here.client.create_run(here.experiment_id, tags=tags_of(LISTED.key(cell), cell, **outcome))
        here.client.set_terminated(run.info.run_id, status_of_run)
    (one,) = status(["listed-cells"])
    assert one.counts == {"done": 1} and one.others == 0


def test_a_search_counts_the_cells_under_its_profile(tmp_path, store):
    for width, profile in ((1, "laptop"), (2, "laptop; smoke"), (3, "smoke")):
        one = record(tmp_path, SEARCHED, {"kind": "searched", "width": width}, profile)
        one.end("complete")
        publish(one, store("searched"))
    (one,) = status(["searched"])
    assert (one.cells, one.counts, one.missing) == (4, {"done": 2}, 2)


def test_a_sweep_whose_cells_cannot_be_counted(tmp_path, store):
    """Because its cells are made of another sweep's models, or because its module is not here."""
    for sweep in (NEEDY, Sweep("not-here", cells, nothing, PROFILES)):
        one = record(tmp_path, sweep, {"a": 1})
        one.end("complete")
        publish(one, store(sweep.name))
    found = status()
    assert [(one.sweep, one.cells, one.missing, one.counts["done"]) for one in found] == [
        ("needy", None, None, 1),
        ("not-here", None, None, 1),
    ]
    assert "? " in lines(found)[1]
    *_, needy, absent = lines(found)
    assert needy == "needy: no models" and absent.startswith("not-here: ")


def test_a_deleted_experiment_is_reported_and_the_others_are_sent(tmp_path, store, command):
    here = store("listed-cells")
    record(tmp_path, LISTED, {"seed": 0, "kind": "plain"}).end("complete")
    here.client.delete_experiment(here.experiment_id)
    assert "is deleted" in status()[0].note
    begun = record(tmp_path, SEARCHED, {"kind": "searched", "width": 1})
    begun.end("complete")
    code, output, _ = command("sync")
    assert code == 1 and "is deleted" in output and "searched: 1 cells" in output
    assert not begun.path.exists()


def test_a_sweep_that_was_never_run(store):
    assert status() == []
    (one,) = status(["listed-cells"])
    assert (one.cells, one.missing, one.counts) == (6, 6, {})


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("os;id",), "'os;id'"),
        (("listed-cells", "--set", "seeds"), "name=value"),
        (("listed-cells", "lsted-cells"), "sweep lsted-cells"),
    ],
)
def test_bad_input_is_one_sentence(store, command, arguments, word):
    code, output, error = command("status", *arguments)
    assert (code, output) == (2, "") and word in error and len(error.splitlines()) == 1


def test_an_unknown_profile_is_said_beside_the_sweep_and_one_that_none_has_is_an_error(store, command):
    (one,) = status(["listed-cells"], "nope")
    assert one.cells is None and "'nope'" in one.note
    code, output, error = command("status", "listed-cells", "needy", "--profile", "nope")
    assert code == 2 and "'nope'" in output and len(error.splitlines()) == 1
    assert "listed-cells" in error and "laptop, smoke" in error
    assert command("status", "listed-cells", "needy")[0] == 0
