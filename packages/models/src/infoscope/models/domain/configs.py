"""Configurations of the domain models: one typed object each, with the published settings as defaults.

A configuration is logged with the model as plain JSON values, with the `version` of this file that wrote it. When a
field is added or a default changes, `VERSION` goes up by one and the configuration's `EARLIER` names, under the new
version, each such field (dotted for a nested one) and the value with which it behaves as before. A configuration of an
older run that lacks a field thus takes the default of the version that wrote it, not today's.

Schedules are in fractions of the planned training (0 to 1), so a shorter training keeps their shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Self

from infoscope.checks import one_of, require_int
from infoscope.errors import Conflict, InvalidInput, OutOfRange, WrongShape, WrongType
from infoscope.models.checks import require_ints
from infoscope.models.domain.blocks import BLOCK_NAMES, BlockSpec

VERSION = 2

NETWORKS = ("plain", "densenet121", "resnet18", "resnet50")
RECONSTRUCTIONS = ("squared", "categorical", "bernoulli")
L1_FORMS = ("batch-mean", "item-sum")
DECORRELATIONS = ("covariance", "correlation")


def positive(name: str, value: float) -> None:
    """ValueError unless value is a finite number above 0."""
    if not _is_number(value) or value == 0:
        raise OutOfRange(f"{name} must be a number above 0, got {value!r}.")


def _not_negative(name: str, value: float) -> None:
    """ValueError unless value is a finite number of at least 0."""
    if not _is_number(value):
        raise OutOfRange(f"{name} must be a number of at least 0, got {value!r}.")


def share(name: str, value: float) -> None:
    """ValueError unless value is a number in [0, 1]."""
    if not _is_number(value) or value > 1:
        raise OutOfRange(f"{name} must be a number from 0 to 1, got {value!r}.")


def widths(name: str, values: Any) -> tuple[int, ...]:
    """Hidden widths as a tuple of positive ints, () for none; ValueError for anything else."""
    return tuple(require_ints(name, values)) if not isinstance(values, (tuple, list)) or values else ()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


@dataclass(frozen=True)
class Network:
    """Encoder and decoder. kind: "plain" (for images, convolutions that halve the size until at most 7 x 7, `width`
    channels first, doubled at each up to four times as many; for flat features, a perceptron of `depth` hidden layers
    of `width`), or the features of torchvision's densenet121, resnet18 or resnet50, from first weights, for images of
    three channels; their decoder, where a model has one, is the plain one.
    """

    kind: str = "plain"
    width: int = 64
    depth: int = 2

    def __post_init__(self) -> None:
        one_of("network.kind", self.kind, NETWORKS)
        require_int("network.width", self.width)
        require_int("network.depth", self.depth)


@dataclass(frozen=True)
class Optimisation:
    """method: "adam" or "sgd"; momentum: Adam's first beta or SGD's momentum; second_momentum: Adam's second beta;
    batch: items of a step, or of each domain in a step when balanced (every step then has as many of each training
    domain, as in DomainBed)."""

    method: str = "adam"
    learning_rate: float = 1e-3
    momentum: float = 0.9
    second_momentum: float = 0.999
    weight_decay: float = 0.0
    batch: int = 64
    balanced: bool = False

    def __post_init__(self) -> None:
        one_of("optimisation.method", self.method, ("adam", "sgd"))
        positive("optimisation.learning_rate", self.learning_rate)
        for name in ("momentum", "second_momentum"):
            share(f"optimisation.{name}", getattr(self, name))
            if self.method == "adam" and getattr(self, name) == 1:
                raise OutOfRange(f"optimisation.{name} must be below 1 for Adam, got 1.")
        _not_negative("optimisation.weight_decay", self.weight_decay)
        require_int("optimisation.batch", self.batch, 2)


@dataclass(frozen=True)
class Adversary:
    """A classifier that reads what a block should not tell, and how the encoder is set against it.

    method: "reversal", one step for both through a gradient reversal (Ganin et al. 2016), or "alternating", steps of
    the adversary and of the rest in turn (DomainBed's DANN): `steps` of the adversary for one of the rest, with
    `gradient_penalty` times the squared norm of the gradient of its loss by its input. weight, of the adversarial term;
    it grows as 2 / (1 + exp(-gamma p)) - 1 over the training p in [0, 1], or is constant when gamma is None.
    learning_rate, weight_decay: of the adversary's own optimiser, where it has one (alternating); None for those of the
    rest.
    """

    hidden: tuple[int, ...] = (100, 100)
    method: str = "reversal"
    weight: float = 1.0
    gamma: float | None = 10.0
    steps: int = 1
    gradient_penalty: float = 0.0
    learning_rate: float | None = None
    weight_decay: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", widths("adversary.hidden", self.hidden))
        one_of("adversary.method", self.method, ("reversal", "alternating"))
        _not_negative("adversary.weight", self.weight)
        if self.gamma is not None:
            positive("adversary.gamma", self.gamma)
        require_int("adversary.steps", self.steps)
        _not_negative("adversary.gradient_penalty", self.gradient_penalty)
        for name, valid in (("learning_rate", positive), ("weight_decay", _not_negative)):
            value = getattr(self, name)
            if value is None:
                continue
            valid(f"adversary.{name}", value)
            if self.method == "reversal":
                raise Conflict(f"adversary.{name} must be None for a reversal, one step for both, got {value!r}.")


@dataclass(frozen=True, kw_only=True)
class DomainConfig:
    """The settings of every domain model: shape, of an item, (channels, height, width) or (features,); classes and
    domains, how many labels there are of each (two or more; a domain may be missing from the training)."""

    shape: tuple[int, ...]
    classes: int
    domains: int
    blocks: BlockSpec
    network: Network = Network()
    optimisation: Optimisation = Optimisation()
    version: int = VERSION

    EARLIER: ClassVar[dict[int, dict[str, Any]]] = {}

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(require_ints("shape", self.shape)))
        if len(self.shape) not in (1, 3):
            raise WrongShape(f"shape must be (channels, height, width) or (features,), got {self.shape}.")
        require_int("classes", self.classes, 2)
        require_int("domains", self.domains, 2)
        if self.network.kind != "plain" and (len(self.shape) == 1 or self.shape[0] != 3):
            raise WrongShape(f"shape must be of images of 3 channels for a {self.network.kind}, got {self.shape}.")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values from which `from_dict` makes an equal configuration."""
        return _plain(asdict(self))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The configuration of plain values, also of an older version (see this module), or of values that hold the
        nested objects themselves. Nested mappings may be partial, except that a block not named is absent.

        Raises ValueError for an unknown field and for a version newer than this code.
        """
        values = dict(values)
        written = require_int("version", values.pop("version", VERSION))
        if written > VERSION:
            raise OutOfRange(f"version must be at most {VERSION}, this code's, got {written}: it was written later.")
        for version in range(written + 1, VERSION + 1):
            for name, value in cls.EARLIER.get(version, {}).items():
                _set_missing(values, name.split("."), value)
        known = {entry.name: entry for entry in fields(cls)}
        for name, value in values.items():
            one_of("configuration field", name, known)
            if name == "blocks" and isinstance(value, Mapping):
                values[name] = BlockSpec.from_dict(value)
            elif is_dataclass(known[name].default) and isinstance(value, Mapping):
                values[name] = _partial(name, known[name].default, value)
        for entry in known.values():
            if entry.default is MISSING and entry.default_factory is MISSING and entry.name not in values:
                raise WrongType(f"{entry.name} must be given for a {cls.__name__}, which has no default for it.")
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class ERMConfig(DomainConfig):
    """Empirical risk minimisation. hidden: widths of the class head on z_y; () is a linear one."""

    blocks: BlockSpec = BlockSpec(32, None, None, None)
    hidden: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hidden", widths("hidden", self.hidden))
        _require(self.blocks, ("z_y",), exactly=True)


@dataclass(frozen=True, kw_only=True)
class BalancedERMConfig(ERMConfig):
    """Risk minimisation on as many items of each domain in every step."""

    optimisation: Optimisation = Optimisation(balanced=True)


@dataclass(frozen=True, kw_only=True)
class DomainInformedERMConfig(BalancedERMConfig):
    """Risk minimisation told of the domain (see `DomainInformedERM`): the class head, which must bend where domains
    differ in more than how frequent classes are, reads z_y and its mean over the domain."""

    hidden: tuple[int, ...] = (64, 64)


@dataclass(frozen=True, kw_only=True)
class PenaltyConfig(BalancedERMConfig):
    """Risk minimisation with a penalty on what differs between domains. weight, of the penalty from the fraction
    `switch` of the training on, when the optimiser starts afresh; weight_before until then."""

    weight: float = 1.0
    weight_before: float = 0.0
    switch: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _not_negative("weight", self.weight)
        _not_negative("weight_before", self.weight_before)
        share("switch", self.switch)


@dataclass(frozen=True, kw_only=True)
class IRMConfig(PenaltyConfig):
    """Invariant risk minimisation (Arjovsky et al. 2019, IRMv1), DomainBed's settings.

    penalty: "unbiased", the product of the gradients of two halves of a domain's batch, or "squared", the squared
    gradient of the whole.
    """

    penalty: str = "unbiased"
    weight: float = 100.0
    weight_before: float = 1.0
    switch: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("penalty", self.penalty, ("unbiased", "squared"))


@dataclass(frozen=True, kw_only=True)
class CORALConfig(PenaltyConfig):
    """Correlation alignment (Sun & Saenko 2016), DomainBed's settings. means: whether the domains' means are to agree
    as well (DomainBed), or their covariances alone (the paper)."""

    means: bool = True


@dataclass(frozen=True, kw_only=True)
class FishrConfig(PenaltyConfig):
    """Invariant gradient variances (Rame et al. 2022), the settings of the official code: 1,500 of its 5,000 steps are
    without the penalty. ema: the share that earlier steps keep in the moving average of the variances; hidden must be
    (), a linear class head."""

    weight: float = 1000.0
    switch: float = 0.3
    ema: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        share("ema", self.ema)
        if self.ema == 1:
            raise OutOfRange("ema must be below 1, got 1: nothing of a step would be in the average.")
        if self.hidden:
            raise InvalidInput(f"hidden must be () for Fishr, whose gradients are a linear head's, got {self.hidden}.")


@dataclass(frozen=True, kw_only=True)
class DANNConfig(ERMConfig):
    """Domain-adversarial training (Ganin et al. 2016): the adversary reads the domain off z_y."""

    hidden: tuple[int, ...] = (64, 64)
    adversary: Adversary = Adversary()


@dataclass(frozen=True, kw_only=True)
class AugmentedDANNConfig(DomainConfig):
    """Adversarial training of z_y, z_d and z_dy. hidden: widths of both heads. alpha_y, alpha_d: weights of their cross
    entropies. conditional: the adversaries are also told the other label, so that they are set against I(z_y; D | Y)
    and I(z_d; Y | D) instead of I(z_y; D) and I(z_d; Y). l1: weight by block of the mean absolute value, growing as the
    adversaries' weight does. decorrelation: weight of what is linear between the blocks in a batch, in the form
    decorrelation_form: "covariance", the reference's, between z_dy and each other block (see `covariance_norms`), or
    "correlation", between all blocks and without regard to their scale (see `mean_squared_correlation`).
    """

    blocks: BlockSpec = BlockSpec(12, None, 12, 12)
    hidden: tuple[int, ...] = (32, 32)
    adversary: Adversary = Adversary(hidden=(64, 32), weight=0.15)
    conditional: bool = True
    alpha_y: float = 1.0
    alpha_d: float = 1.0
    l1: Mapping[str, float] = field(default_factory=lambda: {"z_y": 0.5, "z_dy": 1.5, "z_d": 1.0})
    decorrelation: float = 0.0
    decorrelation_form: str = "covariance"

    EARLIER: ClassVar[dict[int, dict[str, Any]]] = {2: {"decorrelation_form": "correlation"}}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hidden", widths("hidden", self.hidden))
        _require(self.blocks, ("z_y", "z_d"))
        if self.blocks.z_x is not None:
            raise InvalidInput(f"blocks must have no z_x for a model that does not reconstruct, got {self.blocks.z_x}.")
        if self.adversary.method != "reversal":
            raise InvalidInput(f"adversary.method must be reversal for two adversaries, got {self.adversary.method!r}.")
        _not_negative("alpha_y", self.alpha_y)
        _not_negative("alpha_d", self.alpha_d)
        _not_negative("decorrelation", self.decorrelation)
        one_of("decorrelation_form", self.decorrelation_form, DECORRELATIONS)
        if self.decorrelation and self.decorrelation_form == "covariance" and self.blocks.z_dy is None:
            raise InvalidInput(
                "decorrelation_form must be correlation without a z_dy, got covariance, which is of z_dy."
            )
        object.__setattr__(self, "l1", _by_block("l1", self.l1, self.blocks))


@dataclass(frozen=True, kw_only=True)
class VariationalConfig(DomainConfig):
    """reconstruction: "squared" error (of a Normal of variance 1/2, without its constant), "categorical" (256 levels of
    each value in [0, 1]), or "bernoulli" (values in [0, 1]). alpha_y, alpha_d: weights of the auxiliary cross
    entropies; hidden: widths of their heads. beta: weight of the KL of a block, 1 where not named, growing linearly
    from 0 over the fraction beta_warmup of the training. l1: weight of the absolute values of a block, 0 where not
    named, in the form l1_form: "batch-mean", their mean over items and dimensions, once in the sum of a batch's losses,
    so that an item has 1 / batch of it; or "item-sum", their sum over dimensions, for every item: batch x dimensions
    times as much. A weight belongs to its form. Of beta and l1, what is said of a block that is absent is dropped."""

    reconstruction: str
    alpha_y: float
    alpha_d: float
    hidden: tuple[int, ...]
    beta: Mapping[str, float] = field(default_factory=dict)
    beta_warmup: float = 0.0
    l1: Mapping[str, float] = field(default_factory=dict)
    l1_form: str = "batch-mean"

    EARLIER: ClassVar[dict[int, dict[str, Any]]] = {2: {"l1_form": "item-sum"}}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hidden", widths("hidden", self.hidden))
        one_of("reconstruction", self.reconstruction, RECONSTRUCTIONS)
        _not_negative("alpha_y", self.alpha_y)
        _not_negative("alpha_d", self.alpha_d)
        share("beta_warmup", self.beta_warmup)
        object.__setattr__(self, "beta", _by_block("beta", self.beta, self.blocks))
        object.__setattr__(self, "l1", _by_block("l1", self.l1, self.blocks))
        one_of("l1_form", self.l1_form, L1_FORMS)


@dataclass(frozen=True, kw_only=True)
class NVAEConfig(VariationalConfig):
    """One encoder for z_y, z_x, z_dy and z_d; the settings for coloured, rotated MNIST."""

    blocks: BlockSpec = BlockSpec()
    reconstruction: str = "squared"
    alpha_y: float = 150.0
    alpha_d: float = 150.0
    hidden: tuple[int, ...] = (64, 64)
    l1: Mapping[str, float] = field(default_factory=lambda: {"z_dy": 5.0})

    def __post_init__(self) -> None:
        super().__post_init__()
        for label, names in (("classes", ("z_y", "z_dy")), ("domains", ("z_d", "z_dy"))):
            if not self.blocks.width(names):
                raise InvalidInput(
                    f"blocks must have {' or '.join(names)}, off which the {label} are read, got neither."
                )


@dataclass(frozen=True, kw_only=True)
class DIVAConfig(VariationalConfig):
    """Three encoders (Ilse et al. 2020); the settings of the official code for rotated MNIST."""

    blocks: BlockSpec = BlockSpec(64, 64, None, 64)
    reconstruction: str = "categorical"
    alpha_y: float = 3500.0
    alpha_d: float = 2000.0
    hidden: tuple[int, ...] = ()
    beta_warmup: float = 0.2
    optimisation: Optimisation = Optimisation(batch=100)

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(self.blocks, ("z_y", "z_d"))
        if self.blocks.z_dy is not None:
            raise InvalidInput(
                f"blocks must have no z_dy for DIVA, got {self.blocks.z_dy}; BlockSpec.without drops it."
            )


def _require(blocks: BlockSpec, names: tuple[str, ...], exactly: bool = False) -> None:
    if not set(names) <= set(blocks.names) or (exactly and set(names) != set(blocks.names)):
        raise InvalidInput(f"blocks must {'be' if exactly else 'have'} {' and '.join(names)}, got {blocks.names}.")


def _by_block(name: str, weights: Mapping[str, float], blocks: BlockSpec) -> dict[str, float]:
    """The weights of the blocks that exist: a default may name one that this model is without."""
    for block, weight in weights.items():
        one_of(f"block of {name}", block, BLOCK_NAMES)
        _not_negative(f"{name} of {block}", weight)
    return {block: weight for block, weight in weights.items() if block in blocks.names}


def _partial(name: str, default: Any, values: Mapping[str, Any]) -> Any:
    for key in values:
        one_of(f"field of {name}", key, [entry.name for entry in fields(default)])
    return replace(default, **values)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, (tuple, list)) else value


def _set_missing(values: dict[str, Any], path: list[str], value: Any) -> None:
    """Sets a dotted field of nested plain values unless it is there."""
    for name in path[:-1]:
        values[name] = dict(values.get(name, {}))
        values = values[name]
    values.setdefault(path[-1], value)
