from infoscope.metrics.adapters.causal_learn import CausalLearnTest as CausalLearnTest
from infoscope.metrics.adapters.tigramite import TigramiteTest as TigramiteTest
