"""Training of the reader, and calibration on held-out base families.

Every base family of the prior is held out, some together: networks are trained without all distributions that contain
one of these, and predict those. Distributions without information have no family; they are divided among the held-out
families. Networks maximise the likelihood of a mixture (Bishop 1994): no information with a probability of its own, and
logistic distributions of the log ratio, so that hard samples do not blur easy ones. Intervals are conformal (Vovk et
al. 2005) with the distribution as the exchangeable unit (Dunn, Wasserman & Ramdas 2018); those of grade A are conformal
among narrow intervals (Jin & Ren 2025).
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.stats import beta, t
from torch.nn.functional import binary_cross_entropy_with_logits, log_softmax, logsigmoid

from infoscope.estimators.reading.networks import COMPONENTS, LOG_SCALES, Inputs, Networks, Prediction
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
FACTORS = tuple(np.geomspace(0.5, 4, 24).tolist())  # of the log odds of the limits, for grade A
NOTHING = "nothing"  # the family of distributions without information
UNUSUAL_QUANTILE = 0.99  # of the distances among simulated data sets; beyond it the grade is C
GROUPS = 8  # of families that are held out together
REFERENCES = 1000  # simulated data sets of a cell, to measure distances
WIDTH, DROPOUT, EPOCHS, LEARNING_RATE = 192, 0.25, 30, 3e-3  # of a network and its training
MEMBERS = 5  # networks of a reader
MIN_CELL = 400  # data sets of a cell that has factors of its own
Progress = Callable[[float, str], None]
Factors = dict[str, tuple[float, float]]  # below and above, by grade
Layer = tuple[torch.Tensor, torch.Tensor]  # weights [members, in, out] and biases [members, 1, out]


def train(
    simulated: Simulated, generator: np.random.Generator, progress: Progress = lambda *_: None
) -> tuple[Reader, pd.DataFrame]:
    """A reader, and a row per simulated data set with the reading by networks that were trained without its family.

    The columns of the table are the facts and family (the held-out one, or nothing), value, low, high (nats), grade,
    covered, and baseline.
    """
    rows = simulated.figures.astype(np.float64)
    truth, held_out = simulated.facts["truth"].to_numpy(), held_out_family(simulated)
    wanted = np.stack([log_ratio(rows, truth), truth == 0], axis=1)
    predictions, far = [], np.ones(len(rows), bool)
    families = np.unique(held_out)
    groups = [families[place::GROUPS] for place in range(min(GROUPS, len(families)))]
    for done, group in enumerate(groups):
        tested = np.isin(held_out, group)
        trained = without(simulated, group) & ~tested
        networks = fitted(rows[trained], wanted[trained], MEMBERS, generator)
        predictions.append((np.flatnonzero(tested), networks(rows[tested])))
        for _, of_cell in by_cell(simulated):
            of_both, known = tested & of_cell, trained & of_cell
            if of_both.any() and known.sum() > NEAREST:
                around = surroundings(rows[known], generator)
                far[of_both] = around.distances(rows[of_both]) > around.limit
        progress((done + 1) / (len(groups) + 1), f"held out: {', '.join(group)}")
    predicted = in_order(predictions)
    calibration = Calibration.of(simulated, predicted, far)
    factors = calibration.by_cell(np.ones(len(rows), bool))
    reader = Reader(
        fitted(rows, wanted, MEMBERS, generator),
        {cell: surroundings(rows[own], generator) for cell, own in by_cell(simulated) if own.sum() > NEAREST},
        factors,
        card_of(simulated),
    )
    return reader, held_out_readings(simulated, predicted, calibration)


def fitted(rows: NDArray[Any], wanted: NDArray[Any], members: int, generator: np.random.Generator) -> Networks:
    """Networks trained on rows, each with its own initial weights, batches and validation rows.

    `wanted` [m, 2] is the log ratio of the information to the baseline, and whether there is no information.
    """
    inputs = Inputs.of(rows)
    values, target = torch.from_numpy(inputs(rows)), torch.from_numpy(wanted.astype(np.float32))
    drawn = torch.Generator().manual_seed(int(generator.integers(2**31)))
    layers = _trained(values, target, members, drawn)
    return Networks(inputs, [(weights.numpy(), biases.numpy()) for weights, biases in layers])


def _trained(values: torch.Tensor, wanted: torch.Tensor, members: int, drawn: torch.Generator) -> list[Layer]:
    """The layers of several networks, each at its best epoch; they are trained side by side."""
    orders = torch.stack([torch.randperm(len(values), generator=drawn) for _ in range(members)])
    held_out = max(1, len(values) // 10)
    validation, rows = orders[:, :held_out], orders[:, held_out:]
    sizes = (values.shape[1], WIDTH, WIDTH, 3 * COMPONENTS + 1)
    layers = [_initial(members, into, out, drawn) for into, out in itertools.pairwise(sizes)]
    parameters = [part for layer in layers for part in layer]
    optimiser = torch.optim.AdamW(parameters, LEARNING_RATE, weight_decay=1e-2, fused=True)
    count = rows.shape[1]
    batch = min(256, max(32, count // 100))  # largest 256, smallest 32: few data sets have enough steps
    steps = EPOCHS * -(-count // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=steps)
    best = torch.full((members,), math.inf)
    best_layers = [tuple(part.detach().clone() for part in layer) for layer in layers]
    for _ in range(EPOCHS):
        shuffled = torch.stack([order[torch.randperm(count, generator=drawn)] for order in rows])
        for some in shuffled.split(batch, dim=1):
            optimiser.zero_grad()
            outputs = _outputs(layers, values[some], drawn)
            negative_log_likelihood(outputs, wanted[some]).sum().backward()
            optimiser.step()
            schedule.step()
        with torch.no_grad():
            losses = negative_log_likelihood(_outputs(layers, values[validation]), wanted[validation])
        better = losses < best
        best = torch.where(better, losses, best)
        for layer, best_layer in zip(layers, best_layers):
            for part, best_part in zip(layer, best_layer):
                best_part[better] = part.detach()[better]
    return best_layers


def _initial(members: int, into: int, out: int, drawn: torch.Generator) -> Layer:
    """Uniform weights [members, into, out] of variance 1 / (3 into), and biases [members, 1, out] of 0."""
    limit = 1 / math.sqrt(into)
    weights = (2 * torch.rand(members, into, out, generator=drawn) - 1) * limit
    return weights.requires_grad_(), torch.zeros(members, 1, out, requires_grad=True)


def _outputs(layers: Sequence[Layer], values: torch.Tensor, drawn: torch.Generator | None = None) -> torch.Tensor:
    """Outputs [members, m, out] for values [members, m, in]; with a generator, hidden units are dropped."""
    for weights, biases in layers[:-1]:
        values = torch.baddbmm(biases, values, weights).relu()
        if drawn is not None:
            there = torch.rand(values.shape, generator=drawn) >= DROPOUT
            values = values * there / (1 - DROPOUT)
    weights, biases = layers[-1]
    return torch.baddbmm(biases, values, weights)


def negative_log_likelihood(outputs: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Mean losses [...] of outputs [..., m, 3 k + 1] (`Networks`) for `wanted` [..., m, 2] (`fitted`)."""
    logits, centres, log_scales = outputs[..., :-1].chunk(3, dim=-1)
    log_ratio, is_nothing = wanted[..., :1], wanted[..., 1]
    log_scales = log_scales.clamp(*LOG_SCALES)
    away = (log_ratio - centres) / log_scales.exp()
    log_densities = logsigmoid(away) + logsigmoid(-away) - log_scales
    log_likelihood = torch.logsumexp(log_softmax(logits, dim=-1) + log_densities, dim=-1)
    of_nothing = binary_cross_entropy_with_logits(outputs[..., -1], is_nothing, reduction="none")
    return (of_nothing - (1 - is_nothing) * log_likelihood).mean(dim=-1)


