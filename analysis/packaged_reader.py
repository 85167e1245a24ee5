"""Makes a logged reader the one that `estimate(x, y)` uses: `make promote ARGS="RUN --alias champion --package"`.

Writes its arrays into the package `infoscope.estimators.reading`, and prints what it was trained on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from infoscope.estimators.reading import result
from infoscope.estimators.reading.module import ReaderModule
from infoscope.tracking import load_model

BAD_INPUT = 2


def main(words: Sequence[str]) -> int:
    """The exit status: 0, or 2 for a run without a reader."""
    try:
        module = load_model(words[0])
        if not isinstance(module, ReaderModule):
            raise TypeError(f"RUN must be a run of the sweep reading, got one of {type(module).__name__}")
    except (LookupError, TypeError, ValueError) as error:
        print(f"error: {error.args[0]}", file=sys.stderr)
        return BAD_INPUT
    path = Path(result.__file__).parent / result.PACKAGED
    module.reader.save(path)
    card = module.reader.card
    size = path.stat().st_size
    print(f"{path.name}: version {card['version']}, {card['sets']:,} simulated data sets, {size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
