"""Predictive families: what may be used to predict one variable from another.

protocol, registry  Family; FAMILIES by name; as_family: scikit-learn's and transformers' objects as families
complexity          Rademacher complexity and the PAC bound of a family

Every other module holds families; `laws` the distributions that they predict.
"""

from infoscope.late import late, names_of

# torch and scikit-learn's ensembles take seconds to import: only for those who use them.
_LATE = names_of(
    {
        "closed_form": ("Gaussian", "Ridge", "Table"),
        "local": ("Kernel", "NearestNeighbours"),
        "logistic": ("Logistic",),
        "networks": ("Network",),
        "protocol": ("Family",),
        "registry": ("FAMILIES", "as_family"),
        "scikit": ("GradientBoosting", "Sklearn", "tfidf_logistic"),
        "stacked": ("Stacked",),
    }
)

__all__ = sorted(_LATE)
__getattr__ = late(__name__, _LATE)
