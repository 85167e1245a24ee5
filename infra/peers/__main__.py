"""Installs public estimators of mutual information, each at its exact version, into .peers; see `make peers`.

PEERS in the environment names some of them, by peer, package or environment; all are made without it. What cannot be
installed or imported is named with the reason, and the rest goes on. Exits with 0 when all that was asked is there,
with 1 when some is not, with 2 on a name that is not known.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from infoscope.errors import UnknownName
from infra.environments import NotDone, installer, interpreter, run
from sweeps.sample_estimators.peers import PEERS, SELECTIONS, Peer
from sweeps.sample_estimators.peers.protocol import ENVIRONMENTS, OURS, PINS

UNDECLARED = {"torch-mist": ("pandas",)}  # imported without being required
PYTHON = "3.11"  # the last one for which all of them have wheels


def asked(names: list[str]) -> list[Peer]:
    """One peer for each named package with its own environment; all for no name. ValueError for an unknown name."""
    every = [*PEERS.values(), *SELECTIONS.values()]
    known = {name for peer in every for name in (peer.name, peer.package, peer.environment)} - {OURS}
    for name in names:
        if name not in known:
            raise UnknownName(f"PEERS must be among {', '.join(sorted(known))}, got {name!r}.")
    chosen = [peer for peer in every if not names or {peer.name, peer.package, peer.environment} & set(names)]
    return list({peer.package: peer for peer in chosen if peer.environment != OURS}.values())


def install(peer: Peer, uv: str | None) -> None:
    """Its environment, where there is none, and its package. NotDone with the reason."""
    place, python = ENVIRONMENTS / peer.environment, Path(peer.python)
    if not python.exists():
        found = interpreter(PYTHON) or sys.executable
        run(*([uv, "venv", "--seed", "--python"] if uv else []), found, *(() if uv else ("-m", "venv")), place)
    wanted = [f"{peer.package}=={peer.version}", *UNDECLARED.get(peer.package, ())]
    command = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
    run(*command, "-c", PINS / f"{peer.environment}.txt", *wanted)


def main() -> int:
    try:
        peers = asked(os.environ.get("PEERS", "").split())
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    uv = installer()
    missing = 0
    for peer in peers:
        try:
            if not peer.installed():
                install(peer, uv)
            peer.start()  # whether it can be imported, and its bytecode for the next time
        except (NotDone, ValueError) as error:
            missing += 1
            print(f"{peer.package} {peer.version}: not installed: {error}")
        else:
            print(f"{peer.package} {peer.version}: in .peers/{peer.environment}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
