"""The transformers of texts: that their numbers repeat, and what loading one may
execute.
"""

import json

import pytest
import torch
from tokenizers import Tokenizer
from torch.testing import assert_close
from transformers import PreTrainedTokenizerFast

from infoscope.models import TextEncoder, pretrained_encoder
from tests.data.common import generator
from tests.models.samples import KINDS, TEXTS, small
from tests.refusals import refused

TWO = ("The film was dull.", "The old play was long and new today.")


@pytest.fixture(scope="module", params=KINDS, ids=[kind for kind, _ in KINDS])
def model(request):
    return small(*request.param)


def test_an_embedding_depends_on_its_text_only(model):
    """Not on the order of the texts, the batch it is in, or the padding that takes."""
    alone = torch.cat([model.embed([text]) for text in TEXTS[:8]])
    assert_close(model.embed(TEXTS[:8], batch=8), alone, rtol=1e-4, atol=1e-5)
    assert_close(
        model.embed(TEXTS[7::-1], batch=3), alone.flip(0), rtol=1e-4, atol=1e-5
    )
    assert alone.shape == (8, model.hidden) == (8, 32)
    assert len(alone.unique(dim=0)) == len(set(TEXTS[:8]))


def test_tokens_do_not_depend_on_the_batch():
    encoder = small()
    many = TEXTS * 8  # more than the tokenizer is given at once
    together = encoder.tokens(many)
    for place in (0, 1023, 1024, len(many) - 1):
        (alone,) = encoder.tokens([many[place]])
        for ours, expected in zip(together[place], alone):
            assert torch.equal(ours, expected)


def test_tokens_are_padded_and_cut_off():
    encoder = small()
    tokens = encoder.tokenize(["a film", "film " * 100])
    assert all(values.shape == (2, 32) for values in tokens.values())
    assert tokens["attention_mask"][1].sum() == 32
    padding = tokens["attention_mask"][0] == 0
    assert padding.any()
    assert (tokens["input_ids"][0][padding] == encoder.config["padding"]).all()


def test_poolings_of_the_same_model():
    mean, cls, pooler = (
        small(pooling=pooling) for pooling in ("mean", "cls", "pooler")
    )
    tokens = mean.tokenize(TWO)
    with torch.no_grad():
        states = mean.transformer(**tokens).last_hidden_state
        length = int(tokens["attention_mask"][0].sum())
        assert_close(mean(**tokens)[0], states[0, :length].mean(0))
        assert_close(cls(**tokens), states[:, 0])
        assert pooler(**tokens).abs().max() <= 1  # a tanh


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_pairs_of_texts_keep_their_order(kind):
    encoder = small(kind)
    there, back = encoder.embed(
        [("a dull film", "a fine play"), ("a fine play", "a dull film")]
    )
    assert (there - back).abs().max() > 1e-3
    segments = encoder.tokenize([("a dull film", "a fine play")])["token_type_ids"]
    assert segments.max() == (1 if kind == "bert" else 0)


def saved(encoder, folder):
    """Writes an encoder as a folder of the hub's format."""
    encoder.transformer.save_pretrained(folder)
    marks = {"bert": "[PAD]", "distilbert": "[PAD]", "roberta": "<pad>"}
    tokenizer = Tokenizer.from_str(encoder.config["tokenizer"])
    mark = marks[encoder.config["architecture"]["model_type"]]
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=mark).save_pretrained(
        folder
    )
    return str(folder)


@pytest.mark.parametrize("kind, pooling", KINDS)
def test_a_folder_of_the_hubs_format_is_loaded(tmp_path, kind, pooling):
    encoder = small(kind, pooling)
    loaded = pretrained_encoder(
        saved(encoder, tmp_path), pooling=pooling, max_length=32
    )
    assert_close(loaded.embed(TEXTS[:6]), encoder.embed(TEXTS[:6]))
    rebuilt = TextEncoder(**json.loads(json.dumps(loaded.config)))
    rebuilt.load_state_dict(loaded.state_dict())


def test_weights_missing_in_a_folder_are_drawn_from_the_generator(tmp_path):
    encoder = small("bert", "pooler")
    encoder.transformer.pooler = None
    folder = saved(encoder, tmp_path)
    before = torch.get_rng_state()
    codes = []
    for seed in (0, 0, 1):
        loaded = pretrained_encoder(folder, "pooler", 32, generator=generator(seed))
        codes.append(loaded.embed(TEXTS[:3]))
    assert torch.equal(codes[0], codes[1])
    assert not torch.equal(codes[0], codes[2])
    assert torch.equal(before, torch.get_rng_state())


def test_no_code_of_the_folder_is_executed(tmp_path):
    folder = saved(small(), tmp_path)
    proof = tmp_path / "executed"
    (tmp_path / "modeling_own.py").write_text(
        f"open({str(proof)!r}, 'w')\nclass Own: pass\nclass OwnConfig: pass\n"
    )
    config = json.loads((tmp_path / "config.json").read_text())
    config["model_type"] = "own"
    config["auto_map"] = {
        "AutoModel": "modeling_own.Own",
        "AutoConfig": "modeling_own.OwnConfig",
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    with refused("name", "file"):
        pretrained_encoder(folder, max_length=32)
    assert not proof.exists()


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_more_tokens_than_positions_are_refused(kind):
    config = small(kind).config
    assert TextEncoder(**config).embed(["film " * 100]).isfinite().all()
    with refused("max_length", "range"):
        TextEncoder(**config | {"max_length": 33})


def test_pickled_weights_are_refused(tmp_path):
    encoder = small()
    folder = saved(encoder, tmp_path)
    torch.save(encoder.transformer.state_dict(), tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    with refused("name", "file"):
        pretrained_encoder(folder, max_length=32)
