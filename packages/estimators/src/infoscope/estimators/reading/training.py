"""Training of the reader, and calibration on held-out base families.

Every base family of the prior is held out, in groups: networks are trained without the
distributions that contain a family of the group, and predict these distributions.
Distributions without information have no family; they are divided among the held-out
families. Networks maximise the likelihood of a mixture (Bishop 1994): a point mass at no
information, and logistic distributions of the log ratio. Intervals are conformal (Vovk
et al. 2005) with the distribution as the exchangeable unit (Dunn, Wasserman & Ramdas
2018); intervals of grade A are conformal among narrow ones (Jin & Ren 2025).
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import beta, t
from torch import Tensor
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
Layer = tuple[Tensor, Tensor]


def train(
    simulated: Simulated,
    generator: Generator,
    progress: Progress = lambda *_: None,
) -> tuple[Reader, pd.DataFrame]:
    """A reader, and a table of readings by networks that have not seen the family.

    The table has a row for each simulated data set. Its columns are the facts and
    family (the held-out one, or nothing), value, low, high (nats), grade, covered, and
    baseline.
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
    is_far = np.ones(len(rows), bool)
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
                distances = references.distances(rows[test_cell])
                is_far[test_cell] = distances > references.limit
        progress(number / (len(groups) + 1), f"held out: {', '.join(group)}")
    predicted = in_order(predictions)
    calibration = Calibration.of(simulated, predicted, is_far)
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
    generator: Generator,
) -> Networks:
    """Networks trained on figures [m, p].

    Each has its own initial weights, batches and validation rows. `targets` [m, 2] are
    the log ratio of the information to the baseline, and whether there is none.
    """
    inputs = Inputs.of(rows)
    values = torch.from_numpy(inputs(rows))
    outputs = torch.from_numpy(targets.astype(np.float32))
    seed = int(generator.integers(2**31))
    torch_generator = torch.Generator().manual_seed(seed)
    layers = []
    for weights, biases in _trained(values, outputs, members, torch_generator):
        layers.append((weights.numpy(), biases.numpy()))
    return Networks(inputs, layers)


