"""Cells, keys, packs and profiles: pure bookkeeping, no Ray and no MLflow."""

from dataclasses import dataclass

import pytest

from infoscope.tracking import Cell, Pack, Profile, Report, Search, Sweep, grid
from infoscope.tracking.sweep import names
from tests.refusals import refused


@dataclass(frozen=True)
class Settings(Profile):
    steps: int = 10
    seeds: tuple[int, ...] = (0, 1)
    rate: float = 0.5
    cubic: bool = True


def sweep(cells, **settings):
    return Sweep(
        "demo",
        lambda profile: cells,
        lambda pack, report: None,
        {"laptop": Settings()},
        **settings,
    )


def test_grid_expands_lists_only():
    cells = grid(a=[1, 2], b="x", schedule=(2.0, 4.0), c=[True])
    assert cells == [
        {"a": a, "b": "x", "schedule": (2.0, 4.0), "c": True} for a in (1, 2)
    ]


@dataclass(frozen=True)
class Critic(Cell):
    depth: int
    study: str | None = None
    frames: int | None = None
    none_is_a_value = ("frames",)


def test_a_typed_cell_has_the_key_of_its_fields():
    """Those that are None are absent, or a value, as the class says."""
    cells = grid(Critic, depth=[1, 2], study="x")
    assert cells == [Critic(1, "x"), Critic(2, "x")]
    assert [sweep([]).key(cell) for cell in (cells[1], Critic(3))] == [
        sweep([]).key({"study": "x", "depth": 2, "frames": None}),
        sweep([]).key({"depth": 3, "frames": None}),
    ]
    assert names(dict(enumerate(cells))) == {0: "depth=1", 1: "depth=2"}
    declared = sweep(cells, pack_by={"cpu": ("study",)})
    (pack,) = declared.packs(declared.plan(Profile()), "cpu")
    assert list(pack.values()) == cells
    assert Pack(tuple(cells)).study == "x"
    with refused("sweep demo", "conflict"):
        sweep([*cells, {"depth": 1, "study": "x", "frames": None}]).plan(Profile())


def test_key_depends_on_values_and_version_and_not_on_order():
    key = sweep([]).key({"a": 1, "b": 2.0})
    assert key == sweep([]).key({"b": 2.0, "a": 1})
    assert key != sweep([]).key({"a": 2, "b": 2.0})
    assert key != sweep([], version=2).key({"a": 1, "b": 2.0})


@pytest.mark.parametrize(
    "cells, argument, code",
    [
        ([{"a": 1}, {"a": 1}], "sweep demo", "conflict"),
        ([], "sweep demo", "few"),
        *[
            ([{"a": value}], "cell value a", "type")
            for value in ([1, {}], {"x": 1}, object(), {1})
        ],
    ],
)
def test_cells_with_invalid_fields_are_refused(cells, argument, code):
    with refused(argument, code):
        sweep(cells).plan(Profile())


UNSTORABLE = [
    ({"a(b)": 1}, r"got 'a\(b\)'"),
    ({3: 1}, "got 3"),
    ({"a": "x\ud800"}, r"value a .* got 'x\\ud800'"),
    ({"a": float("nan")}, "value a .*nan"),
    ({"a": "x" * 5000, "b": "y" * 5000}, "8000"),
]


def test_names_that_mlflow_would_refuse_are_refused():
    """Before it is run: its run could never be sent, or not as it is."""
    for cell, words in UNSTORABLE:
        with pytest.raises(ValueError, match=words) as caught:
            sweep([cell]).plan(Profile())
        assert len(str(caught.value)) < 400
        str(caught.value).encode()
    for tags in ({"a(b)": "x"}, {"a": 3}):
        with pytest.raises(ValueError, match="tag"):
            sweep([{"a": 1}], tags=lambda cell, tags=tags: tags).tags_of({"a": 1})
    with refused(code="invalid"):
        Sweep(
            "demo", lambda profile: [], lambda pack, report: None, {"a; b": Profile()}
        )
    with refused(code="invalid"):
        Search("a%", "max", lambda: None)
    with refused("the label of the settings", "type"):
        sweep([]).profile("laptop", {"steps": "\udcff"})