def card_of(simulated: Simulated) -> dict[str, Any]:
    """Facts about the training data: version (number and digest of figures and truths), types, families."""
    digest = hashlib.sha256(simulated.figures.tobytes() + simulated.facts["truth"].to_numpy().tobytes()).hexdigest()
    return {
        "version": f"{len(simulated)}-{digest[:8]}",
        "sets": len(simulated),
        "given": simulated.given,
        "types": sorted(set(simulated.facts["type"])),
        "families": sorted({family for of in simulated.families for family in of}),
    }


def own_family(simulated: Simulated) -> NDArray[np.str_]:
    """The family [m] of each data set: one of those that it consists of, chosen by its number."""
    return np.array([of[number % len(of)] for of, number in zip(simulated.families, simulated.facts["number"])])


def held_out_family(simulated: Simulated) -> NDArray[np.str_]:
    """The family [m] with which each data set is held out; those without information are divided by their numbers."""
    own = own_family(simulated)
    families = np.array(sorted(set(own) - {NOTHING}))
    return np.where(own == NOTHING, families[simulated.facts["number"].to_numpy() % len(families)], own)


def without(simulated: Simulated, left_out: Sequence[str]) -> NDArray[np.bool_]:
    """Which data sets contain none of some families [m]."""
    return np.array([set(of).isdisjoint(left_out) for of in simulated.families])


