"""Dependence of the columns of a table on a target, or on each other, and selection in
scikit-learn pipelines.

table        screen: every pair, or every column against a target: p, q, bits with interval, redundant columns
result       Screen: its table, figures and sentences
series       screen_series: which series lead which, by transfer entropies
selection    information_scores
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
