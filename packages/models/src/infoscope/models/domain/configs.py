"""Configurations of the domain models; defaults are the published settings. Schedules
are in fractions of the training.

A configuration is logged with `VERSION`. When a field is added or a default changes,
raise `VERSION` and add to the configuration's `EARLIER`, under the new version, each
such field (dotted if nested) with its earlier value: runs of older versions then keep
the defaults of their version.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Annotated, Any, ClassVar, Self, get_type_hints

from infoscope.checks import one_of, require_int, require_ints, require_number
from infoscope.errors import (
    Conflict,
    InvalidInput,
    OutOfRange,
    TooFew,
    WrongShape,
    WrongType,
)

VERSION = 2

BLOCK_NAMES = ("z_y", "z_x", "z_dy", "z_d")


def widths(name: str, values: Any) -> tuple[int, ...]:
    """Hidden widths as a tuple of positive ints, () for none; ValueError for anything
    else.
    """
    if isinstance(values, (tuple, list)) and not values:
        return ()
    return tuple(require_ints(name, values))


def _checked(
    check: Callable[..., Any], *arguments: Any, optional: bool = False, **limits: Any
) -> Callable[..., Any]:
    """A validator that returns the value unchanged; optional: the value may be None."""

    def validator(name: str, value: Any) -> Any:
        if value is not None or not optional:
            check(name, value, *arguments, **limits)
        return value

    return validator


Whole = Annotated[int, _checked(require_int)]
Several = Annotated[int, _checked(require_int, 2)]
Weight = Annotated[float, _checked(require_number)]
Share = Annotated[float, _checked(require_number, most=1)]
Rate = Annotated[float, _checked(require_number, ends=False)]
OptionalRate = Annotated[
    float | None, _checked(require_number, ends=False, optional=True)
]
OptionalWeight = Annotated[float | None, _checked(require_number, optional=True)]
Widths = Annotated[tuple[int, ...], widths]
Reconstruction = Annotated[
    str, _checked(one_of, ("squared", "categorical", "bernoulli"))
]


class Settings:
    """A dataclass whose fields are checked by the validators of their types. PREFIX: of
    names in errors.
    """

    PREFIX: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self), include_extras=True).items():
            for validator in getattr(kind, "__metadata__", ()):
                value = validator(self.PREFIX + name, getattr(self, name))
                object.__setattr__(self, name, value)


@dataclass(frozen=True)
class BlockSpec:
    """Dimensions of the latent blocks, in the order z_y, z_x, z_dy, z_d; None or 0: the
    block is absent.

    Parameters
    ----------
    z_y, z_x, z_dy, z_d
        Dimensions of the blocks for the class, for neither label, for both, and for the
        domain.

    Raises
    ------
    ValueError
        For other dimensions and for no block.

    Examples
    --------
    >>> BlockSpec(2, None, 3, 2).slices
    {'z_y': slice(0, 2, None), 'z_dy': slice(2, 5, None), 'z_d': slice(5, 7, None)}
    """

    z_y: int | None = 8
    z_x: int | None = 8
    z_dy: int | None = 8
    z_d: int | None = 8

    def __post_init__(self) -> None:
        for name in BLOCK_NAMES:
            dim = getattr(self, name)
            if dim is not None:
                dim = None if dim == 0 else require_int(name, dim)
            object.__setattr__(self, name, dim)
        if not self.names:
            raise TooFew(
                "blocks must have at least one block of one dimension or more, got "
                "none."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The present blocks, in order."""
        return tuple(name for name in BLOCK_NAMES if getattr(self, name) is not None)

    @property
    def dim(self) -> int:
        """Dimensions of all blocks together."""
        return self.width(BLOCK_NAMES)

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of each present block."""
        slices = {}
        start = 0
        for name in self.names:
            stop = start + getattr(self, name)
            slices[name] = slice(start, stop)
            start = stop
        return slices

    def width(self, names: tuple[str, ...]) -> int:
        """Dimensions of the named blocks together; 0 for absent ones."""
        return sum(getattr(self, name) or 0 for name in names)

    @classmethod
    def from_dict(cls, values: Mapping[str, int | None]) -> BlockSpec:
        """The blocks of a mapping; missing names are absent blocks. ValueError for an
        unknown name.
        """
        for name in values:
            one_of("block", name, BLOCK_NAMES)
        dims = {name: values.get(name) for name in BLOCK_NAMES}
        return cls(**dims)


@dataclass(frozen=True)
class Network(Settings):
    """Settings of encoder and decoder.

    Parameters
    ----------
    kind
        "plain" (images: convolutions that halve the size to at most 7 x 7, `width`
        channels, doubled each time up to fourfold; features: a perceptron of `depth`
        hidden layers of `width`), or torchvision's densenet121, resnet18 or resnet50,
        untrained, for images of three channels, with the plain decoder.
    width
        Channels of the first convolution, or units of each hidden layer.
    depth
        Number of hidden layers for items that are features.
    """

    PREFIX = "network."
    kind: Annotated[
        str, _checked(one_of, ("plain", "densenet121", "resnet18", "resnet50"))
    ] = "plain"
    width: Whole = 64
    depth: Whole = 2


@dataclass(frozen=True)
class Optimisation(Settings):
    """Settings of an optimiser.

    Parameters
    ----------
    method
        "adam" or "sgd".
    learning_rate, weight_decay
        As in torch.
    momentum
        Adam's first beta or SGD's momentum.
    second_momentum
        Adam's second beta.
    batch
        Items of a step; with `balanced`, items of each training domain in a step (as in
        DomainBed).
    balanced
        Whether each step has equally many items of each training domain.
    """

    PREFIX = "optimisation."
    method: Annotated[str, _checked(one_of, ("adam", "sgd"))] = "adam"
    learning_rate: Rate = 1e-3
    momentum: Share = 0.9
    second_momentum: Share = 0.999
    weight_decay: Weight = 0.0
    batch: Several = 64
    balanced: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method != "adam":
            return
        for name in ("momentum", "second_momentum"):
            if getattr(self, name) == 1:
                raise OutOfRange(
                    f"optimisation.{name} must be below 1 for Adam, got 1."
                )


@dataclass(frozen=True)
class Adversary(Settings):
    """Settings of an adversarial classifier of a block.

    Parameters
    ----------
    hidden
        Widths of its hidden layers.
    method
        "reversal" (Ganin et al. 2016), or "alternating" (DomainBed's DANN): `steps` of
        the adversary for each step of the other parts, with `gradient_penalty` times
        the squared gradient norm of its loss by its input.
    weight, gamma
        The weight is multiplied by 2 / (1 + exp(-gamma p)) - 1, p in [0, 1] the
        progress; constant if gamma is None.
    learning_rate, weight_decay
        For the adversary's optimiser ("alternating"); None: as for the other parts.
    """

    PREFIX = "adversary."
    hidden: Widths = (100, 100)
    method: Annotated[str, _checked(one_of, ("reversal", "alternating"))] = "reversal"
    weight: Weight = 1.0
    gamma: OptionalRate = 10.0
    steps: Whole = 1
    gradient_penalty: Weight = 0.0
    learning_rate: OptionalRate = None
    weight_decay: OptionalWeight = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method != "reversal":
            return
        for name in ("learning_rate", "weight_decay"):
            value = getattr(self, name)
            if value is not None:
                raise Conflict(
                    f"adversary.{name} must be None for a reversal, which has one "
                    f"optimiser, got {value!r}."
                )

    def ramp(self, progress: float) -> float:
        """The factor on the weight at this share of the training."""
        if self.gamma is None:
            return 1.0
        return 2.0 / (1.0 + math.exp(-self.gamma * progress)) - 1.0


@dataclass(frozen=True, kw_only=True)
class DomainConfig(Settings):
    """The common settings of domain models. shape: of an item, (channels, height,
    width) or (features,). classes, domains: their numbers (two or more; a domain may be
    missing from the training).
    """

    shape: Annotated[tuple[int, ...], widths]
    classes: Several
    domains: Several
    blocks: BlockSpec
    network: Network = Network()
    optimisation: Optimisation = Optimisation()
    version: int = VERSION

    EARLIER: ClassVar[dict[int, dict[str, Any]]] = {}

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.shape) not in (1, 3):
            raise WrongShape(
                "shape must be (channels, height, width) or (features,), got "
                f"{self.shape}."
            )
        kind = self.network.kind
        colour = len(self.shape) == 3 and self.shape[0] == 3
        if kind != "plain" and not colour:
            raise WrongShape(
                f"shape must be of images of 3 channels for a {kind}, got {self.shape}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; `from_dict` restores an equal configuration."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The configuration of plain values, also of an older version, or with nested
        objects; unnamed blocks are absent.

        ValueError for an unknown field and for a version newer than this code.
        """
        values = dict(values)
        written = require_int("version", values.pop("version", VERSION))
        if written > VERSION:
            raise OutOfRange(
                f"version must be at most {VERSION}, the version of this code, got "
                f"{written}."
            )
        for version in range(written + 1, VERSION + 1):
            for name, value in cls.EARLIER.get(version, {}).items():
                _set_missing(values, name.split("."), value)
        entries = {entry.name: entry for entry in fields(cls)}
        for name, value in values.items():
            one_of("configuration field", name, entries)
            if isinstance(value, Mapping):
                values[name] = _nested(name, value, entries[name].default)
        for name, entry in entries.items():
            required = entry.default is MISSING and entry.default_factory is MISSING
            if required and name not in values:
                raise WrongType(
                    f"{name} must be given for a {cls.__name__}, as it has no default."
                )
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class ERMConfig(DomainConfig):
    """Empirical risk minimisation. hidden: widths of the class head on z_y; () for a
    linear head.
    """

    blocks: BlockSpec = BlockSpec(32, None, None, None)
    hidden: Widths = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(self.blocks, ("z_y",), exactly=True)


@dataclass(frozen=True, kw_only=True)
class IRMConfig(ERMConfig):
    """Invariant risk minimisation (Arjovsky et al. 2019, IRMv1), DomainBed's settings;
    penalty as in `invariance_penalty`. weight: of the penalty from the fraction
    `switch` of the training on, when the optimiser is reset; weight_before: until then.
    """

    optimisation: Optimisation = Optimisation(balanced=True)
    weight: Weight = 100.0
    weight_before: Weight = 1.0
    switch: Share = 0.1
    penalty: Annotated[str, _checked(one_of, ("unbiased", "squared"))] = "unbiased"


@dataclass(frozen=True, kw_only=True)
class DANNConfig(ERMConfig):
    """Domain-adversarial training (Ganin et al. 2016): the adversary predicts the
    domain from z_y.
    """

    hidden: Widths = (64, 64)
    adversary: Adversary = Adversary()


@dataclass(frozen=True, kw_only=True)
class AugmentedDANNConfig(DomainConfig):
    """Adversarial training of z_y, z_d and z_dy. alpha_y, alpha_d: weights of the
    heads' cross entropies. conditional: the adversaries also take the other label, so
    that they oppose I(z_y; D | Y) and I(z_d; Y | D). l1: weight by block of the mean
    absolute value, growing as the adversaries' weight. decorrelation: weight of
    decorrelation_form, "covariance" (`covariance_norms`, the reference's) or
    "correlation" (`mean_squared_correlation`).
    """

    blocks: BlockSpec = BlockSpec(12, None, 12, 12)
    hidden: Widths = (32, 32)
    adversary: Adversary = Adversary(hidden=(64, 32), weight=0.15)
    conditional: bool = True
    alpha_y: Weight = 1.0
    alpha_d: Weight = 1.0
    l1: Mapping[str, float] = field(
        default_factory=lambda: {"z_y": 0.5, "z_dy": 1.5, "z_d": 1.0}
    )
    decorrelation: Weight = 0.0
    decorrelation_form: Annotated[
        str, _checked(one_of, ("covariance", "correlation"))
    ] = "covariance"

    EARLIER: ClassVar[dict[int, dict[str, Any]]] = {
        2: {"decorrelation_form": "correlation"}
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(self.blocks, ("z_y", "z_d"))
        if self.blocks.z_x is not None:
            raise InvalidInput(
                "blocks must have no z_x for a model that does not reconstruct, got "
                f"{self.blocks.z_x}."
            )
        if self.adversary.method != "reversal":
            raise InvalidInput(
                "adversary.method must be reversal for two adversaries, got "
                f"{self.adversary.method!r}."
            )
        if (
            self.decorrelation
            and self.decorrelation_form == "covariance"
            and self.blocks.z_dy is None
        ):
            raise InvalidInput(
                "decorrelation_form must be correlation without z_dy, got covariance, "
                "which needs z_dy."
            )
        object.__setattr__(self, "l1", _by_block("l1", self.l1, self.blocks))


@dataclass(frozen=True, kw_only=True)
class VariationalConfig(DomainConfig):
    """reconstruction: "squared" error (of a Normal of variance 1/2), "categorical" (256
    levels in [0, 1]), or "bernoulli". alpha_y, alpha_d: weights of the auxiliary cross
    entropies; hidden: widths of their heads. beta: weight of the KL by block (default
    1), growing linearly over the fraction beta_warmup of the training. l1: weight of
    absolute values by block (default 0), in the form l1_form of `absolute_values`.
    Values of absent blocks are dropped.
    """

    reconstruction: Reconstruction
    alpha_y: Weight
    alpha_d: Weight
    hidden: Widths
    beta: Mapping[str, float] = field(default_factory=dict)
    beta_warmup: Share = 0.0
    l1: Mapping[str, float] = field(default_factory=dict)
    l1_form: Annotated[str, _checked(one_of, ("batch-mean", "item-sum"))] = "batch-mean"

    EARLIER: ClassVar[dict[int, dict[str, Any]]] = {2: {"l1_form": "item-sum"}}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "beta", _by_block("beta", self.beta, self.blocks))
        object.__setattr__(self, "l1", _by_block("l1", self.l1, self.blocks))


@dataclass(frozen=True, kw_only=True)
class NVAEConfig(VariationalConfig):
    """One encoder for z_y, z_x, z_dy and z_d; the settings for coloured, rotated MNIST."""

    blocks: BlockSpec = BlockSpec()
    reconstruction: Reconstruction = "squared"
    alpha_y: Weight = 150.0
    alpha_d: Weight = 150.0
    hidden: Widths = (64, 64)
    l1: Mapping[str, float] = field(default_factory=lambda: {"z_dy": 5.0})

    def __post_init__(self) -> None:
        super().__post_init__()
        for labels, block in (("classes", "z_y"), ("domains", "z_d")):
            if not self.blocks.width((block, "z_dy")):
                raise InvalidInput(
                    f"blocks must have {block} or z_dy, from which the {labels} are "
                    "predicted, got neither."
                )


@dataclass(frozen=True, kw_only=True)
class DIVAConfig(VariationalConfig):
    """Three encoders (Ilse et al. 2020); the settings of the official code for rotated
    MNIST.
    """

    blocks: BlockSpec = BlockSpec(64, 64, None, 64)
    reconstruction: Reconstruction = "categorical"
    alpha_y: Weight = 3500.0
    alpha_d: Weight = 2000.0
    hidden: Widths = ()
    beta_warmup: Share = 0.2
    optimisation: Optimisation = Optimisation(batch=100)

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(self.blocks, ("z_y", "z_d"))
        if self.blocks.z_dy is not None:
            raise InvalidInput(
                f"blocks must have no z_dy for DIVA, got {self.blocks.z_dy}."
            )


def _require(blocks: BlockSpec, names: tuple[str, ...], exactly: bool = False) -> None:
    required = set(names)
    present = set(blocks.names)
    if exactly and present != required:
        raise InvalidInput(f"blocks must be {' and '.join(names)}, got {blocks.names}.")
    if not required <= present:
        raise InvalidInput(
            f"blocks must have {' and '.join(names)}, got {blocks.names}."
        )


def _by_block(
    name: str, weights: Mapping[str, float], blocks: BlockSpec
) -> dict[str, float]:
    """The weights of the present blocks; defaults may have others."""
    for block, weight in weights.items():
        one_of(f"block of {name}", block, BLOCK_NAMES)
        require_number(f"{name} of {block}", weight)
    return {block: weight for block, weight in weights.items() if block in blocks.names}


def _nested(name: str, values: Mapping[str, Any], default: Any) -> Any:
    """The value of a field from a mapping: blocks, a group of settings with defaults,
    or the mapping itself.
    """
    if name == "blocks":
        return BlockSpec.from_dict(values)
    if not is_dataclass(default):
        return values
    names = [entry.name for entry in fields(default)]
    for key in values:
        one_of(f"field of {name}", key, names)
    assert not isinstance(default, type)
    return replace(default, **values)


def _set_missing(values: dict[str, Any], path: list[str], value: Any) -> None:
    """Sets a dotted field of nested plain values if it is missing."""
    for name in path[:-1]:
        values[name] = dict(values.get(name, {}))
        values = values[name]
    values.setdefault(path[-1], value)
