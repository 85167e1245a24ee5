"""What README shows in Python, run as it stands on made-up arrays of the shapes that it names."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

README = Path(__file__).parents[1] / "README.md"
LOGGED = Path(__file__).parent / "tracking" / "logged" / "joint-critic"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def arrays():
    """Latents of 240 rows in 60 groups that tell a class, a domain and two factors."""
    generator = np.random.default_rng(0)
    n = 240
    labels, groups = generator.integers(0, 2, n), np.repeat(np.arange(n // 4), 4)
    domains = groups % 3
    factors = np.column_stack([labels, generator.integers(0, 3, n)])
    mean = factors + 0.3 * generator.normal(size=(n, 2))
    z_y, z_d = (values[:, None] + 0.5 * generator.normal(size=(n, 1)) for values in (labels, domains))
    return {
        "z": mean, "labels": labels, "slide": groups, "hospital": domains, "factors": factors, "mean": mean,
        "scale": np.full((n, 2), 0.3), "z_y": z_y, "z_d": z_d, "z_x": generator.normal(size=(n, 1)), "y": labels,
        "d": domains, "patient": groups, "x": mean,
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_what_is_shown_runs(number, monkeypatch):
    """A row of what a sweep has recorded is made up: it names a logged critic."""
    monkeypatch.setattr("infoscope.tracking.runs", lambda *_: pd.DataFrame({"run_id": [str(LOGGED)]}))
    code = BLOCKS[number].replace("steps=500", "steps=5").replace("draws=10_000", "draws=1_000")
    exec(compile(code, f"README block {number + 1}", "exec"), arrays())
