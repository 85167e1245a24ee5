"""Estimators of public packages, each in its own environment (`make peers`), called like our methods.

protocol    Peer: an estimator of a package
registry    PEERS by name, SELECTIONS: packages that select columns
"""

from sweeps.sample_estimators.peers.protocol import Peer as Peer
from sweeps.sample_estimators.peers.registry import PEERS as PEERS
from sweeps.sample_estimators.peers.registry import SELECTIONS as SELECTIONS
