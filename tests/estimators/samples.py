"""Samples whose information is known, and what several tests draw them with."""

import numpy as np

from infoscope.estimators.uncertainty._engine import Sample


def draws(seed=0):
    return np.random.default_rng(seed)


def normal_pairs(n, correlation, dim=1, seed=0):
    """x and y [n, dim], normal, paired column by column."""
    x, noise = draws(seed).normal(size=(2, n, dim))
    return x, correlation * x + np.sqrt(1 - correlation**2) * noise


def normal_pair(n, correlation, seed=0):
    """The same of one column each [n]."""
    x, y = normal_pairs(n, correlation, 1, seed)
    return x[:, 0], y[:, 0]


def normal_information(correlation, dim=1):
    """I(x; y) of `normal_pairs`, nats."""
    return -dim / 2 * np.log(1 - correlation**2)


def sample_of(*variables):
    """x, y and perhaps z as the checked sample that `uncertainty` measures."""
    return Sample.of(*variables)[0]


def covering(estimates, truth):
    """The number of estimates whose interval covers the true value."""
    return sum(estimate.low <= truth <= estimate.high for estimate in estimates)


def mean_standard_error(estimates):
    return np.mean([estimate.standard_error for estimate in estimates])
