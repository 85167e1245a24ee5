"""Table 4 on made-up runs: the published column, and equivalence in both directions."""

import itertools
import math

import pytest

from analysis.common.tables import published, save
from analysis.mi_benchmark._terms import NOT_DECODED
from analysis.mi_benchmark.representation_dimension import ANALYSIS
from tests.analysis.pictures import drawn

ARGUMENTS = ANALYSIS.arguments([])


def nothing(cell, bits):
    return 0.01, 0.05


def cells(sides=(10, 20, 100), bounds=("dv", "js"), seeds=(0, 1, 2)):
    for side, bound, seed in itertools.product(sides, bounds, seeds):
        yield dict(domain="images", size=side, bound=bound, seed=seed, sources=1, schedule_bits=[1.0], steps=20_000)


DECODING = [dict(domain="images", size=side, kind="decoding", sources=1, schedule_bits=[1.0]) for side in (10, 20, 100)]


def right(cell, bits):
    return (0.465 if cell["bound"] == "js" else 0.997), 0.05


def test_the_published_table_is_that_of_the_paper():
    table = published("table4").pivot(index="bound", columns="size", values="mean_bits")
    assert table.shape == (8, 4) and table.loc["dv"].tolist() == [0.996, 0.997, 0.997, 0.997]


def test_our_figures_and_the_published_ones(made_up, tmp_path):
    result, unseen = ANALYSIS.analyse(made_up(cells(), right), ARGUMENTS)
    row = result.figures[(result.figures["size"] == 100) & (result.figures["bound"] == "js")].iloc[0]
    assert row["published_mean_bits"] == 0.464 and row["mean_bits"] == pytest.approx(0.465, abs=0.005)
    assert row["dimension"] == 10_000 and "not comparable" not in result.caption
    assert result.text.loc[row.name, "paper"] == "0.464"
    assert drawn(save(result, tmp_path / "mean")) and unseen.draw is None


def test_equal_errors_at_all_sizes_hold(made_up, verdicts):
    runs = made_up([*cells(), *DECODING], right, decodes=0.99)
    assert set(verdicts(ANALYSIS.analyse(runs, ARGUMENTS)).values()) == {"confirmed"}


def test_accuracy_is_scored_against_both_truths(made_up, verdicts):
    """At the largest size 0.8 bits can be decoded, and 0.8 bits are estimated."""
    cells_of_dv = [*cells(bounds=("dv",)), *DECODING]

    def large(cell):
        return 0.8 if cell["size"] == 100 else 0.99

    results = ANALYSIS.analyse(made_up(cells_of_dv, lambda cell, bits: (large(cell), 0.05), decodes=large), ARGUMENTS)
    found = verdicts(results)
    assert found.of("accurate", "nominal") == {"contradicted"} and found.of("accurate", "decodable") == {"confirmed"}
    shown = results[0].text.set_index("size")["decodable MI (bits)"]
    assert shown[10] == "0.990 ± 0.010" and shown[100] == "0.800 ± 0.010"


def test_missing_decodable_information_is_reported(made_up):
    result = ANALYSIS.analyse(made_up(cells(), right), ARGUMENTS)[0]
    assert set(result.text["decodable MI (bits)"]) == {"not decoded"}
    (claim,) = [one for one in result.claims if "the decodable" in one.statement]
    assert (claim.verdict, claim.evidence) == ("undecided", NOT_DECODED)


def test_one_estimator_that_depends_on_the_size_is_enough(made_up, verdicts):
    runs = made_up(
        [*cells(), *DECODING],
        lambda cell, bits: (0.8 if cell["size"] == 100 and cell["bound"] == "dv" else 0.997, 0.05),
        decodes=0.99,
    )
    results = ANALYSIS.analyse(runs, ARGUMENTS)
    assert set(verdicts(results).values()) == {"contradicted"}
    assert "for dv: 0.19" in results[0].claims[0].evidence


def test_missing_or_diverged_sizes_and_estimates_of_zero_are_undecided(made_up, verdicts):
    short = [cell for cell in cells() if not (cell["size"] == 20 and cell["bound"] == "dv" and cell["seed"] == 1)]
    diverged = made_up(cells(), lambda cell, bits: (math.nan if cell["size"] == 10 else 0.997, 0.05))
    for runs in (made_up(short, right), diverged, made_up(cells(), nothing)):
        assert verdicts(ANALYSIS.analyse(runs, ARGUMENTS)).of("every dimension") == {"undecided"}
