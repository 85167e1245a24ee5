"""The common part of the sweeps of the neural benchmark: published settings, the
training, and its metrics.

A critic is trained on a stream of new pairs with known true mutual information, which
may rise in the segments of a schedule. At every step the estimate on the batch, before
the update, is recorded. Its error is computed over all steps of a segment, as
published, and over the second half, after convergence. At the end of a segment the
critic is evaluated on pairs of unseen items. Estimators with the same objective share
one training. Cells with the same seed have the same pairs and initial weights, so that
their differences are paired. (Lee & Rhee 2024, "A Benchmark Suite for Evaluating Neural
Mutual Information Estimators on Unstructured Datasets".)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from infoscope.errors import Conflict, OutOfRange
from infoscope.estimators import (
    BOUNDS,
    Bound,
    Critic,
    Training,
    held_out,
    make_critic,
    oracle_errors,
    share_training,
)
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics import batch_means_error, errors
from infoscope.tracking import Pack, Report, Search, Sweep, grid
from sweeps.checks import require_minimum
from sweeps.embedding import needs_fine_tuning
from sweeps.mi_benchmark._cells import (
    BenchmarkProfile,
    DecodingCell,
    PairCell,
    TrainingCell,
    at_truth,
)
from sweeps.mi_benchmark._decoding import decode
from sweeps.mi_benchmark._encoders import check_encoder, encoded
from sweeps.mi_benchmark._pairs import (
    HELD_OUT,
    TRAINING,
    data_sets,
    labels,
    pair_fields,
    pairs_of,
    pool_of,
)
from sweeps.mi_benchmark.settings import DOMAINS, PRECISIONS, RECENT
from sweeps.streams import stream

CURVE_POINTS = 50
ORACLE_BATCHES = 2000
LARGE_BATCH = 512  # rows of a large batch of unseen pairs
LARGE_BATCHES = 10
SAME_PER_LARGE = 20  # batches of the training's size for each large one
STEPS_PER_LARGE = 80  # training steps for each large batch, at least
# share of a segment's last steps that are compared with the held-out estimate
LATEST = 0.1
MINIMUM = {"steps": 1, "batch": 2, "width": 1, "depth": 0, "sources": 1, "size": 1, "rows": 1, "seed": 0,
         "decoder_steps": 1, "network_steps": 1}  # fmt: skip
Member = tuple[int, list[TrainingCell]]  # a seed, and the cells that share a training
CHOICES = {
    "domains": (*DOMAINS, "mixture"),
    "images": lambda name: pool_of("images", name, "auto"),
    "text": lambda name: pool_of("text", "auto", name),
    "precision": PRECISIONS,
}


def training_cells(
    profile: BenchmarkProfile, domain: str, **fields: Any
) -> list[TrainingCell]:
    """Cells that train a critic: one per estimator, seed and combination of the lists
    in `fields`.
    """
    training = dict(
        batch=profile.batch,
        steps=profile.steps,
        critic="joint",
        depth=2,
        width=profile.width,
        learning_rate=profile.learning_rate,
    )
    if profile.precision != PRECISIONS[0]:
        training["precision"] = profile.precision
    last_axes = dict(
        bound=[BOUNDS[name].name for name in profile.bounds], seed=list(profile.seeds)
    )
    values = pair_fields(profile, domain) | training | fields | last_axes
    # `fields` may replace the last axes, too
    return grid(TrainingCell, **values | fields)


def check(cell: PairCell) -> None:
    """Builds the cell's data and critic; ValueError for an unknown estimator,
    unattainable MI or missing data.
    """
    require_minimum(cell, MINIMUM)
    if len(set(cell.schedule_bits)) < len(cell.schedule_bits):
        raise Conflict(
            f"schedule_bits must be different values, got {cell.schedule_bits}"
        )
    # the encoder is trained in the trial
    if any(map(needs_fine_tuning, cell.pool.split("+"))):
        sources = [
            labels(cell.domain, bits, cell.sources) for bits in cell.schedule_bits
        ]
    else:
        sources = [pairs_of(cell, bits) for bits in cell.schedule_bits]
    if isinstance(cell, TrainingCell):
        check_training(cell, sources[0])


def check_training(cell: TrainingCell, source: Any) -> None:
    """Raises ValueError for an encoder or critic that cannot be built before pairs of a
    source.
    """
    check_encoder(cell)
    if not 0 < cell.learning_rate < math.inf:
        raise OutOfRange(
            f"learning_rate must be positive and finite, got {cell.learning_rate}."
        )
    dims = (source.dim_x, source.dim_y) if cell.critic == "inner" else (1, 1)
    make_critic(cell.critic, *dims, cell.depth, 1, 1, second=has_two_scores(cell))


def source_of(cell: TrainingCell, bits: float, part: str = TRAINING) -> Any:
    """The pairs of one part of a cell's pool with this true mutual information, behind
    the cell's encoder.
    """
    source = pairs_of(cell, bits, part)
    if cell.encoder is None:
        return source
    return encoded(source, cell, pairs_of(cell, bits, TRAINING))


def schedule(cell: TrainingCell, part: str = TRAINING) -> list:
    """The pairs of each segment of the schedule."""
    return [source_of(cell, bits, part) for bits in cell.schedule_bits]


def cost(cell: TrainingCell | DecodingCell) -> float:
    """Multiplications of one training, up to a factor: critic and first layer, or the
    decoder's first layer.
    """
    side = {
        "gaussian": 0.0,
        "images": (cell.size or 0) ** 2,
        "text": 768.0 * cell.sources,
    }
    inputs = 2.0 * side.get(cell.domain, 7680.0) * (cell.channels or 1)
    if isinstance(cell, DecodingCell):
        # three folds, batches of 128, 256 units
        return cell.decoder_steps * inputs * 1e5
    batch = cell.batch
    width = cell.width
    step = {
        "joint": batch**2 * width * (cell.depth * width + 8) + batch * inputs * width,
        "separable": 2 * batch * width * (cell.depth * width + inputs / 2),
        "bilinear": batch * (inputs / 2) ** 2,
        "inner": batch**2 * inputs,
    }[cell.critic]
    return len(cell.schedule_bits) * cell.steps * step


def trial(pack: Pack[TrainingCell | DecodingCell], report: Report) -> None:
    """Decodes labels, and trains one critic per seed and objective of the pack on the
    same pairs.
    """
    trainings = []
    for cell in pack.cells:
        if isinstance(cell, DecodingCell):
            decode(cell, report)
        else:
            trainings.append(cell)
    if trainings:
        train(Pack(tuple(trainings), pack.device), report)


def train(pack: Pack[TrainingCell], report: Report) -> None:
    """Trains the critics of a pack, and reports after every segment of the schedule."""
    members = []
    for seed in sorted({cell.seed for cell in pack.cells}):
        members += [(seed, group) for group in groups(pack, seed)]
    first = pack.cells[0]
    sources = schedule(first)
    training = training_of(pack, members, sources)
    state = report.restore()
    if state:
        training.load_state_dict(state)

    owners = []
    for member, (_, group) in enumerate(members):
        owners += [(member, cell) for cell in group]
    stride = max(1, training.total // CURVE_POINTS)
    while training.done < training.total:
        start = training.done
        training.advance(min(stride, pack.steps - start % pack.steps))
        trace = training.trace
        for member, cell in owners:
            estimates = trace.of(cell.bound, member)[start:]
            values = {"estimate_bits": estimates.mean() / NATS_PER_BIT}
            report.curve(cell, values, training.done)
        if training.done % pack.steps == 0:
            report_segments(pack, members, training, report)
        report.save(training.state_dict)
        recent = {RECENT: recent_error(training, first)}
        report.progress(training.done / training.total, **recent)

    trace = training.trace
    for member, cell in owners:
        report_total(cell, trace.of(cell.bound, member) / NATS_PER_BIT, report)
    x, y = sources[-1].sample(2, stream(0, "example"))
    example = {"x": x.numpy(), "y": y.numpy()}
    for member, (_, group) in enumerate(members):
        name = f"{first.critic}-critic-depth-{first.depth}-{group[0].bound}"
        report.model(group, name, training.critic.member(member), example)


def training_of(
    pack: Pack[TrainingCell], members: list[Member], sources: list
) -> Training:
    """The training of the critics of a pack, one member for each seed and objective."""
    streams = {seed: stream(seed, "pairs") for seed, _ in members}
    critic = make_critic(
        pack.critic,
        sources[0].dim_x,
        sources[0].dim_y,
        pack.depth,
        pack.width,
        members=len(members),
        generator=[stream(seed, "critic") for seed, _ in members],
        second=any(map(has_two_scores, pack.cells)),
    )
    return Training(
        sources,
        critic,
        [tuple(cell.bound for cell in group) for _, group in members],
        [pack.steps] * len(sources),
        batch=pack.batch,
        learning_rate=pack.learning_rate,
        generator=[streams[seed] for seed, _ in members],
        device=pack.device,
        precision=pack.cells[0].precision or PRECISIONS[0],
    )


def report_segments(
    pack: Pack[TrainingCell], members: list[Member], training: Training, report: Report
) -> None:
    """Reports the segment that has just ended, with estimates on unseen pairs."""
    segment = training.done // pack.steps - 1
    start = segment * pack.steps
    first = pack.cells[0]
    source = source_of(first, first.schedule_bits[segment], HELD_OUT)
    trace = training.trace
    for member, (seed, group) in enumerate(members):
        generator = stream(seed, f"held out {segment}")
        critic = training.critic.member(member)
        unseen = estimate_on_unseen(critic, group, source, generator, pack.batch)
        for cell in group:
            bits = trace.of(cell.bound, member)[start:] / NATS_PER_BIT
            report_segment(cell, segment, bits, unseen[cell.bound], report)


def has_two_scores(cell: TrainingCell) -> bool:
    """Whether the cell's estimator needs a critic with a second network."""
    return BOUNDS[cell.bound].objective.second is not None


