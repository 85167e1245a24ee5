"""What logged models hold, of several bodies of work, in a scratch MLflow store: asked, kept, joined, and what goes
wrong.
"""

import numpy as np
import pandas as pd
import pytest
import torch

from analysis.common.models import Candidate, candidates, codes_of
from analysis.representation import representations
from analysis.representation._named import Layers, named_model
from analysis.representation._reports import Effort, Held, held, items_of
from infoscope.command_line import run_command
from infoscope.models import VAE
from infoscope.tracking import runs
from infoscope.tracking.store.store import Store
from tests.analysis import logged
from tests.refusals import refused

SIZE, N = 16, 120
EFFORT = Effort(rows=80, resamples=10, permutations=0)


def factors(seed=0):
    """Images whose upper half is as bright as one factor says, and the lower as another."""
    generator = np.random.default_rng(seed)
    a, b = generator.integers(0, 3, (2, N))
    x = np.zeros((N, 1, SIZE, SIZE), np.uint8)
    x[:, :, :8], x[:, :, 8:] = (80 * one[:, None, None, None] for one in (a, b))
    return {"x": x, "target:upper": a, "target:lower": b, "name": np.array("halves")}


def small():
    return VAE((1, SIZE, SIZE), {"real": 2}, (4, 4), 4)


def log(experiment, folder, module, kind, seed, kept, profile="laptop"):
    example = {"images": (kept["x"][:2] / 255.0).astype(np.float32)} if kept else {}
    store = Store.open(experiment, create=True)
    logged.log(store, folder, {"model": kind, "seed": seed}, kept, "model", module, example, profile)


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """An autoencoder of two seeds, one of one seed, one of another sweep, and a run without a model."""
    folder = tmp_path_factory.mktemp("representations")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        for kind, hidden, seed in (("narrow", 8, 0), ("narrow", 8, 1), ("wide", 16, 0)):
            module = VAE((1, SIZE, SIZE), {"real": 3}, (8, 8), hidden, torch.Generator().manual_seed(seed))
            log("vae-zoo", folder / "records", module, kind, seed, factors())
        log("vae-zoo", folder / "records", None, "bare", 0, None)
        other = factors(1) | {"name": np.array("other")}
        log("resnet-layers", folder / "records", small(), "first weights", 0, other, "laptop data=other")
    return folder


@pytest.fixture
def store(origin, monkeypatch, sketched):
    monkeypatch.chdir(origin)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return origin


def asked(words=(), status=0):
    assert run_command(representations.COMMAND, ["--experiments", "vae-zoo,resnet-layers", *words]) == status


def test_models_of_two_sweeps_are_in_one_table_and_are_not_asked_twice(store, monkeypatch, capsys):
    monkeypatch.setattr(representations, "effort_of", lambda profile: EFFORT)
    asked()
    printed = capsys.readouterr().out
    table = pd.read_csv(store / "runs/tables/representations-laptop-holdings.csv", comment="#")
    assert set(table["model"]) == {"narrow", "wide", "first weights"} and set(table["target"]) == {"upper", "lower"}
    of_vae = table[table["model"] == "narrow"]
    assert set(of_vae["block"]) == {"z"} and set(of_vae["trainings"]) == {2}
    assert (of_vae["richer_bits"] < np.log2(3)).all() and (of_vae["richer_bits_error"] > 0).all()
    alone = table[(table["model"] == "first weights") & (table["block"] == "z")]
    assert (alone["trainings"] == 1).all() and (alone["richer_bits_error"] > 0).all()
    assert "paired by seeds" in printed and "halves (120 items)" in printed
    found = candidates(runs("vae-zoo", "laptop"))
    written = runs("vae-zoo", "laptop").set_index("run_id")
    assert written.loc[found[1].run_id, "representation/upper/z/richer_bits"] > 0
    monkeypatch.setattr("analysis.representation._reports.report", lambda *_, **__: pytest.fail("asked again"))
    asked()


