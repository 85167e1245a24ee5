"""Fine-tuned transformers as a predictive family: what they can use, what they cannot,
and their null member.
"""

import math

import numpy as np
import pytest
import torch
from pytest import approx
from transformers import PreTrainedTokenizerFast

from infoscope import data, models
from infoscope.estimators.families.distributions import without_input
from infoscope.estimators.families.protocol import ClassPredictor
from infoscope.metrics import v_information
from sweeps.usable_information._text_families import (
    NULL_INPUT,
    SequenceClassifiers,
    epoch_curve,
)
from tests.refusals import refused

LN2 = math.log(2.0)
SHORT = SequenceClassifiers(batch=16, max_length=24)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def draws(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def reviews():
    return data.generated_reviews(200, generator=generator())


def test_what_is_plain_from_the_words_is_used(reviews):
    """H(y) = ln 2 bounds it; a guess has a V-information of 0 or less."""
    family = SequenceClassifiers(epochs=6, batch=16, max_length=24)
    estimated = v_information.estimate(
        family,
        list(reviews.texts),
        reviews.label_names,
        "held-out",
        folds=3,
        generator=draws(),
    )
    assert estimated.method.startswith("sequence-classifier(small-bert")
    assert 0.5 * LN2 < estimated.value <= estimated.null_entropy < 1.01 * LN2


def test_members_without_an_input():
    """The frequencies exactly, or what training on a single space comes to: within 0.06
    of them here.
    """
    y = (np.arange(120) % 4 == 0).astype(np.int64)
    exact = SequenceClassifiers().fit(None, y, 2)
    assert np.array_equal(
        exact.log_probabilities(None), without_input(y, 2).log_probabilities(None)
    )
    trained = SequenceClassifiers(null="trained", epochs=10, batch=12).fit(
        None, y, 2, generator=draws()
    )
    assert isinstance(trained, ClassPredictor)
    assert np.exp(trained.log_probabilities(None))[0].tolist() == approx(
        [0.75, 0.25], abs=0.06
    )
    assert trained.log_density(None, y[:3]).shape == (3,)
    assert np.array_equal(
        trained.classifier.log_probabilities([NULL_INPUT]).double().numpy(),
        trained.log_probabilities(None),
    )


def test_the_curve_ends_where_the_fit_does(reviews):
    x = list(reviews.texts)
    y = reviews.labels.numpy()
    curve = epoch_curve(
        SHORT, x[:300], y[:300], x[300:], y[300:], 2, floor=0.0, generator=draws()
    )
    assert curve["epoch"].tolist() == [1, 2]
    assert (curve["n"] == 100).all()
    fitted = SHORT.fit(x[:300], y[:300], 2, generator=draws())
    logs = fitted.log_density(x[300:], y[300:])
    assert curve["H_yxb"].iloc[-1] == approx(-logs.mean() / LN2, rel=1e-5)
    null = without_input(y[:300], 2).log_density(None, y[300:])
    assert curve["v_information_bits"].iloc[-1] == approx(
        (logs - null).mean() / LN2, rel=1e-5
    )
    assert curve["training_loss"].is_monotonic_decreasing


def test_the_error_of_a_curve_allows_for_groups(reviews):
    """Every test text twice, in one group: the error of the mean is that of the texts
    alone, not sqrt(2) smaller.
    """
    x = list(reviews.texts)
    y = reviews.labels.numpy()
    family = SequenceClassifiers(epochs=1, batch=16, max_length=24)
    errors = []
    for copies in (1, 2):
        rows = np.repeat(np.arange(300, 400), copies)
        curve = epoch_curve(
            family, x[:300], y[:300], [x[row] for row in rows], y[rows], 2, rows, generator=draws()
        )  # fmt: skip
        errors.append(curve["standard_error_bits"].iloc[-1])
    assert errors[1] == approx(errors[0], rel=1e-4)


def test_a_model_of_the_hubs_format_is_fine_tuned(reviews, tmp_path):
    encoder = models.small_encoder(
        reviews.texts, "bert", generator(), vocabulary=300, hidden=32, layers=1, heads=2
    )
    encoder.transformer.save_pretrained(tmp_path)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=encoder._tokenizer, pad_token="[PAD]"
    )
    tokenizer.save_pretrained(tmp_path)
    family = SequenceClassifiers(f"hub:{tmp_path}", max_length=24)
    assert family.rate == 5e-5
    assert SHORT.rate == 1e-3
    fitted = family.fit(
        list(reviews.texts[:32]), reviews.labels[:32].numpy(), 2, generator=draws()
    )
    weights = fitted.classifier.encoder.transformer.embeddings.word_embeddings.weight
    # begun from them
    assert (
        weights - encoder.transformer.embeddings.word_embeddings.weight
    ).abs().max() < 0.01


@pytest.mark.parametrize(
    "settings, argument, code",
    [
        ({"encoder": "bert-base-cased"}, "encoder", "invalid"),
        ({"null": "empty"}, "null", "name"),
    ],
)
def test_impossible_values_are_refused(settings, argument, code):
    with refused(argument, code):
        SequenceClassifiers(**settings)


def test_models_that_are_not_there_and_numeric_targets_are_refused(tmp_path):
    with refused("name", "file"):
        SequenceClassifiers(f"hub:{tmp_path / 'nothing'}").fit(
            ["a", "b"], np.array([0, 1]), 2
        )
    with refused("y", "type"):
        SequenceClassifiers().fit(["a", "b"], np.array([0.0, 1.0]))
