"""The training that the sweeps of the benchmark share, on the embedded data."""

import math

import numpy as np
import pytest
import torch
from pytest import approx

from infoscope.tracking import Pack
from sweeps.mi_benchmark._benchmark import HELD_OUT, schedule, training_cells, trial
from sweeps.mi_benchmark._pairs import pairs
from sweeps.mi_benchmark.critic_capacity import PROFILES
from tests.sweeps.recorder import Recorder

BY = ("domain", "bound", "seed")


def cells_of(domain="gaussian", **fields):
    return training_cells(
        PROFILES["smoke"], domain, **{"steps": 12, "width": 8} | fields
    )


def test_packed_and_alone_give_the_same_numbers():
    """Three estimators and two seeds in one pack, as on a GPU, against every cell in a
    pack of its own.
    """
    cells = cells_of(bound=["js", "smile-inf", "dv"])
    packed = Recorder.ran(trial, cells, *BY)
    alone = Recorder(*BY)
    for cell in cells:
        trial(Pack((cell,)), alone)
    assert len(packed.models) == 4  # js and smile-inf share a training
    assert len(alone.models) == 6
    assert packed.tables.keys() == alone.tables.keys()
    for key, columns in packed.tables.items():
        np.testing.assert_allclose(
            columns["estimate_bits"],
            alone.tables[key]["estimate_bits"],
            rtol=1e-5,
            atol=1e-6,
        )
        assert packed.finals[key]["mse_bits2"] == approx(
            alone.finals[key]["mse_bits2"], rel=1e-5
        )
        held_out = "held_out_large_batch_bits at 2 bits"
        assert packed.finals[key][held_out] == approx(
            alone.finals[key][held_out], rel=1e-4, abs=1e-5
        )


def test_a_schedule_is_scored_by_segment():
    (cell,) = cells_of(bound="js", seed=0, steps=40, schedule_bits=(2.0, 6.0))
    recorder = Recorder.ran(trial, [cell], *BY)
    (columns,) = recorder.tables.values()
    (final,) = recorder.finals.values()
    assert columns["true_bits"].tolist() == [2.0] * 40 + [6.0] * 40
    for segment, bits in enumerate((2, 6)):
        part = columns["estimate_bits"][40 * segment : 40 * segment + 40]
        place = f" at {bits} bits"
        figures = {}
        for name, value in final.items():
            if name.endswith(place):
                figures[name.removesuffix(place)] = value
        assert figures["mse_bits2"] == approx(np.mean((part - bits) ** 2))
        assert figures["bias_bits"] == approx(part.mean() - bits)
        assert figures["second_half_mean_bits"] == approx(part[20:].mean())
        assert figures["training_minus_held_out_bits"] == approx(
            part[-4:].mean() - figures["held_out_same_batch_bits"]
        )
        assert figures["oracle_critic_bias_bits"] == approx(
            -1 / math.e / math.log(2), abs=0.05
        )  # js is low by 1/e nats
    assert final["mse_bits2"] == approx(
        np.mean((columns["estimate_bits"] - columns["true_bits"]) ** 2)
    )
    assert final["nonfinite_steps"] == 0
    latest = np.mean((columns["estimate_bits"][-4:] - 6) ** 2)
    assert recorder.decided[-1]["recent_mse_bits2"] == approx(latest)


@pytest.mark.parametrize("domain", ["images", "text"])
def test_held_out_pairs_are_of_items_the_training_never_sees(domain):
    (cell,) = cells_of(domain, bound="js", seed=0)
    training = schedule(cell)[0]
    unseen = schedule(cell, HELD_OUT)[0]
    values = [
        pool.images.flatten(1).float() if domain == "images" else pool.vectors
        for pool in (training.pool, unseen.pool)
    ]
    assert len(values[0]) > len(values[1]) > 50
    assert torch.cdist(*values).min() > 0


def test_the_inner_critic_is_evaluated_without_a_training():
    cells = cells_of("images", bound=["js", "infonce"], seed=0, critic="inner")
    recorder = Recorder.ran(trial, cells, *BY)
    source = pairs("images", "digits", 2.0, 10, size=16)
    for _, shape in recorder.models:
        assert shape == (2, 2)
    assert len(recorder.finals) == 2
    for final in recorder.finals.values():
        assert math.isfinite(final["held_out_large_batch_bits at 2 bits"])
    assert source.dim_x == 256
