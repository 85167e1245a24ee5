"""Disentanglement scores of a representation, from arrays or posteriors; no grid of factors and no model is needed.

`report` has all of SCORES in one table. Those of arrays are functions here, too, which return an Estimate; those of
information are methods of a `FactorInformation`. Only UniBound and the PID bounds detect redundant copies and
information spread over several latents.
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