def by_cell(simulated: Simulated) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The calibration cells that occur, and the data sets of each."""
    own = cells_of(simulated)
    for cell in np.unique(own).tolist():
        yield cell, own == cell


def cells_of(simulated: Simulated) -> NDArray[np.str_]:
    """The calibration cell of each data set [m]."""
    return np.array(cells(simulated.figures.astype(np.float64), simulated.facts["type"], simulated.given))


def surroundings(rows: NDArray[np.float64], generator: np.random.Generator) -> Surroundings:
    """The simulated data sets of one cell, with the limit of the distances among them."""
    columns = np.flatnonzero(np.isfinite(rows).mean(axis=0) > 0.5)
    centre, spread = np.nanmean(rows[:, columns], axis=0), np.nanstd(rows[:, columns], axis=0)
    columns, centre, spread = (part[spread > 0] for part in (columns, centre, spread))
    kept = rows[generator.permutation(len(rows))[:REFERENCES]]
    around = Surroundings(columns.astype(np.int16), centre.astype(np.float32), spread.astype(np.float32),
                          np.empty((0, len(columns)), np.float16), np.float64(math.inf))  # fmt: skip
    around = replace(around, points=around.scaled(kept).astype(np.float16))
    return replace(around, limit=np.float64(np.quantile(around.distances(kept), UNUSUAL_QUANTILE)))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Data from which the inflation factors of data sets [m] are computed.

    truth, families, far    nats, the number of the family that was held out, and whether the data set is grade C
    nested                  the cells of each data set, the narrowest first (`nested_cells`)
    below, above            the factors with which the lower and the upper limit just reach the truth
    value, lows, highs      the estimate, and by FACTORS the limits of intervals
    """

    truth: NDArray[np.float64]
    families: NDArray[np.intp]
    far: NDArray[np.bool_]
    nested: list[tuple[str, ...]]
    below: NDArray[np.float64]
    above: NDArray[np.float64]
    value: NDArray[np.float64]
    lows: list[NDArray[np.float64]]
    highs: list[NDArray[np.float64]]

    @classmethod
    def of(cls, simulated: Simulated, predicted: Prediction, far: NDArray[np.bool_]) -> Calibration:
        """From the predictions of data sets by networks that have not seen their families."""
        rows, truth = simulated.figures.astype(np.float64), simulated.facts["truth"].to_numpy()
        families = np.unique(held_out_family(simulated), return_inverse=True)[1]
        central = central_log_odds(LEVEL)
        away = predicted.log_odds(log_ratio(rows, truth)) / central
        above = np.where(truth > 0, away, -math.inf)  # no upper limit is below 0
        nothing = log_ratio(rows, np.zeros(len(rows)))

        def quantile(log_odds: float) -> NDArray[np.float64]:
            return information(rows, predicted.quantile(log_odds, nothing))

        value = median(rows, predicted)
        nested = nested_cells(rows, simulated.facts["type"], value, simulated.given)
        lows = [quantile(-factor * central) for factor in FACTORS]
        highs = [quantile(factor * central) for factor in FACTORS]
        return cls(truth, families, far, nested, -away, above, value, lows, highs)

    def by_cell(self, used: NDArray[np.bool_]) -> dict[str, Factors]:
        """The factors of the limits by cell and grade, from the data sets that are used [m].

        Cells are nested: one with fewer than MIN_CELL data sets has no factors of its own, except those by the estimate
        alone. Where a grade has too few data sets in a cell, its factors are those of the next wider one, but grade A
        has none.
        """
        members: dict[str, list[int]] = {}
        wider: dict[str, str] = {}
        for place in np.flatnonzero(used):
            nested = self.nested[place]
            for cell, parent in zip(nested, (*nested[1:], nested[-1])):
                members.setdefault(cell, []).append(place)
                wider[cell] = parent
        factors: dict[str, Factors] = {}
        for cell in sorted(members, key=lambda cell: -len(members[cell])):  # a wider cell has at least as many
            parent = wider[cell]
            by_estimate_alone = wider[parent] == parent
            if by_estimate_alone or len(members[cell]) >= MIN_CELL:
                factors[cell] = self.factors(np.array(members[cell]), factors.get(parent, {}))
        return factors

    def factors(self, among: NDArray[np.intp], wider: Factors) -> Factors:
        """Inflation factors by grade from data sets with information above 0; `wider` replaces a grade with too few.

        Where nothing is shared an interval nearly always contains 0, which would hide misses elsewhere.
        """
        near = among[~self.far[among]]
        factors, narrow = self._narrowest(near)
        wide = np.setdiff1d(near, narrow)
        for grade, rows in ((B, wide), (C, among[self.far[among]])):
            below, above = wider.get(grade, (self.below.max(), self.above.max()))
            some = rows[self.truth[rows] > 0]
            factors[grade] = upper_quantile(self.below[some], below), upper_quantile(self.above[some], above)
        return factors

    def _narrowest(self, near: NDArray[np.intp]) -> tuple[Factors, NDArray[np.intp]]:
        """The factors of grade A, with the most narrow intervals that assuredly cover, and the data sets of these.

        Of the data sets that share something, too, at least the share LEVEL is covered.
        """
        factors: Factors = {}
        most = np.array([], np.intp)
        for below, low in zip(FACTORS, self.lows):
            for above, high in zip(FACTORS, self.highs):
                narrow = near[is_narrow(self.value[near], low[near], high[near])]
                if len(narrow) <= len(most):
                    continue
                truth = self.truth[narrow]
                inside = (low[narrow] <= truth) & (truth <= high[narrow])
                some = truth > 0
                missed_where_some = some.any() and inside[some].mean() < LEVEL
                if covers(inside, self.families[narrow]) and not missed_where_some:
                    factors[A], most = (below, above), narrow
        return factors, most


