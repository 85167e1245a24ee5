"""Computes the scores of one representation from common inputs, for reports and sweeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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


@dataclass(eq=False, kw_only=True)
class Inputs:
    """The inputs of scores.

    representation, factors  a posterior or an array [N, L]; [N, K], as `inputs.as_factors` takes them
    stream          purpose -> its random generator
    draws, items    for a posterior's exact information; number of random items for scores of arrays (None: all)
    votes           protocol -> training votes of the BetaVAE score
    categorical     indices of an array's latents that are categories
    measured        the information, if known
    tell            called with the share of the current score that is done
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
        self._known: dict[str, Any] = {}

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """The result of `compute`, which runs once; its ValueError is raised at every
        call.
        """
        if name not in self._known:
            try:
                self._known[name] = compute()
            except ValueError as error:
                self._known[name] = error
        if isinstance(self._known[name], ValueError):
            raise self._known[name]
        return self._known[name]

    @cached_property
    def _measured(self) -> exact.Measured | FactorInformation:
        if self.measured is not None:
            return self.measured
        generator = self.stream("information")
        if not self.has_density:
            return self.from_arrays(
                self.codes, self.factors, items=self.items, categorical=self.categorical,
                factor_names=self.factor_names, generator=generator, progress=self.tell,
            )  # fmt: skip
        # with torch, which takes seconds
        from infoscope.metrics.factor_information import exact

        factors = as_factors(self.factors, self.factor_names)
        return exact.measure(
            self.representation, factors.codes, self.draws, generator, factors.names, device=self.device,
            progress=lambda done, total: self.tell(done / total),
        )  # fmt: skip

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
    """The scores of `inputs` by their keys; specs None: all of SCORES except the extra
    ones.

    progress: called with the share done and the last title. A score that cannot be
    computed is NaN, with a note. ValueError: other shapes, values that are not finite,
    information that cannot be estimated.
    """
    if specs is None:
        specs = [spec for spec in SCORES.values() if not spec.extra]
    specs = list(specs)
    total = sum(spec.cost for spec in specs)
    done = 0.0
    scores = {}
    for spec in specs:
        title = titled(spec, inputs)

        def tell(
            share: float, done: float = done, spec: ScoreSpec = spec, title: str = title
        ) -> None:
            if progress is not None:
                progress(min(1.0, (done + share * spec.cost) / total), title)

        inputs.tell = tell
        if inputs.numbers and not spec.numbers and spec.takes != "information":
            why = f"It needs classes (integers), got numbers for {', '.join(inputs.numbers)}: bin them into classes."
            scores[spec.key] = undefined(why, spec.unit, 0)
            continue
        if spec.takes in ("information", "latents"):
            inputs.information  # noqa: B018 (raises its errors, without which no score is computed)
        if spec.takes != "latents" or inputs.latents is not None:
            try:
                scores[spec.key] = spec.compute(inputs)
            except ValueError as error:
                scores[spec.key] = undefined(str(error), spec.unit, 0)
        tell(1.0)
        done += spec.cost
    return scores


def streams_of(generator: np.random.Generator) -> Callable[[str], np.random.Generator]:
    """The random streams of a report, one for each purpose in the order of SCORES. The
    last two stay unused, so that what comes after them has the draws that it always
    had.
    """
    streams = generator.spawn(11)
    order = [*reversed(streams[:8]), streams[8]]
    return lambda purpose: order.pop(0) if order else generator.spawn(1)[0]


def titled(spec: ScoreSpec, inputs: Inputs) -> str:
    """The title of a score for these inputs."""
    return spec.title.format(how="exact" if inputs.has_density else "estimated")
