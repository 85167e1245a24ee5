"""Twins: data made of a person's own rows, or like them, whose mutual information is known.

An estimator that is wrong on twins is likely to be wrong on the data, and by about as much; no drift with the sample
size sees a bias that does not move. Of each family a twin can be drawn at any level of information up to its `reach`:

null     x and y put together at random: both margins are the data's own, I = 0
scores   a score of x and a score of y, ranked to normal, are coupled with a correlation, and the data's own rows are
         put together by their ranks: X - a(X) - b(Y) - Y, so that I = -1/2 log(1 - correlation²); where scores have
         ties, what is left of it between their values
cells    cells of x and of y (clusters, or the labels themselves) are coupled by a power of how often they met in the
         data: X - A - B - Y, so that I = I(A; B) of the coupling
labels   labels are drawn anew, by a power of the odds that a classifier of other rows gives them: X - odds(X) - Y, so
         that I = H(Y) - H(Y | X) of these odds
latent   columns ranked to normal keep their correlations within a side; the canonical correlations between the sides
         are multiplied by one number: I = -1/2 sum log(1 - correlation²)
student  the same columns over one chi-square: extreme together, correlated or not; the level is set by the correlations
         or by the degrees of freedom
mixture  a law fitted to x and y together, loosened or sharpened: I by Monte Carlo

The first three use every row of the data once, so margins are exact and no row is repeated; so are those of x where
labels are drawn. The last three draw new rows, whose columns have the data's quantiles.

protocol  Twin, Family; information of shares
paired    Null, Scores, Cells: the data's own rows
drawn     Latent, Student, StudentDegrees, Mixture, Labels
sides     one side as columns
making    families: all that can be made of pairs
"""

from infoscope.metrics.advice.twins.drawn import Labels, Latent, Mixture, Student, StudentDegrees
from infoscope.metrics.advice.twins.making import families
from infoscope.metrics.advice.twins.paired import Cells, Null, Scores
from infoscope.metrics.advice.twins.protocol import Family, Twin

__all__ = [
    "Cells", "Family", "Labels", "Latent", "Mixture", "Null", "Scores", "Student", "StudentDegrees", "Twin", "families",
]  # fmt: skip
