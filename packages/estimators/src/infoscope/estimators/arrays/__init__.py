"""Estimators of mutual information on arrays, all called alike.

registry    estimate(x, y, method=..., groups=None, ...) -> Estimate; methods(), METHODS
normalising normalised(x, y, by=...): as a share of H(x), H(y), the smaller one or H(x, y)
protocol    Method: what an estimator must have; Pairs: the checked sample that it is given; Described: base of ours
neighbours  KSG 1 and 2, local non-uniformity, weighted Kozachenko-Leonenko
gaussian    normal laws, Gaussian and Student copulas, mixtures, laws fitted to other rows
categories  plug-in, Miller-Madow, Grassberger, Chao-Shen, shrinkage, NSB
critics     every bound of `neural.bounds`, cross-fitted
classifiers what a family of classifiers can use about a label
densities   of one side given the other: Barber-Agakov, difference of entropies, CLUB, L1Out, NJEE
flows       normalising flows of both sides: MIENF
latent      neighbours in few columns: LMI, KSG on principal components
diffusion   denoising networks: MINDE, MMG
certified   a lower limit that holds at every number of rows
preparing   splits into rows that train, stop and are held out; columns prepared by training rows alone
fitting     how networks are trained and stopped
chains      masked networks: each column given those before it
"""

from infoscope.estimators.arrays.normalising import normalised
from infoscope.estimators.arrays.protocol import Described, Method, Pairs, as_pairs
from infoscope.estimators.arrays.registry import METHODS, as_method, estimate, estimate_pairs, methods

__all__ = [
    "METHODS", "Described", "Method", "Pairs", "as_method", "as_pairs", "estimate", "estimate_pairs", "methods",
    "normalised",
]  # fmt: skip