@pytest.mark.parametrize(
    ("profile", "count"), [("laptop", 1), ("laptop data=other", 1), ("laptop data=mine", 0), ("paper", 0)]
)
def test_a_profile_holds_what_was_run_with_settings_of_it_replaced(store, profile, count):
    models, notes = representations.found_in("resnet-layers", profile)
    assert len(models) == count and len(notes) == (not count)
    assert not notes or "laptop data=other" in notes[0]


def test_a_model_by_its_address_with_items_of_a_file(store, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(representations, "effort_of", lambda profile: EFFORT)
    (one, *_) = candidates(runs("resnet-layers"))
    np.savez(tmp_path / "mine.npz", **factors(2))
    asked(["--model", f"runs:/{one.run_id}/model", "--data", str(tmp_path / "mine.npz")])
    assert "mine.npz (120 items)" in capsys.readouterr().out
    asked(["--model", one.run_id])
    assert "other (120 items)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "message"),
    [("nothing-of-the-kind", "MODEL must be"), ("runs:/0123/model", "id=0123 not found")],
)
def test_what_is_no_model_is_one_sentence(store, monkeypatch, capsys, model, message):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # of the environment when it was imported
    asked(["--model", model], status=2)
    said = capsys.readouterr().err
    assert message in said and "Traceback" not in said


def test_items_of_domain_models_are_read_by_their_names(monkeypatch):
    stored = {"x": np.zeros((4, 2)), "y": np.array([0, 1, 0, 1]), "d": np.array([0, 0, 1, 1]),
              "class_names": np.array(["one", "two"]), "domain_names": np.array(["red", "blue"]),
              "groups": np.arange(4), "name": np.array("made up")}  # fmt: skip
    monkeypatch.setattr("analysis.representation._reports.arrays", lambda run, name: stored)
    found = items_of(Candidate("nvae", "0", "r", "r"), None)
    assert list(found.targets["class"]) == ["one", "two", "one", "two"] and set(found.domain) == {"red", "blue"}
    monkeypatch.setattr("analysis.representation._reports.arrays", lambda run, name: {"x": stored["x"]})
    with refused("items", "type"):
        items_of(Candidate("nvae", "0", "r", "r"), None)
    with pytest.raises(LookupError, match=r"give DATA=FILE.npz"):
        items_of(Candidate("a", "", "a", None), None)


def test_texts_become_vectors():
    class Embedder(torch.nn.Module):
        def embed(self, texts):
            return torch.tensor([[len(one), isinstance(one, tuple)] for one in texts], dtype=torch.float32)

    alone = codes_of(Embedder(), np.array(["a", "bcd"])).means["vector"]
    pairs = codes_of(Embedder(), np.array([["a", "b"], ["c", "d"]])).means["vector"]
    assert alone.tolist() == [[1, 0], [3, 0]] and pairs.tolist() == [[2, 1], [2, 1]]
    with pytest.raises(ValueError, match="a Linear"):
        codes_of(torch.nn.Linear(1, 1), np.array(["a"]))


class Ends(torch.nn.Module):
    """The mean of images of 3 channels."""

    def blocks(self, x):
        (mean,) = torch.nn.functional.conv2d(x, torch.ones(1, 3, 1, 1)).mean(dim=(1, 2, 3))[None, :, None]
        return {"z": torch.distributions.Normal(mean, torch.ones_like(mean))}


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((5, 8, 8, 3), np.uint8), "give x.transpose"),
        (np.full((5, 3, 8, 8), 255.0), "float64 from 255 to"),
        (np.full((5, 3, 8, 8), 200), "int64 from 200 to"),
        (np.zeros((5, 7)), r"\[5, 7\]"),
        (np.zeros((5, 2, 8, 8)), r"\[5, 2, 8, 8\]"),
    ],
)
def test_items_that_a_model_does_not_take_are_one_sentence(x, message):
    with pytest.raises(ValueError, match=message):
        codes_of(Ends(), x)


@pytest.mark.parametrize("x", [np.full((5, 3, 2, 2), 51, np.uint8), np.full((5, 3, 2, 2), 0.2)])
def test_images_are_bytes_or_shares(x):
    assert codes_of(Ends(), x).means["z"] == pytest.approx(0.6)


