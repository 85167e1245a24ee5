"""Estimators of mutual information on arrays, all called alike.

registry    estimate(x, y, method=..., groups=None, ...) -> Estimate; methods(), METHODS
            normalised(x, y, by=...): as a share of H(x), H(y), the smaller one or H(x, y); diagnose
protocol    Method: what an estimator must have; Pairs: the checked sample that it is given
neighbours  KSG 1 and 2, local non-uniformity, weighted Kozachenko-Leonenko
gaussian    normal distributions, Gaussian and Student copulas, mixtures
categories  plug-in, Miller-Madow, Grassberger, Chao-Shen, shrinkage, NSB
critics     every bound of `neural.bounds`, cross-fitted
classifiers V-information of a label under a predictive family
densities   conditional densities: Barber-Agakov, difference of entropies, CLUB, L1Out, NJEE
flows       normalising flows: MIENF
latent      neighbours in few columns: LMI, KSG on principal components
diffusion   denoising networks: MINDE, MMG
certified   a lower limit that holds at every number of rows

Shared: fitting (splits, prepared columns, training of networks).
"""

from infoscope.late import late, names_of

# Torch takes seconds to import: only for those who ask for a method that trains networks.
_LATE = names_of(
    {
        "protocol": ("Described", "Method", "Pairs", "as_pairs"),
        "registry": ("METHODS", "as_method", "estimate", "estimate_pairs", "methods", "normalised"),
    }
)

__all__ = [*_LATE]
__getattr__ = late(__name__, _LATE)
