"""Predictive families: what may be used to read one variable off another.

protocol      Family: what is fitted to (x, y) and gives log-probabilities or log-densities of unseen y
registry      FAMILIES by name; as_family: scikit-learn's and transformers' objects as families
closed_form   Table, Gaussian, Laplace, BoundedLogistic: least losses or PAC bounds in closed form
logistic      Logistic: linear or polynomial log odds, all folds and penalties in one computation
local         NearestNeighbours, Kernel: neighbours' classes, or a Gaussian around a local mean
networks      Network: fully connected networks
ridge         Ridge: linear regression with a penalty, its errors those of rows left out
scikit        Sklearn, GradientBoosting, tfidf_logistic: estimators of scikit-learn's interface
stacked       Stacked: mixtures of several families and of no input, weighted by rows aside
transformers  TextClassifier: fine-tuned transformers (imported only when asked for)
laws          the laws that fitted members state
complexity    Rademacher complexity and the PAC bound of a family
"""

from infoscope.estimators.families.closed_form import BoundedLogistic, Gaussian, Laplace, Table
from infoscope.estimators.families.local import Kernel, NearestNeighbours
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.networks import Network
from infoscope.estimators.families.protocol import Family
from infoscope.estimators.families.registry import FAMILIES, as_family
from infoscope.estimators.families.ridge import Ridge
from infoscope.estimators.families.scikit import GradientBoosting, Sklearn, tfidf_logistic
from infoscope.estimators.families.stacked import Stacked

__all__ = [
    "FAMILIES", "BoundedLogistic", "Family", "Gaussian", "GradientBoosting", "Kernel", "Laplace", "Logistic",
    "NearestNeighbours", "Network", "Ridge", "Sklearn", "Stacked", "Table", "as_family", "tfidf_logistic",
]  # fmt: skip
