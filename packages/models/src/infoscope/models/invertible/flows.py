"""Random normalising flows on flat samples (the benchmark, section 5.7; Papamakarios et al. 2017, Dinh et al. 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from infoscope.checks import require_int
from infoscope.models.initialisation import generator_or_default, linear
from infoscope.models.invertible.base import InvertibleEncoder, Normalisation


class _Flow(InvertibleEncoder):
    """`blocks` x [triangular map, normalisation] of flat samples [n, features] to codes of the same shape.

    hidden: units of each hidden layer; generator None: seed 0. ValueError unless features is at least 2, hidden and
    blocks at least 1, statistics "batch" or "fixed".
    """

    reverse = False  # the order of the features after every block

    def __init__(
        self,
        features: int,
        hidden: int = 512,
        blocks: int = 5,
        statistics: str = "batch",
        generator: torch.Generator | None = None,
    ) -> None:
        sizes = {"features": require_int("features", features, 2), "hidden": require_int("hidden", hidden)}
        super().__init__(statistics, **sizes, blocks=require_int("blocks", blocks))
        self.features = self.code_features = sizes["features"]
        generator = generator_or_default(generator)
        self.maps = nn.ModuleList(self._map(block, **sizes, generator=generator) for block in range(blocks))
        self.norms = nn.ModuleList(Normalisation(features, statistics) for _ in range(blocks))
        self.requires_grad_(False)

    def log_det(self, x: Tensor) -> Tensor:
        """log |det| of the Jacobian at samples x [n, features]: [n], nats. Errors as `inverse`."""
        self._check(x)
        self._require_calibration()
        return self._transform(x)[1]

    def _transform(self, x: Tensor) -> tuple[Tensor, Tensor]:
        total = x.new_zeros(len(x))
        for triangular, norm in zip(self.maps, self.norms):
            x, log_det = triangular(x)
            x = norm(x)
            total = total + log_det + norm.log_det()
            if self.reverse:
                x = x.flip(1)
        return x, total

    def _encode(self, x: Tensor) -> Tensor:
        return self._transform(x)[0]

    def _decode(self, code: Tensor) -> Tensor:
        for triangular, norm in zip(reversed(self.maps), reversed(self.norms)):
            if self.reverse:
                code = code.flip(1)
            code = triangular.inverse(norm.inverse(code))
        return code

    def _map(self, block: int, features: int, hidden: int, generator: torch.Generator) -> nn.Module:
        raise NotImplementedError


class MaskedAutoregressiveFlow(_Flow):
    """`blocks` x [autoregressive map, normalisation, reversal] (Papamakarios et al. 2017); arguments as `_Flow`.

    u_i = (x_i - m_i) exp(-a_i) by a MADE of two hidden ReLU layers (Germain et al. 2015). Hidden unit k has degree k
    mod (features - 1): with more features than hidden units a map conditions on the first `hidden` only.
    """

    reverse = True

    def _map(self, block: int, features: int, hidden: int, generator: torch.Generator) -> nn.Module:
        return Autoregressive(features, hidden, generator)


class RealNVP(_Flow):
    """`blocks` x [affine coupling, normalisation] (Dinh et al. 2017); arguments as `_Flow`.

    x exp(s(x_k)) + t(x_k) of every second feature; s has two hidden tanh layers, t two hidden ReLU layers.
    """

    def _map(self, block: int, features: int, hidden: int, generator: torch.Generator) -> nn.Module:
        return Coupling(features, hidden, 1 - block % 2, generator)


class Autoregressive(nn.Module):
    """x -> (x - m) exp(-a), feature i of m and a a function of the features before it, by masked weights (MADE)."""

    def __init__(self, features: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        before = torch.arange(features)  # how many features come before each
        degree = torch.arange(hidden) % (features - 1)  # a hidden unit sees the features up to and including this one
        self.passes = min(features, hidden + 1)
        self.first = _masked(degree[:, None] >= before, generator)
        self.second = _masked(degree[:, None] >= degree, generator)
        self.last = _masked((before[:, None] > degree).repeat(2, 1), generator)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        shift, log_scale = self._conditioner(x)
        return (x - shift) * torch.exp(-log_scale), -log_scale.sum(1)

    def inverse(self, u: Tensor) -> Tensor:
        """Feature after feature; those beyond the greatest degree of a hidden unit all at once."""
        x = torch.zeros_like(u)
        for i in range(self.passes):
            shift, log_scale = self._conditioner(x)
            now = slice(i, i + 1 if i + 1 < self.passes else None)
            x[:, now] = u[:, now] * torch.exp(log_scale[:, now]) + shift[:, now]
        return x

    def _conditioner(self, x: Tensor) -> tuple[Tensor, Tensor]:
        shift, log_scale = self.last(relu(self.second(relu(self.first(x))))).chunk(2, 1)
        return shift, log_scale


class Coupling(nn.Module):
    """x -> x exp(s) + t on every second feature, s and t of the others; stores the unmasked weights of the published
    layers.
    """

    def __init__(self, features: int, hidden: int, first_kept: int, generator: torch.Generator) -> None:
        super().__init__()
        self.kept, self.moved = slice(first_kept, None, 2), slice(1 - first_kept, None, 2)
        kept, moved = len(range(features)[self.kept]), len(range(features)[self.moved])
        self.log_scale, self.shift = (
            nn.Sequential(
                linear(kept, hidden, generator, fan_in=features),
                activation(),
                linear(hidden, hidden, generator),
                activation(),
                linear(hidden, moved, generator),
            )
            for activation in (nn.Tanh, nn.ReLU)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        kept = x[:, self.kept].contiguous()
        log_scale = self.log_scale(kept)
        y = x.clone()
        y[:, self.moved] = x[:, self.moved] * torch.exp(log_scale) + self.shift(kept)
        return y, log_scale.sum(1)

    def inverse(self, y: Tensor) -> Tensor:
        kept = y[:, self.kept].contiguous()
        x = y.clone()
        x[:, self.moved] = (y[:, self.moved] - self.shift(kept)) * torch.exp(-self.log_scale(kept))
        return x


def _masked(mask: Tensor, generator: torch.Generator) -> nn.Linear:
    """A linear layer with zeros where mask [out, in] is False. They stay zero, as nothing trains a flow."""
    layer = linear(mask.shape[1], mask.shape[0], generator)
    layer.weight.data.mul_(mask)
    return layer
