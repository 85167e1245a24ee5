"""Partitioned latents: "95% variance preservation captures most structure".

Wide blocks are reduced by principal components. Variance is not information: here one
column of 40 holds the class, and it is removed.
"""

import numpy as np
from sklearn.decomposition import PCA

draw = np.random.default_rng(5)
labels = draw.integers(0, 2, 2000)
wide = np.column_stack(
    [2.0 * labels - 1 + 0.1 * draw.normal(size=2000), 10 * draw.normal(size=(2000, 39))]
)
cut = PCA(0.95, svd_solver="full").fit_transform(wide)
correlations = [
    abs(np.corrcoef(block, labels, rowvar=False)[-1, :-1]).max()
    for block in (wide, cut)
]
print(f"columns: {wide.shape[1]}, after the reduction {cut.shape[1]}")
print(
    f"largest correlation with the class: {correlations[0]:.2f}, after the reduction "
    f"{correlations[1]:.2f}"
)
assert correlations[0] > 0.9 and correlations[1] < 0.2
