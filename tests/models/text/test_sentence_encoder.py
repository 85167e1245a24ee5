"""The sentence encoder: what it keeps of the class, and that it can be rebuilt from its config."""

import pytest
import torch

from infoscope.data import sentences
from infoscope.models import SentenceEncoder, fit_sentence_encoder
from tests.data.common import generator
from tests.refusals import refused


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


def test_frequencies_are_shares_of_the_known_words():
    encoder = SentenceEncoder(["a", "good", "film"])
    frequencies = encoder.frequencies(["A good, good FILM!", "an unknown film"])
    assert frequencies.tolist() == [[0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize("sentence", ["", "nothing known"])
def test_a_sentence_without_a_known_word_is_refused(sentence):
    with refused("sentences", "invalid"):
        SentenceEncoder(["a", "film"]).encode(["a film", sentence])


@pytest.mark.parametrize(
    ("arguments", "argument", "code"),
    [
        (([], 4), "vocabulary", "invalid"),
        ((["a", "a"], 4), "vocabulary", "invalid"),
        ((["a"], 0), "width", "range"),
        ((["a"], 1.5), "width", "range"),
    ],
)
def test_bad_architecture_is_refused(arguments, argument, code):
    with refused(argument, code):
        SentenceEncoder(*arguments)


@pytest.mark.parametrize(
    ("labels", "code"), [([0, 1, 1], "length"), ([0.0, 1.0], "length"), ([0, 0], "constant"), ([1, 2], "constant")]
)
def test_bad_labels_are_refused(labels, code):
    with refused("labels", code):
        fit_sentence_encoder(["a film", "a play"], torch.tensor(labels), generator())
