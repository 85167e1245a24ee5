"""`python -m infoscope.tracking` is `python -m infoscope`."""

from __future__ import annotations

import sys

from infoscope.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
