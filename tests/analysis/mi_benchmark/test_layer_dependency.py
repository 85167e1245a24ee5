"""Figures 6 and 11 on made-up runs: change behind networks, the order of the layers, and verdicts both ways."""

import itertools
import math

import numpy as np
import pytest

from analysis.mi_benchmark.layer_dependency import ANALYSIS

ARGUMENTS = ANALYSIS.arguments([])
DECODABLE = "decodable MI of the data (bits)"
LAYERS = ("stem", "block 1", "block 2", "pooled")
UPPER = "Upper layers are estimated more accurately than lower ones, against the {} MI: images (mnist)."


def cells(seeds=(0, 1, 2), bounds=("dv", "smile-5"), domains=("images", "text")):
    whole = [
        ("identity", "none", "", 0),
        *((name, how, "", 0) for name in ("maf", "irevnet") for how in ("batch", "fixed")),
    ]
    layers = [("resnet", "none", layer, index) for index, layer in enumerate(LAYERS)]
    for domain, bound, seed in itertools.product(domains, bounds, seeds):
        for encoder, statistics, layer, index in whole + (layers if domain == "images" else []):
            yield dict(
                domain=domain, bound=bound, seed=seed, encoder=encoder, statistics=statistics, layer=layer,
                layer_index=index, schedule_bits=[2.0, 6.0],
            )  # fmt: skip


DECODING = [
    dict(domain=domain, kind="decoding", encoder="identity", statistics="none", schedule_bits=[2.0, 6.0])
    for domain in ("images", "text")
]


def published(cell, bits):
    """Networks do not change estimates, which improve with the layer."""
    lost = 0.5 - 0.15 * cell["layer_index"] if cell["encoder"] == "resnet" else 0.03
    return bits * (1 - lost), 0.1


def opposite(cell, bits):
    lost = 0.05 + 0.15 * cell["layer_index"] if cell["encoder"] == "resnet" else 0.4 * (cell["encoder"] != "identity")
    return bits * (1 - lost), 0.1


@pytest.mark.parametrize(("estimates", "expected"), [(published, "confirmed"), (opposite, "contradicted")])
def test_section_5_7(made_up, verdicts, estimates, expected):
    found = verdicts(ANALYSIS.analyse(made_up([*cells(), *DECODING], estimates, decodes=0.98), ARGUMENTS))
    assert len(found) == 2 * 2 * 2 + 3 and set(found.values()) == {expected}, found


def test_kinds_of_statistics_are_kept_separate(made_up, verdicts):
    def batch_only(cell, bits):
        return bits * (0.6 if cell["statistics"] == "batch" else 0.97), 0.1

    found = verdicts(ANALYSIS.analyse(made_up(cells(domains=("text",)), batch_only), ARGUMENTS))
    assert all((verdict == "contradicted") == ("as published" in text) for text, verdict in found.items())


def test_change_is_paired_within_a_seed(made_up):
    """Seeds differ by 0.2 bits, the change within a seed hardly."""
    runs = made_up(
        cells(domains=("text",)), lambda cell, bits: (bits - 0.2 * cell["seed"] - 0.1 * (cell["encoder"] == "maf"), 0.1)
    )
    figures = ANALYSIS.analyse(runs, ARGUMENTS)[0].figures
    row = figures.set_index(["encoder", "statistics", "bound", "true_bits"]).loc["maf", "batch", "dv", 2]
    assert row["change_bits"] == pytest.approx(-0.1, abs=0.02) and row["change_bits_error"] < 0.02
    assert row["second_half_mean_bits_error"] > 0.1


def test_the_least_of_a_layer_is_the_greatest_above_it(made_up):
    results = ANALYSIS.analyse(made_up(cells(domains=("images",)), published), ARGUMENTS)
    layers = next(result for result in results if result.name == "layers")
    rows = layers.figures[(layers.figures["bound"] == "dv") & (layers.figures["true_bits"] == 6)]
    assert list(rows["layer"]) == ["(data)", *LAYERS]
    estimates = rows["second_half_mean_bits"].to_numpy()
    expected = [estimates[place + 1 :].max() for place in range(4)]
    np.testing.assert_allclose(rows["least_bits"].to_numpy()[:4], expected)
    assert math.isnan(rows["least_bits"].iloc[4])
    shown = layers.text.loc[rows.index, "below it by"].tolist()
    assert [text == "-" for text in shown] == [True, False, False, False, True]
    assert "12 of 16" in layers.caption


def test_a_layer_that_diverged_is_left_out_and_one_that_was_not_run_is_not_needed(made_up, verdicts, tmp_path):
    def broken(cell, bits):
        return (math.nan, math.nan) if cell["layer"] == "stem" else published(cell, bits)

    results = ANALYSIS.analyse(made_up(cells(), broken), ARGUMENTS)
    found = verdicts(results)
    assert found[UPPER.format("nominal")] == "confirmed" and found[UPPER.format("decodable")] == "undecided"
    assert found.of("data processing") == {"undecided"}
    without = made_up([cell for cell in cells() if cell["encoder"] != "resnet"])
    assert [result.name for result in ANALYSIS.analyse(without, ARGUMENTS)] == ["invertible", "unseen"]


def test_layers_that_lose_what_cannot_be_decoded_are_accurate_against_that_truth(made_up, verdicts):
    """Estimates are the decodable MI at lower layers, the nominal MI at upper ones."""
    runs = made_up(
        [*cells(domains=("images",)), *DECODING[:1]],
        lambda cell, bits: ((0.5 + 0.15 * cell["layer_index"] if cell["encoder"] == "resnet" else 0.97) * bits, 0.1),
        decodes=0.5,
    )
    results = ANALYSIS.analyse(runs, ARGUMENTS)
    found = verdicts(results)
    assert (found[UPPER.format("nominal")], found[UPPER.format("decodable")]) == ("confirmed", "contradicted")
    for result in results:
        if result.name in ("invertible", "layers"):
            assert set(result.text[DECODABLE]) == {"1.000 ± 0.010", "3.000 ± 0.010"}
            assert "lower bound" in result.caption


def test_unseen_pairs_are_compared_at_the_batch_of_the_training(made_up):
    """At batch 512 an encoder with batch statistics is another map: made up here as a wild figure."""
    runs = made_up(cells(domains=("text",)))
    batch = runs["statistics"] == "batch"
    for bits in (2, 6):
        runs.loc[batch, f"at {bits} bits/held_out_large_batch_bits"] = -99.0
    invertible, unseen = ANALYSIS.analyse(runs, ARGUMENTS)
    row = invertible.figures.set_index(["statistics", "true_bits", "bound"]).loc["batch", 6, "dv"].iloc[0]
    assert row["held_out_same_batch_bits"] == pytest.approx(0.98 * 6 - 0.05, abs=0.1)
    assert row["unseen_change_bits"] == pytest.approx(0, abs=0.1)
    assert "another batch size" in invertible.caption + unseen.caption
