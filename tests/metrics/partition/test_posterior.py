"""A partition of latents with posterior densities: against the engine for single latents, and known answers."""

import numpy as np
from numpy.random import default_rng
from pytest import approx

from infoscope.metrics.factor_information import exact
from infoscope.metrics.factor_information.posterior import GaussianPosterior
from infoscope.metrics.partition.evaluation import evaluate_posterior


def encoded(n, seed, columns=1):
    """Means and scales of three blocks for y in 3, d in 2: of y, of d, of neither."""
    rng = default_rng(seed)
    y, d = rng.integers(0, 3, n), rng.integers(0, 2, n)
    means = {name: np.repeat(of[:, None], columns, axis=1) + 0.3 * rng.normal(size=(n, columns)) for name, of in (
        ("z_y", y), ("z_d", 2.0 * d), ("z_x", 0.0 * y),
    )}  # fmt: skip
    return means, {name: 0.5 + rng.random((n, columns)) for name in means}, y, d


def test_as_the_engine_for_single_latents():
    """Three blocks of one column, 4,000 draws each: nine differences within 4.5 of their errors (6e-5 for all)."""
    means, scales, y, d = encoded(300, 0)
    names = ("z_y", "z_x", "z_d")
    figures = evaluate_posterior(means, scales, y, d, draws=4000).figures["posterior"]
    posterior = GaussianPosterior(*[np.hstack([side[name] for name in names]) for side in (means, scales)], names)
    theirs = exact.factor_information(posterior, np.column_stack([y, d, 2 * y + d]), 4000, default_rng(1))
    for k, label in enumerate(("Y", "D", "Y,D")):
        for i, name in enumerate(names):
            figure, error = figures[f"I({name};{label})"], theirs.pointwise[:, k, i].std() / np.sqrt(theirs.n)
            within = 4.5 * np.hypot(figure.standard_error, error)
            assert figure.value == approx(theirs.alone[k, i], abs=within), (name, label)
    both = figures["I(z_y,z_x,z_d;Y|D)"].value
    assert both > figures["I(z_y;Y|D)"].value > 0.2


def test_equal_posteriors_have_no_information():
    """Exactly 0, of every block; and a scale of 1e-3 about the class itself determines it: unique is 1."""
    _, _, y, d = encoded(120, 3)
    flat = {name: np.ones((120, 2)) for name in ("z_y", "z_d")}
    report = evaluate_posterior(flat, flat, y, d, draws=200)
    assert report.figures["posterior"]["I(z_y,z_d;Y,D)"].value == approx(0, abs=1e-12)
    sharp = evaluate_posterior(
        {"z_y": y[:, None].astype(float), "z_d": d[:, None].astype(float)},
        {name: np.full((120, 1), 1e-3) for name in flat}, y, d, draws=200,
    )  # fmt: skip
    assert sharp.scores()["unique"].value == approx(1, abs=1e-9)
    assert "the population" in str(sharp) and "do not overlap" in str(sharp)


def test_error_is_that_of_the_draws_where_rows_are_many():
    """As many draws as rows: the spread of 40 sets of them, whose relative error is 1 / sqrt(78), within 4 of it."""
    means, scales, y, d = encoded(300, 5)
    found = [
        evaluate_posterior(means, scales, y, d, draws=300, generator=default_rng(seed)).figures["posterior"]
        for seed in range(40)
    ]
    for name in ("I(z_y;Y|D)", "I(z_d;Y,D)"):
        influence = np.std([figures[name].value for figures in found], ddof=1)
        error = np.mean([figures[name].standard_error for figures in found])
        assert error == approx(influence, rel=4 / np.sqrt(78))


def test_copies_of_rows_are_no_more_draws():
    """Every row four times, in groups: errors follow the groups that were drawn, about 150 of them."""
    means, scales, y, d = encoded(150, 4)
    four = np.repeat(np.arange(150), 4)
    copied = [{name: side[name][four] for name in side} for side in (means, scales)]
    apart, together = (
        evaluate_posterior(*copied, y[four], d[four], groups=groups, draws=3000).figures["posterior"]["I(z_y;Y|D)"]
        for groups in (None, four)
    )
    assert together.value == apart.value and together.standard_error > 1.2 * apart.standard_error