def test_packs_group_by_device_and_start_with_the_costliest():
    cells = grid(depth=[1, 2, 3], bound=["dv", "js"], seed=[0, 1])
    declared = sweep(
        cells,
        pack_by={"cpu": ("depth", "seed"), "gpu": ("depth",)},
        cost=lambda cell: cell["depth"],
    )
    plan = declared.plan(Profile())
    cpu = declared.packs(plan, "cpu")
    gpu = declared.packs(plan, "gpu")
    assert len(cpu) == 6
    assert len(gpu) == 3
    assert [next(iter(pack.values()))["depth"] for pack in gpu] == [3, 2, 1]
    assert (
        {key for pack in cpu for key in pack}
        == set(plan)
        == {key for pack in gpu for key in pack}
    )
    for pack in cpu:
        assert len({(cell["depth"], cell["seed"]) for cell in pack.values()}) == 1


def test_cells_are_named_by_what_they_differ_in():
    cells = {"a": {"depth": 1, "bound": "js", "steps": 5, "schedule": (2.0,)}}
    cells["b"] = cells["a"] | {"depth": 2, "schedule": (2.0, 4.0)}
    assert names(cells) == {
        "a": "depth=1 schedule=2.0",
        "b": "depth=2 schedule=2.0,4.0",
    }
    assert names({"a": cells["a"]})["a"].split() == [
        "depth=1",
        "js",
        "steps=5",
        "schedule=2.0",
    ]
    # what only one kind has does not tell cells apart
    other = {"bound": "dv", "schedule": (2.0,), "rows": 3}
    assert names({"a": cells["a"], "c": other}) == {"a": "js", "c": "dv"}
    assert names({"a": {"depth": 1}, "b": {"rows": 3}}) == {
        "a": "depth=1",
        "b": "rows=3",
    }


def test_pack_gives_what_its_cells_share():
    pack = Pack(tuple(grid(depth=2, seed=[0, 1])))
    assert pack.depth == 2
    with pytest.raises(AttributeError, match="seed"):
        _ = pack.seed


def test_overrides_are_parsed_as_the_type_they_replace():
    label, profile = sweep([], axes=("seeds",)).profile(
        "laptop", {"seeds": "3,4,5", "steps": "20", "rate": "0.25"}
    )
    assert profile.seeds == (3, 4, 5)
    assert profile.steps == 20
    assert profile.rate == 0.25
    # seeds are an axis: more of them is the same profile
    assert label == "laptop rate=0.25 steps=20"


def test_a_boolean_setting_is_true_or_false():
    profile = Settings()
    assert profile.override({"cubic": "False"}).cubic is False
    assert profile.override({"cubic": "true"}).cubic is True
    with refused("setting cubic", "type"):
        profile.override({"cubic": "0"})


@pytest.mark.parametrize(
    "name, overrides, argument, code",
    [
        ("nope", {}, "profile of demo", "name"),
        ("laptop", {"step": "3"}, "setting 'step'", "name"),
        ("laptop", {"steps": "many"}, "setting steps", "type"),
    ],
)
def test_bad_profile_or_setting(name, overrides, argument, code):
    with refused(argument, code):
        sweep([]).profile(name, overrides)


def test_run_here_accepts_other_reports_and_names_the_protocol():
    class Kept(Report):
        def __init__(self):
            self.values = {}

        def metrics(self, cell, values, step=0):
            self.values |= values

    def trial(pack, report):
        with report.member(pack.cells[0]):
            report.metrics(pack.cells[0], {"loss": 1.0})
        report.progress(1.0)
        assert report.restore() is None

    sweep = Sweep("here", lambda profile: [{"a": 1}], trial, {})
    pack = Pack(({"a": 1},))
    recorder = Kept()
    sweep.run_here(pack, recorder)
    assert recorder.values == {"loss": 1.0}
    with pytest.raises(TypeError, match="dict without metrics"):
        sweep.run_here(pack, {})
