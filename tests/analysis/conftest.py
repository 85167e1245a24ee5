"""Made-up runs of the neural benchmark, as MLflow would give them."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng

from tests.analysis.runs import RUN

POOLS = {
    "gaussian": "gaussian",
    "images": "mnist",
    "text": "imdb-bert",
    "mixture": "mnist+imdb-bert",
}
TRAINING = dict(
    batch=64,
    sources=10,
    steps=4000,
    critic="joint",
    depth=2,
    width=256,
    learning_rate=5e-4,
)


def _figures(cell, bits, mean, variance):
    """What a run records at one true MI, given the mean and variance of its estimates."""
    held_out = mean - 0.05
    figures = {f"{prefix}{name}": value for prefix in ("", "second_half_") for name, value in {
        "mean_bits": mean, "bias_bits": mean - bits, "variance_bits2": variance,
        "mse_bits2": variance + (bits - mean) ** 2,
    }.items()}  # fmt: skip
    figures |= {
        "second_half_mse_bits2_error": 0.01,
        "nonfinite_steps": float(math.isnan(mean)),
    }
    figures |= {
        "held_out_large_batch_bits": held_out,
        "held_out_large_batch_bits_error": 0.02,
        "training_minus_held_out_bits": 0.04,
        "training_minus_held_out_bits_error": 0.02,
    }
    figures |= {
        "held_out_same_batch_bits": held_out,
        "held_out_same_batch_bits_error": 0.02,
    }
    figures |= {
        "oracle_critic_mean_bits": bits - 0.53 * (cell["bound"] == "js"),
        "oracle_critic_batches": 2000.0,
    }
    return figures | {
        "oracle_critic_mse_bits2": 0.08,
        "oracle_critic_mse_bits2_error": 0.003,
    }


@pytest.fixture
def made_up():
    """A function: cells, and (cell, bits) -> (mean, variance) of the estimates in bits
    -> the runs.

    Without the second, estimates are 2 % low, plus a little that differs by seed and
    field. A cell whose kind is "decoding" decodes `decodes` of the nominal MI.
    """

    def build(
        cells, estimates=None, decodes=0.9, accuracy=0.99, error=0.01, wobbles=0.002
    ):
        rows = []
        for number, fields in enumerate(cells):
            cell = (
                TRAINING
                | {"seed": 0, "schedule_bits": [2.0], "pool": POOLS[fields["domain"]]}
                | fields
            )
            cell["size"] = cell.get("size", 64) if cell["domain"] == "images" else None
            row = RUN | cell | {"run_id": f"run-{number}"}
            rng = default_rng(
                [cell["seed"], *repr(sorted(map(str, fields.items()))).encode()]
            )
            for bits in cell["schedule_bits"]:
                if cell.get("kind") == "decoding":
                    figures = {
                        "decodable_bits": decodes(cell) * bits
                        if callable(decodes)
                        else decodes * bits
                    }
                    # three folds
                    bounds = [
                        figures["decodable_bits"] + side * 4.3 * error
                        for side in (-1, 1)
                    ]
                    figures |= dict(
                        zip(("decodable_low_bits", "decodable_high_bits"), bounds)
                    )
                    figures |= {"decodable_bits_error": error}
                    row |= {"accuracy": accuracy, "accuracy_error": 0.001}
                else:
                    mean, variance = (
                        estimates(cell, bits) if estimates else (0.98 * bits, 0.1)
                    )
                    wobble = 1 + wobbles * rng.standard_normal()
                    figures = _figures(cell, bits, mean * wobble, variance * wobble)
                    row["nonfinite_steps"] = (
                        row.get("nonfinite_steps", 0.0) + figures["nonfinite_steps"]
                    )
                row |= {
                    f"{name} at {bits:g} bits": value for name, value in figures.items()
                }
            rows.append(row)
        frame = pd.DataFrame(rows)
        return frame.assign(mse_bits2=0.1)

    return build


class Verdicts(dict):
    """statement -> verdict."""

    def of(self, *words):
        """The verdicts of the statements that have all of these words."""
        return {
            verdict
            for statement, verdict in self.items()
            if all(word in statement for word in words)
        }


@pytest.fixture
def verdicts():
    """A function: results -> verdicts of all their claims."""
    return lambda results: Verdicts(
        (claim.statement, claim.verdict)
        for result in results
        for claim in result.claims
    )


@pytest.fixture
def trace_of(monkeypatch):
    """Every run's trace is a noisy curve around 2 bits; gives the runs that were asked
    for.
    """
    asked = []

    def table(run_id, name):
        asked.append((run_id, name))
        steps = np.arange(1, 401)
        noise = default_rng(0).normal(0, 0.3, 400)
        return pd.DataFrame(
            {"step": steps, "true_bits": 2.0, "estimate_bits": 2.0 + noise}
        )

    monkeypatch.setattr("infoscope.tracking.table", table)
    return asked


@pytest.fixture
def sketched(monkeypatch):
    """Figures are laid out by no one: what would be saved is the first bytes of a
    picture.
    """
    monkeypatch.setattr(
        "matplotlib.figure.Figure.savefig",
        lambda self, path, **_: Path(path).write_bytes(b"\x89PNG"),
    )
