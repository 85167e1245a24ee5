"""Training of the reader, and calibration on held-out base families.

Every base family of the prior is held out, some together: networks are trained without
all distributions that contain one of these, and predict those. Distributions without
information have no family; they are divided among the held-out families. Networks
maximise the likelihood of a mixture (Bishop 1994): no information with a probability of
its own, and logistic distributions of the log ratio, so that hard samples do not blur
easy ones. Intervals are conformal (Vovk et al. 2005) with the distribution as the
exchangeable unit (Dunn, Wasserman & Ramdas 2018); those of grade A are conformal among
narrow intervals (Jin & Ren 2025).
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.stats import beta, t
from torch.nn.functional import (
    binary_cross_entropy_with_logits,
    log_softmax,
    logsigmoid,
)

from infoscope.estimators.reading.networks import (
    COMPONENTS,
    LOG_SCALES,
    Inputs,
    Networks,
    Prediction,
)
from infoscope.estimators.reading.reader import (
    NEAREST,
    A,
    B,
    C,
    Reader,
    Surroundings,
    baseline,
    cells,
    central_log_odds,
    information,
    interval,
    is_narrow,
    log_ratio,
    median,
    nested_cells,
)  # fmt: skip
from infoscope.estimators.reading.simulated import Simulated
from infoscope.estimators.result import LEVEL

CONFIDENCE = 0.9  # that intervals cover at least the share LEVEL
# of the log odds of the limits, for grade A
FACTORS = tuple(np.geomspace(0.5, 4, 24).tolist())
NOTHING = "nothing"  # the family of distributions without information
# of the distances among simulated data sets; beyond it the grade is C
UNUSUAL_QUANTILE = 0.99
GROUPS = 8  # of families that are held out together
REFERENCES = 1000  # simulated data sets of a cell, to measure distances
# of a network and its training
WIDTH, DROPOUT, EPOCHS, LEARNING_RATE = 192, 0.25, 30, 3e-3
MEMBERS = 5  # networks of a reader
MIN_CELL = 400  # data sets of a cell that has factors of its own
Progress = Callable[[float, str], None]
Values = NDArray[np.float64]
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]
Names = NDArray[np.str_]
Factors = dict[str, tuple[float, float]]  # below and above, by grade
# weights [members, in, out] and biases [members, 1, out]
Layer = tuple[torch.Tensor, torch.Tensor]


def train(
    simulated: Simulated,
    generator: np.random.Generator,
    progress: Progress = lambda *_: None,
) -> tuple[Reader, pd.DataFrame]:
    """A reader, and a row per simulated data set with the reading by networks that were
    trained without its family.

    The columns of the table are the facts and family (the held-out one, or nothing),
    value, low, high (nats), grade, covered, and baseline.
    """
    rows = simulated.figures.astype(np.float64)
    truth = simulated.facts["truth"].to_numpy()
    targets = np.stack([log_ratio(rows, truth), truth == 0], axis=1)
    cell_of = cells_of(simulated)
    cell_names = np.unique(cell_of).tolist()
    held_out = held_out_family(simulated)
    families = np.unique(held_out)
    groups = [families[start::GROUPS] for start in range(min(GROUPS, len(families)))]
    predictions = []
    far = np.ones(len(rows), bool)
    for number, group in enumerate(groups, start=1):
        test = np.isin(held_out, group)
        training = without(simulated, group) & ~test
        networks = fitted(rows[training], targets[training], MEMBERS, generator)
        predictions.append((np.flatnonzero(test), networks(rows[test])))
        for cell in cell_names:
            test_cell = test & (cell_of == cell)
            training_cell = training & (cell_of == cell)
            if test_cell.any() and training_cell.sum() > NEAREST:
                references = surroundings(rows[training_cell], generator)
                far[test_cell] = (
                    references.distances(rows[test_cell]) > references.limit
                )
        progress(number / (len(groups) + 1), f"held out: {', '.join(group)}")
    predicted = in_order(predictions)
    calibration = Calibration.of(simulated, predicted, far)
    factors = calibration.by_cell(np.ones(len(rows), bool))
    networks = fitted(rows, targets, MEMBERS, generator)
    around = {}
    for cell in cell_names:
        in_cell = cell_of == cell
        if in_cell.sum() > NEAREST:
            around[cell] = surroundings(rows[in_cell], generator)
    reader = Reader(networks, around, factors, card_of(simulated))
    return reader, held_out_readings(simulated, predicted, calibration)


def fitted(
    rows: NDArray[Any],
    targets: NDArray[Any],
    members: int,
    generator: np.random.Generator,
) -> Networks:
    """Networks trained on rows, each with its own initial weights, batches and
    validation rows.

    `targets` [m, 2] are the log ratio of the information to the baseline, and whether
    there is no information.
    """
    inputs = Inputs.of(rows)
    values = torch.from_numpy(inputs(rows))
    seed = int(generator.integers(2**31))
    torch_generator = torch.Generator().manual_seed(seed)
    layers = _trained(
        values, torch.from_numpy(targets.astype(np.float32)), members, torch_generator
    )
    return Networks(
        inputs, [(weights.numpy(), biases.numpy()) for weights, biases in layers]
    )


def _trained(
    values: torch.Tensor,
    targets: torch.Tensor,
    members: int,
    generator: torch.Generator,
) -> list[Layer]:
    """The layers of several networks, each at its best epoch; they are trained side by
    side.
    """
    orders = torch.stack(
        [torch.randperm(len(values), generator=generator) for _ in range(members)]
    )
    validation_count = max(1, len(values) // 10)
    validation = orders[:, :validation_count]
    rows = orders[:, validation_count:]
    sizes = (values.shape[1], WIDTH, WIDTH, 3 * COMPONENTS + 1)
    layers = [
        _initial(members, inputs, outputs, generator)
        for inputs, outputs in itertools.pairwise(sizes)
    ]
    parameters = list(itertools.chain(*layers))
    optimiser = torch.optim.AdamW(
        parameters, LEARNING_RATE, weight_decay=1e-2, fused=True
    )
    count = rows.shape[1]
    # largest 256, smallest 32: few data sets have enough steps
    batch = min(256, max(32, count // 100))
    steps = EPOCHS * math.ceil(count / batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, LEARNING_RATE, total_steps=steps
    )
    least_losses = torch.full((members,), math.inf)
    best_layers = [
        (weights.detach().clone(), biases.detach().clone())
        for weights, biases in layers
    ]
    best_parameters = list(itertools.chain(*best_layers))
    for _ in range(EPOCHS):
        shuffled = torch.stack(
            [order[torch.randperm(count, generator=generator)] for order in rows]
        )
        for batch_rows in shuffled.split(batch, dim=1):
            optimiser.zero_grad()
            outputs = _outputs(layers, values[batch_rows], generator)
            losses = negative_log_likelihood(outputs, targets[batch_rows])
            losses.sum().backward()
            optimiser.step()
            schedule.step()
        with torch.no_grad():
            outputs = _outputs(layers, values[validation])
            losses = negative_log_likelihood(outputs, targets[validation])
        better = losses < least_losses
        least_losses = torch.where(better, losses, least_losses)
        for parameter, best_parameter in zip(parameters, best_parameters):
            best_parameter[better] = parameter.detach()[better]
    return best_layers


def _initial(
    members: int, inputs: int, outputs: int, generator: torch.Generator
) -> Layer:
    """Uniform weights [members, inputs, outputs] of variance 1 / (3 inputs), and biases
    [members, 1, outputs] of 0.
    """
    limit = 1 / math.sqrt(inputs)
    uniform = torch.rand(members, inputs, outputs, generator=generator)
    weights = (2 * uniform - 1) * limit
    biases = torch.zeros(members, 1, outputs, requires_grad=True)
    return weights.requires_grad_(), biases


def _outputs(
    layers: Sequence[Layer],
    values: torch.Tensor,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Outputs [members, m, out] for values [members, m, in]; with a generator, hidden
    units are dropped.
    """
    for weights, biases in layers[:-1]:
        values = torch.baddbmm(biases, values, weights).relu()
        if generator is not None:
            is_active = torch.rand(values.shape, generator=generator) >= DROPOUT
            values = values * is_active / (1 - DROPOUT)
    weights, biases = layers[-1]
    return torch.baddbmm(biases, values, weights)


