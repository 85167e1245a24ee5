"""Every cell of every sweep says what it reads."""

import importlib

import pytest

from infoscope.tracking.registry import module_of
from tests.sweeps.test_settings import NAMES, planned, zoo  # noqa: F401  # a fixture

# the other study needs models that a sweep has logged
FROM_ELSEWHERE = {"usable-leakage": {"studies": "hiding"}}
MOST = 3  # data sets of a sweep whose content is read here


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_has_data_sets_with_digests(name, zoo):  # noqa: F811
    sweep = importlib.import_module(module_of(name)).SWEEP
    plan = planned(sweep, FROM_ELSEWHERE.get(sweep.name, {}))
    cells = plan.values() if isinstance(plan, dict) else [plan.fixed]
    values = {}
    for cell in cells:
        declared = sweep.data(cell)
        assert declared
        assert sweep.tags_of(cell)["infoscope.data"]
        values |= {(one.name, one.context): one for one in declared}
    read = [
        one
        for one in values.values()
        if "small-" not in one.name and "sentences" not in one.name
    ][:MOST]
    for one in read:
        assert len(one.entry["digest"]) == 16
        assert one.entry["source"]
        assert one.endless == ("without end" in one.entry["profile"])
        assert one.endless or '"num_rows": 0' not in one.entry["profile"]
