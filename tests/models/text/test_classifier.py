"""Classifiers of texts: what they learn, that trainings repeat and resume to the bit,
and what is refused.
"""

import copy
import math

import pytest
import torch
from pytest import approx
from torch.testing import assert_close

from infoscope.models import (
    ClassifierTraining,
    SequenceClassifier,
    fine_tune,
    small_encoder,
)
from tests.data.common import generator, on_gpu
from tests.models.samples import LABELS, SMALL_TEXT, TEXTS, corpus, reread, small
from tests.refusals import refused

HELD_OUT, TRUTH = corpus(200, 1)
LONGER = "a much longer text " * 5


def tuned(encoder, seed=0, epochs=6, **arguments):
    return fine_tune(
        TEXTS,
        LABELS,
        encoder,
        generator(seed),
        epochs=epochs,
        batch=16,
        learning_rate=3e-3,
        **arguments,
    )


def training(seed=0, **arguments):
    settings = {"epochs": 2, "batch": 48, "learning_rate": 3e-3} | arguments
    drawn = generator(seed)
    return ClassifierTraining(
        SequenceClassifier.of(small(), 2, drawn), TEXTS, LABELS, drawn, **settings
    )


@pytest.fixture(scope="module")
def model():
    """Fine-tuned from an encoder that is not changed by it."""
    encoder = small()
    before = copy.deepcopy(encoder.state_dict())
    classifier = tuned(encoder)
    for name, value in encoder.state_dict().items():
        assert torch.equal(value, before[name])
    return classifier


def test_probabilities_are_of_the_classes(model):
    log_probabilities = model.log_probabilities(HELD_OUT)
    assert_close(log_probabilities.exp().sum(1), torch.ones(200))
    assert (log_probabilities.argmax(1) == TRUTH).sum() >= 150  # a guess: 5e-13


def test_a_texts_probabilities_do_not_depend_on_the_others(model):
    """So the variants of a text without one token each may be in any batch."""
    variants = ["The film", "The old film", "The old film was dull"]
    together = model.log_probabilities([HELD_OUT[1], *variants, LONGER], batch=4)[1:-1]
    alone = torch.cat([model.log_probabilities([variant]) for variant in variants])
    assert_close(together, alone, rtol=1e-4, atol=1e-5)
    assert (alone - alone[0]).abs().max() > 1e-3


def test_draws_do_not_depend_on_the_global_generator():
    """Dropout included: the losses are the same whatever was drawn elsewhere, and
    nothing is drawn there.
    """
    losses = []
    for noise in range(2):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(noise)
            before = torch.get_rng_state()
            tuned(small(), epochs=1, progress=lambda step, loss: losses.append(loss))
            assert torch.equal(torch.get_rng_state(), before)
    assert losses[:10] == losses[10:]  # 160 texts in batches of 16
    assert losses[0] == approx(math.log(2), abs=0.5)  # two classes, nothing learnt yet


@pytest.mark.parametrize("stop", [3, 4, 6])
def test_a_saved_training_continues_to_the_same_bits(stop):
    """160 texts in batches of 48 are 4 steps an epoch: stopped within, at the end of
    one, and within the next.
    """
    whole = training()
    begun = training()
    whole.advance(8)
    begun.advance(stop)
    # other weights and another generator, all of which the state replaces
    resumed = training(seed=5)
    resumed.load_state_dict(reread(begun.state_dict()))
    resumed.advance(8 - stop)
    for name, value in whole.classifier.state_dict().items():
        assert torch.equal(value, resumed.classifier.state_dict()[name])


def test_an_epoch_sees_every_text_once_in_batches_of_similar_length():
    some = training(batch=5)
    lengths = torch.tensor([len(ids) for ids, _ in some._tokens])
    orders = []
    for _ in range(2):
        batches = some._epoch()
        assert [len(rows) for rows in batches] == [5] * 32
        orders.append(torch.cat(batches))
        assert orders[-1].sort().values.tolist() == list(range(160))
        padded = sum(5 * int(lengths[rows].max()) for rows in batches)
        # at random, a batch's longest text is 40 % above the mean
        assert padded < 1.02 * int(lengths.sum())
        some.advance(some.per_epoch)
    assert not torch.equal(*orders)


def test_a_null_model_predicts_the_class_frequencies():
    """From equal texts only the frequencies 80 : 20 can be learnt; Adam's last steps
    leave them within 0.05.
    """
    labels = (torch.arange(100) % 5 == 0).long()
    texts = [" "] * 100
    encoder = small_encoder(texts, "bert", generator(), **SMALL_TEXT)
    null = fine_tune(
        texts, labels, encoder, generator(), epochs=10, batch=20, learning_rate=3e-3
    )
    assert null.log_probabilities([" "]).exp()[0].tolist() == approx(
        [0.8, 0.2], abs=0.05
    )


def test_a_state_of_other_settings_is_refused():
    done = training()
    with refused("state", "conflict"):
        done.load_state_dict(training(batch=40).state_dict())
    done.advance(8)
    with refused("steps", "range"):
        done.advance(1)


def test_forward_gives_logits_and_drops_out_only_while_training(model):
    tokens = model.encoder.tokenize(HELD_OUT[:7])
    with torch.no_grad():
        logits = model(**tokens)
    assert_close(
        logits.log_softmax(1),
        model.log_probabilities(HELD_OUT[:7]),
        rtol=1e-4,
        atol=1e-5,
    )
    trained = copy.deepcopy(model).train()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        assert not torch.equal(trained(**tokens), trained(**tokens))


def test_a_diverged_training_is_reported():
    with pytest.raises(FloatingPointError, match="diverged"):
        training(learning_rate=1e30).advance(8)


@on_gpu
def test_a_gpu_trains_resumes_and_reads_out():
    """Dropout draws differ from a CPU's, so only the accuracy is compared: guesses are
    right for 150 of 200 with a probability of 5e-13. A resumed training goes on with
    the same draws.
    """
    there = tuned(small(), device="cuda")
    assert (there.log_probabilities(HELD_OUT).argmax(1) == TRUTH).sum() >= 150
    whole, begun, resumed = (training(device="cuda") for _ in range(3))
    begun.advance(3)
    resumed.load_state_dict(begun.state_dict())
    loss = resumed.advance(5)["loss"]
    whole.advance(3)
    assert loss == approx(whole.advance(5)["loss"], rel=1e-3)
