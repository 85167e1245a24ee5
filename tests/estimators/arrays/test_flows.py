"""Flows of both sides: closed forms, the identity at first, Jacobians, and what is refused."""

import numpy as np
import pytest
import torch

from infoscope.estimators.arrays import as_pairs, estimate
from infoscope.estimators.arrays.fitting import Schedule
from infoscope.estimators.arrays.flows import Flow, Spline, log_ratio
from tests.refusals import refused

SMALL = {"width": 24, "folds": 2, "blocks": 1, "schedule": Schedule(learning_rate=5e-3, epochs=20, patience=4)}


def normal(rho, n, columns=1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, columns))
    return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=(n, columns)), -0.5 * columns * np.log(1 - rho**2)


def test_flows_and_splines_begin_as_the_identity():
    generator = torch.Generator().manual_seed(0)
    values = 3 * torch.randn(50, 3, generator=generator)
    moved, logs = Spline(3, 8)(values)
    torch.testing.assert_close(moved, values, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(logs, torch.zeros(50), atol=1e-3, rtol=0)
    moved, logs = Flow(3, 2, 8, 8, generator)(values)
    torch.testing.assert_close(moved, values, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(logs, torch.zeros(50), atol=1e-3, rtol=0)


def test_the_jacobian_is_that_of_the_map():
    generator = torch.Generator().manual_seed(1)
    flow = Flow(3, 2, 16, 6, generator).double()
    for parameter in flow.parameters():
        parameter.data += 0.4 * torch.randn(parameter.shape, generator=generator)
    values = 1.5 * torch.randn(20, 3, generator=generator, dtype=torch.float64)
    logs = flow(values)[1]
    exact = [
        torch.linalg.slogdet(torch.autograd.functional.jacobian(lambda v: flow(v[None])[0][0], v))[1] for v in values
    ]
    torch.testing.assert_close(logs, torch.stack(exact), atol=1e-6, rtol=1e-6)


def test_the_mean_log_ratio_is_the_formula():
    x, y, truth = normal(0.6, 200_000, 2)
    found = log_ratio(torch.as_tensor(x), torch.as_tensor(y), torch.tensor([0.6, 0.6])).mean()
    assert float(found) == pytest.approx(truth, abs=0.01)


@pytest.mark.parametrize(("rho", "columns", "room"), [(0.6, 1, 0.06), (0.9, 1, 0.1), (0.6, 3, 0.12)])
def test_normal_columns(rho, columns, room):
    x, y, truth = normal(rho, 1200, columns)
    found = estimate(x, y, "mienf", **SMALL)
    assert found == pytest.approx(truth, abs=room)
    assert f"{columns} correlations" in found.settings


def test_monotone_maps_of_columns_change_nothing():
    x, y, _ = normal(0.6, 800)
    changed, same = estimate(np.exp(2 * x), y**3, "mienf", **SMALL), estimate(x, y, "mienf", **SMALL)
    assert changed == pytest.approx(float(same), abs=0.01)  # but for how scores go on between the training rows


def test_nothing_shared_is_about_nothing():
    rng = np.random.default_rng(5)
    assert abs(estimate(rng.normal(size=(600, 3)), rng.normal(size=(600, 2)), "mienf", **SMALL)) < 0.03


def test_held_out_rows_change_no_fit_and_a_generator_repeats():
    x, y, _ = normal(0.6, 200, 2)
    before, again = (estimate(x, y, "mienf", **SMALL) for _ in range(2))
    assert before.local.tolist() == again.local.tolist()
    fold = as_pairs(x, y).folds(2, np.random.default_rng(0))
    changed = np.flatnonzero(fold == 0)[0]
    y[changed] = 40.0
    after = estimate(x, y, "mienf", **SMALL)
    same = (fold == 0) & (np.arange(200) != changed)
    assert (before.local[same] == after.local[same]).all()


def test_labels_and_bad_settings_are_refused():
    x, y, _ = normal(0.6, 60)
    with refused("method", "type"):
        estimate(x, y[:, 0] > 0, "mienf")
    for settings, said in (({"blocks": -1}, "blocks must be a whole number of at least 0, got -1."),
                           ({"pieces": 1}, "pieces must be a whole number of at least 2, got 1.")):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            estimate(x, y, "mienf", **settings)
