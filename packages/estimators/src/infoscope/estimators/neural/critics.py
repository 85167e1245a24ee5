"""Critics f(x, y), log density ratios of pairs, in the four kinds and sizes of the
benchmark (section 2).

One module may hold several members, their parameters stacked along a leading dimension.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from infoscope.checks import one_of, require_int
from infoscope.errors import (
    InvalidInput,
    UnknownName,
    WrongLength,
    WrongShape,
    WrongType,
)
from infoscope.estimators.neural.pairwise_layers import PairwiseLayers, pairwise_scores
from infoscope.estimators.neural.precision import in_bf16, linear, product

_Generators = Generator | Sequence[Generator] | None


class StackedLinear(nn.Module):
    """Independent affine maps: weight [members, out, in], bias [members, out].

    They are initialised as torch.nn.Linear. For a map that is a block of columns of a
    wider map, `fan_in` is the number of inputs of the wider map.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        members: int,
        fan_in: int | None = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.limit = (inputs if fan_in is None else fan_in) ** -0.5
        self.weight = nn.Parameter(torch.empty(members, outputs, inputs))
        self.bias = nn.Parameter(torch.empty(members, outputs)) if bias else None

    def initialise(self, member: int, generator: Generator) -> None:
        """Draws one member's weight, then its bias."""
        for parameter in self.parameters():
            of_member = parameter.data[member]
            values = torch.empty_like(of_member, device=generator.device)
            values.uniform_(-self.limit, self.limit, generator=generator)
            of_member.copy_(values)

    def forward(self, h: Tensor) -> Tensor:
        """Mapped rows [members, n, out] of h [members, n, in] or of shared h [n, in].

        They are [n, out] for one member and shared h.
        """
        if h.dim() != 2:
            return linear(h, self.weight, self.bias)
        members, outputs, _ = self.weight.shape
        # All members at once are one wider map. Flattening is a view, so its gradient
        # needs no zero-filled copy.
        bias = None if self.bias is None else self.bias.flatten()
        mapped = linear(h, self.weight.flatten(0, 1), bias)
        if members == 1:
            return mapped
        per_member = mapped.unflatten(-1, (members, outputs))
        return per_member.transpose(0, 1).contiguous()


class Mlp(nn.Module):
    """Perceptrons, one for every member.

    Linear(inputs, width), ReLU, depth x [Linear(width, width), ReLU], Linear(width,
    outputs).
    """

    def __init__(
        self, inputs: int, outputs: int, depth: int, width: int, members: int
    ) -> None:
        super().__init__()
        sizes = [inputs] + [width] * (depth + 1) + [outputs]
        self.layers = nn.ModuleList()
        for before, after in pairwise(sizes):
            self.layers.append(StackedLinear(before, after, members))

    def forward(self, h: Tensor) -> Tensor:
        *hidden, output = self.layers
        for layer in hidden:
            h = functional.relu(layer(h))
        return output(h)


