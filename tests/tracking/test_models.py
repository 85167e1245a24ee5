"""Logged models: what loading one may execute, and what plain MLflow makes of them."""

import json
import socket
import time

import huggingface_hub
import mlflow
import pytest
import torch

from infoscope.data import sentences
from infoscope.estimators import make_critic
from infoscope.models import VAE, LatentSpec, SequenceClassifier, small_encoder
from infoscope.models.domain import MODELS
from infoscope.tracking import load_model
from infoscope.tracking.store import Store
from infoscope.tracking.weights import limit_allocations, write_model
from tests.refusals import Touch, refused
from tests.tracking.cells import begun, closed, example


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def foreign(tmp_path):
    """(folder of a model of MLflow's PyTorch flavour, the file that appears when its
    pickle is read)
    """
    import mlflow.pytorch

    module = torch.nn.Linear(2, 1)
    trace = tmp_path / "executed"
    module.trap = Touch(trace)
    path = tmp_path / "foreign"
    mlflow.pytorch.save_model(
        module, str(path), serialization_format="pickle", pip_requirements=["torch"]
    )
    return path, trace


def test_a_foreign_model_is_refused_and_nothing_of_it_is_executed(foreign):
    path, trace = foreign
    with pytest.raises(TypeError, match="not logged by infoscope"):
        load_model(str(path))
    assert not trace.exists()
    mlflow.pytorch.load_model(str(path))
    assert trace.exists()  # by what the message names


@pytest.mark.parametrize(
    "module, kind",
    [
        # importing it would read the command line and exit
        ("infoscope.tracking.__main__", "parser"),
        ("infoscope.tracking.models", "_LoadedModel"),
        ("infoscope.tracking.models", "load_model"),
        ("infoscope.estimators", "JointCritic"),  # defined elsewhere
        ("os", "system"),
    ],
)
def test_a_configuration_names_a_model_class_by_its_own_module(tmp_path, module, kind):
    path = tmp_path / "model.json"
    path.write_text(
        json.dumps({"module": module, "class": kind, "config": {"command": "true"}})
    )
    with pytest.raises((TypeError, ImportError)):
        load_model(str(tmp_path))


def test_a_class_of_others_is_not_written(tmp_path):
    with pytest.raises(TypeError, match="infoscope namespace"):
        write_model(torch.nn.Linear(1, 1), {}, tmp_path)


