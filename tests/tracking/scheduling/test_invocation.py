"""How the end of a sweep reaches a store that does not always answer."""

import pytest
from mlflow.exceptions import MlflowException

from infoscope.tracking.scheduling.invocation import insist


def refusing(times):
    """An action that a store refuses so many times, and how often it was asked."""
    asked = []

    def action():
        asked.append(1)
        if len(asked) <= times:
            raise MlflowException(f"refusal {len(asked)}")

    return action, asked


def test_what_is_refused_for_a_while_is_done():
    action, asked = refusing(2)
    assert insist(action, 60.0, pause=0.001) is None and len(asked) == 3


def test_the_last_refusal_is_told():
    action, asked = refusing(10**9)
    error = insist(action, 0.05, pause=0.01)
    assert str(error) == f"refusal {len(asked)}" and len(asked) > 1


def test_without_time_there_is_one_attempt():
    action, asked = refusing(1)
    assert str(insist(action, 0.0)) == "refusal 1" and len(asked) == 1


def test_what_is_no_refusal_is_raised():
    with pytest.raises(ZeroDivisionError):
        insist(lambda: 1 / 0, 60.0)
