"""Every disentanglement score by its key, computed by a function of `measuring.Inputs`,
or by a function of arrays with a random stream of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from typing import Any

from infoscope.checks import one_of
from infoscope.metrics.pid import TERMS

INPUTS = ("representation", "codes", "information", "latents")
# prefix of a bound's key -> argument `latent` of `FactorInformation.aggregated`, and
# its description
PLACES = {"": (None, "as published"), "shared/": ("alone", "at one latent")}
SAYS = {  # key -> what the score says, in a few words
    "unibound": "in one column and in no other: the main score",
    "shared/unique_low": "only there, at least",
    "shared/unique_high": "only there, at most",
    "shared/redundant_low": "again in others, at least",
    "shared/redundant_high": "again in others, at most",
    "shared/synergistic_low": "only in several together, at least",
    "shared/synergistic_high": "only in several together, at most",
    "mig": "best column less the second best",
    "dci_disentanglement": "a column serves one factor (n: halvings)",
    "dci_completeness": "a factor needs one column (n: halvings)",
    "dci_informativeness": "accuracy (or R2) of forests from all columns, not bits",
    "sap": "best column's accuracy (or R2) less the second best's",
    "sap_thresholds": "best column's accuracy less the second best's",
}


@dataclass(frozen=True)
class Votes:
    """group: items (or pairs of items) of a vote; training, test: numbers of votes."""

    group: int
    training: int
    test: int


@dataclass(frozen=True)
class Protocol:
    """The sizes and rules of a published code for both scores.

    beta, factor     votes of the BetaVAE score (groups of pairs) and of the FactorVAE score (of items)
    classifier       "adagrad": linear softmax, rate 1, 10 fresh votes a step; or "logistic", scikit-learn's
    scale_items      items for each latent's global variance in the FactorVAE score
    least_deviation  latents of smaller global standard deviation cannot vote; 0: only constant ones
    means            whether a posterior's means (most probable categories) are used instead of draws
    mark             suffix of its scores in `registry.SCORES`
    """

    name: str
    beta: Votes
    factor: Votes
    classifier: str
    scale_items: int
    least_deviation: float
    means: bool = False
    mark: str = ""


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        # Tokui & Sato 2021 and its code, on posterior draws: 3,000 steps of 10 votes.
        Protocol("uni-bound", Votes(200, 30_000, 800), Votes(100, 800, 800), "adagrad", 65_536, 0.0),
        # Locatello et al. 2019 and disentanglement_lib, on posterior means.
        Protocol(
            "disentanglement-lib", Votes(64, 10_000, 5_000), Votes(64, 10_000, 5_000), "logistic", 10_000, 0.05, True,
            "lib",
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class ScoreSpec:
    """One score.

    key, title  name of its metric in a run; in a report, where {how} is "exact" or "estimated" (arrays)
    function    (Inputs, *arguments) -> value; or MODULE.NAME in this folder, imported on demand
    stream      name of the random stream. The function takes the representation or codes and the factors, and runs once
                for all scores of this stream with its generator, `settings` and, if in
                its signature, items, categorical, progress and training (votes); "":
                the function takes Inputs
    part        attribute of the result that is the score; "": the result
    takes       "representation"; "codes", an array [N, L] of means; "information"; "latents", posterior densities
    label       title in the tables of sweeps; "": not in them
    numbers, extra  whether factors may be numbers; whether it is computed on request only
    cost        time relative to the FactorVAE score
    """

    key: str
    title: str
    function: str | Callable[..., Any]
    takes: str
    source: str
    unit: str
    arguments: tuple[Any, ...] = ()
    label: str = ""
    stream: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    part: str = ""
    protocol: str | None = None
    numbers: bool = False
    extra: bool = False
    cost: float = 0.1

    def __post_init__(self) -> None:
        one_of("takes", self.takes, INPUTS)

    def compute(self, inputs: Any) -> Any:
        """The value of the score; ValueError where it cannot be computed."""
        function = self.function
        if isinstance(function, str):
            module, _, name = function.rpartition(".")
            function = getattr(
                import_module(f"infoscope.metrics.disentanglement.{module}"), name
            )
        if not self.stream:
            return function(inputs, *self.arguments)
        settings = {
            "items": inputs.items,
            "categorical": inputs.categorical,
            "progress": inputs.tell,
            "training": inputs.votes.get(self.protocol),
        }
        accepted = signature(function).parameters
        settings = {name: value for name, value in settings.items() if name in accepted}
        settings |= self.settings
        codes = (
            inputs.representation if self.takes == "representation" else inputs.codes
        )

        def compute() -> Any:
            return function(
                codes, inputs.factors, **settings, generator=inputs.stream(self.stream)
            )

        score = inputs.once(self.stream, compute)
        return getattr(score, self.part) if self.part else score


def _votes() -> list[ScoreSpec]:
    return [
        ScoreSpec(
            f"{key}_{protocol.mark}".rstrip("_"), f"{title} ({protocol.name})", f"intervention_based.{key}_score",
            "representation", source, "share of test votes", stream=f"{key} {protocol.name}",
            settings={"preset": protocol.name}, label=f"{title} ({protocol.mark})" if protocol.mark else title,
            protocol=protocol.name, cost=1.0,
        )
        for protocol in PROTOCOLS.values()
        for key, title, source in (
            ("beta_vae", "BetaVAE", "Higgins et al. 2017"), ("factor_vae", "FactorVAE", "Kim & Mnih 2018")
        )
    ]  # fmt: skip


def _dci() -> list[ScoreSpec]:
    return [
        ScoreSpec(
            f"dci_{part}", f"DCI {part}", "predictor_based.dci", "codes", "Eastwood & Williams 2018", unit,
            stream="dci", part=part, label=label, numbers=True, cost=cost,
        )
        for part, label, unit, cost in (
            ("disentanglement", "DCI dis.", "share", 8.0), ("completeness", "DCI compl.", "share", 0.1),
            ("informativeness", "", "share of held-out items", 0.1),
        )
    ]  # fmt: skip


def _infomec() -> list[ScoreSpec]:
    return [
        *(
            ScoreSpec(
                key, f"{title} ({{how}})", "information_based.information_score", "information", "Hsu et al. 2023",
                "share", (part,), label=title,
            )
            for key, title, part in (("infom", "InfoM", "modularity"), ("infoc", "InfoC", "compactness"))
        ),
        ScoreSpec(
            "infoe", "InfoE (cross-fitted)", "held_out_explicitness.explicitness", "codes", "Hsu et al. 2023",
            "share of H(y)", label="InfoE", stream="infoe", numbers=True, cost=2.0,
        ),
    ]  # fmt: skip


def _bounds() -> list[ScoreSpec]:
    return [
        ScoreSpec(
            f"{prefix}{term}_{side}", f"{term}, {words} bound" if latent else f"{term} {words} ({where})",
            "information_based.bound", "information", "Tokui & Sato 2021, Eq. 7", "share of H(y)",
            (f"{term}_{side}", latent),
        )
        for prefix, (latent, where) in PLACES.items()
        for term in TERMS
        for side, words in (("low", "lower"), ("high", "upper"))
    ]  # fmt: skip


SCORES = {
    spec.key: spec
    for spec in (
        *_votes(),
        ScoreSpec(
            "mig_discretised", "MIG (discretised)", "information_based.mig", "codes", "Locatello et al. 2019",
            "share of H(y)", label="MIG (20 bins)", stream="bins",
        ),
        ScoreSpec(
            "sap", "SAP", "predictor_based.sap", "codes", "Kumar et al. 2018", "difference of accuracies", label="SAP",
            stream="sap", numbers=True,
        ),
        *_dci(),
        ScoreSpec(
            "mig", "MIG ({how})", "information_based.information_score", "information", "Chen et al. 2018",
            "share of H(y)", ("mig",), label="MIG", cost=8.0,
        ),
        ScoreSpec(
            "unibound", "UniBound", "information_based.information_score", "information", "Tokui & Sato 2021, Eq. 6",
            "share of H(y)", ("unibound",), label="UniBound",
        ),
        ScoreSpec(
            "informativeness", "I(y; z) / H(y)", "information_based.information_score", "information",
            "Tokui & Sato 2021", "share of H(y)", ("informativeness",),
        ),
        *_bounds(),
        ScoreSpec(
            "total_correlation", "total correlation", "information_based.latent_score", "latents", "Watanabe 1960",
            "nats", ("total_correlation",),
        ),
        ScoreSpec(
            "latent_information", "I(x; z)", "information_based.latent_score", "latents", "Hoffman & Johnson 2016",
            "nats", ("mutual_information",),
        ),
        *_infomec(),
        ScoreSpec(
            "sufficiency", "sufficiency ({how})", "information_based.information_score", "information",
            "Almudévar & Ortega 2024", "share of H(y)", ("sufficiency",), label="suff.",
        ),
        ScoreSpec(
            "sap_thresholds", "SAP (thresholds)", "predictor_based.sap", "codes", "Kumar et al. 2018, section 3",
            "difference of accuracies", stream="sap thresholds", settings={"kind": "thresholds"}, extra=True,
        ),
    )
}  # fmt: skip
