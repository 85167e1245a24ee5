"""The lexical family: its features by hand, and what it can use of inference whose
information is known.
"""

import numpy as np
import pytest
import torch

from infoscope.data import generated_nli, hypothesis_information
from infoscope.data.texts.transformations import hypothesis_only, premise_only, standard
from infoscope.metrics import v_information
from sweeps.usable_information._text_families import features, lexical_logistic

PAIR = "PREMISE: A dog runs HYPOTHESIS: a cat runs"


def test_features_by_hand():
    assert features(PAIR) == [
        "word a", "word cat", "word runs", "neighbours a cat", "neighbours cat runs",
        "new cat", "cross cat dog", "count 1", "quarters 1",
    ]  # fmt: skip
    assert (
        features("HYPOTHESIS: a cat")
        == features("A cat")
        == ["word a", "word cat", "neighbours a cat"]
    )


def test_usable_information_of_pairs_is_between_that_of_the_hypothesis_and_the_total():
    """4,000 pairs, artefact 0.3. The pair tells ln 3 nats, the hypothesis 0.3 ln 3 and
    nothing else, the premise 0.
    """
    some = generated_nli(4000, artefact=0.3, generator=torch.Generator().manual_seed(0))
    whole, claim, premise = (
        v_information.estimate(
            lexical_logistic(), change(some.texts), some.label_names, "held-out", folds=3, groups=some.groups,
            generator=np.random.default_rng(0),
        )
        for change in (standard, hypothesis_only, premise_only)
    )  # fmt: skip
    hypothesis_nats = hypothesis_information(0.3)
    assert claim.value == pytest.approx(
        hypothesis_nats, abs=5 * claim.standard_error + 0.03
    )  # 0.03: what fitting costs
    assert abs(premise.value) < 0.01
    assert hypothesis_nats + 5 * whole.standard_error < whole.value <= np.log(3)
