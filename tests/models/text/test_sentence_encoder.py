"""The sentence encoder: what it keeps of the class, and that it can be rebuilt from its config."""

from __future__ import annotations

import json

import pytest
import torch

from infoscope.data import sentences
from infoscope.models import SentenceEncoder, fit_sentence_encoder
from tests.refusals import refused


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def corpus() -> tuple[list[str], torch.Tensor]:
    return sentences(2000, generator=generator())


@pytest.fixture(scope="module")
def encoder(corpus) -> SentenceEncoder:
    """Trained on every fourth sentence only."""
    texts, labels = corpus
    return fit_sentence_encoder(texts[::4], labels[::4], generator())


def test_the_label_is_decodable_from_held_out_sentences(corpus, encoder):
    """The premise of the nominal information: logistic regression errs on less than 0.5 % of what neither it nor the
    encoder has seen."""
    from sklearn.linear_model import LogisticRegression

    texts, labels = corpus
    decoder = LogisticRegression(max_iter=1000).fit(encoder.encode(texts[::4]), labels[::4])
    held_out = [i for i in range(len(texts)) if i % 4]
    assert decoder.score(encoder.encode([texts[i] for i in held_out]), labels[held_out]) > 0.995


def test_embeddings_are_distinct_and_bounded(corpus, encoder):
    vectors = encoder.encode(corpus[0])
    assert vectors.shape == (4000, 64)
    assert vectors.dtype == torch.float32
    assert vectors.abs().max() <= 1
    assert not vectors.requires_grad
    assert len(vectors.unique(dim=0)) > 3900


def test_rebuilt_from_config_and_weights(corpus, encoder):
    rebuilt = SentenceEncoder(**json.loads(json.dumps(encoder.config)))
    rebuilt.load_state_dict(encoder.state_dict())
    assert torch.equal(rebuilt.encode(corpus[0][:50]), encoder.encode(corpus[0][:50]))


def test_same_seed_same_encoder_and_the_global_generator_is_left_alone(corpus):
    texts, labels = corpus
    before = torch.get_rng_state()
    first, again, other = (
        fit_sentence_encoder(texts[::50], labels[::50], generator(seed), width=8, steps=5).encode(texts[:20])
        for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(before, torch.get_rng_state())


def test_frequencies_are_shares_of_the_known_words():
    encoder = SentenceEncoder(["a", "good", "film"])
    frequencies = encoder.frequencies(["A good, good FILM!", "an unknown film"])
    assert frequencies.tolist() == [[0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize("sentence", ["", "nothing known"])
def test_a_sentence_without_a_known_word_is_refused(sentence):
    with refused("sentences", "invalid"):
        SentenceEncoder(["a", "film"]).encode(["a film", sentence])


@pytest.mark.parametrize(
    ("arguments", "name"),
    [(([], 4), "vocabulary"), ((["a", "a"], 4), "vocabulary"), ((["a"], 0), "width"), ((["a"], 1.5), "width")],
)
def test_bad_architecture_is_refused(arguments, name):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        SentenceEncoder(*arguments)


@pytest.mark.parametrize(
    "labels", [torch.tensor([0, 1, 1]), torch.tensor([0.0, 1.0]), torch.tensor([0, 0]), torch.tensor([1, 2])]
)
def test_bad_labels_are_refused(labels):
    with pytest.raises(ValueError, match="^labels must be"):
        fit_sentence_encoder(["a film", "a play"], labels, generator())
