"""Names that were removed say what to call instead."""

import pytest

from infoscope import metrics


@pytest.mark.parametrize("name", ["Bracket", "bracket", "bracketing", "advice", "advise"])
def test_a_removed_name_says_what_to_call(name):
    for old in (f"metrics.{name}", f"from infoscope.metrics import {name}"):
        with pytest.raises(ImportError, match=rf"^{name} was removed: .*estimate\(x, y\)"):
            exec(old, {"metrics": metrics})
    assert name not in metrics.__all__
