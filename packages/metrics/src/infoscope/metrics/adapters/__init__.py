"""`permutation_test` as the test of conditional independence of libraries for causal discovery.

tigramite     TigramiteTest: `PCMCI(frame, TigramiteTest())`
causal_learn  CausalLearnTest: `pc(data, indep_test="infoscope")`, once it is imported
"""

from infoscope.late import late

_LATE = {"CausalLearnTest": "causal_learn", "TigramiteTest": "tigramite"}

__all__ = list(_LATE)
__getattr__ = late(__name__, _LATE)
