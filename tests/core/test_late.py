"""Names that are imported when they are first asked for."""

import pytest

from infoscope.checks import one_of
from infoscope.errors import TooFew
from infoscope.late import late, names_of


def test_a_name_is_found_in_its_module():
    modules = names_of({"errors": ("TooFew", "Conflict"), "checks": ("one_of",)})
    assert modules == {"TooFew": "errors", "Conflict": "errors", "one_of": "checks"}
    find = late("infoscope", modules)
    assert find("TooFew") is TooFew and find("one_of") is one_of
    with pytest.raises(AttributeError, match="'infoscope' has no attribute 'nothing'"):
        find("nothing")
