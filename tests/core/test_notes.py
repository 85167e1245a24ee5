"""A note is its sentence, and keeps its code through copies, pickles of workers and
sets.
"""

import copy
import pickle

import pytest

from infoscope.notes import Note

NOTE = Note("x: column 2 is constant and left out.", "constant column", "x")


@pytest.mark.parametrize(
    "copied", [copy.copy(NOTE), copy.deepcopy(NOTE), pickle.loads(pickle.dumps(NOTE))]
)
def test_a_copy_keeps_code_and_argument(copied):
    assert copied == NOTE
    assert copied.code == "constant column"
    assert copied.argument == "x"


def test_a_note_is_its_sentence():
    assert f"{NOTE}" == "x: column 2 is constant and left out."
    assert {NOTE, str(NOTE)} == {NOTE}
    assert next(iter(dict.fromkeys([NOTE, NOTE]))).code == "constant column"
