"""A partition of latents with posterior densities: against the engine for single
latents, and exact answers.
"""

import numpy as np
from numpy.random import default_rng
from pytest import approx

from infoscope.metrics.factor_information import exact
from infoscope.metrics.factor_information.posterior import GaussianPosterior
from infoscope.metrics.partition.evaluation import evaluate_posterior

NAMES = ("z_y", "z_x", "z_d")


def encoded(n, seed):
    """Means and scales of three blocks for y in 3, d in 2: of y, of d, of neither."""
    rng = default_rng(seed)
    y = rng.integers(0, 3, n)
    d = rng.integers(0, 2, n)
    means = {}
    scales = {}
    for name, centre in (("z_y", y), ("z_d", 2.0 * d), ("z_x", 0.0 * y)):
        means[name] = centre[:, None] + 0.3 * rng.normal(size=(n, 1))
        scales[name] = 0.5 + rng.random((n, 1))
    return means, scales, y, d


def terms(*arguments, **settings):
    return evaluate_posterior(*arguments, **settings).figures["posterior"]


def test_as_the_engine_for_single_latents():
    """Three blocks of one column, 4,000 draws each: nine differences within 4.5 of
    their errors (6e-5 for all).
    """
    means, scales, y, d = encoded(300, 0)
    of_blocks = terms(means, scales, y, d, draws=4000)
    mean = np.hstack([means[name] for name in NAMES])
    scale = np.hstack([scales[name] for name in NAMES])
    labels = np.column_stack([y, d, 2 * y + d])
    of_latents = exact.factor_information(
        GaussianPosterior(mean, scale, NAMES), labels, 4000, default_rng(1)
    )
    errors = of_latents.pointwise.std(axis=0) / np.sqrt(of_latents.n)
    for k, label in enumerate(("Y", "D", "Y,D")):
        for i, name in enumerate(NAMES):
            term = of_blocks[f"I({name};{label})"]
            tolerance = 4.5 * np.hypot(term.standard_error, errors[k, i])
            assert term.value == approx(of_latents.alone[k, i], abs=tolerance), (
                name,
                label,
            )
    assert of_blocks["I(z_y,z_x,z_d;Y|D)"].value > of_blocks["I(z_y;Y|D)"].value > 0.2


def test_equal_posteriors_have_no_information():
    """Exactly 0, of every block; and a scale of 1e-3 about the class itself determines
    it: unique is 1.
    """
    _, _, y, d = encoded(120, 3)
    flat = {name: np.ones((120, 1)) for name in ("z_y", "z_d")}
    equal = terms(flat, flat, y, d, draws=200)
    assert equal["I(z_y,z_d;Y,D)"].value == approx(0, abs=1e-12)
    means = {"z_y": y[:, None].astype(float), "z_d": d[:, None].astype(float)}
    scales = {name: 1e-3 * block for name, block in flat.items()}
    sharp = evaluate_posterior(means, scales, y, d, draws=200)
    assert sharp.scores()["unique"].value == approx(1, abs=1e-9)
    assert "do not overlap" in str(sharp)


def test_error_is_that_of_the_draws_where_rows_are_many():
    """As many draws as rows: the spread of 40 sets of them, whose relative error is 1 /
    sqrt(78), within 4 of it.
    """
    sample = encoded(300, 5)
    sets = [
        terms(*sample, draws=300, generator=default_rng(seed)) for seed in range(40)
    ]
    for name in ("I(z_y;Y|D)", "I(z_d;Y,D)"):
        spread = np.std([each[name].value for each in sets], ddof=1)
        error = np.mean([each[name].standard_error for each in sets])
        assert error == approx(spread, rel=4 / np.sqrt(78))


def test_copies_of_rows_are_no_more_draws():
    """Every row four times, in groups: errors follow the groups that were drawn, about
    150 of them.
    """
    means, scales, y, d = encoded(150, 4)
    rows = np.repeat(np.arange(150), 4)
    means = {name: block[rows] for name, block in means.items()}
    scales = {name: block[rows] for name, block in scales.items()}
    single = terms(means, scales, y[rows], d[rows], draws=3000)["I(z_y;Y|D)"]
    grouped = terms(means, scales, y[rows], d[rows], draws=3000, groups=rows)[
        "I(z_y;Y|D)"
    ]
    assert grouped.value == single.value
    assert grouped.standard_error > 1.2 * single.standard_error
