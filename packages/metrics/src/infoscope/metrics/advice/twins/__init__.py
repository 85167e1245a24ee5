"""Simulated data sets made of one's own rows, or like them, whose mutual information is known, at any level up to
`reach`:

null     x and y paired at random: I = 0
scores   ranks of a score of x and a score of y are coupled normally: I = -1/2 log(1 - correlation²), less ties
cells    cells of x and y (clusters or labels) are coupled by a power of their joint counts: I(A; B)
labels   labels drawn by a power of cross-fitted odds: I = H(Y) - H(Y | X) of these odds
latent   normal scores, canonical correlations times one number: I = -1/2 sum log(1 - correlation²)
student  the same over one chi-square; level by correlations or degrees of freedom
mixture  a distribution fitted to x and y, loosened or sharpened: I by Monte Carlo

The first three use every row once (labels: every x); the last three draw new rows with the data's quantiles.
"""

from infoscope.metrics.advice.twins.drawn import Labels, Latent, Mixture, Student, StudentDegrees
from infoscope.metrics.advice.twins.making import families
from infoscope.metrics.advice.twins.paired import Cells, Null, Scores
from infoscope.metrics.advice.twins.protocol import Family, Twin

__all__ = [
    "Cells", "Family", "Labels", "Latent", "Mixture", "Null", "Scores", "Student", "StudentDegrees", "Twin", "families",
]  # fmt: skip
