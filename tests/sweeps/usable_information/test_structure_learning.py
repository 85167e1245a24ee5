"""The sweep of structure learning: its methods against known values, and its trial."""

import numpy as np
import pandas as pd
from numpy.random import default_rng
from pytest import approx

from infoscope.data.tasks import simulators
from infoscope.tracking import Pack
from sweeps.usable_information.structure_learning import (
    METHODS,
    PROFILES,
    SWEEP,
    by_kernel,
    drawn,
    partitioned,
    trial,
)
from tests.refusals import refused
from tests.sweeps.recorder import Recorder


def plan(**overrides):
    return SWEEP.plan(PROFILES["smoke"].override(overrides))


def test_methods_are_asked_what_they_take():
    asked = {}
    for cell in plan().values():
        asked.setdefault(cell.case, set()).add(cell.method)
    assert asked["gaussian-hub"] == set(METHODS)
    assert asked["discrete-star"] == set(METHODS) - {"kernel-density"}
    assert asked["digits"] == {"v-information", "knn"}


def test_measures_of_other_kinds_on_what_is_known():
    """A Gaussian of correlation 0.9 has 0.83 nats: a kernel estimate is near it, bins
    are below; labels are exact.
    """
    draws = default_rng(0).multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 1000)
    truth = -0.5 * np.log(1 - 0.81)
    assert by_kernel(*draws.T) == approx(truth, abs=0.12)
    assert 0.5 * truth < partitioned(*draws.T) < truth
    labels = np.repeat(np.arange(4), 25)
    assert partitioned(labels, labels) == approx(np.log(4))
    assert partitioned(labels, np.tile(np.arange(5), 20)) == approx(0.0)
    assert abs(by_kernel(*default_rng(1).normal(size=(2, 500)))) < 0.05


def test_kernel_densities_bear_far_outliers_and_refuse_constants():
    """A point 1e4 away, where every density underflows: the ratio there is of the
    nearest point's kernels.
    """
    x, y = default_rng(0).normal(size=(2, 200))
    x[0] = y[0] = 1e4
    assert np.isfinite(by_kernel(x, y))
    # by hand: kernels of distances 1, 2, 3 in units of the bandwidth
    small = np.array([0.0, 1.0, 3.0])
    width = 3 ** (-1 / 6) * small.std()
    kernel = np.exp(-0.5 * ((small[:, None] - small) / width) ** 2)
    kernel[np.eye(3, dtype=bool)] = 0.0
    expected = np.mean(
        np.log((kernel**2).sum(axis=1) / 2) - 2 * np.log(kernel.sum(axis=1) / 2)
    )
    assert by_kernel(small, small) == approx(expected)
    with refused("variables", "constant"):
        by_kernel(x, np.ones(200))


def test_weights_find_a_tree_that_is_plain():
    """Enough samples: no method that suits the data has a wrong edge in the discretised
    star; means are of the sets.
    """
    cells = plan(cases="discretised-logistic", studies="trees", sizes="400").values()
    recorder = Recorder.ran(trial, cells, "method")
    assert (
        recorder.finals[("v-information",)]["wrong"]
        == recorder.finals[("knn",)]["wrong"]
        == 0.0
    )
    for key, columns in recorder.tables.items():
        assert recorder.finals[key]["wrong"] == approx(columns["wrong"].mean())
        assert recorder.finals[key]["wrong_variance"] == approx(
            columns["wrong"].var(ddof=1)
        )


def test_frames_are_in_order_and_every_block_has_its_own_videos():
    cell = next(iter(plan(studies="frames").values()))
    of = drawn(cell, 0)
    again = drawn(cell, 0)
    other = drawn(cell, 1)
    assert of.truth.tolist() == [-1, 0, 1, 2, 3]
    assert of.variables[0].shape == (60, 10)
    np.testing.assert_array_equal(of.variables[2], again.variables[2])
    assert not np.array_equal(of.variables[2], other.variables[2])
    steps = [
        np.linalg.norm(of.variables[0] - of.variables[frame], axis=1).mean()
        for frame in (1, 2, 4)
    ]
    assert steps == sorted(steps)  # frames that are further apart differ more


def test_a_table_of_ones_own(tmp_path, monkeypatch):
    """The path is part of the cell, and so of its random stream: it must not vary."""
    monkeypatch.chdir(tmp_path)
    draws = default_rng(0)
    expression, graph = simulators.gene_network(
        300, draws, simulators.random_graph(6, 1, draws)
    )
    np.savez("own.npz", expression=expression, adjacency=graph)
    cells = plan(
        studies="genes", genes="own.npz", fractions="0.5", methods="v-information"
    )
    (cell,) = cells.values()
    assert cell.n == 150
    assert SWEEP.tags_of(cell)["infoscope.data"] == "own.npz"
    of = drawn(cell, 0)
    assert np.array_equal(of.truth, graph)
    assert len(pd.DataFrame(of.variables).T.drop_duplicates()) == 150
    recorder = Recorder.ran(trial, [cell])
    assert recorder.finals[()]["auc"] > 0.6
    np.savez("bad.npz", expression=expression[:, :3], adjacency=graph)
    for bad in ("bad.npz", "missing.npz"):
        with refused("genes", "file"):
            plan(studies="genes", genes=bad)


def test_packing_changes_no_number():
    (pack, *_) = SWEEP.packs(plan(cases="gaussian-hub", studies="trees"), "cpu")
    together = Recorder.ran(trial, pack.values(), "method")
    alone = Recorder("method")
    for cell in pack.values():
        trial(Pack((cell,)), alone)
    assert together.finals == alone.finals
    assert len(together.finals) == len(METHODS)
