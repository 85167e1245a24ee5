"""Ethayarajh et al. 2022, figure 3: "below about 0.5 bits predictions are wrong" is
arithmetic.

A label that is not predicted has a probability of at most 1/2. With three equally
frequent classes its PVI is at most log2 3 - 1 = 0.585 bits, for every model and every
data set. The limit depends on the number of classes; with two classes it separates
right from wrong without error, even for a model that has learnt nothing.
"""

import numpy as np

from infoscope.metrics import pvi, threshold_window

rng = np.random.default_rng(0)
labels = np.arange(600) % 3
for strength in (0.0, 1.0, 3.0):
    x = strength * np.eye(3)[labels] + rng.normal(size=(600, 3))
    items = pvi.pointwise("logistic", x, labels, folds=5)
    wrong = items[~items["correct"]]
    limit = threshold_window(wrong["H_yb"].to_numpy(), 3).highest_wrong
    largest = wrong["pvi_bits"].max()
    print(
        f"{1 - len(wrong) / 600:.0%} right: largest wrong PVI {largest:+.3f}, limit "
        f"{limit.max():.3f} bits"
    )
    assert (wrong["pvi_bits"] <= limit + 1e-9).all()
