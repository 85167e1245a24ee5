"""Disentanglement scores of a representation, from arrays or posteriors; neither a grid
of factors nor a model is needed.

`report` returns all of SCORES in one table. Scores of arrays are also functions of this
package, which return an Estimate; scores from information are methods of a
`FactorInformation`. Only UniBound and the PID bounds detect redundant copies and
information spread over several latents.
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
