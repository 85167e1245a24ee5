"""Names that are imported when they are first asked for."""

import sys
from types import ModuleType

import pytest

from infoscope import checks
from infoscope.checks import one_of
from infoscope.errors import TooFew
from infoscope.late import exports


def test_names_of_the_stub_are_found_in_their_modules(monkeypatch, tmp_path):
    stub = (
        "from infoscope.errors import TooFew as TooFew\nfrom infoscope import checks "
        "as checks\n"
    )
    (tmp_path / "__init__.pyi").write_text(
        stub + "from infoscope.checks import one_of as one_of\n"
    )
    package = ModuleType("package")
    package.__file__ = str(tmp_path / "__init__.py")
    monkeypatch.setitem(sys.modules, "package", package)
    find, listed, names = exports("package")
    assert find("TooFew") is TooFew
    assert find("one_of") is one_of
    assert find("checks") is checks
    assert names == ["TooFew", "checks", "one_of"]
    assert sorted(names) == listed()
    with pytest.raises(AttributeError, match="'package' has no attribute 'nothing'"):
        find("nothing")
