"""Local permutation tests of I(x; y | z) beside the published algorithm written
plainly, on the same data in one run.

The baseline is written after Runge 2018 (1709.01447) with the settings that its
authors' program has: columns as ranks, a fifth of the rows as neighbours, x taken from
five near rows, one tree of every space built anew for each permutation.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.spatial import cKDTree
from scipy.special import digamma
from scipy.stats import rankdata

from infoscope.data.tasks.cases import draws
from infoscope.data.tasks.independence import setting
from infoscope.estimators.uncertainty import permutation_test
from infoscope.metrics.shares import clopper_pearson
from tests.benchmarks.timing import seconds, show
from tests.estimators.uncertainty.test_local import published

pytestmark = pytest.mark.bench

SETS = 100
LEVEL = 0.05
NEAR = 5
LAWS = ("linear-1-of-100", "sine-1", "linear-5", "one-of-10")


def information(x, y, z, k):
    """I(x; y | z) by counts within the distance of the k-th neighbour in all (Frenzel &
    Pompe 2007), columns [n, d].
    """
    whole = np.hstack([x, y, z])
    radius = np.nextafter(cKDTree(whole).query(whole, [k + 1], p=np.inf)[0][:, 0], 0)
    means = []
    for space in (z, np.hstack([x, z]), np.hstack([y, z])):
        counts = cKDTree(space).query_ball_point(
            space, radius, p=np.inf, return_length=True
        )
        means.append(digamma(counts).mean())
    of_z, of_xz, of_yz = means
    return float(digamma(k) + of_z - of_xz - of_yz)


def plain(x, y, z, permutations, generator):
    """The p-value."""
    x, y, z = (rankdata(side.reshape(len(side), -1), axis=0) for side in (x, y, z))
    k = int(0.2 * len(x))
    observed = information(x, y, z, k)
    near = cKDTree(z).query(z, NEAR, p=np.inf)[1]
    exceeding = 0
    for _ in range(permutations):
        order = generator.permutation(len(x))
        rows = published(order, generator.permuted(near, axis=1))
        exceeding += information(x[rows], y, z, k) >= observed
    return (1 + exceeding) / (1 + permutations)


def ours(x, y, z, permutations, generator):
    return permutation_test(
        x, y, z, permutations=permutations, generator=generator
    ).p_value


def rejected(name, dependent, sets, test, permutations=39):
    """In how many data sets independence is rejected."""
    distribution = setting(name)
    rows = distribution.rows
    count = 0
    for seed in sets:
        generator = draws(seed, f"{name} {int(dependent)}", rows)
        sample = distribution.sample(rows, generator, dependent)
        count += test(*sample, permutations, generator) <= LEVEL
    return count


def share(count, of):
    low, high = clopper_pearson(count, of, 0.95)
    return f"{100 * count / of:.1f} % ({100 * low:.0f} to {100 * high:.0f})"


@pytest.mark.parametrize("name", LAWS)
def test_size_and_power_beside_the_plain_algorithm(name):
    counts = {}
    for test in (ours, plain):
        size, power = (
            rejected(name, dependent, range(SETS), test) for dependent in (False, True)
        )
        counts[test] = size, power
        show(
            f"{name}, {test.__name__}",
            sets=SETS,
            size=share(size, SETS),
            power=share(power, SETS),
        )
    size, power = counts[ours]
    assert clopper_pearson(size, SETS, 0.95)[0] <= LEVEL
    highest = clopper_pearson(power, SETS, 0.95)[1]
    lowest_of_plain = clopper_pearson(counts[plain][1], SETS, 0.95)[0]
    # else the power is clearly below that of the plain algorithm
    assert highest >= lowest_of_plain


@pytest.mark.parametrize("rows, permutations", [(200, 199), (500, 199), (2000, 19)])
def test_time_beside_the_plain_algorithm(rows, permutations):
    """Processor time, three columns of z."""
    x, y, z = setting("linear-3").sample(rows, default_rng(0), True)
    ours(x, y, z, 1, default_rng(0))  # compiles
    took, plainly = (
        seconds(lambda: test(x, y, z, permutations, default_rng(1)))  # noqa: B023
        for test in (ours, plain)
    )
    show(
        f"{rows} rows",
        permutations=permutations,
        ours=took,
        plain=plainly,
        ratio=plainly / took,
    )
    assert took < plainly
