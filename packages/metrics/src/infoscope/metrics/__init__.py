"""Conclusions from estimates.

Of tables: screen, InformationSelector. Of series and runs: errors, replicated, correlation, rank_agreement. Of
estimators: audit. Of benchmark pairs with known labels: decodable_information. Modules: representation (report),
partition (evaluate), disentanglement (report, SCORES), factor_information, pid, v_information, adapters (causal-learn,
tigramite).
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
