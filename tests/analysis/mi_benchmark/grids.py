"""Cells of made-up sweeps."""

import itertools


def crossed(**axes):
    """A cell for every combination of the values of lists; what is no list is the same
    in all.
    """
    listed = [value if isinstance(value, list) else [value] for value in axes.values()]
    return [dict(zip(axes, values)) for values in itertools.product(*listed)]