def _trained(
    values: Tensor,
    targets: Tensor,
    members: int,
    generator: torch.Generator,
) -> list[Layer]:
    """The layers of networks that are trained side by side, each at its best epoch."""
    orders = _permutations([torch.arange(len(values))] * members, generator)
    validation_count = max(1, len(values) // 10)
    validation = orders[:, :validation_count]
    rows = orders[:, validation_count:]
    sizes = (values.shape[1], WIDTH, WIDTH, 3 * COMPONENTS + 1)
    layers = []
    best_layers = []
    for inputs, outputs in itertools.pairwise(sizes):
        weights, biases = _initial(members, inputs, outputs, generator)
        layers.append((weights, biases))
        best_layers.append((weights.detach().clone(), biases.detach().clone()))
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
    best_parameters = list(itertools.chain(*best_layers))
    for _ in range(EPOCHS):
        shuffled = _permutations(rows, generator)
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


def _permutations(rows: Iterable[Tensor], generator: torch.Generator) -> Tensor:
    """The rows [members, m] of each network in random order."""
    orders = []
    for of_member in rows:
        order = torch.randperm(len(of_member), generator=generator)
        orders.append(of_member[order])
    return torch.stack(orders)


def _initial(
    members: int, inputs: int, outputs: int, generator: torch.Generator
) -> Layer:
    """Initial weights [members, inputs, outputs] and biases [members, 1, outputs].

    Weights are uniform with variance 1 / (3 inputs), biases 0.
    """
    limit = 1 / math.sqrt(inputs)
    uniform = torch.rand(members, inputs, outputs, generator=generator)
    weights = (2 * uniform - 1) * limit
    biases = torch.zeros(members, 1, outputs, requires_grad=True)
    return weights.requires_grad_(), biases


def _outputs(
    layers: Sequence[Layer],
    values: Tensor,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Outputs [members, m, out] for values [members, m, in].

    With a generator, random hidden units are dropped.
    """
    for weights, biases in layers[:-1]:
        values = torch.baddbmm(biases, values, weights).relu()
        if generator is not None:
            is_active = torch.rand(values.shape, generator=generator) >= DROPOUT
            values = values * is_active / (1 - DROPOUT)
    weights, biases = layers[-1]
    return torch.baddbmm(biases, values, weights)


def negative_log_likelihood(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean losses [...] of outputs [..., m, 3 k + 1] for targets [..., m, 2].

    `Networks` describes outputs, `fitted` targets.
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
    """Facts about the training data.

    The version is the number of data sets and a digest of their figures and truths.
    """
    truth = simulated.facts["truth"].to_numpy()
    content = simulated.figures.tobytes() + truth.tobytes()
    digest = hashlib.sha256(content).hexdigest()
    return {
        "version": f"{len(simulated)}-{digest[:8]}",
        "sets": len(simulated),
        "given": simulated.given,
        "types": sorted(set(simulated.facts["type"])),
        "families": sorted(set().union(*simulated.families)),
    }


def own_family(simulated: Simulated) -> Names:
    """One family [m] of each data set, chosen by the number of the data set."""
    chosen = []
    for names, number in zip(simulated.families, simulated.facts["number"]):
        chosen.append(names[number % len(names)])
    return np.array(chosen)


def held_out_family(simulated: Simulated) -> Names:
    """The family [m] with which each data set is held out.

    Data sets without information are divided among the families by their numbers.
    """
    family = own_family(simulated)
    names = np.array(sorted(set(family) - {NOTHING}))
    numbers = simulated.facts["number"].to_numpy()
    return np.where(family == NOTHING, names[numbers % len(names)], family)


def without(simulated: Simulated, excluded: Iterable[str]) -> Mask:
    """Which data sets [m] contain none of the excluded families."""
    is_allowed = [set(names).isdisjoint(excluded) for names in simulated.families]
    return np.array(is_allowed)


def cells_of(simulated: Simulated) -> Names:
    """The cell [m] of each data set's surroundings."""
    rows = simulated.figures.astype(np.float64)
    return np.array(cells(rows, simulated.types, simulated.given))


def surroundings(rows: Values, generator: Generator) -> Surroundings:
    """Simulated data sets of one cell, figures [m, p], and the limit of distances."""
    shares = np.isfinite(rows).mean(axis=0)
    columns = np.flatnonzero(shares > 0.5)
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
    distances = references.distances(drawn_rows)
    limit = np.quantile(distances, UNUSUAL_QUANTILE)
    return replace(references, limit=np.float64(limit))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Data from which the inflation factors of data sets [m] are computed.

    truth         nats
    families      int, the held-out family
    is_far        whether the data set is grade C
    nested        the cells of each data set, the narrowest first (`nested_cells`)
    below, above  the factors with which the lower and the upper limit just reach the truth
    value         the estimate, nats
    lows, highs   the limits of intervals, nats, for each of FACTORS
    """

    truth: Values
    families: Places
    is_far: Mask
    nested: list[tuple[str, ...]]
    below: Values
    above: Values
    value: Values
    lows: list[Values]
    highs: list[Values]

    @classmethod
    def of(
        cls, simulated: Simulated, predicted: Prediction, is_far: Mask
    ) -> Calibration:
        """The data from predictions by networks that have not seen the families."""
        rows = simulated.figures.astype(np.float64)
        truth = simulated.facts["truth"].to_numpy()
        families = np.unique(held_out_family(simulated), return_inverse=True)[1]
        central = central_log_odds(LEVEL)
        factor_to_truth = predicted.log_odds(log_ratio(rows, truth)) / central
        # no upper limit is below 0
        above = np.where(truth > 0, factor_to_truth, -math.inf)
        nothing = log_ratio(rows, np.zeros(len(rows)))

        def limit(factor: float) -> Values:
            """The lower (negative factor) or upper limit of the intervals [m], nats."""
            log_ratios = predicted.quantile(factor * central, nothing)
            return information(rows, log_ratios)

        value = median(rows, predicted)
        return cls(
            truth=truth,
            families=families,
            is_far=is_far,
            nested=nested_cells(rows, simulated.types, value, simulated.given),
            below=-factor_to_truth,
            above=above,
            value=value,
            lows=[limit(-factor) for factor in FACTORS],
            highs=[limit(factor) for factor in FACTORS],
        )

    def by_cell(self, used: Mask) -> dict[str, Factors]:
        """The factors of the limits by cell and grade, from some data sets [m].

        Cells are nested. A cell with fewer than MIN_CELL data sets has no factors,
        except the cells by the estimate alone. A grade with too few data sets in a cell
        has the factors of the next wider cell; grade A then has none.
        """
        members: dict[str, list[int]] = {}
        wider: dict[str, str] = {}
        for place in np.flatnonzero(used).tolist():
            nested = self.nested[place]
            parents = (*nested[1:], nested[-1])
            for cell, parent in zip(nested, parents):
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
        """Inflation factors by grade, from data sets with information above 0.

        A grade with too few data sets has its factors in `wider`. Data sets without
        information are left out: their intervals nearly always contain 0, which would
        hide misses elsewhere.
        """
        is_far = self.is_far[among]
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
        """The factors of grade A, and the data sets whose intervals are narrow.

        Factors are those with the most narrow intervals whose coverage is assured
        (`covers`). Among data sets with information, too, coverage is at least LEVEL.
        """
        factors: Factors = {}
        accepted = np.array([], np.intp)
        for below, low in zip(FACTORS, self.lows):
            for above, high in zip(FACTORS, self.highs):
                narrow = near[is_narrow(self.value[near], low[near], high[near])]
                if len(narrow) <= len(accepted):
                    continue
                truth = self.truth[narrow]
                is_covered = (low[narrow] <= truth) & (truth <= high[narrow])
                of_informative = is_covered[truth > 0]
                if len(of_informative) and of_informative.mean() < LEVEL:
                    continue
                if covers(is_covered, self.families[narrow]):
                    factors[A] = (below, above)
                    accepted = narrow
        return factors, accepted


def in_order(predictions: Sequence[tuple[Places, Prediction]]) -> Prediction:
    """One prediction of all data sets, from predictions for some places each."""
    order = np.argsort(np.concatenate([places for places, _ in predictions]))
    parts = zip(*(vars(predicted).values() for _, predicted in predictions))
    return Prediction(*(np.concatenate(part)[order] for part in parts))


def covers(is_covered: Mask, families: Places) -> bool:
    """Whether, with CONFIDENCE, intervals cover at least the share LEVEL.

    It holds for further data sets of these families (Clopper & Pearson 1934), and for
    further families, whose data sets are covered or missed together.
    """
    covered = int(is_covered.sum())
    count = len(is_covered)
    if not covered or beta.ppf(1 - CONFIDENCE, covered, count - covered + 1) < LEVEL:
        return False
    share = covered / count
    sizes = np.bincount(families)
    excess = np.bincount(families, is_covered) - sizes * covered / count
    excess = excess[sizes > 0]
    degrees = len(excess) - 1
    if not degrees:
        return False
    variance = (excess**2).sum() * len(excess) / degrees
    error = math.sqrt(variance) / count
    return bool(share - t.ppf(CONFIDENCE, degrees) * error >= LEVEL)


def upper_quantile(scores: Values, fallback: float) -> float:
    """The least score that new scores exceed in at most (1 - LEVEL) / 2.

    It does so with CONFIDENCE; for too few scores `fallback` is returned.
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
    """The table of `train`: networks and factors are from other families alone."""
    figures = simulated.figures.astype(np.float64)
    truth = simulated.facts["truth"].to_numpy()
    readings = np.empty((3, len(truth)))  # value, low, high
    is_far = calibration.is_far
    grade = np.where(is_far, C, B)
    held_out = held_out_family(simulated)
    for family in np.unique(held_out):
        test = held_out == family
        factors = calibration.by_cell(without(simulated, [family]) & ~test)
        rows_of_cell: dict[str, list[int]] = {}
        for row in np.flatnonzero(test).tolist():
            cell = next(cell for cell in calibration.nested[row] if cell in factors)
            rows_of_cell.setdefault(cell, []).append(row)
        for cell, cell_rows in rows_of_cell.items():
            for candidate in (C, B, A):
                if candidate not in factors[cell]:
                    continue
                rows = np.array(cell_rows)
                rows = rows[is_far[rows] == (candidate == C)]
                of_grade = factors[cell][candidate]
                limits = np.stack(interval(figures[rows], predicted[rows], of_grade))
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
