"""Training of the reader, and its calibration on base families that were left out.

Every base family of the prior is left out in turn: networks are trained without all distributions that contain it, and
read those. Networks maximise the likelihood of a Student t, whose scale is an output, too: hard samples do not blur
easy ones. Intervals are conformal (Vovk et al. 2005) with the distribution as the exchangeable unit (Dunn, Wasserman &
Ramdas 2018); within grade A the quantile is taken among the intervals that are narrow (Jin & Ren 2025).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.stats import beta
from torch import nn

from infoscope.estimators.reading.networks import Inputs, Networks
from infoscope.estimators.reading.reader import (
    NEAREST,
    SCALE,
    A,
    B,
    C,
    Reader,
    Surroundings,
    baseline,
    cells,
    interval,
    is_narrow,
)
from infoscope.estimators.reading.simulated import Simulated

LEVEL, CONFIDENCE = 0.95, 0.9  # of intervals; of the statement that they cover at least that share
UNUSUAL = 0.99  # quantile of the distances among simulated data sets
FACTORS = tuple(
    np.geomspace(1, 12, 60).tolist()
)  # half widths of grade A, in scales, the least sure one of which is taken
REFERENCES = 2000  # simulated data sets of a type that are kept to measure distances
WIDTH, DROPOUT, EPOCHS, BATCH, LEARNING_RATE, DECAY = 192, 0.25, 80, 128, 3e-3, 1e-2  # of a network and its training
DEGREES = 4.0  # of freedom of the Student t
LOG_SCALES = (-5.0, 3.0)
ASIDE = 0.1  # of the data sets, which say when a network was best
MEMBERS, MEMBERS_LEFT_OUT = 5, 2  # networks of the reader, and of each that leaves out a family
Progress = Callable[[float, str], None]


def train(
    simulated: Simulated, generator: np.random.Generator, progress: Progress = lambda *_: None
) -> tuple[Reader, pd.DataFrame]:
    """A reader and, a row per simulated data set, what readers that did not know its family read.

    The columns of the table are those of the facts and family (the one left out), value, low, high (nats), grade,
    covered, baseline, and the centre and scale of the log ratio to the baseline.
    """
    rows = simulated.figures.astype(np.float64)
    base, left_out = baseline(rows), one_family_each(simulated)
    target = np.log((simulated.facts["truth"].to_numpy() + SCALE) / (base + SCALE))
    centre, scale, far = np.empty(len(rows)), np.empty(len(rows)), np.ones(len(rows), bool)
    families = np.unique(left_out)
    for done, family in enumerate(families):
        tested, trained = left_out == family, without(simulated, family)
        network = fitted(rows[trained], target[trained], MEMBERS_LEFT_OUT, generator)
        centre[tested], scale[tested] = network(rows[tested])
        for _, of_type in by_type(simulated):
            asked, known = tested & of_type, trained & of_type
            if asked.any() and known.sum() > NEAREST:
                around = surroundings(rows[known], generator)
                far[asked] = around.distances(rows[asked]) > around.limit
        progress((done + 1) / (len(families) + 1), f"left out: {family}")
    factors = calibrated(simulated, base, target, centre, scale, far)
    reader = Reader(
        fitted(rows, target, MEMBERS, generator),
        {type: surroundings(rows[of_type], generator) for type, of_type in by_type(simulated)},
        factors,
        card_of(simulated),
    )
    return reader, left_out_readings(simulated, left_out, base, centre, scale, far, factors)


def fitted(rows: NDArray[Any], target: NDArray[Any], members: int, generator: np.random.Generator) -> Networks:
    """Networks trained on rows, each from weights, batches and rows aside of its own."""
    inputs = Inputs.of(rows)
    given, wanted = torch.from_numpy(inputs(rows)), torch.from_numpy(target.astype(np.float32))
    seeds = generator.integers(2**31, size=members)
    layers = zip(*(_trained(given, wanted, int(seed)) for seed in seeds))
    return Networks(
        inputs, [(np.stack(weights), np.stack(biases)) for weights, biases in (zip(*each) for each in layers)]
    )


def _trained(
    given: torch.Tensor, wanted: torch.Tensor, seed: int
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """The weights [in, out] and biases [1, out] of the layers of one network, where it was best on rows aside."""
    drawn = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(given), generator=drawn)
    aside, rows = order.split([max(1, int(ASIDE * len(given))), len(given) - max(1, int(ASIDE * len(given)))])
    linear = [nn.Linear(*sizes) for sizes in ((given.shape[1], WIDTH), (WIDTH, WIDTH), (WIDTH, 2))]
    for layer in linear:
        nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5), generator=drawn)
        nn.init.zeros_(layer.bias)
    optimiser = torch.optim.AdamW(
        [part for layer in linear for part in layer.parameters()], LEARNING_RATE, weight_decay=DECAY
    )
    steps = EPOCHS * -(-len(rows) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=steps)

    def loss(some: torch.Tensor, drop: bool) -> torch.Tensor:
        values = given[some]
        for layer in linear[:-1]:
            values = layer(values).relu()
            if drop:
                kept = torch.rand(values.shape, generator=drawn) >= DROPOUT
                values = values * kept / (1 - DROPOUT)
        centre, log_scale = linear[-1](values).unbind(1)
        log_scale = log_scale.clamp(*LOG_SCALES)
        away = (wanted[some] - centre) / log_scale.exp()
        return (log_scale + (DEGREES + 1) / 2 * torch.log1p(away**2 / DEGREES)).mean()

    best, kept = math.inf, []
    for _ in range(EPOCHS):
        for some in rows[torch.randperm(len(rows), generator=drawn)].split(BATCH):
            optimiser.zero_grad()
            loss(some, True).backward()
            optimiser.step()
            schedule.step()
        with torch.no_grad():
            now = loss(aside, False).item()
        if now < best:
            best = now
            kept = [
                (layer.weight.detach().T.numpy().copy(), layer.bias.detach()[None].numpy().copy()) for layer in linear
            ]
    return kept


def card_of(simulated: Simulated) -> dict[str, Any]:
    """What a reader was trained on: a version (sets and a digest of figures and truths), types, families."""
    digest = hashlib.sha256(simulated.figures.tobytes() + simulated.facts["truth"].to_numpy().tobytes()).hexdigest()
    return {
        "version": f"{len(simulated)}-{digest[:8]}",
        "sets": len(simulated),
        "types": sorted(set(simulated.facts["type"])),
        "families": sorted({family for of in simulated.families for family in of}),
    }


def one_family_each(simulated: Simulated) -> NDArray[np.str_]:
    """The family [m] for which each data set is left out: one of its own, by its number."""
    return np.array([of[number % len(of)] for of, number in zip(simulated.families, simulated.facts["number"])])


def without(simulated: Simulated, family: str) -> NDArray[np.bool_]:
    """Which data sets have nothing of a family [m]."""
    return np.array([family not in of for of in simulated.families])


def by_type(simulated: Simulated) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The types of pairs that occur, and which data sets are of each."""
    types = simulated.facts["type"].to_numpy()
    for type in sorted(set(types)):
        yield type, types == type


