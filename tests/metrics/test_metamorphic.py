"""The audit finds the faults of estimators with planted faults, and none in a correct
one.
"""

import numpy as np
import pytest

from infoscope.metrics.metamorphic import audit


def log_det(covariance):
    return np.linalg.slogdet(covariance)[1]


def gaussian(x, y):
    """I of jointly Gaussian variables from their correlations: right for numbers, up to
    its bias.
    """
    x = np.asarray(x, float).reshape(len(x), -1)
    y = np.asarray(y, float).reshape(len(y), -1)
    joint = np.corrcoef(np.hstack([x, y]), rowvar=False)
    d = x.shape[1]
    return 0.5 * (log_det(joint[:d, :d]) + log_det(joint[d:, d:]) - log_det(joint))


def verdicts(estimator, y):
    checks = audit(estimator, n=200, repeats=3, y=[y])
    return {check.name: check.verdict for check in checks}


def test_the_right_estimator_passes():
    assert set(verdicts(gaussian, "numbers").values()) == {"holds"}


SCALES = {
    "rescale x and y",
    "rescale x alone",
    "rescale one column",
    "permute columns",
    "swap x and y",
}
FAULTS = {
    "unit": (lambda x, y: gaussian(x, y) * np.std(x[:, 0]), SCALES),
    "offset": (lambda x, y: gaussian(x, y) + 0.2, {"independence"}),
    "first row": (
        lambda x, y: gaussian(x, y) + 0.3 * x[0, 0],
        SCALES | {"permute rows"},
    ),
    "rows": (
        lambda x, y: gaussian(x, y) + 0.001 * len(x),
        {"duplicate rows", "independence"},
    ),
    "columns": (
        lambda x, y: gaussian(x, y) / x.shape[1],
        {"add noise columns", "swap x and y"},
    ),
    "sign": (lambda x, y: -gaussian(x, y), {"data processing"}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found_by_its_checks(name):
    estimator, expected = FAULTS[name]
    failed = {
        check
        for check, verdict in verdicts(estimator, "numbers").items()
        if verdict == "fails"
    }
    assert expected <= failed
    if name != "first row":
        assert ("independence" in failed) == ("independence" in expected)


def test_labels_taken_as_numbers_are_found():
    by_name = verdicts(gaussian, "labels")
    assert by_name["rename labels"] == by_name["one-hot labels"] == "fails"


def test_more_than_the_entropy_and_a_broken_chain_are_found():
    def twice_the_entropy(x, y):
        shares = np.unique(y, axis=0, return_counts=True)[1] / len(y)
        return -2 * np.sum(shares * np.log(shares)) if len(shares) > 3 else 0.0

    by_name = verdicts(twice_the_entropy, "labels")
    assert by_name["at most H(y)"] == by_name["chain rule"] == "fails"


def test_checks_that_an_estimator_refuses_are_reported():
    def refuses(x, y):
        raise TypeError("labels only\nmore")

    checks = audit(refuses, y=["numbers"], n=100, repeats=2)
    assert {(check.verdict, check.note) for check in checks} == {
        ("not offered", "TypeError: labels only")
    }
    checks = audit(lambda x, y: float("nan"), y=["numbers"], n=100, repeats=2)
    assert {check.note.split()[0] for check in checks} == {"ArithmeticError:"}


def test_no_number_for_transformed_data_is_a_failure():
    """Crashes at repeated rows, gives NaN at large ones; labels in the place of x it
    may refuse.
    """

    def fragile(x, y):
        if len(np.unique(x, axis=0)) < len(x):
            raise RuntimeError("repeated rows")
        if (
            not np.issubdtype(x.dtype, np.floating)
            or y.ndim > 1
            and y.dtype == np.int64
        ):
            raise TypeError
        return float("nan") if np.abs(x).max() > 50 else gaussian(x, y)

    checks = {
        (check.y, check.name): check for check in audit(fragile, n=100, repeats=2)
    }
    for kind in ("labels", "numbers"):
        crashed = checks[kind, "duplicate rows"]
        assert crashed.verdict == "fails"
        assert crashed.note == "RuntimeError: repeated rows"
        assert np.isnan(crashed.violation)
        not_a_number = checks[kind, "rescale x alone"]
        assert not_a_number.verdict == "fails"
        assert "nan" in not_a_number.note
    for name in ("one-hot labels", "chain rule"):
        assert checks["labels", name].verdict == "not offered", name