def test_a_network_of_torchvision_is_its_children():
    import torchvision

    network = torchvision.models.resnet18(weights=None).eval()
    found = Layers(network).blocks(torch.rand(2, 1, 32, 32, generator=torch.Generator().manual_seed(0)))
    assert list(found) == [name for name, _ in network.named_children()]
    assert found["layer3"].mean.shape == (2, 256) and found["layer3"].scale is None
    with pytest.raises(LookupError, match="MODEL must be"):
        named_model("/no/such/folder")


def made_up(kind, seed, usable, score):
    figures = {"richer": usable, "linear": usable / 2, "reading": None, "ceiling": 1.0}
    figures |= dict.fromkeys(("unique", "redundant", "synergistic"))
    figures |= {f"{name}_error": 0.01 for name in figures}
    about = {"block": "z", "target": "a", "role": "target", "n": 10, "notes": "too few"}
    table = pd.DataFrame([about | figures])
    scores = pd.DataFrame([{"score": "MIG", "value": score}])
    return Held(Candidate(kind, str(seed), "r", "r"), "vae-zoo", "halves", 10, table, scores, {}, ())


def test_scores_that_rank_alike_agree_are_drawn_and_pairs_are_of_seeds(tmp_path):
    values = np.random.default_rng(0).random(12)
    reports = [made_up("one", seed, value, value**3) for seed, value in enumerate(values)]
    table = representations.agreement(representations.scores_of(reports), np.random.default_rng(1))
    row = table[(table["a"] == "usable of targets") & (table["b"] == "MIG")].iloc[0]
    assert row["rho"] == pytest.approx(1) and row["low"] == pytest.approx(1) and row["models"] == 12
    for one in representations.results(reports):
        if one.draw:
            one.draw(tmp_path / f"{one.name}.png")
    assert {path.stem for path in tmp_path.iterdir()} == {"holdings", "agreement"}
    others = [made_up("two", seed, value + 0.1 * (seed % 2), 0.0) for seed, value in enumerate(values[:6])]
    (apart,) = representations.differences([*reports, *others]).to_dict("records")
    assert apart["bits"] == pytest.approx(0.05 / np.log(2)) and apart["trainings"] == 6 and apart["less"] == "one"


class Collapsed(torch.nn.Module):
    """Its one block is the same for every picture."""

    def blocks(self, x):
        return {"z": torch.distributions.Normal(torch.zeros(len(x), 2), torch.ones(len(x), 2))}


def test_a_model_that_collapsed_counts_as_0(tmp_path):
    """Of two trainings that hold b bits and 0 the mean is b / 2, and a sentence says which is 0."""
    np.savez(tmp_path / "halves.npz", **factors())
    ones = [Candidate("narrow", seed, "here", None) for seed in "01"]
    items = items_of(ones[0], str(tmp_path / "halves.npz"))
    models = small(), Collapsed()
    reports = [held(one, "vae-zoo", model, items, EFFORT, False) for one, model in zip(ones, models)]
    table = representations.holdings(reports).set_index("target")
    alone = representations.holdings(reports[:1]).set_index("target")
    for name in ("richer_bits", "linear_bits", "reading_bits"):
        assert table.loc["upper", name] == pytest.approx(alone.loc["upper", name] / 2)
    assert (table["trainings"] == 2).all()
    assert alone.loc["upper", "richer_bits"] > 0.1
    caption = representations.results(reports)[0].caption
    assert "narrow seed 1" in caption and "seed 0" not in caption
    assert representations.collapsed([made_up("one", 0, 0.5, 0.5)]) == []


def test_what_a_run_keeps_is_what_was_measured(store):
    (one,) = candidates(runs("resnet-layers"))
    items = items_of(one, None)
    new, old = (held(one, "resnet-layers", small(), items, EFFORT, again) for again in (True, False))
    pd.testing.assert_frame_equal(new.table, old.table)
    assert old.notes == new.notes and old.n == new.n == N