def surroundings(rows: NDArray[np.float64], generator: np.random.Generator) -> Surroundings:
    """The simulated data sets of one type, with the limit of distances among themselves."""
    columns = np.flatnonzero(np.isfinite(rows).mean(axis=0) > 0.5)
    centre, spread = np.nanmean(rows[:, columns], axis=0), np.nanstd(rows[:, columns], axis=0)
    columns, centre, spread = (part[spread > 0] for part in (columns, centre, spread))
    kept = rows[generator.permutation(len(rows))[:REFERENCES]]
    around = Surroundings(columns.astype(np.int16), centre.astype(np.float32), spread.astype(np.float32),
                          np.empty((0, len(columns)), np.float16), np.float64(math.inf))  # fmt: skip
    around = replace(around, points=around.scaled(kept).astype(np.float16))
    return replace(around, limit=np.float64(np.quantile(around.distances(kept), UNUSUAL)))


def calibrated(
    simulated: Simulated,
    base: NDArray[np.float64],
    target: NDArray[np.float64],
    centre: NDArray[np.float64],
    scale: NDArray[np.float64],
    far: NDArray[np.bool_],
) -> dict[str, dict[str, float]]:
    """The half widths, in scales, by cell and grade; where these are too few, no grade A, and of a wider group."""
    scores, cell = np.abs(target - centre) / scale, np.array(cells_of(simulated))

    def of_grades(among: NDArray[np.bool_], wider: dict[str, float]) -> dict[str, float]:
        near = among & ~far
        narrow_by = {factor: near & is_narrow(*interval(base, centre, factor * scale)) for factor in FACTORS}
        sure = (factor for factor, narrow in narrow_by.items() if covers(scores[narrow] <= factor))
        factor = next(sure, None)
        wide = near if factor is None else near & ~narrow_by[factor]
        return ({} if factor is None else {A: factor}) | {
            B: upper_quantile(scores[wide], wider.get(B, scores.max())),
            C: upper_quantile(scores[among & far], wider.get(C, scores.max())),
        }

    everything, found = of_grades(np.ones(len(scores), bool), {}), {}
    for columns in ("few columns", "many columns"):
        group = np.char.endswith(cell, columns)
        wider = of_grades(group, everything)
        found |= {f"{type}, {columns}": of_grades(group & of_type, wider) for type, of_type in by_type(simulated)}
    return found


def cells_of(simulated: Simulated) -> list[str]:
    """The cell of the calibration of each data set."""
    return cells(simulated.figures.astype(np.float64), simulated.facts["type"])


def covers(inside: NDArray[np.bool_]) -> bool:
    """Whether, with CONFIDENCE, intervals cover at least the share LEVEL (Clopper & Pearson 1934)."""
    covered, count = int(inside.sum()), len(inside)
    return covered > 0 and float(beta.ppf(1 - CONFIDENCE, covered, count - covered + 1)) >= LEVEL


def upper_quantile(scores: NDArray[np.float64], fallback: float) -> float:
    """The least score that, with CONFIDENCE, the share LEVEL of new ones does not exceed; `fallback` for too few."""
    ranks = np.arange(1, len(scores) + 1)
    enough = beta.ppf(1 - CONFIDENCE, ranks, len(scores) + 1 - ranks) >= LEVEL
    return float(np.sort(scores)[np.argmax(enough)]) if enough.any() else float(fallback)


def left_out_readings(
    simulated: Simulated,
    left_out: NDArray[np.str_],
    base: NDArray[np.float64],
    centre: NDArray[np.float64],
    scale: NDArray[np.float64],
    far: NDArray[np.bool_],
    factors: dict[str, dict[str, float]],
) -> pd.DataFrame:
    """The table of `train`."""
    truth, cell = simulated.facts["truth"].to_numpy(), cells_of(simulated)
    of = {grade: np.array([factors[one].get(grade, math.nan) for one in cell]) for grade in (A, B, C)}
    narrow = is_narrow(*interval(base, centre, of[A] * scale)) & ~far
    grade = np.where(far, C, np.where(narrow, A, B))
    factor = np.select([grade == A, grade == B], [of[A], of[B]], of[C])
    value, low, high = interval(base, centre, factor * scale)
    return simulated.facts.assign(
        family=left_out, baseline=base, value=value, low=low, high=high, grade=grade,
        covered=(low <= truth) & (truth <= high), centre=centre, scale=scale,
    )  # fmt: skip
