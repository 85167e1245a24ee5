"""Random invertible encoders (the benchmark, section 5.7): normalising flows and
i-RevNet.
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
