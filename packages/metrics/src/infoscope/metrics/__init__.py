"""Conclusions from estimates.

Of series and runs: errors, replicated, correlation, rank_agreement. Of estimators: audit. Of benchmark pairs with known
labels: decodable_information. Modules: representation (report), partition (evaluate), disentanglement (report, SCORES),
factor_information, pid, v_information.
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
