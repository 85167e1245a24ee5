"""Installs public estimators of mutual information, each at its exact version, into .peers; see `make peers`.

The environment variable PEERS names some of them, by peer, package or environment (default: all). Those that cannot be
installed or imported are listed with the reason. Exit status: 0 when all are installed, 1 when some are not, 2 for an
unknown name.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from infoscope.errors import UnknownName
from sweeps.sample_estimators.peers import PEERS, SELECTIONS, Peer
from sweeps.sample_estimators.peers.protocol import ENVIRONMENTS, OURS, PINS

UNDECLARED = {"torch-mist": ("pandas",)}  # packages that it imports and does not require
PYTHON = "3.11"  # the newest for which all peers have wheels


class CommandFailed(Exception):
    """A command that failed, with the end of its output."""


def uv(*words: str | Path) -> None:
    """Runs uv, of this environment or of the PATH. Raises CommandFailed."""
    own = Path(sys.executable).with_name("uv")
    program = own if own.exists() else "uv"
    try:
        done = subprocess.run(
            [str(program), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except OSError as error:
        raise CommandFailed(str(error)) from None
    if done.returncode:
        raise CommandFailed(" ".join(done.stdout.split())[-300:] or f"exit status {done.returncode}")


def chosen(names: list[str]) -> list[Peer]:
    """One peer for each named package with its own environment (no names: all). Raises UnknownName."""
    every = [*PEERS.values(), *SELECTIONS.values()]
    known = {name for peer in every for name in (peer.name, peer.package, peer.environment)} - {OURS}
    for name in names:
        if name not in known:
            raise UnknownName(f"PEERS must be among {', '.join(sorted(known))}, got {name!r}.")
    named = [peer for peer in every if not names or {peer.name, peer.package, peer.environment} & set(names)]
    return list({peer.package: peer for peer in named if peer.environment != OURS}.values())


def install(peer: Peer) -> None:
    """Creates the environment of a peer if it is missing, and installs its package. Raises CommandFailed."""
    if not Path(peer.python).exists():
        uv("venv", "--seed", "--python", PYTHON, ENVIRONMENTS / peer.environment)
    packages = [f"{peer.package}=={peer.version}", *UNDECLARED.get(peer.package, ())]
    uv("pip", "install", "--python", peer.python, "-c", PINS / f"{peer.environment}.txt", *packages)


def main() -> int:
    try:
        peers = chosen(os.environ.get("PEERS", "").split())
    except UnknownName as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    missing = 0
    for peer in peers:
        try:
            if not peer.installed():
                install(peer)
            peer.start()  # imports the package, which also compiles it
        except (CommandFailed, ValueError) as error:
            missing += 1
            print(f"{peer.package} {peer.version}: not installed: {error}")
        else:
            print(f"{peer.package} {peer.version}: in .peers/{peer.environment}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
