"""How many cells of a sweep are done, from one request for a thousand of them."""

import pytest

from infoscope.tracking import Sweep, grid
from infoscope.tracking.publishing import publish
from infoscope.tracking.status import lines, mean_work, status
from infoscope.tracking.store import Store
from tests.tracking.cells import Seeds, begun, closed, nothing, searched


def cells(profile):
    return grid(seed=list(profile.seeds), kind="plain")


def unplannable(profile):
    raise LookupError("no models")


PROFILES = {"laptop": Seeds((0, 1, 2, 3, 4, 5)), "smoke": Seeds()}
LISTED = Sweep("listed-cells", cells, nothing, PROFILES)
SEARCHED = searched(PROFILES)
NEEDY = Sweep("needy", unplannable, nothing, PROFILES)


@pytest.fixture
def store(own_folder, declared):
    """(sweep) -> its experiment; the sweeps' modules are where they are looked for."""
    declared(LISTED, SEARCHED, NEEDY)
    return lambda sweep: Store.open(sweep, create=True)


def record(tmp_path, sweep, cell, profile="laptop"):
    folder = tmp_path / "runs" / "cells" / sweep.name
    return begun(folder, sweep.key(cell), cell, **{"infoscope.profile": profile})


def test_cells_are_counted_by_their_state(tmp_path, store, command):
    here = store("listed-cells")
    made = [
        record(tmp_path, LISTED, {"seed": seed, "kind": "plain"}) for seed in range(5)
    ]
    for folder, outcome in zip(made, ("complete", "complete", "failed")):
        folder.end(outcome)
    for folder in made:
        run_id = publish(folder, here)
        if folder.ending():
            folder.remove()
        elif folder is made[3]:
            here.end(run_id, "KILLED")
    made[4].end("complete")  # and it is not sent yet
    # of no profile below
    other = record(tmp_path, LISTED, {"seed": 9, "kind": "plain"}, "laptop seeds=9")
    other.end("complete")
    publish(other, here)
    other.remove()
    (counted,) = status()
    assert counted.counts == {"done": 2, "running": 1, "failed": 1, "killed": 1}
    assert counted.cells == 6
    assert counted.missing == 1
    assert counted.unsent == 1
    code, output, _ = command("status")
    head, row = (line.split() for line in output.splitlines())
    assert code == 0
    assert head[:3] == ["sweep", "cells", "done"]
    assert row == ["listed-cells", *"62111111"]
    assert len({len(line) for line in output.splitlines()}) == 1  # aligned
    (smoke,) = status(profile="smoke")
    assert smoke.counts == {"done": 2}
    assert smoke.missing == 0
    assert smoke.others == 4
    (wider,) = status(["listed-cells"], "smoke", {"seeds": "0,1,9,10"})
    assert wider.cells == 4
    assert wider.counts == {"done": 3}
    assert wider.missing == 1


def test_a_search_counts_the_cells_under_its_profile(tmp_path, store):
    for width, profile in ((1, "laptop"), (2, "laptop; smoke"), (3, "smoke")):
        folder = record(
            tmp_path, SEARCHED, {"kind": "searched", "width": width}, profile
        )
        closed(folder, store("searched"))
    (counted,) = status(["searched"])
    assert counted.cells == 4
    assert counted.counts == {"done": 2}
    assert counted.missing == 2


def test_a_sweep_whose_cells_cannot_be_counted(tmp_path, store):
    """Because its cells are made of another sweep's models, or because its module is
    not here.
    """
    for sweep in (NEEDY, Sweep("not-here", cells, nothing, PROFILES)):
        closed(record(tmp_path, sweep, {"a": 1}), store(sweep.name))
    counted = status()
    assert [sweep.sweep for sweep in counted] == ["needy", "not-here"]
    for sweep in counted:
        assert sweep.cells is None
        assert sweep.missing is None
        assert sweep.counts["done"] == 1
    assert "? " in lines(counted)[1]
    *_, needy, absent = lines(counted)
    assert needy == "needy: no models"
    assert absent.startswith("not-here: ")


def test_a_deleted_experiment_is_reported_and_the_others_are_sent(
    tmp_path, store, command
):
    here = store("listed-cells")
    record(tmp_path, LISTED, {"seed": 0, "kind": "plain"}).end("complete")
    here.client.delete_experiment(here.experiment_id)
    assert "is deleted" in status()[0].note
    begun = record(tmp_path, SEARCHED, {"kind": "searched", "width": 1})
    begun.end("complete")
    code, output, _ = command("sync")
    assert code == 1
    assert "is deleted" in output
    assert "searched: 1 cells" in output
    assert not begun.path.exists()


@pytest.mark.parametrize(
    "arguments, word",
    [
        (("os;id",), "'os;id'"),
        (("listed-cells", "--set", "seeds"), "name=value"),
        (("listed-cells", "lsted-cells"), "sweep lsted-cells"),
    ],
)
def test_bad_input_is_one_sentence(store, rejected, arguments, word):
    assert word in rejected("status", *arguments)


def test_an_unknown_profile_is_said_beside_the_sweep_and_one_that_none_has_is_an_error(
    store, command
):
    (counted,) = status(["listed-cells"], "nope")
    assert counted.cells is None
    assert "'nope'" in counted.note
    code, output, error = command(
        "status", "listed-cells", "needy", "--profile", "nope"
    )
    assert code == 2
    assert "'nope'" in output
    assert len(error.splitlines()) == 1
    assert "listed-cells" in error
    assert "laptop, smoke" in error
    assert command("status", "listed-cells", "needy")[0] == 0


@pytest.mark.parametrize("label, mean", [("laptop", 3.5), ("laptop seeds=0,1", 1.5)])
def test_the_mean_work_is_that_of_a_labels_cells(declared, label, mean):
    declared(Sweep("growing", cells, nothing, PROFILES, cost=lambda c: c["seed"] + 1.0))
    assert mean_work("growing", label) == mean


def test_a_search_has_no_mean_work(declared):
    declared(SEARCHED)
    with pytest.raises(LookupError, match="chooses its cells"):
        mean_work(SEARCHED.name, "laptop")