def in_order(predictions: Sequence[tuple[NDArray[np.intp], Prediction]]) -> Prediction:
    """One prediction of all data sets from those of some places each."""
    order = np.argsort(np.concatenate([places for places, _ in predictions]))
    parts = zip(*(vars(predicted).values() for _, predicted in predictions))
    return Prediction(*(np.concatenate(part)[order] for part in parts))


def covers(inside: NDArray[np.bool_], families: NDArray[np.intp]) -> bool:
    """Whether, with CONFIDENCE, intervals cover at least the share LEVEL: of further data sets of these families
    (Clopper & Pearson 1934), and of further families, whose data sets are covered or missed together.
    """
    covered, count = int(inside.sum()), len(inside)
    if not covered or beta.ppf(1 - CONFIDENCE, covered, count - covered + 1) < LEVEL:
        return False
    sizes = np.bincount(families)
    excess = (np.bincount(families, inside) - sizes * covered / count)[sizes > 0]
    others = len(excess) - 1
    if not others:
        return False
    error = math.sqrt((excess**2).sum() * len(excess) / others) / count
    return covered / count - t.ppf(CONFIDENCE, others) * error >= LEVEL


def upper_quantile(scores: NDArray[np.float64], fallback: float) -> float:
    """The least score that, with CONFIDENCE, new ones exceed in at most (1 - LEVEL) / 2; `fallback` for too few."""
    ranks = np.arange(1, len(scores) + 1)
    enough = beta.ppf(1 - CONFIDENCE, ranks, len(scores) + 1 - ranks) >= (1 + LEVEL) / 2
    return float(np.sort(scores)[np.argmax(enough)]) if enough.any() else float(fallback)


def held_out_readings(simulated: Simulated, predicted: Prediction, calibration: Calibration) -> pd.DataFrame:
    """The table of `train`: each family by networks, and with factors, from the others alone."""
    figures, truth = simulated.figures.astype(np.float64), simulated.facts["truth"].to_numpy()
    value, low, high = (np.empty(len(truth)) for _ in range(3))
    far, nested = calibration.far, np.array(calibration.nested)
    grade, held_out = np.where(far, C, B), held_out_family(simulated)
    for family in np.unique(held_out):
        factors = calibration.by_cell(without(simulated, [family]) & (held_out != family))
        tested = held_out == family
        used = np.array([next(cell for cell in cells if cell in factors) for cells in nested[tested]])
        for cell in np.unique(used):
            of_cell = np.flatnonzero(tested)[used == cell]
            for candidate in (C, B, A):
                rows = of_cell[far[of_cell] if candidate == C else ~far[of_cell]]
                if candidate not in factors[cell]:
                    continue
                limits = interval(figures[rows], predicted[rows], factors[cell][candidate])
                answered = is_narrow(*limits) if candidate == A else np.ones(len(rows), bool)
                rows = rows[answered]
                value[rows], low[rows], high[rows] = (part[answered] for part in limits)
                grade[rows] = candidate
    return simulated.facts.assign(
        family=own_family(simulated),
        baseline=baseline(figures),
        value=value,
        low=low,
        high=high,
        grade=grade,
        covered=(low <= truth) & (truth <= high),
    )
