"""Estimators of public packages, each in an environment of its own (`make peers`), asked like methods of ours.

protocol    Peer: what is asked, of which package
registry    PEERS by name, SELECTIONS of columns
"""

from sweeps.sample_estimators.peers.protocol import Peer as Peer
from sweeps.sample_estimators.peers.registry import PEERS as PEERS
from sweeps.sample_estimators.peers.registry import SELECTIONS as SELECTIONS
