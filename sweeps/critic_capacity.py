"""Does a larger critic estimate mutual information better? (the benchmark paper, section 5.2, table 2)

A joint critic of growing depth is trained on a stream of fresh pairs whose true mutual information is known. At every
step the estimate on the batch, before the update, is recorded; its error is taken over all steps of a segment of the
schedule, as published, and over the second half, when the critic has settled. Estimators that share an objective share
one training, and cells that share a seed see the same pairs and start from the same weights.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

from infoscope.estimators import BOUNDS, Training, floor, make_critic, share_training
from infoscope.metrics import errors
from infoscope.tracking import Pack, Profile, Report, Sweep, grid, main
from sweeps.pairs import DOMAINS, data_set, labels, pairs, pool_of, stream

ESTIMATORS = ("nwj", "js", "infonce", "dv", "mine", "smile-1", "smile-5", "smile-inf")
DEPTHS = (1, 2, 3, 4, 5)
CURVE_POINTS = 200
FLOOR_BATCHES = 2000
LEAST = {"steps": 1, "batch": 2, "width": 1, "depth": 0, "sources": 1, "size": 1, "seed": 0}  # of what a cell sets
BITS = math.log(2)  # nats in a bit

PUBLISHED = dict(
    domains=DOMAINS,
    depths=DEPTHS,
    bounds=ESTIMATORS,
    seeds=(0, 1, 2),
    schedule_bits=(2.0, 4.0, 6.0, 8.0, 10.0),
    steps=4000,
    width=256,
    batch=64,
    learning_rate=5e-4,
    sources=10,
    size=64,
    images="mnist",
    text="imdb-bert",
)
# a narrower critic and fewer, cheaper steps; estimators of two trainings
LAPTOP = PUBLISHED | dict(
    bounds=("js", "infonce", "smile-1", "smile-5", "smile-inf"),
    schedule_bits=(2.0,),
    steps=800,
    width=64,
    size=32,
    images="auto",
    text="auto",
)

PROFILES = {
    "smoke": Profile(
        **LAPTOP | dict(depths=(1, 2, 3), bounds=("js", "smile-inf"), seeds=(0, 1), steps=40, width=16, size=16)
    ),
    "laptop": Profile(**LAPTOP),
    "paper-2bits": Profile(
        **PUBLISHED | dict(schedule_bits=(2.0,), bounds=("js", "smile-1", "smile-5", "smile-inf"), seeds=(0, 1))
    ),
    "paper": Profile(**PUBLISHED),
}


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per domain, depth, estimator and seed; the schedule of true mutual information (bits) runs inside a
    cell.
    """
    for domain in profile.domains:
        own = {"size": profile.size} if domain == "images" else {}
        yield from grid(
            domain=domain,
            pool=pool_of(domain, profile.images, profile.text),
            depth=list(profile.depths),
            bound=[BOUNDS[name].name for name in profile.bounds],
            seed=list(profile.seeds),
            schedule_bits=profile.schedule_bits,
            steps=profile.steps,
            critic="joint",
            width=profile.width,
            batch=profile.batch,
            learning_rate=profile.learning_rate,
            sources=profile.sources,
            **own,
        )


def check(cell: dict) -> None:
    """Builds what the cell needs, short of training: an unknown estimator, an unreachable MI or missing data is found
    here.
    """
    for name, least in LEAST.items():
        if cell.get(name, least) < least:
            raise ValueError(f"{name} is {cell[name]}; it must be at least {least}")
    if not 0 < cell["learning_rate"] < math.inf:
        raise ValueError(f"learning_rate is {cell['learning_rate']}; it must be positive and finite")
    if len(set(cell["schedule_bits"])) < len(cell["schedule_bits"]):
        raise ValueError(f"schedule_bits is {cell['schedule_bits']}; every true MI can occur only once")
    source = sources(cell)[0]
    make_critic(cell["critic"], source.dim_x, source.dim_y, cell["depth"], 1)


def sources(cell: dict | Pack) -> list:
    """The pairs of each segment of the schedule."""
    get = cell.get if isinstance(cell, dict) else lambda name, default=None: getattr(cell, name, default)
    schedule = get("schedule_bits")
    return [pairs(get("domain"), get("pool"), bits, get("sources"), get("size", 64)) for bits in schedule]


def cost(cell: dict) -> float:
    """Multiplications of one training, up to a factor: the layers over all pairs of a batch, and the first layer."""
    inputs = {"gaussian": 0.0, "images": 2.0 * cell.get("size", 0) ** 2, "text": 2.0 * 768 * cell["sources"]}[
        cell["domain"]
    ]
    hidden = cell["batch"] ** 2 * (cell["depth"] * cell["width"] + 8)
    return len(cell["schedule_bits"]) * cell["steps"] * cell["width"] * (hidden + inputs * cell["batch"])