class Critic(nn.Module):
    """Base of the critics; `type(critic)(**critic.config)` and `load_state_dict`
    rebuild one.

    Parameters
    ----------
    dim_x, dim_y : int
        Columns of x and of y.
    members : int
        Independent critics in the module.
    generator : torch.Generator or one per member, optional
        Draws the weights; None: a fresh one with seed 0.
    objectives : sequence of str, optional
        The name of the objective by which each member was trained.
    second : bool
        Add another critic of the same sizes that scores pairs only, for objectives of
        two scores.
    sizes : int
        Further sizes of `_build`, which makes the layers.
    """

    def __init__(
        self,
        dim_x: int,
        dim_y: int,
        members: int = 1,
        generator: _Generators = None,
        objectives: Sequence[str] | None = None,
        second: bool = False,
        **sizes: int,
    ) -> None:
        super().__init__()
        sizes = {"dim_x": dim_x, "dim_y": dim_y, **sizes, "members": members}
        self.config = {}
        for name, value in sizes.items():
            least = 0 if name == "depth" else 1
            self.config[name] = require_int(name, value, least)
        self._build(**self.config)
        self.second = type(self)(**self.config) if second else None
        if objectives is not None:
            self.trained_under(objectives)
        if second:
            self.config["second"] = True
        self._initialise(generator)

    @property
    def objectives(self) -> tuple[str, ...] | None:
        """Names of the objectives by which members were last trained; None: unknown."""
        names = self.config.get("objectives")
        return None if names is None else tuple(names)

    def trained_under(self, objectives: Sequence[str]) -> None:
        """Records the objective of every member in the configuration.

        Logged models include the configuration.
        """
        names = [objectives] if isinstance(objectives, str) else list(objectives)
        are_texts = all(isinstance(name, str) for name in names)
        if len(names) != self.members or not are_texts:
            raise InvalidInput(
                f"objectives must be one name for each of {self.members} members, got "
                f"{objectives!r}."
            )
        self.config["objectives"] = names

    @property
    def members(self) -> int:
        return self.config["members"]

    @property
    def device(self) -> torch.device:
        parameter = next(self.parameters(), None)
        return torch.device("cpu") if parameter is None else parameter.device

    @property
    def dtype(self) -> torch.dtype | None:
        """Type of the parameters; None without parameters: the type of the inputs."""
        parameter = next(self.parameters(), None)
        return None if parameter is None else parameter.dtype

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Scores S[i, j] = f(x_i, y_j): [n, m] for one member and 2-d inputs, else
        [members, n, m].

        x [n, dim_x] and y [m, dim_y] are shared; [members, n, dim_x] and [members, m,
        dim_y] are not. ValueError: other shapes.
        """
        self._require_shapes(x, y)
        return self._scores(x, y)

    def second_scores(self, x: Tensor, y: Tensor) -> Tensor | None:
        """Scores u(x_i, y_i) of the second network, [n] or [members, n].

        None for a critic without a second network.
        """
        if self.second is None:
            return None
        self._require_shapes(x, y)
        return self.second._pair_scores(x, y)

    def _require_shapes(self, x: Tensor, y: Tensor) -> None:
        """WrongShape: x or y is not of this critic's columns and members."""
        for name, value in (("x", x), ("y", y)):
            dim = self.config[f"dim_{name}"]
            is_matrix = value.dim() == 2
            is_stack = value.dim() == 3 and value.shape[0] == self.members
            if not (is_matrix or is_stack) or value.shape[-1] != dim:
                shapes = f"[n, {dim}] or [{self.members}, n, {dim}]"
                raise WrongShape(
                    f"{name} must have shape {shapes} for this critic, got "
                    f"{list(value.shape)}."
                )
        if x.dim() != y.dim():
            raise WrongShape(
                f"x and y must both be 2-d or both 3-d, got shapes {list(x.shape)} "
                f"and {list(y.shape)}."
            )

    def member(self, k: int) -> Critic:
        """A critic of one member with a copy of member k's weights.

        ValueError: no member k.
        """
        return copy.deepcopy(self.share(k))

    def share(self, k: int) -> Critic:
        """A critic of one member in the memory of member k: training it trains k."""
        if require_int("k", k, 0) >= self.members:
            raise UnknownName(
                f"k must be the index of one of {self.members} members, got {k}."
            )
        slices = {
            id(parameter): nn.Parameter(parameter.data[k : k + 1])
            for parameter in self.parameters()
        }
        # parameters are taken from `slices`, the rest is copied
        single = copy.deepcopy(self, slices)
        single.config["members"] = 1
        if single.second is not None:
            single.second.config["members"] = 1
        if self.objectives is not None:
            single.config["objectives"] = [self.objectives[k]]
        return single

    def _initialise(self, generator: _Generators) -> None:
        """Draws all weights; each member uses its own generator alone."""
        first = _layers(self)
        second = []
        if self.second is not None:
            second = _layers(self.second)
            first = first[: -len(second)]
        for k, of_member in enumerate(generator_per_member(generator, self.members)):
            for layer in first:
                layer.initialise(k, of_member)
            # from another stream: the first network does not depend on the second
            if second:
                seed = (of_member.initial_seed() + 1 + k) % 2**63
                of_second = Generator(of_member.device).manual_seed(seed)
                for layer in second:
                    layer.initialise(k, of_second)

    def _build(self, dim_x: int, dim_y: int, members: int) -> None:
        """Makes the layers."""
        raise NotImplementedError

    def _scores(self, x: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError

    def _pair_scores(self, x: Tensor, y: Tensor) -> Tensor:
        """f(x_i, y_i) alone."""
        raise NotImplementedError


def _layers(critic: Critic) -> list[StackedLinear]:
    """The affine maps of a critic in order; the maps of its second network are last."""
    return [module for module in critic.modules() if isinstance(module, StackedLinear)]


class InnerCritic(Critic):
    """f(x, y) = x . y, without parameters; dim_x and dim_y must be equal."""

    def _build(self, dim_x: int, dim_y: int, members: int) -> None:
        if dim_x != dim_y:
            raise InvalidInput(
                f"dim_y must equal dim_x = {dim_x} for the inner critic, got {dim_y}."
            )

    def _scores(self, x: Tensor, y: Tensor) -> Tensor:
        scores = product(x, y.mT)
        if self.members == 1 or x.dim() == 3:
            return scores
        return scores.expand(self.members, -1, -1)


class BilinearCritic(Critic):
    """f(x, y) = x . (W y + b), W of dim_x by dim_y."""

    def _build(self, dim_x: int, dim_y: int, members: int) -> None:
        self.map_y = StackedLinear(dim_y, dim_x, members)

    def _scores(self, x: Tensor, y: Tensor) -> Tensor:
        return product(x, self.map_y(y).mT)

    def _pair_scores(self, x: Tensor, y: Tensor) -> Tensor:
        return (x * self.map_y(y)).sum(-1)


class SeparableCritic(Critic):
    """f(x, y) = g(x) . h(y), perceptrons with `embed` outputs.

    Rows of scores are x; in the code of the benchmark columns are.
    """

    def _build(
        self, dim_x: int, dim_y: int, depth: int, width: int, embed: int, members: int
    ) -> None:
        self.embed_x = Mlp(dim_x, embed, depth, width, members)
        self.embed_y = Mlp(dim_y, embed, depth, width, members)

    def _scores(self, x: Tensor, y: Tensor) -> Tensor:
        return product(self.embed_x(x), self.embed_y(y).mT)

    def _pair_scores(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.embed_x(x) * self.embed_y(y)).sum(-1)


class JointCritic(Critic):
    """f(x, y) = a perceptron of [x; y] with one output.

    Its first layer is computed as W_x x_i + (W_y y_j + b).
    """

    def _build(
        self, dim_x: int, dim_y: int, depth: int, width: int, members: int
    ) -> None:
        dim = dim_x + dim_y
        self.first_x = StackedLinear(dim_x, width, members, fan_in=dim, bias=False)
        self.first_y = StackedLinear(dim_y, width, members, fan_in=dim)
        self.hidden = nn.ModuleList(
            StackedLinear(width, width, members) for _ in range(depth)
        )
        self.last = StackedLinear(width, 1, members)

    def _scores(self, x: Tensor, y: Tensor) -> Tensor:
        left = self.first_x(x)
        right = self.first_y(y)
        compiled = (
            left.dim() == 2
            and left.device.type == "cpu"
            and left.dtype in (torch.float32, torch.float64)
        )
        if compiled and not torch.compiler.is_exporting():
            parameters = (*self.hidden.parameters(), *self.last.parameters())
            weights = [parameter.squeeze(0) for parameter in parameters]
            dtype = torch.bfloat16 if in_bf16() else left.dtype
            score = PairwiseLayers.apply if torch.is_grad_enabled() else pairwise_scores
            return score(left, right, dtype, *weights)
        pairs = (x.shape[-2], y.shape[-2])
        # These are the large arrays of a step. ReLU is in place: the gradient of a
        # product does not need its output.
        h = (left.unsqueeze(-2) + right.unsqueeze(-3)).relu_()
        h = h.flatten(-3, -2)  # [..., n m, width]
        for layer in self.hidden:
            h = layer(h).relu_()
        scores = self.last(h).unflatten(-2, pairs)
        return scores.squeeze(-1)

    def _pair_scores(self, x: Tensor, y: Tensor) -> Tensor:
        h = functional.relu(self.first_x(x) + self.first_y(y))
        for layer in self.hidden:
            h = functional.relu(layer(h))
        return self.last(h).squeeze(-1)


KINDS: dict[str, tuple[type[Critic], tuple[str, ...]]] = {  # and their sizes
    "inner": (InnerCritic, ()),
    "bilinear": (BilinearCritic, ()),
    "separable": (SeparableCritic, ("depth", "width", "embed")),
    "joint": (JointCritic, ("depth", "width")),
}


def make_critic(
    kind: str,
    dim_x: int,
    dim_y: int,
    depth: int = 2,
    width: int = 256,
    embed: int = 32,
    members: int = 1,
    generator: _Generators = None,
    second: bool = False,
) -> Critic:
    """A critic by name: inner, bilinear, separable or joint (benchmark, section 2).

    Parameters
    ----------
    kind : str
        inner, bilinear, separable or joint.
    dim_x, dim_y : int
        Columns of x and of y.
    depth, width : int
        Depth L is Linear, ReLU, L x [Linear, ReLU], Linear, of `width` units.
    embed : int
        Outputs of the perceptrons of the separable critic.
    members : int
        Independent critics in one module.
    generator : torch.Generator or one per member, optional
        None: a fresh one with seed 0. A member with its own generator is bit for bit
        the single critic.
    second : bool
        Also make a second network that scores pairs, for flo.

    Returns
    -------
    Critic

    Raises
    ------
    ValueError
        Unknown kind, a size out of range (depth may be 0), unequal dimensions for the
        inner critic.

    Examples
    --------
    >>> import torch
    >>> from infoscope.estimators import make_critic
    >>> make_critic("separable", 3, 2)(torch.zeros(5, 3), torch.zeros(5, 2)).shape
    torch.Size([5, 5])
    """
    make, names = KINDS[one_of("kind", kind, KINDS)]
    if second and kind == "inner":
        raise WrongType(
            "second must be False for the inner critic, which has no parameters, got "
            "True."
        )
    sizes = {"depth": depth, "width": width, "embed": embed}
    used: dict[str, Any] = {name: sizes[name] for name in names}
    return make(dim_x, dim_y, members, generator, second=second, **used)


def generator_per_member(generator: _Generators, members: int) -> list[Generator]:
    """One generator for each member.

    A single generator is shared by all members; None is a fresh one with seed 0.
    """
    if generator is None:
        generator = Generator().manual_seed(0)
    if isinstance(generator, Generator):
        return [generator] * members
    generators = list(generator)
    kinds = [type(of_member).__name__ for of_member in generators]
    are_generators = [isinstance(entry, Generator) for entry in generators]
    if are_generators != [True] * members:
        raise WrongLength(
            f"generator must be one torch.Generator or one for each of {members} "
            f"members, got {kinds}."
        )
    return generators
