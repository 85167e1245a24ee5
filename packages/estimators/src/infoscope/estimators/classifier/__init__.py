"""One coherent decomposition of information from cross-fitted, calibrated classifiers."""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