def trial(pack: Pack, report: Report) -> None:
    """Trains one critic per seed and objective of the pack on the same stream of pairs and reports every cell's
    estimates.
    """
    schedule = sources(pack)
    members = [
        (seed, group) for seed in sorted({cell["seed"] for cell in pack.cells}) for group in trainings(pack, seed)
    ]
    streams = {seed: stream(seed, "pairs") for seed, _ in members}
    critic = make_critic(
        pack.critic,
        schedule[0].dim_x,
        schedule[0].dim_y,
        pack.depth,
        pack.width,
        members=len(members),
        generator=[stream(seed, "critic") for seed, _ in members],
    )
    training = Training(
        schedule,
        critic,
        [tuple(cell["bound"] for cell in group) for _, group in members],
        [pack.steps] * len(schedule),
        batch=pack.batch,
        learning_rate=pack.learning_rate,
        generator=[streams[seed] for seed, _ in members],
        device=pack.device,
    )
    if state := report.restore():
        training.load_state_dict(state)

    owners = [(member, cell) for member, (_, group) in enumerate(members) for cell in group]
    while training.done < training.total:
        start = training.done
        training.advance(max(1, training.total // CURVE_POINTS))
        trace = training.trace
        for member, cell in owners:
            recent = trace.of(cell["bound"], member)[start:]
            report.metrics(cell, {"estimate_bits": recent.mean() / BITS}, training.done)
        report.save(training.state_dict)
        report.progress(training.done / training.total)

    trace, example = training.trace, schedule[-1].sample(1, stream(0, "example"))
    for member, cell in owners:
        conclude(cell, trace.of(cell["bound"], member) / BITS, report)
    for member, (_, group) in enumerate(members):
        report.model(group, "critic", critic.member(member), {"x": example[0].numpy(), "y": example[1].numpy()})


def trainings(pack: Pack, seed: int) -> list[list[dict]]:
    """The cells of a seed, grouped by the training they share."""
    of = {cell["bound"]: cell for cell in pack.cells if cell["seed"] == seed}
    return [[of[bound.name] for bound in group] for group in share_training([BOUNDS[name] for name in of])]


def conclude(cell: dict, estimates: np.ndarray, report: Report) -> None:
    """Errors of a cell's estimates (bits), by segment: over all its steps, over the second half, and of the oracle
    critic.
    """
    truth = np.repeat(cell["schedule_bits"], cell["steps"])
    report.table(cell, "trace", {"step": np.arange(1, len(truth) + 1), "true_bits": truth, "estimate_bits": estimates})
    whole = []
    for segment, bits in enumerate(cell["schedule_bits"]):
        of_segment = estimates[segment * cell["steps"] : (segment + 1) * cell["steps"]]
        everything, settled = errors(of_segment, bits), errors(of_segment[len(of_segment) // 2 :], bits)
        best = oracle(cell["domain"], cell["bound"], bits, cell["sources"], cell["batch"])
        report.metrics(
            cell,
            {
                f"at {bits:g} bits/{name}": value
                for name, value in {
                    "mean_bits": everything.mean,
                    "bias_bits": everything.bias,
                    "variance_bits2": everything.variance,
                    "mse_bits2": everything.mse,
                    "settled_bias_bits": settled.bias,
                    "settled_variance_bits2": settled.variance,
                    "settled_mse_bits2": settled.mse,
                    "settled_mse_bits2_error": settled.mse_standard_error,
                    "nonfinite_steps": everything.nonfinite,
                    **best,
                }.items()
            },
        )
        whole.append(everything)
    nonfinite = sum(part.nonfinite for part in whole)
    report.metrics(
        cell,
        {"mse_bits2": np.mean([part.mse for part in whole]), "nonfinite_steps": nonfinite, "diverged": nonfinite > 0},
    )


@functools.cache
def oracle(domain: str, bound: str, bits: float, number: int, batch: int) -> dict[str, float]:
    """What the estimator reports when the critic is the exact log density ratio, at the same batch size: what no
    training removes.
    """
    lowest = floor(labels(domain, bits, number), BOUNDS[bound], batch, FLOOR_BATCHES, stream(0, "floor"))
    return {
        "floor_bias_bits": lowest.bias / BITS,
        "floor_variance_bits2": lowest.variance / BITS**2,
        "floor_mse_bits2": lowest.mse / BITS**2,
        "floor_mse_bits2_error": lowest.mse_standard_error / BITS**2,
        "floor_batches": lowest.batches,
        "floor_nonfinite_batches": lowest.nonfinite,
    }


SWEEP = Sweep(
    "critic-capacity",
    cells,
    trial,
    PROFILES,
    axes=("domains", "depths", "bounds", "seeds"),
    pack_by={"cpu": ("domain", "depth", "seed"), "gpu": ("domain", "depth")},
    tags=lambda cell: {"infoscope.data": data_set(cell["domain"], cell["pool"])},
    check=check,
    cost=cost,
    best=("mse_bits2", "min"),
)

if __name__ == "__main__":
    main(SWEEP)
