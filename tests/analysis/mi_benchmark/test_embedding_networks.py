"""Figure 8 on made-up runs: networks against both truths, in both directions."""

import itertools
import math

import pytest

from analysis.common.tables import save
from analysis.mi_benchmark.embedding_networks import ANALYSIS
from tests.analysis.pictures import drawn

ARGUMENTS = ANALYSIS.arguments([])
LEFT = {"imdb-bert": 0.95, "imdb-roberta": 0.94, "small-bert": 0.6}  # of the nominal MI, after embedding


def cells(pools=("imdb-bert", "imdb-roberta"), bounds=("dv", "smile-5"), seeds=(0, 1, 2), decode=True):
    for pool, bound, critic, seed in itertools.product(pools, bounds, ("bilinear", "joint"), seeds):
        yield dict(domain="text", pool=pool, bound=bound, critic=critic, seed=seed, schedule_bits=[2.0, 6.0])
    for pool in pools if decode else ():
        yield dict(domain="text", pool=pool, kind="decoding", schedule_bits=[2.0, 6.0])


def what_is_left(cell, bits):
    return LEFT[cell["pool"]] * bits, 0.1


def test_holds_where_both_networks_keep_the_labels(made_up, verdicts):
    runs = made_up(cells(), what_is_left, decodes=lambda cell: LEFT[cell["pool"]])
    found = verdicts(ANALYSIS.analyse(runs, ARGUMENTS))
    assert len(found) == 2 * (2 + 1) and set(found.values()) == {"confirmed"}


def test_a_network_that_loses_the_labels_is_right_against_the_decodable_truth_only(made_up, verdicts):
    runs = made_up(cells(("imdb-bert", "small-bert")), what_is_left, decodes=lambda cell: LEFT[cell["pool"]])
    found = verdicts(ANALYSIS.analyse(runs, ARGUMENTS))
    assert sum("small-bert" in text for text in found) == 4
    assert found.of("small-bert", "decodable") == {"confirmed"}
    assert found.of("small-bert", "nominal") == {"contradicted"}


def test_one_critic_that_fails_is_enough(made_up, verdicts):
    runs = made_up(cells(), lambda cell, bits: (bits * (0.3 if cell["critic"] == "bilinear" else 0.97), 0.1))
    results = ANALYSIS.analyse(runs, ARGUMENTS)
    found = verdicts(results)
    assert found.of("work well") == {"contradicted"} and found.of("any network") == {"confirmed"}
    assert "bilinear dv 2" in results[0].claims[0].evidence


def test_figures_undecoded_and_diverged(made_up, verdicts, tmp_path):
    result, unseen = ANALYSIS.analyse(made_up(cells(), what_is_left), ARGUMENTS)
    row = result.figures.set_index(["pool", "critic", "bound", "true_bits"]).loc["imdb-roberta", "joint", "dv", 6]
    assert (row["second_half_mean_bits"], row["decodable_bits"]) == (pytest.approx(5.64, rel=0.01), pytest.approx(5.4))
    assert drawn(save(result, tmp_path / "a")) and unseen.draw is None

    broken = made_up(cells(decode=False), lambda cell, bits: (math.nan if cell["bound"] == "dv" else bits, 0.1))
    result = ANALYSIS.analyse(broken, ARGUMENTS)[0]
    found = verdicts([result])
    assert found.of("work well", "decodable") == {"undecided"} and found.of("well for") == {"contradicted"}
    assert set(result.text["decodable MI (bits)"]) == {"not decoded"}
