"""Computes the scores of one representation from common inputs, for reports and sweeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.estimators.result import Estimate, undefined
from infoscope.metrics.disentanglement.registry import SCORES, ScoreSpec
from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.inputs import (
    as_array,
    as_factors,
    categorical_latents,
    typical_codes,
)
from infoscope.metrics.factor_information.result import FactorInformation

if TYPE_CHECKING:
    from infoscope.metrics.factor_information import exact


# streams of a report, in the order in which their generators are spawned
STREAMS = (
    "information",
    "dci",
    "sap",
    "bins",
    "factor_vae disentanglement-lib",
    "beta_vae disentanglement-lib",
    "factor_vae uni-bound",
    "beta_vae uni-bound",
    "infoe",
    "sap thresholds",
    "others",  # seeds the streams of scores that users add
    "dependence",
    "attacks",
)


@dataclass(eq=False, kw_only=True)
class Inputs:
    """The inputs of scores.

    Parameters
    ----------
    representation
        A posterior, or an array [N, L].
    factors
        [N, K], as `inputs.as_factors` takes them.
    stream
        Name of a stream -> its random generator.
    draws
        For the exact information of a posterior.
    items
        Number of random items for scores of arrays; None: all.
    votes
        Protocol -> training votes of the BetaVAE score.
    categorical
        Indices of an array's latents that are categories.
    measured
        The information, if known.
    tell
        Called with the share of the current score that is done.
    """

    representation: Any
    factors: ArrayLike
    stream: Callable[[str], np.random.Generator]
    draws: int = 10_000
    items: int | None = 10_000
    votes: Mapping[str, int] = field(default_factory=dict)
    categorical: Sequence[int] = ()
    from_arrays: Callable[..., FactorInformation] = from_arrays
    factor_names: Sequence[str] | None = None
    device: str = "cpu"
    measured: exact.Measured | FactorInformation | None = None
    tell: Callable[[float], None] = lambda share: None

    def __post_init__(self) -> None:
        self.has_density = hasattr(self.representation, "draw")
        factors = as_factors(self.factors, self.factor_names, least=2, numbers=True)
        self.numbers = np.array(factors.names)[factors.numbers].tolist()
        codes = self.representation
        if self.has_density:
            codes = typical_codes(self.representation)
            self.categorical = categorical_latents(self.representation)
        self.codes: NDArray[np.float64] = as_array(codes, factors.n)
        self.categorical = list(self.categorical)
        self._results: dict[str, Any] = {}

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """The result of `compute`, which runs once; its ValueError is raised at every
        call.
        """
        if name not in self._results:
            try:
                self._results[name] = compute()
            except ValueError as error:
                self._results[name] = error
        result = self._results[name]
        if isinstance(result, ValueError):
            raise result
        return result

    @cached_property
    def _measured(self) -> exact.Measured | FactorInformation:
        if self.measured is not None:
            return self.measured
        generator = self.stream("information")
        if not self.has_density:
            return self.from_arrays(
                self.codes,
                self.factors,
                items=self.items,
                categorical=self.categorical,
                factor_names=self.factor_names,
                generator=generator,
                progress=self.tell,
            )
        # with torch, which takes seconds
        from infoscope.metrics.factor_information import exact

        factors = as_factors(self.factors, self.factor_names)
        return exact.measure(
            self.representation,
            factors.codes,
            self.draws,
            generator,
            factors.names,
            self.device,
            progress=lambda done, total: self.tell(done / total),
        )

    @property
    def information(self) -> FactorInformation:
        """Information of latents about factors, nats."""
        if isinstance(self._measured, FactorInformation):
            return self._measured
        return self._measured.factors

    @property
    def latents(self) -> exact.LatentInformation | None:
        """Information of a posterior about x; None without a density."""
        if isinstance(self._measured, FactorInformation):
            return None
        return self._measured.latents


def measure_scores(
    inputs: Inputs,
    specs: Iterable[ScoreSpec] | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> dict[str, Estimate]:
    """The scores of `inputs` by their keys.

    Parameters
    ----------
    specs
        The scores to compute; None: all of SCORES except the extra ones.
    progress
        Called with the share done, 1 at the end, and the title of the last score.

    Returns
    -------
    dict
        A score that cannot be computed is NaN, with a note. Scores of posterior
        densities are left out for an array.

    Raises
    ------
    ValueError
        Other shapes, values that are not finite, information that cannot be estimated.
    """
    if specs is None:
        specs = [spec for spec in SCORES.values() if not spec.extra]
    specs = list(specs)
    ends = np.cumsum([spec.cost for spec in specs])

    def tell(spec: ScoreSpec, end: float, share: float) -> None:
        if progress is not None:
            done = end - (1.0 - share) * spec.cost
            progress(float(done / ends[-1]), titled(spec, inputs))

    scores = {}
    for spec, end in zip(specs, ends):
        inputs.tell = partial(tell, spec, end)
        score = _score(spec, inputs)
        if score is not None:
            scores[spec.key] = score
        inputs.tell(1.0)
    return scores


def _score(spec: ScoreSpec, inputs: Inputs) -> Estimate | None:
    """One score, NaN where it cannot be computed; None if it needs posterior densities
    and the input is an array.
    """
    if inputs.numbers and not spec.numbers and spec.takes != "information":
        numbers = ", ".join(inputs.numbers)
        why = (
            f"It needs classes (integers), got numbers for {numbers}: bin them into "
            "classes."
        )
        return undefined(why, spec.unit, 0)
    if spec.takes in ("information", "latents"):
        inputs.information  # noqa: B018 (its errors end the report)
    if spec.takes == "latents" and inputs.latents is None:
        return None
    try:
        return spec.compute(inputs)
    except ValueError as error:
        return undefined(str(error), spec.unit, 0)


def streams_of(generator: np.random.Generator) -> Callable[[str], np.random.Generator]:
    """The function from the name of a stream to its random generator, which does not
    depend on the other streams in use.
    """
    generators = generator.spawn(len(STREAMS))
    streams: dict[str, np.random.Generator] = dict(zip(STREAMS, generators))
    seed = int(streams["others"].integers(2**63))

    def stream(name: str) -> np.random.Generator:
        if name not in streams:
            streams[name] = np.random.default_rng([seed, *name.encode()])
        return streams[name]

    return stream


def titled(spec: ScoreSpec, inputs: Inputs) -> str:
    """The title of a score for these inputs."""
    return spec.title.format(how="exact" if inputs.has_density else "estimated")
