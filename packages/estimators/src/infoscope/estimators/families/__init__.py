"""Predictive families: what may be used to predict one variable from another.

protocol, registry  Family; FAMILIES by name; as_family: scikit-learn's and transformers' objects as families
closed_form   Table, Gaussian: least losses in closed form
local         NearestNeighbours, Kernel: local frequencies, or a Gaussian around a local mean
scikit        Sklearn, GradientBoosting, tfidf_logistic
stacked       Stacked: mixtures of families, weighted on a validation set
transformers  TextClassifier: fine-tuned transformers (imported on demand)
complexity    Rademacher complexity and the PAC bound of a family

Also: logistic (Logistic), networks (Network), ridge (Ridge), laws (predicted distributions).
"""

from infoscope.estimators.families.closed_form import Gaussian, Table
from infoscope.estimators.families.local import Kernel, NearestNeighbours
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.networks import Network
from infoscope.estimators.families.protocol import Family
from infoscope.estimators.families.registry import FAMILIES, as_family
from infoscope.estimators.families.ridge import Ridge
from infoscope.estimators.families.scikit import GradientBoosting, Sklearn, tfidf_logistic
from infoscope.estimators.families.stacked import Stacked

__all__ = [
    "FAMILIES", "Family", "Gaussian", "GradientBoosting", "Kernel", "Logistic",
    "NearestNeighbours", "Network", "Ridge", "Sklearn", "Stacked", "Table", "as_family", "tfidf_logistic",
]  # fmt: skip
