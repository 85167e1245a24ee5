"""Does usable information find the structure of variables when mutual information does
not? (Xu et al. 2020, section 6)

Several methods estimate weights between all pairs of variables from the same data sets,
and the maximum spanning arborescence of the weights is compared with the true tree.
There are three studies:

    trees   simulated stars: continuous variables, random tables, and discretised logistic distributions
    genes   a simulated gene network, or a table of expression and its graph: do edges have the largest weights?
    frames  videos of moving digits, whose frames are to be ordered

SET="genes=table.npz" reads a table with the arrays expression [n, m] and adjacency [m,
m] instead of the simulation. The V-information of tables is in-sample, where it equals
the plug-in mutual information; all others are cross-fitted.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist, squareform
from scipy.special import logsumexp
from sklearn.decomposition import PCA
from sklearn.metrics import mutual_info_score, roc_auc_score

from infoscope import data
from infoscope.checks import one_of
from infoscope.data.tasks import simulators
from infoscope.errors import InvalidInput, NoVariation, UnreadableFile
from infoscope.estimators import knn, npeet
from infoscope.estimators.families.closed_form import Gaussian, Table
from infoscope.estimators.families.protocol import Family
from infoscope.files import read_arrays
from infoscope.metrics.v_information import structure
from infoscope.metrics.v_information.measures import CROSS_FITTED, IN_SAMPLE
from infoscope.tracking import Cell, Pack, Profile, Report, Sweep, grid
from infoscope.tracking.datasets import DataSet
from sweeps import datasets
from sweeps.checks import require_minimum
from sweeps.usable_information.settings import SIMULATED

K = 5  # neighbours
FOLDS = 5
STATES = 10  # of a variable of the discrete stars
SCALE = 1.0  # of their logistic distributions
VARIABLES = 7  # of the stars
NETWORK_SAMPLES = 660  # of the HPN-DREAM in-silico network
COMPONENTS = 10  # of a frame
DIGITS_SCALE = 3  # enlargement of the bundled digits in frames of 64 x 64 pixels
MINIMUM = {"n": 20, "sets": 2, "frames": 3, "block": 0}


@dataclass(frozen=True, kw_only=True)
class StructureCell(Cell):
    none_is_a_value = ("frames",)

    study: str  # trees, genes or frames
    case: str  # one of STARS; SIMULATED or the file of a table; digits or mnist
    sets: int  # data sets
    frames: int | None  # of a video
    n: int  # rows, or videos
    method: str  # one of METHODS
    block: int  # of data sets, from 0


class Data(NamedTuple):
    """m variables, each [n] or [n, d], and the true structure: parents [m], or a graph
    [m, m].
    """

    variables: Sequence[np.ndarray]
    truth: np.ndarray


def video_frames(
    n: int, frames: int, images: str, generator: np.random.Generator
) -> Data:
    """The principal components of frames of n videos of two moving digits; the truth is
    their order.
    """
    videos = simulators.moving_digits(digit_images(images), n, frames, generator)
    seed = int(generator.integers(2**31))
    components = PCA(COMPONENTS, svd_solver="randomized", random_state=seed)
    codes = components.fit_transform(videos.reshape(n * frames, -1))
    codes = codes.reshape(n, frames, COMPONENTS).astype(np.float64)
    return Data([codes[:, frame] for frame in range(frames)], np.arange(frames) - 1)


@functools.cache
def digit_images(name: str) -> np.ndarray:
    """Handwritten digits [k, h, w] in [0, 1], about 28 pixels wide."""
    if name == "digits":
        pixels = np.kron(
            data.digits().images.numpy(), np.ones((1, DIGITS_SCALE, DIGITS_SCALE))
        )
    else:
        pixels = data.mnist().images.numpy()
    return pixels.astype(np.float32) / 255.0


@functools.cache
def expression_table(path: str) -> tuple[np.ndarray, np.ndarray]:
    """The expression [n, m] and graph [m, m] in a file. Raises ValueError for a damaged
    or unsuitable file.
    """
    try:
        stored = read_arrays(Path(path), ("expression", "adjacency"))
        expression = stored["expression"].astype(np.float64)
        graph = stored["adjacency"] != 0
    except (OSError, ValueError) as error:
        raise UnreadableFile(
            f"genes must be {SIMULATED} or a .npz with expression and adjacency, not "
            f"{path!r}: {error}"
        ) from None
    columns = expression.shape[1:]
    if (
        len(columns) != 1
        or graph.shape != columns * 2
        or not np.isfinite(expression).all()
    ):
        raise UnreadableFile(
            f"genes must be {SIMULATED} or a .npz with finite expression [n, m] and "
            f"adjacency [m, m], not {path!r}."
        )
    return expression, graph


def genes(case: str, n: int, generator: np.random.Generator) -> Data:
    """n samples of a simulated network, a new one for every data set, or n rows of a
    table.
    """
    if case == SIMULATED:
        expression, graph = simulators.gene_network(n, generator)
    else:
        table, graph = expression_table(case)
        expression = table[generator.choice(len(table), n, replace=False)]
    return Data(list(expression.T), graph)


STARS: dict[str, Callable[[int, np.random.Generator], simulators.Simulated]] = {
    "gaussian-hub": lambda n, g: simulators.gaussian_hub(n, VARIABLES, g),
    "discrete-star": lambda n, g: simulators.discrete_star(n, VARIABLES, STATES, g),
    "discretised-logistic": lambda n, g: simulators.discretised_logistic(
        n, VARIABLES, STATES, SCALE, g
    ),
}


def family_for(cell: StructureCell) -> Family:
    """The predictive family for a variable given another: tables, lines or polynomials,
    suitable for the data.
    """
    if cell.study == "trees":
        return Gaussian() if cell.case == "gaussian-hub" else Table()
    return (
        Gaussian(degree=3)
        if cell.study == "genes"
        else Gaussian(degree=2, variance=0.5)
    )


def usable(
    variables: Sequence[np.ndarray], cell: StructureCell, generator: np.random.Generator
) -> np.ndarray:
    """The V-information I_V(X_i -> X_j) as weights, in general not symmetric."""
    family = family_for(cell)
    estimator = IN_SAMPLE if isinstance(family, Table) else CROSS_FITTED
    return structure.weights_by(
        family, variables, estimator, FOLDS, generator=generator
    ).value


def symmetric(
    measure: Callable[[np.ndarray, np.ndarray], float],
) -> Callable[..., np.ndarray]:
    """Weights by a symmetric measure, computed once for each pair."""

    def weights(
        variables: Sequence[np.ndarray],
        cell: StructureCell,
        generator: np.random.Generator,
    ) -> np.ndarray:
        matrix = np.full((len(variables),) * 2, -np.inf)
        for j, second in enumerate(variables):
            for i, first in enumerate(variables[:j]):
                matrix[i, j] = matrix[j, i] = measure(first, second)
        return matrix

    return weights


def partitioned(x: np.ndarray, y: np.ndarray) -> float:
    """The plug-in mutual information of labels, or of bins with equal numbers of rows."""
    return float(mutual_info_score(binned(x), binned(y)))


def binned(values: np.ndarray) -> np.ndarray:
    """Labels unchanged; numbers in n^(1/3) bins with equal numbers of rows."""
    if np.issubdtype(values.dtype, np.integer):
        return values
    bins = math.ceil(len(values) ** (1 / 3))
    return values.argsort().argsort() * bins // len(values)


def by_kernel(x: np.ndarray, y: np.ndarray) -> float:
    """The mean log ratio of leave-one-out Gaussian kernel densities, with bandwidths of
    n^(-1/6) standard deviations (Scott's rule for two dimensions). Raises ValueError
    for a constant variable.
    """
    if min(np.ptp(x), np.ptp(y)) == 0.0:
        raise NoVariation(
            "variables must vary for a kernel density, but one is constant."
        )
    kernels_x = log_kernels(x)
    kernels_y = log_kernels(y)
    log_ratio = (
        logsumexp(kernels_x + kernels_y, axis=1)
        - logsumexp(kernels_x, axis=1)
        - logsumexp(kernels_y, axis=1)
    )
    return float(log_ratio.mean() + math.log(len(x) - 1))


def log_kernels(values: np.ndarray) -> np.ndarray:
    """The log Gaussian kernels of all pairs of rows, without normalisation [n, n]; of a
    row with itself -inf.
    """
    bandwidth = len(values) ** (-1 / 6)
    scaled = np.c_[values] / (bandwidth * values.std())
    logs = -0.5 * squareform(pdist(scaled, "sqeuclidean"))
    np.fill_diagonal(logs, -np.inf)
    return logs


METHODS: dict[str, Callable[..., np.ndarray]] = {
    "v-information": usable,
    "knn": symmetric(lambda x, y: float(knn.mutual_information(x, y, k=K))),
    "as-numbers": symmetric(lambda x, y: float(npeet.mi(x, y, k=K, base=np.e))),
    "partitioning": symmetric(partitioned),
    "kernel-density": symmetric(by_kernel),
}
OFFERED = {"trees": tuple(METHODS), "genes": ("v-information", "knn", "partitioning", "kernel-density"),
           "frames": ("v-information", "knn")}  # fmt: skip


@dataclass(frozen=True)
class StructureProfile(Profile):
    studies: tuple[str, ...] = ("trees", "genes", "frames")
    cases: tuple[str, ...] = tuple(STARS)
    genes: str = SIMULATED  # or the file of a table
    images: str = "auto"
    methods: tuple[str, ...] = tuple(METHODS)
    sizes: tuple[int, ...] = (50, 100, 200, 500, 1000, 2000)  # rows of trees
    # of the rows of genes
    fractions: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    videos: tuple[int, ...] = (1000,)
    frames: int = 20  # of a video
    sets: int = 10
    blocks: tuple[int, ...] = (0, 1)


PAPER = StructureProfile()
LAPTOP = replace(
    PAPER,
    sizes=(50, 100, 200, 500),
    fractions=(0.1, 0.3, 0.5, 0.7, 0.9),
    videos=(50, 100, 300),
    frames=10,
)
PROFILES = {
    "smoke": replace(
        LAPTOP,
        sizes=(60,),
        fractions=(0.1,),
        videos=(60,),
        frames=5,
        sets=2,
        blocks=(0,),
    ),
    "laptop": LAPTOP,
    "paper": PAPER,
}


def cells(profile: StructureProfile) -> Iterator[StructureCell]:
    """One cell per data, sample size, suitable method, and block of data sets."""
    images = datasets.image_data(profile.images)
    rows = (
        NETWORK_SAMPLES
        if profile.genes == SIMULATED
        else len(expression_table(profile.genes)[0])
    )
    studies = {
        "trees": (list(profile.cases), list(profile.sizes), None),
        "genes": (
            [profile.genes],
            [round(fraction * rows) for fraction in profile.fractions],
            None,
        ),
        "frames": ([images], list(profile.videos), profile.frames),
    }
    for study in profile.studies:
        cases, sizes, frames = studies[one_of("study", study, studies)]
        for case in cases:
            methods = [
                method for method in profile.methods if method in offered(study, case)
            ]
            yield from grid(
                StructureCell,
                study=study,
                case=case,
                n=sizes,
                method=methods,
                block=list(profile.blocks),
                sets=profile.sets,
                frames=frames,
            )


def offered(study: str, case: str) -> tuple[str, ...]:
    """The methods for such data: kernel densities need numbers."""
    if study == "trees" and case != "gaussian-hub":
        return tuple(method for method in OFFERED[study] if method != "kernel-density")
    return OFFERED[study]


def check(cell: StructureCell) -> None:
    if cell.study == "trees":
        one_of("case", cell.case, STARS)
    if cell.study == "frames":
        one_of("images", cell.case, ("digits", "mnist"))
    if cell.study == "genes" and cell.case != SIMULATED:
        rows = len(expression_table(cell.case)[0])
        if cell.n > rows:
            raise InvalidInput(
                f"n must be at most {rows}, the rows of {cell.case}, got {cell.n}"
            )
    require_minimum(cell, MINIMUM)


def cost(cell: StructureCell) -> float:
    """Approximate seconds on one core."""
    pairs = {"trees": VARIABLES**2, "genes": 400, "frames": (cell.frames or 1) ** 2}[
        cell.study
    ]
    return cell.sets * pairs * (1e-3 + 2.5e-6 * cell.n)


def drawn(cell: StructureCell, number: int) -> Data:
    """A data set of a cell, the same for all methods."""
    generator = np.random.default_rng([number, cell.n, *cell.case.encode()])
    match cell.study:
        case "trees":
            star = STARS[cell.case](cell.n, generator)
            return Data(list(star.variables.T), star.parents)
        case "genes":
            return genes(cell.case, cell.n, generator)
    assert cell.frames is not None
    return video_frames(cell.n, cell.frames, cell.case, generator)


def trial(pack: Pack[StructureCell], report: Report) -> None:
    """Computes the weights of every data set by every method, and compares the
    structures with the truth.
    """
    (sets,) = {cell.sets for cell in pack.cells}
    rows: dict[str, list[dict[str, float]]] = {cell.method: [] for cell in pack.cells}
    for number in range(sets):
        first = pack.cells[0]
        sample = drawn(first, first.block * sets + number)
        for cell in pack.cells:
            weights = METHODS[cell.method](
                sample.variables, cell, np.random.default_rng(number)
            )
            rows[cell.method].append(scores(cell.study, weights, sample.truth))
        report.progress((number + 1) / sets)
    for cell in pack.cells:
        columns = pd.DataFrame(rows[cell.method])
        report.table(cell, "sets", {name: columns[name].to_numpy() for name in columns})
        for name in columns:
            values = columns[name].to_numpy()
            report.metrics(
                cell, {name: values.mean(), f"{name}_variance": values.var(ddof=1)}
            )


def scores(study: str, weights: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """The area under the ROC curve for graphs; the share of wrong edges, directed and
    undirected, for trees.
    """
    if study == "genes":
        pairs = ~np.eye(len(weights), dtype=bool)
        return {"auc": float(roc_auc_score(truth[pairs] != 0, weights[pairs]))}
    tree = structure.maximum_arborescence(weights)
    shares = {
        "wrong": structure.wrong_edges(tree, truth, directed=False),
        "wrong_directed": structure.wrong_edges(tree, truth),
    }
    if study == "frames":
        rooted = structure.maximum_arborescence(weights, root=0)
        shares["wrong_rooted"] = structure.wrong_edges(rooted, truth)
    return shares


@functools.cache
def data_sets(study: str, case: str) -> tuple[DataSet, ...]:
    """The data of a cell."""
    if study == "frames":
        pool = data.digits if case == "digits" else data.mnist
        return (datasets.items(f"moving {case}", pool, synthetic=False),)
    if study == "genes" and case != SIMULATED:
        return (
            DataSet(
                case,
                "a table of the user",
                lambda: dict(zip(("expression", "graph"), expression_table(case))),
            ),
        )
    if study == "trees":
        sizes = {"variables": VARIABLES, "states": STATES, "scale": SCALE}
    else:
        sizes = {"samples": NETWORK_SAMPLES}
    return (datasets.distribution(f"{case} (generated)", **sizes),)


SWEEP = Sweep(
    "structure-learning",
    cells,
    trial,
    PROFILES,
    axes=("studies", "cases", "methods", "sizes", "fractions", "videos", "blocks"),
    pack_by=dict.fromkeys(("cpu", "gpu"), ("study", "case", "n", "block")),
    data=lambda cell: data_sets(cell.study, cell.case),
    choices={
        "studies": tuple(OFFERED),
        "cases": tuple(STARS),
        "methods": tuple(METHODS),
        "images": ("auto", "digits", "mnist"),
    },
    check=check,
    cost=cost,
)