@pytest.fixture
def contacts(monkeypatch):
    """The hosts that are asked for; none can be reached."""
    asked = []

    def refuse(host, *arguments, **named):
        asked.append(host)
        raise OSError("no network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: refuse(address))
    monkeypatch.setenv("HF_TOKEN", "hush")
    return asked


BACKBONE = {
    "backbone": "a/b",
    "use_pretrained_backbone": True,
    "use_timm_backbone": False,
    "backbone_config": None,
}


@pytest.fixture
def small(tmp_path):
    """The file that describes a small encoder of texts."""
    encoder = small_encoder(
        ["a text"], "bert", generator(), hidden=8, heads=1, max_length=8
    )
    write_model(encoder, encoder.tokenize(["a text"]), tmp_path)
    return tmp_path / "model.json"


@pytest.mark.parametrize(
    "architecture",
    [
        {"model_type": "detr"} | BACKBONE,
        {"model_type": "timm_backbone"} | BACKBONE,
        {"model_type": "mra"},
        {"a": 1},
    ],
)
def test_loading_a_model_contacts_no_host(small, contacts, architecture):
    """Of the user's machine a hub would see the address and the token."""
    described = json.loads(small.read_text())
    described["config"]["architecture"] = architecture
    small.write_text(json.dumps(described))
    with refused():
        load_model(str(small.parent))
    assert not contacts


def test_a_constructor_that_asks_the_hub_is_offline(
    tmp_path, small, contacts, monkeypatch
):
    """As a later version of transformers could, for an architecture that is built
    without a download today.
    """

    def download(*arguments, **named):
        return huggingface_hub.hf_hub_download(
            "a/b", "config.json", local_dir=tmp_path / "other"
        )

    monkeypatch.setattr("infoscope.models.text.encoder.AutoModel.from_config", download)
    before = huggingface_hub.constants.HF_HUB_OFFLINE
    with pytest.raises(OSError, match="locate the file"):
        load_model(str(tmp_path))
    assert not contacts
    assert before == huggingface_hub.constants.HF_HUB_OFFLINE


def test_a_configuration_of_a_transformer_names_no_code_outside():
    encoder = small_encoder(
        sentences(20, generator=generator())[0], "bert", generator(), hidden=16, heads=2
    )
    for wrong in (
        {"attn_implementation": "somebody/kernel"},
        {"auto_map": {"AutoModel": "somebody/repository--code.Model"}},
        {"text_config": {"attn_implementation": "somebody/kernel"}},
    ):
        with refused("architecture", "invalid"):
            type(encoder)(
                **encoder.config
                | {"architecture": encoder.config["architecture"] | wrong}
            )


DOMAIN = {"shape": (1, 16, 16), "classes": 4, "domains": 3, "network": {"width": 4}}


def case(name):
    """A module and an example of one row."""
    if name == "joint":
        critic = make_critic(
            name, 5, 5, depth=2, width=256, embed=8, generator=generator(1)
        )
        return critic, example(5, 5)
    image = torch.rand(1, 1, 16, 16, generator=generator()).numpy()
    if name == "vae":
        return VAE((1, 16, 16), LatentSpec(2, (3,)), generator=generator()), {
            "images": image
        }
    if name == "text":
        texts = sentences(20, generator=generator())[0]
        encoder = small_encoder(texts, "bert", generator(), hidden=16, heads=2)
        module = SequenceClassifier(encoder.config, 2, generator=generator())
        return module, {
            name: values.numpy() for name, values in encoder.tokenize(texts[:1]).items()
        }
    return MODELS[name](**DOMAIN, generator=generator()), {"x": image}


def test_loading_without_runs_creates_no_store(empty_folder):
    with pytest.raises(LookupError, match="no store of runs"):
        load_model("0" * 32)
    assert list(empty_folder.iterdir()) == []


DAMAGED = [
    ("model.json", b"", "Expecting value"),
    ("model.json", b"\xff", "'utf-8' codec"),
    ("model.json", b"[" * 200_000, "nested"),
    ("model.json", b"{}", "'module'"),
    ("weights.safetensors", None, "of a InnerCritic"),
]


@pytest.mark.parametrize("name", ["nvae", "erm"])
def test_plain_mlflow_gives_the_blocks_of_a_model_beside_its_output(
    own_folder, monkeypatch, name
):
    """As its signature says; the blocks are what a partition is evaluated by."""
    store = Store.open("demo", create=True)
    record = begun(own_folder, "cell", {"a": 1})
    module, example = case(name)
    write_model(module.eval(), example, record.model("model"))
    record.append({"model": "model", "owner": "cell"})
    run_id = closed(record, store)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.uri)
    (output,) = store.run(run_id).outputs.model_outputs
    logged = mlflow.pyfunc.load_model(f"models:/{output.model_id}")
    images = torch.rand(3, 1, 16, 16, generator=generator()).numpy()
    prediction = logged.predict({"x": images})
    assert (
        set(prediction)
        == {column.name for column in logged.metadata.signature.outputs}
        > {"output"}
    )
    with torch.no_grad():
        torch.testing.assert_close(
            torch.from_numpy(prediction["output"]), module(torch.from_numpy(images))
        )
        for block, values in module.blocks(torch.from_numpy(images)).items():
            torch.testing.assert_close(torch.from_numpy(prediction[block]), values.mean)


@pytest.mark.parametrize(
    "name, changed",
    [
        ("joint", {"depth": 10**6}),
        ("vae", {"hidden": 10**5}),
        ("text", {"encoder": {"num_hidden_layers": 10**4}}),
    ],
)
def test_settings_of_another_model_than_the_weights_make_nothing(
    tmp_path, name, changed
):
    """A description from elsewhere could ask for more than a machine has memory for."""
    write_model(*case(name), tmp_path)
    described = json.loads((tmp_path / "model.json").read_text())
    encoder = described["config"].get("encoder")
    if encoder:
        changed = {
            "encoder": encoder
            | {"architecture": encoder["architecture"] | changed["encoder"]}
        }
    described["config"] |= changed
    (tmp_path / "model.json").write_text(json.dumps(described))
    began = time.process_time()
    with refused(code="invalid") as caught:
        load_model(str(tmp_path))
    assert str(tmp_path / "model.json") in str(caught.value)
    assert time.process_time() - began < 20


def test_no_model_is_built_for_unreadable_weights(tmp_path):
    write_model(*case("vae"), tmp_path)
    (tmp_path / "weights.safetensors").write_bytes(b"nothing")
    with limit_allocations(0), refused(code="invalid"):
        load_model(str(tmp_path))


def test_a_damaged_model_is_named(tmp_path):
    for number, (file, content, word) in enumerate(DAMAGED):
        write_model(make_critic("inner", 2, 2), example(), tmp_path / str(number))
        path = tmp_path / str(number) / file
        path.write_bytes(path.read_bytes()[:-2] if content is None else content)
        with refused(code="invalid") as caught:
            load_model(str(path.parent))
        message = str(caught.value)
        assert message.startswith(f"{path} ")
        assert word in message
        assert len(message.splitlines()) == 1
