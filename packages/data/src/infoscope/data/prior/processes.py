"""Processes: pairs of stationary series x and y with known transfer entropy.

process(number)   the process of a number: its draws and its true values in nats
FAMILIES          families of processes
VERSION           raised whenever draws or truths change
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence

from infoscope.checks import require_int
from infoscope.data.prior import (
    chain_processes,
    maps,
    mixture_processes,
    normal_processes,
)
from infoscope.data.prior.draws import Array, Generator, Map
from infoscope.data.prior.dynamics import Coupling, Dynamics, draw_coupling
from infoscope.data.prior.parts import Sample, categories, numbers
from infoscope.data.prior.windows import Truth

VERSION = 5
STREAM = 2  # of random numbers; 0 and 1 are those of pairs and triples
MAPPED_SHARE = 0.35  # processes of other families with maps of their numbers
PILOT_ROWS = 500  # for locations and scales of number columns
MAX_NATS = 3.0
MAX_MEMORY = 0.99  # of chains that would hardly leave a part of their states
MIN_TRANSFER = 0.003  # nats from x to y, unless nothing but y drives x
MAX_ERROR, MAX_ERROR_SHARE = 0.003, 0.02  # of a truth: nats, or a share of it

Maker = Callable[[Coupling, Generator], Dynamics]

MAKERS: dict[str, tuple[Maker, float, float]] = {  # maker, weight, factor of strengths
    "linear": (normal_processes.linear, 1.5, 0.7),
    "mapped_linear": (normal_processes.linear, 1.0, 0.7),
    "long_memory": (normal_processes.long_memory, 0.8, 1.0),
    "seasonal": (mixture_processes.seasonal, 0.8, 1.0),
    "regimes": (mixture_processes.regimes, 0.8, 1.6),
    "threshold": (chain_processes.threshold, 1.0, 1.2),
    "nonlinear": (chain_processes.nonlinear, 1.3, 1.0),
    "volatility": (chain_processes.volatility, 1.0, 1.2),
    "counts": (chain_processes.counts, 1.0, 1.4),
    "events": (chain_processes.events, 0.8, 2.5),
    "labels": (chain_processes.labels, 1.0, 1.2),
    "mixed": (chain_processes.mixed, 1.0, 1.6),
}
FAMILIES = tuple(MAKERS)
# no hidden series drives both
WITHOUT_DRIVER = ("threshold", "nonlinear", "volatility", "counts", "events", "mixed")
WITHOUT_TRANSFER = ("none", "backward")  # couplings
TYPES = ("numbers", "counts", "labels", "mixed")


@dataclass(frozen=True, eq=False)
class Process:
    """Two stationary series x and y with their true values for one history.

    Attributes
    ----------
    number : int
        From which the process is made.
    family : str
        One of FAMILIES.
    description : str
        The process in words.
    type : str
        numbers, counts or labels (of x and y), or mixed.
    coupling : Coupling
        How x and y are coupled; its strength is the one with which the process was
        accepted.
    history : int
        Past values of x and of y that the truth refers to.
    memory : float
        Modulus of the largest root or second eigenvalue, below 1; nan where it is not
        defined.
    columns : tuple of int
        Columns of x and of y.
    truth : Truth
        Transfer entropy and information with their standard errors, nats.
    """

    number: int
    family: str
    description: str
    type: str
    coupling: Coupling
    history: int
    memory: float
    columns: tuple[int, int]
    truth: Truth
    _draw: Callable[[int, Generator], tuple[Sample, Sample]]

    def sample(self, n: int, generator: Generator) -> tuple[Sample, Sample]:
        """n successive values of x and of y from stationarity.

        Parameters
        ----------
        n : int
            Rows of both series.
        generator : numpy.random.Generator
            Random numbers.

        Returns
        -------
        x, y : Sample
            Rows in the order of time.
        """
        return self._draw(require_int("n", n), generator)


def process(number: int) -> Process:
    """The process of a number; the same number and VERSION always give the same one.

    Parameters
    ----------
    number : int
        A whole number from 0.

    Returns
    -------
    Process
        Two series whose truth is at most MAX_NATS and as exact as MAX_ERROR and
        MAX_ERROR_SHARE.

    Raises
    ------
    OutOfRange
        If the number is negative or not whole.

    Examples
    --------
    >>> example = process(1)
    >>> x, y = example.sample(200, np.random.default_rng(0))
    >>> len(x.numbers) == len(y.labels) == 200
    True
    """
    number = require_int("number", number, 0)
    g = np.random.default_rng([VERSION, number, 0, STREAM])
    of_truth = np.random.default_rng([VERSION, number, 1, STREAM])
    weights = np.array([weight for _, weight, _ in MAKERS.values()])
    family = str(g.choice(FAMILIES, p=weights / weights.sum()))
    coupling = available(draw_coupling(g), family)
    dynamics, truth, coupling = _draw_dynamics(family, coupling, g, of_truth)
    pilots = dynamics.draw(PILOT_ROWS, g)
    mapped = family == "mapped_linear"
    if family not in ("linear", "mapped_linear"):
        mapped = g.random() < MAPPED_SHARE
    kind_x, kind_y = dynamics.kinds
    pilot_x, pilot_y = pilots
    variable_x = Variable(kind_x, pilot_x, mapped, g)
    variable_y = Variable(kind_y, pilot_y, mapped, g)

    def draw(n, generator):
        x, y = dynamics.draw(n, generator)
        return variable_x.sample(x), variable_y.sample(y)

    text = f"{dynamics.description}; coupling {coupling.kind}"
    if coupling.kind != "none":
        text += f" of strength {coupling.strength:.2f}"
    text += f"; {variable_x.description}, {variable_y.description}"
    return Process(
        number=number,
        family=family,
        description=text,
        type=kind_x if kind_x == kind_y else "mixed",
        coupling=coupling,
        history=dynamics.history,
        memory=dynamics.memory,
        columns=(pilot_x.shape[1], pilot_y.shape[1]),
        truth=truth,
        _draw=draw,
    )


def available(coupling: Coupling, family: str) -> Coupling:
    """The coupling, of another kind where the family does not have its kind."""
    kind = coupling.kind
    if family in WITHOUT_DRIVER and coupling.driven:
        kind = "forward"
    if family == "regimes" and kind in ("backward", "both"):
        kind = "driver"
    return replace(coupling, kind=kind)


def _draw_dynamics(
    family: str, coupling: Coupling, g: Generator, of_truth: Generator
) -> tuple[Dynamics, Truth, Coupling]:
    """Dynamics of a family, their truth and their coupling.

    Dynamics are drawn again if the truth is too large, too small or inexact.
    """
    maker, _, factor = MAKERS[family]
    coupling = replace(coupling, strength=factor * coupling.strength)
    while True:
        try:
            dynamics = maker(coupling, g)
        except ArpackNoConvergence:  # a chain that hardly leaves a part of its states
            coupling = replace(coupling, strength=0.7 * coupling.strength)
            continue
        truth = dynamics.truth(of_truth)
        drives_y = coupling.kind not in WITHOUT_TRANSFER
        if not is_exact(truth) or dynamics.memory > MAX_MEMORY:
            coupling = replace(coupling, strength=0.7 * coupling.strength)
        elif drives_y and truth.transfer_entropy < MIN_TRANSFER:
            coupling = replace(coupling, strength=1.4 * coupling.strength)
        else:
            return dynamics, truth, coupling


def is_exact(truth: Truth) -> bool:
    """Whether both values are at most MAX_NATS and their errors small."""
    nats = np.array([truth.transfer_entropy, truth.information])
    errors = np.array([truth.transfer_entropy_error, truth.information_error])
    limits = np.maximum(MAX_ERROR, MAX_ERROR_SHARE * nats)
    fits = (nats <= MAX_NATS) & (errors <= limits)
    return bool(fits.all())


class Variable:
    """A series as a sample: labels as codes, counts, or numbers after increasing maps."""

    def __init__(self, kind: str, pilot: Array, mapped: bool, g: Generator) -> None:
        self.kind = kind
        self.maps: list[Map] = []
        self.description = kind
        if kind != "numbers":
            return
        self.centre = pilot.mean(axis=0)
        self.spread = pilot.std(axis=0)
        largest = np.abs((pilot - self.centre) / self.spread).max()
        if not mapped:
            return
        names = []
        for _ in range(pilot.shape[1]):
            name, function = maps.draw_monotone(g, float(largest))
            self.maps.append(function)
            names.append(name)
        self.description = f"{kind} ({', '.join(names)})"

    def sample(self, series: Array) -> Sample:
        """The series [n, columns] as a sample."""
        if self.kind == "labels":
            return categories(series)
        if not self.maps:
            return numbers(series)
        scores = (series - self.centre) / self.spread
        columns = [function(score) for function, score in zip(self.maps, scores.T)]
        return numbers(np.stack(columns, axis=1))
