"""The verdict on codes whose information is known, and on samples of such codes."""

import numpy as np
import pandas as pd
import pytest

from infoscope.metrics.disentanglement import report
from infoscope.metrics.disentanglement.verdict import places_of, verdict
from infoscope.metrics.factor_information.result import FactorInformation

FACTORS = ("shape", "scale", "hue")


def known(alone, rest, joint):
    """Information in shares of one nat for each factor, without error."""
    count = len(alone)
    return FactorInformation(
        factors=FACTORS[:count], latents=tuple(f"z{place}" for place in range(len(alone[0]))), entropy=np.ones(count),
        alone=np.array(alone, float), rest=np.array(rest, float), joint=np.array(joint, float), n=None, method="known",
    )  # fmt: skip


ONE_EACH = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
WITHOUT = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
KNOWN = {
    "perfect": (
        ONE_EACH, WITHOUT, [1, 1, 1],
        "Each factor is in one column of its own: shape in z0, scale in z1 and hue in z2.",
    ),
    "missing": (
        [[1, 0], [0, 1], [0, 0]], [[0, 1], [1, 0], [0, 0]], [1, 1, 0],
        "Each factor is in one column but hue, which is found in no column.",
    ),
    "trace": (
        [[1, 0], [0, 1], [0.05, 0]], [[0, 1], [1, 0], [0, 0.05]], [1, 1, 0.05],
        "Each factor is in one column but hue, of which there is only a trace (at most 5 %).",
    ),
    "shared": (
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.4, 0.3]], [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0.3, 0.4]], [1, 1, 1],
        "Each factor is in one column but hue, which z2 and z3 share.",
    ),
    "copied": (
        [[1, 0, 0, 0.6], [0, 1, 0, 0], [0, 0, 1, 0]], [[0.6, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1]], [1, 1, 1],
        "Each factor is in one column but shape, which is in z0 and again in z3.",
    ),
    "rotated": (
        [[0.2, 0.3], [0.3, 0.2]], [[0.3, 0.2], [0.2, 0.3]], [1, 1],
        "No factor is in one column: each is spread over z0 and z1.",
    ),
    "in part": (
        [[0.5, 0.0, 0.0], [0, 1, 1]], [[0.05, 1, 1], [1, 1, 1]], [1, 1],
        "No factor is in one column: shape is spread over z0 and other columns; scale is in z2 and again in z1.",
    ),
    "a little": (
        [[0.1, 0], [0, 1]], [[0, 0.11], [1, 0]], [0.11, 1],
        "Each factor is in one column of its own: shape in z0 and scale in z1.",
    ),
    "exclusive or": (
        [[0, 0, 0], [0, 0, 1]], [[0, 0, 1], [1, 1, 0]], [1, 1],
        "1 of 2 factors is in one column (scale in z2); shape is only in z0 and z1 together.",
    ),
    "two in one": (
        [[1, 0], [1, 0]], [[0, 1], [0, 1]], [1, 1], "Each factor is in one column, but z0 holds shape and scale.",
    ),
    "nothing": ([[0, 0], [0, 0]], [[0, 0], [0, 0]], [0, 0], "No factor is found in the columns."),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_the_sentence_of_a_known_code(name):
    *parts, sentence = KNOWN[name]
    assert verdict(places_of(known(*parts))) == sentence


def test_a_column_that_informs_only_through_another_factor_does_not_hold_it():
    """Two dependent factors, each in a column, and the same with the second column lost."""
    both = places_of(known([[1, 0.4], [0.4, 1]], [[0.4, 1], [1, 0.4]], [1, 1]), lambda *of: False)
    assert verdict(both) == "Each factor is in one column of its own: shape in z0 and scale in z1."
    assert [place.through for place in both] == [{"z1": "scale"}, {"z0": "shape"}]
    lost = places_of(known([[1, 0], [0.4, 0]], [[0, 1], [0, 0.4]], [1, 0.4]), lambda *of: False)
    assert verdict(lost) == "1 of 2 factors is in one column (shape in z0); scale has no column of its own."


def sampled(name):
    """300 rows of a code of two factors."""
    rng = np.random.default_rng(0)
    shape, scale = rng.integers(0, 3, (2, 300))
    if name == "dependent":
        scale = np.where(rng.random(300) < 0.6, shape, scale)
    signs = rng.integers(0, 2, (2, 300))
    columns = [shape, scale]
    if name == "exclusive or":
        shape, columns = signs[0] ^ signs[1], [*signs, scale]
    if name == "lost":
        columns = [shape, rng.normal(size=300)]
    if name == "in one":
        columns = [shape + 3 * scale, rng.normal(size=300)]
    z = np.column_stack(columns) + 0.1 * rng.normal(size=(300, len(columns)))
    names = [f"column {place}" for place in range(len(columns))]
    return pd.DataFrame(z, columns=names), pd.DataFrame({"shape": shape, "scale": scale})


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("dependent", "Each factor is in one column of its own: shape in column 0 and scale in column 1."),
        ("exclusive or",
         "1 of 2 factors is in one column (scale in column 2); shape is only in column 0 and column 1 together."),
        ("lost", "1 of 2 factors is in one column (shape in column 0); scale is found in no column."),
        ("in one", "Each factor is in one column, but column 0 holds shape and scale."),
    ],
)  # fmt: skip
def test_the_sentence_of_a_sample(name, sentence):
    found = report(*sampled(name), scores=["unibound"])
    assert found.answers[0] == sentence
    assert "10 % of the factor's bits" in found.answers[
        -1
    ] and f"all {2 * len(found.information.latents)} pairs" in str(found)
    if name == "lost":
        assert "Predictors find nothing about scale." in found.answers
    if name == "dependent":
        assert "column 1 informs about shape only as far as scale does." in found.answers