def negative_log_likelihood(
    outputs: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    """Mean losses [...] of outputs [..., m, 3 k + 1] (`Networks`) for `targets` [...,
    m, 2] (`fitted`).
    """
    logits, centres, log_scales = outputs[..., :-1].chunk(3, dim=-1)
    log_scales = log_scales.clamp(*LOG_SCALES)
    standardised = (targets[..., :1] - centres) / log_scales.exp()
    log_densities = logsigmoid(standardised) + logsigmoid(-standardised) - log_scales
    log_weights = log_softmax(logits, dim=-1)
    log_likelihood = torch.logsumexp(log_weights + log_densities, dim=-1)
    is_nothing = targets[..., 1]
    loss_of_nothing = binary_cross_entropy_with_logits(
        outputs[..., -1], is_nothing, reduction="none"
    )
    losses = loss_of_nothing - (1 - is_nothing) * log_likelihood
    return losses.mean(dim=-1)


def card_of(simulated: Simulated) -> dict[str, Any]:
    """Facts about the training data: version (number and digest of figures and truths),
    types, families.
    """
    truth = simulated.facts["truth"].to_numpy()
    digest = hashlib.sha256(simulated.figures.tobytes() + truth.tobytes()).hexdigest()
    return {
        "version": f"{len(simulated)}-{digest[:8]}",
        "sets": len(simulated),
        "given": simulated.given,
        "types": sorted(set(simulated.facts["type"])),
        "families": sorted(set().union(*simulated.families)),
    }


def own_family(simulated: Simulated) -> Names:
    """The family [m] of each data set: one of those that it consists of, chosen by its
    number.
    """
    numbers = simulated.facts["number"]
    return np.array(
        [
            names[number % len(names)]
            for names, number in zip(simulated.families, numbers)
        ]
    )


def held_out_family(simulated: Simulated) -> Names:
    """The family [m] with which each data set is held out; those without information
    are divided by their numbers.
    """
    family = own_family(simulated)
    names = np.array(sorted(set(family) - {NOTHING}))
    numbers = simulated.facts["number"].to_numpy()
    return np.where(family == NOTHING, names[numbers % len(names)], family)


def without(simulated: Simulated, left_out: Sequence[str]) -> Mask:
    """Which data sets contain none of some families [m]."""
    return np.array(
        [set(families).isdisjoint(left_out) for families in simulated.families]
    )


def cells_of(simulated: Simulated) -> Names:
    """The calibration cell of each data set [m]."""
    return np.array(
        cells(
            simulated.figures.astype(np.float64),
            simulated.facts["type"],
            simulated.given,
        )
    )


def surroundings(rows: Values, generator: np.random.Generator) -> Surroundings:
    """The simulated data sets of one cell, with the limit of the distances among them."""
    columns = np.flatnonzero(np.isfinite(rows).mean(axis=0) > 0.5)
    spread = np.nanstd(rows[:, columns], axis=0)
    columns = columns[spread > 0]
    references = Surroundings(
        columns.astype(np.int16),
        np.nanmean(rows[:, columns], axis=0).astype(np.float32),
        spread[spread > 0].astype(np.float32),
        np.empty((0, len(columns)), np.float16),
        np.float64(math.inf),
    )
    drawn_rows = rows[generator.permutation(len(rows))[:REFERENCES]]
    points = references.scaled(drawn_rows).astype(np.float16)
    references = replace(references, points=points)
    limit = np.quantile(references.distances(drawn_rows), UNUSUAL_QUANTILE)
    return replace(references, limit=np.float64(limit))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Data from which the inflation factors of data sets [m] are computed.

    truth, families, far    nats, the number of the family that was held out, and whether the data set is grade C
    nested                  the cells of each data set, the narrowest first (`nested_cells`)
    below, above            the factors with which the lower and the upper limit just reach the truth
    value, lows, highs      the estimate, and by FACTORS the limits of intervals
    """

    truth: Values
    families: Places
    far: Mask
    nested: list[tuple[str, ...]]
    below: Values
    above: Values
    value: Values
    lows: list[Values]
    highs: list[Values]

    @classmethod
    def of(cls, simulated: Simulated, predicted: Prediction, far: Mask) -> Calibration:
        """From the predictions of data sets by networks that have not seen their
        families.
        """
        rows = simulated.figures.astype(np.float64)
        truth = simulated.facts["truth"].to_numpy()
        families = np.unique(held_out_family(simulated), return_inverse=True)[1]
        central = central_log_odds(LEVEL)
        factor_to_truth = predicted.log_odds(log_ratio(rows, truth)) / central
        # no upper limit is below 0
        above = np.where(truth > 0, factor_to_truth, -math.inf)
        nothing = log_ratio(rows, np.zeros(len(rows)))

        def limit(factor: float) -> Values:
            return information(rows, predicted.quantile(factor * central, nothing))

        value = median(rows, predicted)
        nested = nested_cells(rows, simulated.facts["type"], value, simulated.given)
        lows = [limit(-factor) for factor in FACTORS]
        highs = [limit(factor) for factor in FACTORS]
        return cls(
            truth, families, far, nested, -factor_to_truth, above, value, lows, highs
        )

    def by_cell(self, used: Mask) -> dict[str, Factors]:
        """The factors of the limits by cell and grade, from the data sets that are used
        [m].

        Cells are nested: one with fewer than MIN_CELL data sets has no factors of its
        own, except those by the estimate alone. Where a grade has too few data sets in
        a cell, its factors are those of the next wider one, but grade A has none.
        """
        members: dict[str, list[int]] = {}
        wider: dict[str, str] = {}
        for place in np.flatnonzero(used):
            nested = self.nested[place]
            for cell, parent in zip(nested, (*nested[1:], nested[-1])):
                members.setdefault(cell, []).append(place)
                wider[cell] = parent
        factors: dict[str, Factors] = {}
        # a wider cell has at least as many
        for cell in sorted(members, key=lambda cell: -len(members[cell])):
            parent = wider[cell]
            by_estimate_alone = wider[parent] == parent
            rows = np.array(members[cell])
            if by_estimate_alone or len(rows) >= MIN_CELL:
                factors[cell] = self.factors(rows, factors.get(parent, {}))
        return factors

    def factors(self, among: Places, wider: Factors) -> Factors:
        """Inflation factors by grade from data sets with information above 0; `wider`
        replaces a grade with too few.

        Where nothing is shared an interval nearly always contains 0, which would hide
        misses elsewhere.
        """
        is_far = self.far[among]
        near = among[~is_far]
        factors, narrow = self._narrowest(near)
        for grade, rows in ((B, np.setdiff1d(near, narrow)), (C, among[is_far])):
            below, above = wider.get(grade, (self.below.max(), self.above.max()))
            informative = rows[self.truth[rows] > 0]
            below = upper_quantile(self.below[informative], below)
            above = upper_quantile(self.above[informative], above)
            factors[grade] = (below, above)
        return factors

    def _narrowest(self, near: Places) -> tuple[Factors, Places]:
        """The factors of grade A, with the most narrow intervals that assuredly cover,
        and the data sets of these.

        Of the data sets that share something, too, at least the share LEVEL is covered.
        """
        factors: Factors = {}
        accepted = np.array([], np.intp)
        for below, low in zip(FACTORS, self.lows):
            for above, high in zip(FACTORS, self.highs):
                narrow = near[is_narrow(self.value[near], low[near], high[near])]
                if len(narrow) <= len(accepted):
                    continue
                truth = self.truth[narrow]
                inside = (low[narrow] <= truth) & (truth <= high[narrow])
                inside_informative = inside[truth > 0]
                if len(inside_informative) and inside_informative.mean() < LEVEL:
                    continue
                if covers(inside, self.families[narrow]):
                    factors[A] = (below, above)
                    accepted = narrow
        return factors, accepted


def in_order(predictions: Sequence[tuple[Places, Prediction]]) -> Prediction:
    """One prediction of all data sets from those of some places each."""
    order = np.argsort(np.concatenate([places for places, _ in predictions]))
    parts = zip(*(vars(predicted).values() for _, predicted in predictions))
    return Prediction(*(np.concatenate(part)[order] for part in parts))


def covers(inside: Mask, families: Places) -> bool:
    """Whether, with CONFIDENCE, intervals cover at least the share LEVEL: of further
    data sets of these families (Clopper & Pearson 1934), and of further families, whose
    data sets are covered or missed together.
    """
    covered, count = int(inside.sum()), len(inside)
    if not covered or beta.ppf(1 - CONFIDENCE, covered, count - covered + 1) < LEVEL:
        return False
    share = covered / count
    sizes = np.bincount(families)
    excess = np.bincount(families, inside) - sizes * covered / count
    excess = excess[sizes > 0]
    degrees = len(excess) - 1
    if not degrees:
        return False
    variance = (excess**2).sum() * len(excess) / degrees
    error = math.sqrt(variance) / count
    return share - t.ppf(CONFIDENCE, degrees) * error >= LEVEL


def upper_quantile(scores: Values, fallback: float) -> float:
    """The least score that, with CONFIDENCE, new ones exceed in at most (1 - LEVEL) /
    2; `fallback` for too few.
    """
    ranks = np.arange(1, len(scores) + 1)
    lower_limits = beta.ppf(1 - CONFIDENCE, ranks, len(scores) + 1 - ranks)
    enough = np.flatnonzero(lower_limits >= (1 + LEVEL) / 2)
    if not len(enough):
        return float(fallback)
    return float(np.sort(scores)[enough[0]])


def held_out_readings(
    simulated: Simulated, predicted: Prediction, calibration: Calibration
) -> pd.DataFrame:
    """The table of `train`: each family by networks, and with factors, from the others
    alone.
    """
    figures = simulated.figures.astype(np.float64)
    truth = simulated.facts["truth"].to_numpy()
    readings = np.empty((3, len(truth)))  # value, low, high
    far = calibration.far
    grade = np.where(far, C, B)
    held_out = held_out_family(simulated)
    for family in np.unique(held_out):
        test = held_out == family
        factors = calibration.by_cell(without(simulated, [family]) & ~test)
        rows_of_cell: dict[str, list[int]] = {}
        for row in np.flatnonzero(test):
            cell = next(cell for cell in calibration.nested[row] if cell in factors)
            rows_of_cell.setdefault(cell, []).append(row)
        for cell, cell_rows in rows_of_cell.items():
            for candidate in (C, B, A):
                if candidate not in factors[cell]:
                    continue
                rows = np.array(cell_rows)
                rows = rows[far[rows] == (candidate == C)]
                limits = np.stack(
                    interval(figures[rows], predicted[rows], factors[cell][candidate])
                )
                if candidate == A:
                    narrow = is_narrow(*limits)
                    rows = rows[narrow]
                    limits = limits[:, narrow]
                readings[:, rows] = limits
                grade[rows] = candidate
    value, low, high = readings
    return simulated.facts.assign(
        family=own_family(simulated),
        baseline=baseline(figures),
        value=value,
        low=low,
        high=high,
        grade=grade,
        covered=(low <= truth) & (truth <= high),
    )