def recent_error(training: Training, cell: TrainingCell) -> float:
    """The MSE (bits²) of the latest steps at the present true MI, for early stopping."""
    segment = (training.done - 1) // cell.steps
    first = training.done - max(1, round(LATEST * cell.steps))
    estimates = (
        training.trace.values[:, max(segment * cell.steps, first) :] / NATS_PER_BIT
    )
    return float(((estimates - cell.schedule_bits[segment]) ** 2).mean())


def groups(pack: Pack[TrainingCell], seed: int) -> list[list[TrainingCell]]:
    """The cells of a seed, grouped by their training."""
    by_bound = {cell.bound: cell for cell in pack.cells if cell.seed == seed}
    trainings = share_training([BOUNDS[name] for name in by_bound])
    return [[by_bound[bound.name] for bound in training] for training in trainings]


def estimate_on_unseen(
    critic: Critic,
    group: Sequence[TrainingCell],
    source: Any,
    generator: Any,
    batch: int,
) -> dict[str, dict[str, float]]:
    """Estimates (bits) on pairs of unseen items, at a large batch size and that of the
    training, by estimator.
    """
    bounds: list[Bound] = [BOUNDS[cell.bound] for cell in group]
    batches = min(LARGE_BATCHES, max(2, group[0].steps // STEPS_PER_LARGE))
    large = held_out(source, critic, bounds, LARGE_BATCH, batches, generator)
    same = held_out(source, critic, bounds, batch, SAME_PER_LARGE * batches, generator)
    unseen = {}
    for bound in bounds:
        at_large = large[bound.name].bits
        at_same = same[bound.name].bits
        unseen[bound.name] = {
            "held_out_large_batch_bits": at_large.value,
            "held_out_large_batch_bits_error": at_large.standard_error,
            "held_out_same_batch_bits": at_same.value,
            "held_out_same_batch_bits_error": at_same.standard_error,
        }
    return unseen


def report_segment(
    cell: TrainingCell,
    segment: int,
    estimates: np.ndarray,
    unseen: dict[str, float],
    report: Report,
) -> None:
    """Reports errors of a segment's estimates (bits): all steps, second half, oracle
    critic, gap to unseen pairs.
    """
    bits = cell.schedule_bits[segment]
    everything = errors(estimates, bits)
    half = errors(estimates[len(estimates) // 2 :], bits)
    latest = estimates[-max(1, round(LATEST * len(estimates))) :]
    gap_error = math.hypot(
        batch_means_error(latest, batches=10), unseen["held_out_same_batch_bits_error"]
    )
    figures = {
        "mean_bits": everything.mean,
        "bias_bits": everything.bias,
        "variance_bits2": everything.variance,
        "mse_bits2": everything.mse,
        "second_half_mean_bits": half.mean,
        "second_half_bias_bits": half.bias,
        "second_half_variance_bits2": half.variance,
        "second_half_mse_bits2": half.mse,
        "second_half_mse_bits2_error": half.mse_standard_error,
        "nonfinite_steps": everything.nonfinite,
        **unseen,
        "training_minus_held_out_bits": latest.mean()
        - unseen["held_out_same_batch_bits"],
        "training_minus_held_out_bits_error": gap_error,
    }
    report.metrics(cell, at_truth(figures, bits))
    report.constants(
        cell,
        at_truth(oracle(cell.domain, cell.bound, bits, cell.sources, cell.batch), bits),
    )


def report_total(cell: TrainingCell, estimates: np.ndarray, report: Report) -> None:
    """Reports the estimates of all steps and the error over all segments."""
    truth = np.repeat(cell.schedule_bits, cell.steps)
    report.table(
        cell,
        "trace",
        {
            "step": np.arange(1, len(truth) + 1),
            "true_bits": truth,
            "estimate_bits": estimates,
        },
    )
    nonfinite = int((~np.isfinite(estimates)).sum())
    mse = math.nan if nonfinite else float(np.mean((estimates - truth) ** 2))
    report.metrics(
        cell,
        {"mse_bits2": mse, "nonfinite_steps": nonfinite, "diverged": nonfinite > 0},
    )


@functools.cache
def oracle(
    domain: str, bound: str, bits: float, number: int, batch: int
) -> dict[str, float]:
    """The errors of the estimator with the exact log density ratio as critic, at the
    same batch size.
    """
    lowest = oracle_errors(
        labels(domain, bits, number),
        BOUNDS[bound],
        batch,
        ORACLE_BATCHES,
        stream(0, "floor"),
    )
    return {
        "oracle_critic_mean_bits": lowest.mean / NATS_PER_BIT,
        "oracle_critic_bias_bits": lowest.bias / NATS_PER_BIT,
        "oracle_critic_variance_bits2": lowest.variance / NATS_PER_BIT**2,
        "oracle_critic_mse_bits2": lowest.mse / NATS_PER_BIT**2,
        "oracle_critic_mse_bits2_error": lowest.mse_standard_error / NATS_PER_BIT**2,
        "oracle_critic_batches": lowest.batches,
        "oracle_critic_nonfinite_batches": lowest.nonfinite,
    }


def sweep(
    name: str,
    cells: Callable[[Any], Iterable[PairCell]],
    profiles: Mapping[str, BenchmarkProfile],
    *,
    axes: Sequence[str],
    share: Sequence[str],
    search: Search | None = None,
    version: int = 2,
    choices: Mapping[str, Sequence[str]] | None = None,
    ranges: Sequence[str] = (),
) -> Sweep:
    """A sweep of the benchmark. share: fields, in addition to the domain, that the
    cells of a training have in common. choices: of its own settings.
    """
    return Sweep(
        name,
        cells,
        trial,
        profiles,
        axes=(*axes, "domains", "bounds", "seeds"),
        pack_by={
            "cpu": ("domain", "decoder", *share, "seed"),
            "gpu": ("domain", "decoder", *share),
        },
        data=data_sets,
        choices=CHOICES | dict(choices or {}),
        ranges=ranges,
        check=check,
        cost=cost,
        search=search,
        version=version,
    )
