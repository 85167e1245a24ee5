"""Objects of other libraries, and own ones, wherever a family is accepted."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from infoscope.estimators.classifier import cross_fit
from infoscope.estimators.families import FAMILIES, Family, Sklearn, as_family
from infoscope.metrics.decodable import decodable_information_of_items
from infoscope.metrics.v_information import estimate, pvi
from infoscope.metrics.v_information.leakage import usable_leakage
from infoscope.metrics.v_information.structure import weights_by
from tests.refusals import refused


@dataclass(frozen=True)
class Threshold:
    """An own family: one probability on either side of 0. It knows nothing of the
    package.
    """

    name = "threshold"
    outcomes = ("classes",)

    def fit(self, x, y, classes=None, groups=None, generator=None):
        if x is None:
            x = np.zeros((len(y), 1))
        counts = np.full((2, 2), 0.5)
        np.add.at(counts, (_is_positive(x), y), 1)
        return Sides(counts)


def _is_positive(x):
    return (x[:, 0] > 0).astype(int)


@dataclass(frozen=True)
class Sides:
    counts: np.ndarray  # [sides, classes]

    def log_probabilities(self, x):
        sides = np.zeros(1, int) if x is None else _is_positive(x)
        counts = self.counts[sides]
        return np.log(counts / counts.sum(axis=1, keepdims=True))

    def log_density(self, x, y):
        logs = np.broadcast_to(self.log_probabilities(x), (len(y), 2))
        return logs[np.arange(len(y)), y]


def signs(n=300):
    """A fair class whose sign is wrong one time in ten: ln 2 - H(0.1) = 0.368 nats."""
    rng = default_rng(0)
    y = rng.integers(2, size=n)
    is_wrong = rng.random(n) < 0.1
    sign = np.where(is_wrong, 1 - 2 * y, 2 * y - 1)
    x = sign * rng.uniform(0.5, 1, n)
    return x[:, None], y


X, Y = signs()


@pytest.mark.parametrize(
    "family", [Threshold(), make_pipeline(StandardScaler(), LogisticRegression())]
)
def test_every_measure_takes_an_own_family_and_those_of_scikit_learn(family):
    """The information that is there: within 4 standard errors (6e-5), and 0.05 that
    logistic regression misses.
    """
    usable = estimate(family, X, Y)
    fitted = cross_fit(X, Y, family=family).information("z", "y")
    for estimated in (usable, fitted):
        assert abs(estimated.value - 0.368) < 4 * estimated.standard_error + 0.05
    pointwise = pvi.pointwise(family, X, Y, folds=5)
    assert pointwise["pvi_bits"].mean() == approx(usable.bits.value)
    leakage = usable_leakage({"z": X}, {"y": Y}, {"own": family})
    # other folds
    assert leakage["value_bits"][0] == approx(usable.bits.value, abs=0.05)
    decoded = decodable_information_of_items(X, Y, [0.0], 1, family)
    assert decoded.accuracy == approx(0.9, abs=0.07)  # 4 standard errors
    is_positive = (X > 0).astype(int)
    weights = weights_by(family, [Y[:, None], is_positive])
    assert weights.value[1, 0] == approx(0.368, abs=0.2)


def test_classifiers_predict_as_scikit_learn():
    estimator = RandomForestClassifier(5, random_state=0)
    family = as_family(estimator)
    assert isinstance(family, Family)
    assert family.outcomes == ("classes",)
    fit = family.fit(X, Y, 2, generator=default_rng(4))
    (seed,) = default_rng(4).integers(2**31, size=1)
    estimator.set_params(random_state=int(seed))
    expected = estimator.fit(X, Y).predict_proba(X)
    assert_allclose(np.exp(fit.log_probabilities(X)), expected, rtol=1e-12)


def test_regressors_are_the_mean_of_a_gaussian():
    """The mean is scikit-learn's fit of all rows."""
    x, y = default_rng(1).normal(size=(2, 60, 2))
    informed = Sklearn(LinearRegression()).fit(x, y).informed
    reference = LinearRegression().fit(x, y)
    assert_allclose(informed.mean(x), reference.predict(x))
    family = as_family(LinearRegression())
    assert family.outcomes == ("numbers",)
    assert family.fit(x, y).informed.covariance.shape == (2, 2)


