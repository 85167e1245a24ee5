"""Which columns of a table depend on a target, or on each other: `screen`, and selection in pipelines of scikit-learn.

table        screen: every pair, or every column against a target: p, q, bits with interval, what adds nothing
association  tests of independence of hundreds of columns at once
beyond       tests of independence given other columns, and a choice step by step
selection    InformationSelector, information_scores
"""

from infoscope.late import late

_LATE = {
    "InformationSelector": "selection",
    "Screen": "result",
    "information_scores": "selection",
    "screen": "table",
}  # scikit-learn and numba take seconds to import

__all__ = sorted(_LATE)
__getattr__ = late(__name__, _LATE)
