"""Predictive families: what may be used to predict one variable from another.

protocol, registry  Family; FAMILIES by name; as_family: scikit-learn's and transformers' objects as families
complexity          Rademacher complexity and the PAC bound of a family

Every other module holds families; `distributions` the distributions that they predict.
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
