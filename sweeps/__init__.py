"""What to run: one module per sweep."""

import sys

if sys.argv[:1] == ["-m"]:  # `python -m sweeps.NAME` is looking for its module, whose libraries take seconds to load
    name = next((word.removeprefix("sweeps.") for word in sys.orig_argv if word.startswith("sweeps.")), "sweeps")
    print(f"{name.replace('_', '-')}: loading", file=sys.stderr, flush=True)
