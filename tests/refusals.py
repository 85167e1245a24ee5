"""How tests assert that input is refused: by kind and argument; the sentences stand in
`sentences.txt`.
"""

from contextlib import contextmanager
from pathlib import Path

import pytest

from infoscope.errors import InfoscopeError


@contextmanager
def refused(argument=None, code=None):
    """Whether the block raises an InfoscopeError about this argument, of this code;
    None: about any, of any.
    """
    with pytest.raises(InfoscopeError) as caught:
        yield caught
    error = caught.value
    assert argument in (None, error.argument), (
        f"{error.argument!r} is refused, not {argument!r}: {error}"
    )
    assert code in (None, error.code), f"code {error.code!r}, not {code!r}: {error}"


class Touch:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)
