"""Which columns of a table depend on a target, or on each other: `screen`, and selection in pipelines of scikit-learn.

table        screen: every pair, or every column against a target: p, q, bits with interval, what adds nothing
association  tests of independence of hundreds of columns at once
beyond       tests of independence given other columns, and a choice step by step
selection    InformationSelector, information_scores
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
