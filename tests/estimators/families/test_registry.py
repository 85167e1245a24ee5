"""Objects of other libraries, and of nobody's, wherever a family is accepted."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from infoscope.estimators.classifier import cross_fit
from infoscope.estimators.families import FAMILIES, Family, Sklearn, as_family
from infoscope.estimators.families.distributions import without_input
from infoscope.metrics.decodable import decodable_information_of_items
from infoscope.metrics.v_information import estimate, pvi
from infoscope.metrics.v_information.leakage import usable_leakage
from infoscope.metrics.v_information.structure import weights_by
from tests.refusals import refused


@dataclass(frozen=True)
class Threshold:
    """An own family: one probability on either side of 0. It knows nothing of the package."""

    name = "threshold"
    outcomes = ("classes",)

    def fit(self, x, y, classes=None, groups=None, generator=None):
        return Sides(None if x is None else [np.bincount(y[(x[:, 0] > 0) == side], minlength=2) for side in (0, 1)], y)


@dataclass(frozen=True)
class Sides:
    counts: list
    y: np.ndarray

    def log_probabilities(self, x):
        if x is None:
            return np.log(np.bincount(self.y, minlength=2) / len(self.y))[None]
        counts = np.array(self.counts)[(x[:, 0] > 0).astype(int)] + 0.5
        return np.log(counts / counts.sum(axis=1, keepdims=True))

    def log_density(self, x, y):
        return self.log_probabilities(x)[np.arange(len(y)) if x is not None else 0, y]


def signs(n=300):
    """A fair class whose sign is wrong one time in ten: ln 2 - H(0.1) = 0.368 nats."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    wrong = rng.random(n) < 0.1
    return (np.where(wrong, 1 - 2 * y, 2 * y - 1) * rng.uniform(0.5, 1, n))[:, None], y


@pytest.mark.parametrize("family", [Threshold(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_every_measure_takes_an_own_family_and_those_of_scikit_learn(family):
    """What is there to be found: within 4 standard errors (6e-5), and 0.05 that logistic regression misses."""
    x, y = signs()
    fitted = cross_fit(x, y, family=family).information("z", "y")
    usable = estimate(family, x, y)
    for found in (fitted, usable):
        assert abs(found.value - 0.368) < 4 * found.standard_error + 0.05
    table = pvi.pointwise(family, x, y, folds=5)
    assert table["pvi_bits"].mean() == pytest.approx(usable.bits.value)
    leaked = usable_leakage({"z": x}, {"y": y}, {"own": family})
    assert leaked["value_bits"][0] == pytest.approx(usable.bits.value, abs=0.05)  # other folds
    decoded = decodable_information_of_items(x, y, [0.0], 1, family)
    assert decoded.accuracy == pytest.approx(0.9, abs=0.07)  # 4 standard errors
    assert weights_by(family, [y[:, None], (x > 0).astype(int)]).value[1, 0] == pytest.approx(0.368, abs=0.2)


def test_classifiers_predict_as_scikit_learn():
    (x, y), estimator = signs(80), RandomForestClassifier(5, random_state=0)
    family = as_family(estimator)
    assert isinstance(family, Family) and family.outcomes == ("classes",)
    found = family.fit(x, y, 2, generator=np.random.default_rng(4)).log_probabilities(x)
    estimator.set_params(random_state=int(np.random.default_rng(4).integers(2**31, size=1)[0]))
    np.testing.assert_allclose(np.exp(found), estimator.fit(x, y).predict_proba(x), rtol=1e-12)


def test_regressors_are_the_mean_of_a_gaussian():
    """The mean is scikit-learn's fit of all rows."""
    x, y = np.random.default_rng(1).normal(size=(2, 60, 2))
    fitted = Sklearn(LinearRegression()).fit(x, y).informed
    np.testing.assert_allclose(fitted.mean(x), LinearRegression().fit(x, y).predict(x))
    free = as_family(LinearRegression())
    assert free.outcomes == ("numbers",) and free.fit(x, y).informed.covariance.shape == (2, 2)
    assert free.fit(None, y).log_density(None, y).mean() == without_input(y, None).log_density(None, y).mean()


def test_a_family_is_named_or_made():
    assert as_family(Threshold()) == Threshold()
    for name, make in FAMILIES.items():
        assert as_family(name) == make()
        assert make().name.startswith(name.replace("mlp", "network(widths=64x64"))


@pytest.mark.parametrize("wrong", ["forest", 3, LinearSVC(), LogisticRegression, object(), (), ("logistic", object())])
def test_what_is_no_family_is_refused(wrong):
    x, y = signs(30)
    calls = [lambda: as_family(wrong), lambda: estimate(wrong, x, y), lambda: pvi.pointwise(wrong, x, y)]
    for call in calls if wrong == () else [*calls, lambda: cross_fit(x, y, family=wrong)]:
        with refused("family", "name"):
            call()
    for family in ((), LinearRegression()):  # none, and one of numbers
        with refused("family", "invalid"):
            cross_fit(x, y, family=family)


@pytest.fixture(scope="module")
def tiny():
    """A randomly drawn BERT of 2 layers and its tokenizer of six words; nothing is downloaded."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    words = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "film", "plot"])}
    made = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    config = BertConfig(
        vocab_size=8, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, num_labels=2
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return BertForSequenceClassification(config).eval(), tokenizer


TEXTS, LABELS = ["good film", "bad film", "good plot", "bad plot"] * 12, np.array([1, 0, 1, 0] * 12)


def test_a_pipeline_of_transformers_is_read_off_as_it_is(tiny):
    from transformers import TextClassificationPipeline

    pipeline = TextClassificationPipeline(model=tiny[0], tokenizer=tiny[1])
    fit = as_family(pipeline).fit(TEXTS, LABELS, 2)
    scores = [sorted(one, key=lambda label: label["label"]) for one in pipeline(TEXTS[:4], top_k=None)]
    expected = [[label["score"] for label in one] for one in scores]
    np.testing.assert_allclose(np.exp(fit.log_probabilities(TEXTS[:4])), expected, rtol=1e-5)
    assert abs(estimate(pipeline, TEXTS, LABELS).value) < 1.0
    with refused("y", "invalid"):
        as_family(pipeline).fit(TEXTS, LABELS, 3)


def test_a_transformer_is_fine_tuned_for_every_training_set(tiny):
    from infoscope.estimators.families.transformers import TextClassifier

    before, state = {n: v.clone() for n, v in tiny[0].state_dict().items()}, torch.get_rng_state()
    family = TextClassifier(*tiny, epochs=6, batch=8, learning_rate=1e-2)
    found, again = (estimate(family, TEXTS, LABELS, folds=3).value for _ in range(2))
    assert found == again > 0.5 * np.log(2)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in tiny[0].state_dict().items())
    pairs = [tuple(text.split()) for text in TEXTS]
    assert as_family(tiny).fit(pairs, LABELS, 3).log_probabilities(pairs[:5]).shape == (5, 3)
    for wrong in (np.zeros((4, 2)), [], ["a", 3]):
        with refused("x", "type"):
            as_family(tiny).fit(wrong, LABELS[:4], 2)


IMPORTS = "import sys, infoscope.metrics, infoscope.estimators.families; assert 'transformers' not in sys.modules"


@pytest.mark.system
def test_transformers_is_imported_only_when_asked_for():
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
