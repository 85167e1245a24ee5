"""Separation of label Y and domain D in the blocks z_y, z_d, z_dy and z_x of a
representation; nats.

Every quantity by two estimators (see `terms`), with errors robust to groups,
permutation tests of leakage, and the scores `unique` and `seed` (see `scores`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import require_int
from infoscope.errors import (
    InvalidInput,
    NoVariation,
    OutOfRange,
    UnknownName,
    WrongLength,
    WrongType,
)
from infoscope.estimators import classifier, uncertainty
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.classifier.inputs import as_blocks
from infoscope.estimators.columns import as_codes
from infoscope.metrics.partition.blocks import BLOCKS, LEAKY, Term
from infoscope.metrics.partition.labels_as_numbers import AS_NUMBERS, numbers_route
from infoscope.metrics.partition.report import Items, NullTest, PartitionReport, holm
from infoscope.metrics.partition.scores import (
    figures,
    scores,
    seed_parts,
    seed_scores,
    terms_of,
)
from infoscope.metrics.partition.terms import (
    CLASSIFIER,
    NEIGHBOURS,
    POSTERIOR,
    break_ties,
    classifier_route,
    knn_route,
    stacked,
)
from infoscope.metrics.v_information.predictions import as_groups


@aligns("blocks", "y", "d", "groups")
def evaluate(
    blocks: Mapping[str, ArrayLike | None] | Any,
    y: ArrayLike,
    d: ArrayLike,
    groups: ArrayLike | None = None,
    family: Any = "logistic",
    folds: int = 5,
    k: int = 5,
    resamples: int = 100,
    permutations: int = 199,
    generator: np.random.Generator | None = None,
) -> PartitionReport:
    """Every quantity and score of a partition, by nearest neighbours and by coherent
    classifiers.

    Parameters
    ----------
    blocks
        z_y, z_x, z_dy, z_d -> [n, dim] numbers, or an object with `blocks()`.
        Quantities of a missing block are not applicable, never 0.
    y, d
        Categories [n].
    groups
        [n], labels of dependent rows, which share a fold and a half-sample.
    family, folds
        As in `classifier.cross_fit`.
    k, resamples
        Nearest neighbours, and half-samples for their errors.
    permutations
        For each nearest-neighbour test of I(z_y;D|Y), I(z_d;Y|D), I(z_x;Y) and
        I(z_x;D|Y) = 0; 0: no tests.

    Returns
    -------
    PartitionReport
        Unavailable nearest-neighbour values are NaN with a note.

    Raises
    ------
    ValueError
        Unknown blocks or none, values that are not finite, unequal lengths, a label of
        one class, a combination of y and d in fewer than two groups, settings out of
        range.
    """
    numbers = as_blocks(present_blocks(blocks))
    n = len(next(iter(numbers.values())))
    labels = _as_labels(y, d, n)
    generator = generator_or_default(generator)
    if not 1 <= require_int("k", k, 1) < n // 2:
        raise OutOfRange(
            f"k must be below the rows of a half-sample, {n // 2}, got {k}."
        )
    require_int("resamples", resamples, 10)
    require_int("permutations", permutations, 0)
    row_groups = as_groups(groups, n)
    names = tuple(numbers)
    terms = terms_of(names)

    clustered = None if groups is None else row_groups
    plan = uncertainty.half_samples(n, resamples, generator, clustered)
    subsets = list(dict.fromkeys(term.blocks for term in terms if term.blocks))
    fitted = classifier.cross_fit(
        numbers, labels, row_groups, family, folds, subsets, generator=generator
    )
    separate, remarks = break_ties(numbers, generator)
    near = knn_route(separate, labels, terms, plan, k, remarks)
    routes = {NEIGHBOURS: near, CLASSIFIER: classifier_route(fitted, terms)}
    tests = _null_tests(separate, labels, clustered, k, permutations, generator)

    quantities = {name: figures(route, names) for name, route in routes.items()}
    shares = {name: scores(route, names) for name, route in routes.items()}
    seed_terms: dict[Term, None] = {}
    for _, part in seed_parts(names):
        seed_terms |= dict.fromkeys(part)
    as_numbers = numbers_route(numbers, labels, list(seed_terms), k, generator)
    quantities[AS_NUMBERS] = {term.name: as_numbers[term] for term in seed_terms}
    shares[AS_NUMBERS] = seed_scores(as_numbers, names)
    settings = {
        "family": fitted.family,
        "folds": folds,
        "k": k,
        "resamples": resamples,
        "permutations": permutations,
    }
    widths = {name: block.shape[1] for name, block in numbers.items()}
    items = Items(labels["y"], labels["d"], row_groups)
    return PartitionReport(
        widths, n, fitted.groups, quantities, shares, tests, settings, items
    )


def present_blocks(
    blocks: Mapping[str, ArrayLike | None] | Any,
) -> dict[str, ArrayLike]:
    """The blocks present, in the order of `BLOCKS`. ValueError for unknown names, or
    none.
    """
    named = blocks
    if not isinstance(blocks, Mapping):
        if not callable(getattr(blocks, "blocks", None)):
            raise WrongType(
                "blocks must be a mapping by name, or have a method blocks(), got "
                f"{type(blocks).__name__}."
            )
        named = blocks.blocks()
    unknown = [name for name in named if name not in BLOCKS]
    if unknown:
        raise UnknownName(f"blocks must be named among {list(BLOCKS)}, got {unknown}.")
    present = {}
    for name in BLOCKS:
        block = named.get(name)
        if block is not None:
            present[name] = block
    if not present:
        raise UnknownName(f"blocks must have at least one of {list(BLOCKS)}, got none.")
    return present


def _as_labels(y: ArrayLike, d: ArrayLike, n: int) -> dict[str, NDArray[np.int64]]:
    """Codes of y and d [n] in the order of their values. ValueError: other lengths,
    missing values, one class only.
    """
    labels = {"y": as_codes("y", y), "d": as_codes("d", d)}
    for name, codes in labels.items():
        if len(codes) != n:
            raise WrongLength(
                f"{name} must have one category for each of the {n} rows, got "
                f"{len(codes)}."
            )
        if not codes.any():
            raise NoVariation(f"{name} must take at least two values, got one.")
    return labels


def _null_tests(
    blocks: Mapping[str, NDArray],
    labels: Mapping[str, NDArray],
    groups: NDArray | None,
    k: int,
    permutations: int,
    generator: np.random.Generator,
) -> dict[str, NullTest]:
    """Permutation tests of the terms that should be 0; p is NaN where there is nothing
    to permute.
    """
    if not permutations:
        return {}
    p_values: dict[str, float] = {}
    notes: dict[str, str] = {}
    nulls = []
    for block in LEAKY:
        if block.name in blocks:
            nulls += [block.term(aspect) for aspect in block.parts]
    for term in nulls:
        columns = stacked(blocks, term.blocks)
        target = labels[term.target]
        condition = labels.get(term.given)
        try:
            if not columns.size:
                raise ValueError("the block is constant.")
            test = uncertainty.permutation_test(
                columns, target, condition, k, permutations, groups, generator
            )
        except ValueError as error:
            p_values[term.name] = np.nan
            notes[term.name] = str(error)
            continue
        note = f"{term.target.upper()} among {test.exchanged}"
        if term.given:
            note += f" of equal {term.given.upper()}"
        p_values[term.name] = test.p_value
        notes[term.name] = note
    tests = {}
    adjusted_p_values = holm(list(p_values.values()))
    for (name, p), adjusted in zip(p_values.items(), adjusted_p_values):
        tests[name] = NullTest(p, float(adjusted), notes[name])
    return tests


@aligns("means", "scales", "y", "d", "groups")
def evaluate_posterior(
    means: Mapping[str, ArrayLike | None],
    scales: Mapping[str, ArrayLike | None],
    y: ArrayLike,
    d: ArrayLike,
    groups: ArrayLike | None = None,
    draws: int = 2000,
    generator: np.random.Generator | None = None,
) -> PartitionReport:
    """The quantities and scores of z ~ N(mean(x), scale(x)^2), exactly; the n rows are
    the population.

    means, scales  z_y, z_x, z_dy, z_d -> [n, dim]; a block that is missing or None is not applicable
    draws          number of draws of a row with its z; the error is between groups

    ValueError: as `evaluate`; other blocks or shapes of scales; a scale that is not
    above 0; draws < 2.
    """
    means = present_blocks(means)
    scales = present_blocks(scales)
    if set(means) != set(scales):
        raise InvalidInput(
            f"scales must have the blocks {list(means)} of means, got {list(scales)}."
        )
    # with torch, which takes seconds
    from infoscope.metrics.factor_information.posterior import GaussianPosterior
    from infoscope.metrics.partition.posterior import posterior_route

    posteriors = {}
    for name, mean in as_blocks(means).items():
        posteriors[name] = GaussianPosterior(mean, np.asarray(scales[name]))
    n = next(iter(posteriors.values())).n
    labels = _as_labels(y, d, n)
    row_groups = as_groups(groups, n)
    names = tuple(posteriors)
    whole_draws = require_int("draws", draws, 2)
    generator = generator_or_default(generator)
    route = posterior_route(
        posteriors, labels, row_groups, terms_of(names), whole_draws, generator
    )
    quantities = {POSTERIOR: figures(route, names)}
    shares = {POSTERIOR: scores(route, names)}
    widths = {name: posterior.mean.shape[1] for name, posterior in posteriors.items()}
    return PartitionReport(
        widths,
        n,
        int(row_groups.max()) + 1,
        quantities,
        shares,
        {},
        {"draws": draws},
        None,
    )
