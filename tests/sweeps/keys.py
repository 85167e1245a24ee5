"""The keys of all cells of every profile: `python -m tests.sweeps.keys` writes how many
there are, and a hash of them.

A key names a recorded cell for good: a change makes every archive of that sweep
worthless. Profiles whose cells depend on what is in the store have none here.
"""

import hashlib
import importlib
import json
import warnings
from pathlib import Path

from sweeps import SWEEPS

FILE = Path(__file__).with_name("keys.json")
FROM_STORE = ("entanglement-attacks", "usable-leakage")


def keys(name):
    """The sorted keys of every profile of a sweep, on built-in data."""
    sweep = importlib.import_module(SWEEPS[name]).SWEEP
    by_profile = {}
    for profile in sweep.profiles:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # data that are not there
            cells = list(sweep.cells(sweep.profile(profile)[1]))
        by_profile[profile] = sorted(map(sweep.key, cells))
    return by_profile


def digests(name):
    """The number of cells and a hash of their keys by profile."""
    digest = {}
    for profile, cell_keys in keys(name).items():
        digest[profile] = [
            len(cell_keys),
            hashlib.sha256("\n".join(cell_keys).encode()).hexdigest()[:16],
        ]
    return digest


if __name__ == "__main__":
    stored = {name: digests(name) for name in sorted(SWEEPS) if name not in FROM_STORE}
    FILE.write_text(json.dumps(stored, indent=1) + "\n")
