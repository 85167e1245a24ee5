"""Table 1: the printed formulas and their errors, and the agreement of made-up
estimates.
"""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pytest import approx

from analysis.common.tables import save
from analysis.disentanglement.toy_model import ANALYSIS, exact, printed
from tests.analysis.pictures import drawn
from tests.analysis.runs import RUN, analysed


def made_up(largest_z=3.0, factors=(2, 5), seeds=(0, 1, 2)):
    rows = []
    for attack, alphas in (
        ("none", (0.0,)),
        ("redundancy", (0.0, 3.0)),
        ("synergy", (0.0, 3.0)),
    ):
        for k in factors:
            for alpha in alphas:
                for seed in seeds:
                    exact_values = exact(attack, k, 0.1, alpha)
                    rows.append(RUN | {
                        "attack": attack, "factors": k, "alpha": alpha, "noise": 0.1, "draws": 500, "seed": seed,
                        "compared": 100, "largest_z": largest_z, "beyond_95": 5,
                        "largest_difference_without_spread_nats": 0.0,
                        **{f"sampled/{name}_nats": value + 0.001 * seed for name, value in exact_values.items()},
                    })  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize("factors, wrong", [(3, 2.2554), (2, 2.3076)])
def test_mig_is_misprinted_for_two_and_three_factors(factors, wrong):
    """Noise .1, alpha 3; tests/metrics/factor_information/test_toy.py has the right
    figures.
    """
    assert printed("mig", "redundancy", factors, 0.1, 3.0) == approx(wrong, abs=1e-4)


def test_the_example_of_the_paper():
    """Section 5.1, five factors, noise .1: coefficients .65, 1.01 and .01."""
    for alpha in (0.5, 4.0):
        mig = 0.5 * math.log(101 * (1 + 0.65 * alpha**2) / (1 + 1.01 * alpha**2))
        unibound = 0.5 * math.log(101 * (1 + 0.01 * alpha**2) / (1 + 1.01 * alpha**2))
        for of in (exact("redundancy", 5, 0.1, alpha), {
            name: printed(name, "redundancy", 5, 0.1, alpha) for name in ("mig", "unique_low")
        }):  # fmt: skip
            assert of["mig"] == approx(mig)
            assert of["unique_low"] == approx(unibound)


def test_the_table_says_where_it_differs_from_print():
    table = analysed(ANALYSIS, made_up())[0]
    differ = table.figures[
        (table.figures["printed"] - table.figures["exact"]).abs() > 1e-9
    ]
    assert set(zip(differ["score"], differ["attack"], differ["factors"])) == {
        ("mig", "redundancy", 2), ("unique_high", "synergy", 2), ("unique_high", "synergy", 5),
    }  # fmt: skip
    assert "factors 2" in table.caption
    verdicts = [claim.verdict for claim in table.claims]
    assert verdicts == ["confirmed", "confirmed", "confirmed", "contradicted"]
    finite = table.figures[np.isfinite(table.figures["alpha"])]
    assert_allclose(finite["estimated"] - finite["exact"], 0.001 / math.log(2))
    assert_allclose(finite["estimated_error"], 0.001 / math.log(2) / math.sqrt(3))


@pytest.mark.parametrize(
    "largest, verdict", [(3.0, "confirmed"), (5.0, "contradicted")]
)
def test_agreement_allows_for_the_number_of_comparisons(largest, verdict):
    """3,000 comparisons at 1 % together: 4.65 standard errors."""
    agreement = analysed(ANALYSIS, made_up(largest))[1]
    assert "3,000 comparisons" in agreement.caption
    assert "4.65" in agreement.caption
    assert agreement.claims[0].verdict == verdict


def test_the_gaussian_decomposition_is_within_the_bounds():
    """Under redundancy what was unique is redundant, under synergy synergistic: figures
    of K = 5, alpha 3, by the lesser of two informations.
    """
    decomposition = analysed(ANALYSIS, made_up())[2]
    assert decomposition.claims[0].verdict == "confirmed"
    at = decomposition.figures.set_index(["attack", "factors", "alpha"])
    total = math.log2(101) / 2
    copied = math.log2((1 + 9 * 1.01) / (1 + 9 * 0.01)) / 2
    row = at.loc["redundancy", 5, 3.0]
    assert row["unique_gaussian"] == approx(total - copied)
    assert row["redundant_gaussian"] == approx(copied)
    row = at.loc["synergy", 5, 3.0]
    masked = math.log2((1.01 + 9) / (0.01 + 9)) / 2
    assert row["unique_gaussian"] == approx(masked)
    assert row["synergistic_gaussian"] == approx(total - masked)
    assert len(decomposition.text) == 10


def test_the_figure_is_drawn(tmp_path):
    shown, *others = analysed(ANALYSIS, made_up())
    assert drawn(save(shown, tmp_path / "toy"))
    for result in others:
        assert not result.draw
