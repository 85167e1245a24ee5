"""NPEET's names: its numbers on request, the right ones by default.

The reference numbers are those of npeet-plus 0.2.0 (MIT), NPEET's functions with
additions, on `data()`; its noise of 1e-10 is worth about 1e-9 bits. Only midc fails
there: its number is micd's with the arguments exchanged.
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
    step = state.randint(0, 2, (300, 1))
    d = (c + step) % 3
    w = x + c * [1.0, -0.5]
    return x, y, z, c, d, w


X, Y, Z, C, D, W = data()
CD = np.hstack([C, D])

REFERENCE = {  # ours with compat, theirs in bits
    "mi": (npeet.mi(X, Y, compat=True), 1.7843092478083682),
    "cmi": (npeet.mi(X, Y, Z, compat=True), 1.2903913174353456),
    "other units": (npeet.mi(100 * X, Y, compat=True), -0.2757150522587766),
    "entropy": (npeet.entropy(X, compat=True), 3.9836674996133516),
    "kldiv": (npeet.kldiv(X[:150], W[150:]), 1.1576065000453615),
    "micd": (npeet.micd(W, C, compat=True), 0.7728873479553129),
    "midc": (npeet.midc(C, W, compat=True), 0.7728873479553129),
}


@pytest.mark.parametrize("call", REFERENCE)
def test_compat_gives_npeets_numbers(call):
    value, bits = REFERENCE[call]
    assert value == approx(bits, abs=1e-7)


def test_compat_takes_absolute_values_as_npeet_does():
    state = np.random.RandomState(0)
    noise = state.normal(size=(500, 12))
    labels = state.randint(0, 10, (500, 1))
    assert npeet.micd(noise, labels, compat=True) > 0.8 / LN2  # the truth is 0
    assert abs(npeet.micd(noise, labels)) < 0.2 / LN2


@pytest.mark.parametrize(
    ("value", "estimate"),
    [
        (npeet.mi(X, Y, Z), knn.conditional_mutual_information(X, Y, Z, 3)),
        (npeet.entropy(X), knn.entropy(X, 3)),
        (npeet.tc(X), knn.total_correlation(X, 3)),
        (npeet.midc(C, W), knn.mutual_information(W, C, 3)),
        (npeet.midd(W > 0, C), knn.mutual_information(W > 0, C, 1)),
        (npeet.cmidd(C, D, W > 0), knn.conditional_mutual_information(C, D, W > 0, 1)),
    ],
)
def test_the_default_is_knn_in_bits(value, estimate):
    assert type(value) is float
    assert value == approx(estimate / LN2, abs=1e-12)


def test_base():
    bits = npeet.entropyd(C)
    assert npeet.entropyd(C, base=4) == approx(bits / 2)


@pytest.mark.parametrize(
    ("part", "rest", "whole"),
    [
        (npeet.centropy(X, Y), npeet.mi(X, Y), npeet.entropy(X)),
        (npeet.centropyd(C, D), npeet.midd(C, D), npeet.entropyd(C)),
        (npeet.ctcd(CD, W > 0), npeet.corexd(CD, W > 0), npeet.tcd(CD)),
        (npeet.ctccd(W, CD), npeet.corexcd(W, CD), npeet.tc(W)),
        # H(x | y) + I(x; y) = H(x)
        (npeet.centropycd(W, C), npeet.micd(W, C), npeet.entropy(W)),
        # NPEET's centropydc returns H(y | x)
        (npeet.centropydc(C, W), npeet.midc(C, W), npeet.entropyd(C)),
        # TC = TC given y + what y explains
        (npeet.ctc(X, Y), npeet.corex(X, Y), npeet.tc(X)),
        (npeet.ctcdc(CD, W), npeet.corexdc(CD, W), npeet.tcd(CD)),
    ],
)
def test_default_measures_add_up(part, rest, whole):
    assert part + rest == approx(whole)


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [
        (lambda: npeet.mi(X, Y[:9], compat=True), "x and y", "length"),
        (lambda: npeet.mi(X, Y, k=300, compat=True), "k", "range"),
        (lambda: npeet.kldiv(X, Y[:, :1]), "x and xp", "length"),
        (lambda: npeet.kldiv(X, X, k=1), "x", "invalid"),
        (lambda: npeet.entropyd(C, base=1), "base", "range"),
    ],
)
def test_bad_input_is_named(call, argument, code):
    with refused(argument, code):
        call()


@pytest.mark.parametrize(("settings", "expected"), [({}, 2), ({"warning": False}, 0)])
def test_small_classes_are_warned_about(settings, expected, recwarn):
    labels = np.repeat([0, 1, 2], [297, 2, 1])
    npeet.micd(X, labels, **settings)
    assert len(recwarn) == expected
