"""The keys of recorded cells stay what they are."""

import json

import pytest

from sweeps import SWEEPS
from tests.sweeps.keys import FILE, FROM_STORE, digests

STORED = json.loads(FILE.read_text())


def test_every_sweep_has_its_keys_on_record():
    assert sorted(STORED) == sorted(set(SWEEPS) - set(FROM_STORE))


@pytest.mark.parametrize("name", STORED)
def test_keys_are_those_of_recorded_cells(name, monkeypatch):
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    assert digests(name) == STORED[name]
