"""The sentence encoder: what it keeps of the class, and that it can be rebuilt from its
config.
"""

import pytest
import torch

from infoscope.data import sentences
from infoscope.models import SentenceEncoder, fit_sentence_encoder
from tests.data.common import generator


@pytest.fixture(scope="module")
def corpus():
    return sentences(2000, generator=generator())


@pytest.fixture(scope="module")
def encoder(corpus):
    """Trained on every fourth sentence only."""
    texts, labels = corpus
    return fit_sentence_encoder(texts[::4], labels[::4], generator())


def test_the_label_is_decodable_from_held_out_sentences(corpus, encoder):
    """The premise of the nominal information: logistic regression errs on less than 0.5
    % of what neither it nor the encoder has seen.
    """
    from sklearn.linear_model import LogisticRegression

    texts, labels = corpus
    decoder = LogisticRegression(max_iter=1000).fit(
        encoder.encode(texts[::4]), labels[::4]
    )
    held_out = [i for i in range(len(texts)) if i % 4]
    assert (
        decoder.score(encoder.encode([texts[i] for i in held_out]), labels[held_out])
        > 0.995
    )


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
