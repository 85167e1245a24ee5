"""Which columns of a table depend on a target, or on each other: `screen`, and selection in pipelines of scikit-learn.

table        screen: every pair, or every column against a target: p, q, bits with interval, what adds nothing
result       Screen: its table, pictures and sentences
selection    InformationSelector, information_scores
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
