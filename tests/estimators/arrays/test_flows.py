"""Flows of x and y: closed forms, the identity at first, and Jacobians."""

import numpy as np
import pytest
import torch

from infoscope.estimators.arrays import estimate
from infoscope.estimators.arrays.fitting import Schedule
from infoscope.estimators.arrays.flows import Flow, Spline, log_ratio
from tests.estimators.samples import normal_information, normal_pairs

SMALL = {"width": 24, "folds": 2, "blocks": 1, "schedule": Schedule(learning_rate=5e-3, epochs=20, patience=4)}


def test_flows_and_splines_begin_as_the_identity():
    generator = torch.Generator().manual_seed(0)
    values = 3 * torch.randn(50, 3, generator=generator)
    for map_of in (Spline(3, 8), Flow(3, 2, 8, 8, generator)):
        moved, logs = map_of(values)
        torch.testing.assert_close(moved, values, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(logs, torch.zeros(50), atol=1e-3, rtol=0)


def test_the_jacobian_is_that_of_the_map():
    generator = torch.Generator().manual_seed(1)
    flow = Flow(3, 2, 16, 6, generator).double()
    for parameter in flow.parameters():
        parameter.data += 0.4 * torch.randn(parameter.shape, generator=generator)
    values = 1.5 * torch.randn(20, 3, generator=generator, dtype=torch.float64)
    exact = [
        torch.linalg.slogdet(torch.autograd.functional.jacobian(lambda v: flow(v[None])[0][0], v))[1] for v in values
    ]
    torch.testing.assert_close(flow(values)[1], torch.stack(exact), atol=1e-6, rtol=1e-6)


def test_the_mean_log_ratio_is_the_formula():
    x, y = normal_pairs(200_000, 0.6, 2)
    found = log_ratio(torch.as_tensor(x), torch.as_tensor(y), torch.tensor([0.6, 0.6])).mean()
    assert float(found) == pytest.approx(normal_information(0.6, 2), abs=0.01)


def test_three_columns_have_three_correlations():
    found = estimate(*normal_pairs(1000, 0.6, 3), "mienf", **SMALL)
    assert found == pytest.approx(normal_information(0.6, 3), abs=0.12) and "3 correlations" in found.settings


def test_monotone_maps_of_columns_change_nothing():
    x, y = normal_pairs(600, 0.6)
    changed, same = estimate(np.exp(2 * x), y**3, "mienf", **SMALL), estimate(x, y, "mienf", **SMALL)
    assert changed == pytest.approx(float(same), abs=0.01)  # but for how scores go on between the training rows
