"""The evaluation of logged models, in a scratch MLflow store: what it finds, what it
keeps, and what goes wrong.
"""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

from analysis.common.models import candidates, codes_of
from analysis.partition import partition
from analysis.partition._evaluation import Effort, Items, evaluated, metric_name
from infoscope.metrics.partition.evaluation import evaluate
from infoscope.metrics.partition.report import compare
from infoscope.models.domain import MODELS
from infoscope.tracking import arrays, load_model, runs
from infoscope.tracking.models import ready_models
from infoscope.tracking.store import Store
from infoscope.tracking.tags import CELL, LOADED_FROM
from infoscope.tracking.weights import write_model
from tests.analysis import logged
from tests.analysis.commands import status_of

SHAPE = (6,)
CLASSES = 3
DOMAINS = 2
QUICK = "--resamples 10 --permutations 0 --draws 50 --folds 3 --family knn"


def items(n=80, seed=0, domains=DOMAINS):
    generator = default_rng(seed)
    groups = np.repeat(np.arange(n // domains), domains)
    y = generator.integers(0, CLASSES, n // domains)[groups]
    d = np.tile(np.arange(domains), n // domains)
    y[: CLASSES * domains] = np.repeat(np.arange(CLASSES), domains)
    x = np.hstack(
        [np.eye(CLASSES)[y], np.eye(2)[d], np.zeros((n, 1))]
    ) + generator.normal(0, 0.3, (n, 6))
    split = (np.arange(n) >= 0.9 * n).astype(np.uint8)
    return {"x": x.astype(np.float32), "y": y, "d": d, "groups": groups, "split": split,
            "split_names": np.array(["in-domain", "out-of-domain"]), "name": np.array("made up")}  # fmt: skip


def model(name, seed=0):
    return MODELS[name](shape=SHAPE, classes=CLASSES, domains=DOMAINS, network={"width": 8},
                        generator=torch.Generator().manual_seed(seed))  # fmt: skip


def log(store, folder, name, seed, stored=None, **more):
    cell = {"model": name, "seed": seed, "data": "made up"}
    example = {"x": items(seed=seed)["x"][:2]}
    if stored is None:
        stored = items(seed=seed)
    logged.log(
        store, folder, cell, stored, "domain-model", model(name, seed), example, **more
    )


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """A store with a good model of each of two kinds, made once."""
    folder = tmp_path_factory.mktemp("origin")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        store = Store.open(partition.EXPERIMENT, create=True)
        for name in ("nvae", "erm"):
            log(store, folder / "records", name, 0)
    return folder


@pytest.fixture
def store(origin, monkeypatch, sketched):
    """The store of the module; a test changes only runs of its own."""
    monkeypatch.chdir(origin)
    monkeypatch.setenv("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    return Store.open(partition.EXPERIMENT)


def evaluated_by(line, status=0):
    assert status_of(partition.COMMAND, f"{QUICK} {line}") == status


def run_of(store, key):
    return store.run_of(key).info.run_id


@pytest.fixture
def folder(store, origin):
    """Where the tables of both models of the store are."""
    evaluated_by("--models nvae,erm")
    return origin / partition.OUTPUTS


def test_models_are_found_and_evaluated(folder):
    outputs = [
        "it_comparison_table.tex",
        "it_summary_report.txt",
        "it_differences_over_items.csv",
    ]
    outputs += [f"it_model_comparison.{suffix}" for suffix in ("png", "pdf")]
    for name in outputs:
        assert (folder / name).stat().st_size > 0, name
    table = pd.read_csv(folder / "it_comparison_table.csv", comment="#").set_index(
        ["model", "route"]
    )
    of_codes = ("classifier", "neighbours", "labels-as-numbers")
    random = set()
    for kind in ("nvae", "nvae draws", "erm"):
        for route in of_codes:
            random.add((kind, route))
    # a deterministic model has no draws
    assert {*table.index} == random | {("nvae", "posterior")}
    assert table.loc[("erm", "classifier"), ["I(z_d;D|Y)_bits", "unique"]].isna().all()


def test_figures_are_those_of_the_same_codes_labels_and_settings_and_are_kept_at_the_run(
    store, folder
):
    run_id = run_of(store, "nvae-0")
    stored = arrays(run_id, "evaluation")
    module = load_model(run_id)
    keep = stored["split"] == 0
    codes = codes_of(module, stored["x"][keep])
    labels = [stored[name][keep] for name in ("y", "d", "groups")]
    effort = dict(family="knn", folds=3, resamples=10, permutations=0)
    by_hand = evaluate(codes.means, *labels, **effort, generator=default_rng(0))
    metrics = store.run(run_id).data.metrics
    each = pd.read_csv(folder / "it_trainings.csv").set_index(
        ["run_id", "route", "what"]
    )["value"]
    for route in ("classifier", "neighbours"):
        for name in ("I(z_y;Y|D)", "co-information(z_dy;Y;D)"):
            expected = by_hand.figures[route][name]
            assert metrics[f"partition/{route}/{metric_name(name)}"] == pytest.approx(
                expected.value
            )
            # of the means
            assert each[run_id, route, name].iloc[0] == pytest.approx(
                expected.bits.value
            )
    assert "partition/posterior/I.z_y.Y_given_D" in metrics
    # never a zero
    assert not any(
        "z_d" in name for name in store.run(run_of(store, "erm-0")).data.metrics
    )


def test_what_is_evaluated_is_not_measured_again_unless_asked(store, monkeypatch):
    words = "--models erm --k 4"
    evaluated_by(words)

    def refuse(*arguments, **settings):
        raise ValueError("measured")

    monkeypatch.setattr("infoscope.metrics.partition.evaluate", refuse)
    (model,) = ready_models(store.run_of("erm-0"), store.client)
    shown = {
        point.key: point
        for point in model.metrics
        if point.dataset_name == "made up, in-domain"
    }
    point = shown["partition/classifier/sufficiency"]
    # of the run alone: a term, no score
    assert "partition/classifier/I.z_y.Y" not in shown
    assert "partition/classifier/I.z_y.Y" in store.run_of("erm-0").data.metrics
    evaluated_by(words)
    again = store.client.get_logged_model(model.model_id).metrics
    assert len(again) == len(model.metrics)
    assert point.value == store.run_of("erm-0").data.metrics[point.key]
    (read,) = store.run_of("erm-0").inputs.dataset_inputs
    assert read.dataset.digest == point.dataset_digest
    assert read.tags[0].value == "evaluation"
    evaluated_by(f"{words} --again", status=2)
    evaluated_by("--models erm --k 3", status=2)  # other settings


def test_a_kept_evaluation_is_the_measured_one(store):
    """Also for differences between models, which need the pointwise values."""
    frame = runs(partition.EXPERIMENT, "laptop")
    all_candidates = candidates(frame, ("nvae", "erm"))
    pair = []
    for candidate in all_candidates:
        if candidate.seed == "0" and candidate.kind in ("nvae", "erm"):
            pair.append(candidate)
    effort = Effort(family="knn", folds=3, resamples=10, permutations=9, draws=50)

    stored = items()
    data = Items(stored["x"], stored["y"], stored["d"], stored["groups"], "made up")

    def reports_of_both(again):
        reports = {}
        for candidate in pair:
            model = load_model(candidate.address)
            reports[candidate.kind] = evaluated(
                candidate, model, data, effort, again
            ).report
        return reports

    fresh = reports_of_both(True)
    recorded = reports_of_both(False)
    for kind in fresh:
        assert_frame_equal(fresh[kind].table, recorded[kind].table)
        assert str(fresh[kind]) == str(recorded[kind])
    assert_frame_equal(compare(fresh), compare(recorded))
    # one measured now, one at an earlier time
    mixed = {"nvae": fresh["nvae"], "erm": recorded["erm"]}
    assert_frame_equal(compare(mixed), compare(fresh))


def test_a_model_of_an_older_configuration_is_evaluated(store, tmp_path):
    """A run whose configuration lacks the fields that came later."""

    def age(folder):
        description = json.loads((folder / "model.json").read_text())
        for name in ("version", "reconstruction", "beta_warmup"):
            del description["config"][name]
        (folder / "model.json").write_text(json.dumps(description))

    log(store, tmp_path, "nvae", 7, damage=age)
    evaluated_by(f"--model {run_of(store, 'nvae-7')}")


def test_models_of_two_versions_of_the_sweep_are_not_one_kind(
    empty_folder, sketched, capsys
):
    """The same cells, trained before and after what they mean changed: the earlier ones
    are left out and it is said.
    """
    store = Store.open(partition.EXPERIMENT, create=True)
    for version in "12":
        log(store, empty_folder / "records", "erm", 0, version=version)
    evaluated_by("")
    table = pd.read_csv(
        empty_folder / partition.OUTPUTS / "it_comparison_table.csv", comment="#"
    )
    assert {*zip(table["model"], table["trainings"])} == {("erm", 1)}
    assert "left out" in capsys.readouterr().out


def test_runs_that_were_loaded_from_a_file_have_no_models(store):
    frame = runs(partition.EXPERIMENT, None)
    is_erm = frame["model"] == "erm"
    loaded = [tags | {LOADED_FROM: "file"} for tags in frame["tags"]]
    mixed = frame.assign(tags=frame["tags"].mask(is_erm, pd.Series(loaded)))
    models, notes = partition.of_runs(mixed, "nvae,erm")
    assert {model.kind.split(" ")[0] for model in models} == {"nvae"}
    assert notes == [f"{is_erm.sum()} runs were loaded from files, without models."]


def test_one_broken_model_does_not_keep_the_others(store, tmp_path, capsys):
    log(
        store,
        tmp_path,
        "diva",
        0,
        damage=lambda folder: (folder / "weights.safetensors").write_bytes(b"nothing"),
    )
    one_class = items() | {"y": np.zeros(80, int)}
    log(store, tmp_path, "irm", 0, stored=one_class)
    log(store, tmp_path, "dann", 0, stored={})
    evaluated_by("--models diva,irm,dann,erm", status=1)
    errors = []
    for line in capsys.readouterr().err.splitlines():
        if line.startswith("error:"):
            errors.append(line)
    assert len(errors) == 3
    for line, name in zip(errors, ("diva", "dann", "irm")):
        assert f"{name} seed 0" in line


def test_ones_own_items_and_a_model_in_a_folder(store, tmp_path):
    write_model(model("augmented-dann"), {"x": items()["x"][:2]}, tmp_path / "mine")
    words = f"--model {tmp_path / 'mine'}"
    evaluated_by(words, status=2)  # no data
    own_items = items(60, seed=5)
    path = tmp_path / "own.npz"
    for labels, status in (
        (np.array(list("abc"))[own_items["y"]], 0),
        (own_items["y"][:5], 2),
    ):
        np.savez(path, x=own_items["x"], y=labels, d=own_items["d"])
        evaluated_by(f"{words} --data {path}", status)


def test_a_model_by_its_address_is_that_of_its_run(store):
    run = store.run_of("nvae-0")
    candidate = partition.candidate_at(
        f"models:/{run.outputs.model_outputs[0].model_id}"
    )
    assert candidate.run_id == run.info.run_id
    with pytest.raises(LookupError, match="no model at"):
        partition.candidate_at("models:/m-0123")


@pytest.mark.parametrize(
    "words, told",
    [
        ("--profile paper", "no finished runs"),
        ("--split train", "split is 'train'"),
        ("--model elsewhere", "no model at"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(store, capsys, words, told):
    evaluated_by(words, status=2)
    assert told in capsys.readouterr().err


def test_kinds_are_told_apart_by_the_settings_in_which_they_differ():
    def run(number, **cell):
        return {"run_id": str(number), "tags": {CELL: json.dumps(cell)}}

    frame = pd.DataFrame([
        run(0, model="erm", seed=0, width=8), run(1, model="nvae", seed=0, width=8, beta=1.0),
        run(2, model="nvae", seed=1, width=8, beta=2.0), run(3, model="nvae", seed=1, width=8, beta=1.0),
    ])  # fmt: skip
    assert [(one.kind, one.seed) for one in candidates(frame, ("nvae", "erm"))] == [
        ("nvae beta=1.0", "0"), ("nvae beta=1.0", "1"), ("nvae beta=2.0", "1"), ("erm", "0"),
    ]  # fmt: skip


def test_codes_are_those_of_the_model_in_blocks_of_any_size(monkeypatch):
    module = model("nvae")
    x = items()["x"]
    whole = codes_of(module, x)
    monkeypatch.setattr("analysis.common.models.EXAMPLES_AT_ONCE", 7)
    parts = codes_of(module, x)
    for name, block in module.blocks(torch.from_numpy(x)).items():
        assert_allclose(parts.means[name], block.mean.detach(), atol=1e-6)
        assert_allclose(parts.scales[name], whole.scales[name], atol=1e-6)
    draws = whole.drawn(default_rng(0))
    spread = (draws["z_y"] - whole.means["z_y"]) / whole.scales["z_y"]
    assert abs(spread.std() - 1) < 0.15  # of 640 numbers: 5 standard errors
    assert codes_of(model("erm"), x).scales is None
