"""Configurations of the domain models, with the published settings as defaults. Schedules are in fractions of the
training.

A configuration is logged with the `VERSION` of this file. When a field is added or a default changes, raise `VERSION`
and name in the configuration's `EARLIER`, under the new version, each such field (dotted if nested) with its earlier
value: configurations of older runs then take the defaults of their version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Self

from infoscope.checks import one_of, require_int, require_ints, require_number
from infoscope.errors import Conflict, InvalidInput, OutOfRange, WrongShape, WrongType
from infoscope.models.domain.blocks import BLOCK_NAMES, BlockSpec

VERSION = 2

NETWORKS = ("plain", "densenet121", "resnet18", "resnet50")
RECONSTRUCTIONS = ("squared", "categorical", "bernoulli")
L1_FORMS = ("batch-mean", "item-sum")
DECORRELATIONS = ("covariance", "correlation")


def widths(name: str, values: Any) -> tuple[int, ...]:
    """Hidden widths as a tuple of positive ints, () for none; ValueError for anything else."""
    return tuple(require_ints(name, values)) if not isinstance(values, (tuple, list)) or values else ()


@dataclass(frozen=True)
class Network:
    """Encoder and decoder. kind: "plain" (images: convolutions that halve the size to at most 7 x 7, `width` channels,
    doubled each time up to fourfold; features: a perceptron of `depth` hidden layers of `width`), or torchvision's
    densenet121, resnet18 or resnet50, untrained, for images of three channels, with the plain decoder.
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
        require_number("optimisation.learning_rate", self.learning_rate, ends=False)
        for name in ("momentum", "second_momentum"):
            require_number(f"optimisation.{name}", getattr(self, name), most=1)
            if self.method == "adam" and getattr(self, name) == 1:
                raise OutOfRange(f"optimisation.{name} must be below 1 for Adam, got 1.")
        require_number("optimisation.weight_decay", self.weight_decay)
        require_int("optimisation.batch", self.batch, 2)


@dataclass(frozen=True)
class Adversary:
    """A classifier against which the encoder hides something in a block.

    method         "reversal" (Ganin et al. 2016), or "alternating" (DomainBed's DANN): `steps` of the adversary for one
                   of the rest, with `gradient_penalty` times the squared norm of its loss's gradient by its input
    weight         grows as 2 / (1 + exp(-gamma p)) - 1 over the training p in [0, 1]; constant when gamma is None
    learning_rate  of the adversary's own optimiser (alternating), as weight_decay; None: those of the rest
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
        require_number("adversary.weight", self.weight)
        if self.gamma is not None:
            require_number("adversary.gamma", self.gamma, ends=False)
        require_int("adversary.steps", self.steps)
        require_number("adversary.gradient_penalty", self.gradient_penalty)
        for name in ("learning_rate", "weight_decay"):
            value = getattr(self, name)
            if value is None:
                continue
            require_number(f"adversary.{name}", value, ends=name == "weight_decay")
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
        """The configuration of plain values, also of an older version, or with nested objects; a block not named is
        absent.

        ValueError for an unknown field and for a version newer than this code.
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
    """Settings of `DomainInformedERM`: the class head takes z_y and its mean over the domain."""

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
        require_number("weight", self.weight)
        require_number("weight_before", self.weight_before)
        require_number("switch", self.switch, most=1)


@dataclass(frozen=True, kw_only=True)
class IRMConfig(PenaltyConfig):
    """Invariant risk minimisation (Arjovsky et al. 2019, IRMv1), DomainBed's settings; penalty as in
    `invariance_penalty`.
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
        require_number("ema", self.ema, most=1)
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
    """Adversarial training of z_y, z_d and z_dy. alpha_y, alpha_d: weights of the heads' cross entropies. conditional:
    the adversaries also take the other label, so that they oppose I(z_y; D | Y) and I(z_d; Y | D). l1: weight by block
    of the mean absolute value, growing as the adversaries' weight. decorrelation: weight of decorrelation_form,
    "covariance" (`covariance_norms`, the reference's) or "correlation" (`mean_squared_correlation`).
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
        require_number("alpha_y", self.alpha_y)
        require_number("alpha_d", self.alpha_d)
        require_number("decorrelation", self.decorrelation)
        one_of("decorrelation_form", self.decorrelation_form, DECORRELATIONS)
        if self.decorrelation and self.decorrelation_form == "covariance" and self.blocks.z_dy is None:
            raise InvalidInput(
                "decorrelation_form must be correlation without a z_dy, got covariance, which is of z_dy."
            )
        object.__setattr__(self, "l1", _by_block("l1", self.l1, self.blocks))


@dataclass(frozen=True, kw_only=True)
class VariationalConfig(DomainConfig):
    """reconstruction: "squared" error (of a Normal of variance 1/2), "categorical" (256 levels in [0, 1]), or
    "bernoulli". alpha_y, alpha_d: weights of the auxiliary cross entropies; hidden: widths of their heads. beta: weight
    of the KL by block (default 1), growing linearly over the fraction beta_warmup of the training. l1: weight of
    absolute values by block (default 0), in the form l1_form of `absolute_values`. Values of absent blocks are dropped.
    """

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
        require_number("alpha_y", self.alpha_y)
        require_number("alpha_d", self.alpha_d)
        require_number("beta_warmup", self.beta_warmup, most=1)
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
        require_number(f"{name} of {block}", weight)
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
