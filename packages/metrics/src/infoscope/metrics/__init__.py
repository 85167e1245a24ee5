"""Conclusions from estimates.

Tables: screen, information_scores. Series and runs: errors, replicated, correlation.
Checks of estimators: audit. Benchmark pairs with known labels: decodable_information.
Modules: representation (report), partition (evaluate), disentanglement (report,
SCORES), factor_information, pid, v_information, labels (report), adapters
(causal-learn, tigramite).
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
