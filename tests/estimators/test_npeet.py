"""NPEET's numbers.

The reference numbers are those of npeet-plus 0.2.0 (MIT), NPEET's functions with
additions, on `data()`; its noise of 1e-10 is worth about 1e-9 bits.
"""

import numpy as np
import pytest
from pytest import approx

from infoscope.estimators import knn, npeet
from tests.refusals import refused

LN2 = np.log(2)


def data():
    # its stream is frozen, that of newer generators is not
    state = np.random.RandomState(7)
    x = state.normal(size=(300, 2))
    weights = np.array([[0.8, 0.2], [-0.3, 0.9]])
    y = x @ weights + 0.5 * state.normal(size=(300, 2))
    noise = state.normal(size=(300, 1))
    z = x[:, :1] + noise
    c = state.randint(0, 4, (300, 1))
    w = x + c * [1.0, -0.5]
    return x, y, z, c, w


X, Y, Z, C, W = data()

REFERENCE = {  # ours and theirs, bits
    "mi": (npeet.mi(X, Y), 1.7843092478083682),
    "given z": (npeet.mi(X, Y, Z), 1.2903913174353456),
    "other units": (npeet.mi(100 * X, Y), -0.2757150522587766),
    "entropy": (npeet.entropy(X), 3.9836674996133516),
    "micd": (npeet.micd(W, C), 0.7728873479553129),
    "nats": (npeet.micd(W, C, base=np.e) / LN2, 0.7728873479553129),
}


@pytest.mark.parametrize("call", REFERENCE)
def test_the_numbers_are_those_of_npeet(call):
    value, bits = REFERENCE[call]
    assert value == approx(bits, abs=1e-7)


def test_absolute_values_are_taken_as_npeet_does():
    state = np.random.RandomState(0)
    noise = state.normal(size=(500, 12))
    labels = state.randint(0, 10, (500, 1))
    assert npeet.micd(noise, labels) > 0.8 / LN2  # the truth is 0
    assert abs(knn.mutual_information(noise, labels, 3)) < 0.2


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [
        (lambda: npeet.mi(X, Y[:9]), "x and y", "length"),
        (lambda: npeet.mi(X, Y, k=300), "k", "range"),
        (lambda: npeet.entropy(X, base=1), "base", "range"),
    ],
)
def test_bad_input_is_named(call, argument, code):
    with refused(argument, code):
        call()
