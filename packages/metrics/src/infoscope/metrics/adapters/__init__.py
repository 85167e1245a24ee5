"""`independence_test` as the test of conditional independence of libraries for causal
discovery.

tigramite     TigramiteTest: `PCMCI(frame, TigramiteTest())`; its values with `reading=True` are readings given z
causal_learn  CausalLearnTest: `pc(data, indep_test="infoscope")`, once it is imported
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