def test_a_family_is_named_or_made():
    assert as_family(Threshold()) == Threshold()
    for name, make in FAMILIES.items():
        assert as_family(name) == make()


@pytest.mark.parametrize(
    "wrong", ["forest", 3, LinearSVC(), LogisticRegression, ("logistic", object())]
)
def test_what_is_no_family_is_refused(wrong):
    with refused("family", "name"):
        estimate(wrong, X, Y)
    with refused("family", "name"):
        pvi.pointwise(wrong, X, Y)
    with refused("family", "name"):
        cross_fit(X, Y, family=wrong)


@pytest.mark.parametrize("family", [(), LinearRegression()], ids=["none", "of numbers"])
def test_a_family_of_classes_is_needed(family):
    with refused("family", "invalid"):
        cross_fit(X, Y, family=family)


@pytest.fixture(scope="module")
def transformer():
    """A randomly drawn BERT of 2 layers and its tokenizer of four words; nothing is
    downloaded.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        PreTrainedTokenizerFast,
    )

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "film", "plot"]
    codes = {word: code for code, word in enumerate(words)}
    word_level = Tokenizer(models.WordLevel(codes, unk_token="[UNK]"))
    word_level.pre_tokenizer = pre_tokenizers.Whitespace()
    word_level.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
    }
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=word_level, **special)
    sizes = {"vocab_size": 8, "hidden_size": 16, "intermediate_size": 32}
    config = BertConfig(
        **sizes, num_hidden_layers=2, num_attention_heads=2, num_labels=2
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return BertForSequenceClassification(config).eval(), tokenizer


TEXTS = ["good film", "bad film", "good plot", "bad plot"] * 12
LABELS = np.array([1, 0, 1, 0] * 12)


def test_a_pipeline_of_transformers_is_read_off_as_it_is(transformer):
    from transformers import TextClassificationPipeline

    model, tokenizer = transformer
    pipeline = TextClassificationPipeline(model=model, tokenizer=tokenizer)
    family = as_family(pipeline)
    logs = family.fit(TEXTS, LABELS, 2).log_probabilities(TEXTS[:4])
    for row, scores in zip(np.exp(logs), pipeline(TEXTS[:4], top_k=None)):
        by_label = {score["label"]: score["score"] for score in scores}
        assert row == approx([by_label["LABEL_0"], by_label["LABEL_1"]], rel=1e-5)
    with refused("y", "invalid"):
        family.fit(TEXTS, LABELS, 3)


def test_a_transformer_is_fine_tuned_for_every_training_set(transformer):
    from infoscope.estimators.families.transformers import TextClassifier

    model, _ = transformer
    before = {name: value.clone() for name, value in model.state_dict().items()}
    random_state = torch.get_rng_state()
    family = TextClassifier(*transformer, epochs=6, batch=8, learning_rate=1e-2)
    first = estimate(family, TEXTS, LABELS, folds=3)
    again = estimate(family, TEXTS, LABELS, folds=3)
    assert first.value == again.value > 0.5 * np.log(2)
    assert torch.equal(torch.get_rng_state(), random_state)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


def test_a_transformer_takes_pairs_of_texts(transformer):
    pairs = [tuple(text.split()) for text in TEXTS]
    fit = as_family(transformer).fit(pairs, LABELS, 3)
    assert fit.log_probabilities(pairs[:5]).shape == (5, 3)
    for wrong in (np.zeros((4, 2)), [], ["a", 3]):
        with refused("x", "type"):
            as_family(transformer).fit(wrong, LABELS[:4], 2)


IMPORTS = (
    "import sys, infoscope.metrics, infoscope.estimators.families; assert "
    "'transformers' not in sys.modules"
)


@pytest.mark.system
def test_transformers_is_imported_only_when_asked_for():
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
