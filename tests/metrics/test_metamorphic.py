"""The audit finds the faults of estimators with known faults, and none in a correct one."""

import numpy as np
import pytest

from infoscope.metrics.metamorphic import audit


def gaussian(x, y):
    """I of jointly Gaussian variables from their covariance: right for numbers, up to its bias."""
    x, y = (np.asarray(v, float).reshape(len(v), -1) for v in (x, y))
    both = np.corrcoef(np.hstack([x, y]), rowvar=False)
    d = x.shape[1]
    logs = [np.linalg.slogdet(block)[1] for block in (both[:d, :d], both[d:, d:], both)]
    return 0.5 * (logs[0] + logs[1] - logs[2])


def verdicts(estimator, **settings):
    return {(check.y, check.name): check.verdict for check in audit(estimator, n=200, repeats=3, **settings)}


def test_the_right_estimator_passes():
    assert set(verdicts(gaussian, y=["numbers"]).values()) == {"holds"}


SCALES = {"rescale x and y", "rescale x alone", "rescale one column", "permute columns", "swap x and y"}
FAULTS = (
    (lambda x, y: gaussian(x, y) * np.std(x[:, 0]), SCALES),
    (lambda x, y: gaussian(x, y) + 0.2, {"independence"}),
    (lambda x, y: gaussian(x, y) + 0.3 * x[0, 0], SCALES | {"permute rows"}),
    (lambda x, y: gaussian(x, y) + 0.001 * len(x), {"duplicate rows", "independence"}),
    (lambda x, y: gaussian(x, y) / x.shape[1], {"add noise columns", "swap x and y"}),
    (lambda x, y: -gaussian(x, y), {"data processing"}),
)


@pytest.mark.parametrize(("wrong", "fails"), FAULTS)
def test_each_fault_is_found_by_its_checks(wrong, fails):
    found = verdicts(wrong, y=["numbers"])
    assert fails <= {name for (_, name), verdict in found.items() if verdict == "fails"}
    if "permute rows" not in fails:
        assert found["numbers", "independence"] == ("fails" if "independence" in fails else "holds")


def test_labels_taken_as_numbers_are_found():
    found = verdicts(gaussian, y=["labels"])
    assert found["labels", "rename labels"] == found["labels", "one-hot labels"] == "fails"


def test_more_than_the_entropy_and_a_broken_chain_are_found():
    def entropy_twice(x, y):
        counts = np.unique(y, axis=0, return_counts=True)[1] / len(y)
        return -2 * np.sum(counts * np.log(counts)) if len(counts) > 3 else 0.0

    found = verdicts(entropy_twice, y=["labels"])
    assert found["labels", "at most H(y)"] == found["labels", "chain rule"] == "fails"


def test_checks_that_an_estimator_refuses_are_reported():
    def refuses(x, y):
        raise TypeError("labels only\nmore")

    checks = audit(refuses, y=["numbers"], n=100, repeats=2)
    assert {(check.verdict, check.note) for check in checks} == {("not offered", "TypeError: labels only")}
    checks = audit(lambda x, y: float("nan"), y=["numbers"], n=100, repeats=2)
    assert {check.note.split()[0] for check in checks} == {"ArithmeticError:"}


def test_no_number_for_transformed_data_is_a_failure():
    """Crashes at repeated rows, gives NaN at large ones; labels in the place of x it may refuse."""

    def fragile(x, y):
        if len(np.unique(x, axis=0)) < len(x):
            raise RuntimeError("repeated rows")
        if not np.issubdtype(x.dtype, np.floating) or y.ndim > 1 and y.dtype == np.int64:
            raise TypeError
        return float("nan") if np.abs(x).max() > 50 else gaussian(x, y)

    checks = {(check.y, check.name): check for check in audit(fragile, n=100, repeats=2)}
    for kind in ("labels", "numbers"):
        crashed, not_a_number = checks[kind, "duplicate rows"], checks[kind, "rescale x alone"]
        assert (crashed.verdict, crashed.note) == ("fails", "RuntimeError: repeated rows")
        assert not_a_number.verdict == "fails" and "nan" in not_a_number.note
        assert np.isnan(crashed.violation) and np.isnan(not_a_number.violation)
    for name in ("one-hot labels", "chain rule"):
        assert checks["labels", name].verdict == "not offered", checks["labels", name]
