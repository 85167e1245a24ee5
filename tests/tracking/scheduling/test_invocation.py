"""How the end of a sweep reaches a store that does not always answer."""

import pytest
from mlflow.exceptions import MlflowException

from infoscope.tracking.scheduling.invocation import retry


@pytest.mark.parametrize(
    ("refusals", "seconds", "done", "fewest"), [(2, 60.0, True, 3), (10**9, 0.05, False, 2), (1, 0.0, False, 1)]
)
def test_a_temporary_refusal_is_retried_and_the_last_one_is_raised(refusals, seconds, done, fewest):
    asked = []

    def action():
        asked.append(1)
        if len(asked) <= refusals:
            raise MlflowException(f"refusal {len(asked)}")

    error = retry(action, seconds, pause=0.001)
    assert (error is None) is done and len(asked) >= fewest
    assert done or str(error) == f"refusal {len(asked)}" and (seconds or len(asked) == 1)


def test_what_is_no_refusal_is_raised():
    with pytest.raises(ZeroDivisionError):
        retry(lambda: 1 / 0, 60.0)
