"""Estimators of public packages, each in an environment of its own (`make peers`), asked like methods of ours.

protocol    Peer: what is asked, of which package
registry    PEERS by name
"""

from sweeps.sample_estimators.peers.protocol import Peer as Peer
from sweeps.sample_estimators.peers.registry import PEERS as PEERS
