"""The base of the random invertible encoders (the benchmark, section 5.7), and normalising flows on flat samples
(Papamakarios et al. 2017, Dinh et al. 2017).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, relu

from infoscope.checks import one_of, require_int
from infoscope.errors import MissingValues, WrongShape
from infoscope.models.initialisation import generator_or_default, linear

STATISTICS = ("batch", "fixed")


class Normalisation(nn.Module):
    """(h - mean) / sqrt(variance + 1e-5) per feature (axis 1) of h, with statistics of the batch or stored ones."""

    EPSILON = 1e-5

    def __init__(self, features: int, statistics: str) -> None:
        super().__init__()
        self.of_batch = statistics == "batch"
        self.storing = False
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("variance", torch.ones(features))

    def forward(self, h: Tensor) -> Tensor:
        if self.storing:
            variance, mean = torch.var_mean(h, [axis for axis in range(h.dim()) if axis != 1], correction=0)
            self.mean.copy_(mean)
            self.variance.copy_(variance)
        if self.of_batch:
            return batch_norm(h, None, None, training=True, eps=self.EPSILON)
        return batch_norm(h, self.mean, self.variance, eps=self.EPSILON)

    def inverse(self, h: Tensor) -> Tensor:
        """The inverse, with the stored statistics."""
        return h * self._along((self.variance + self.EPSILON).sqrt(), h) + self._along(self.mean, h)

    def log_det(self) -> Tensor:
        """log |det| of the map of one position [c], with the stored statistics; a scalar."""
        return -0.5 * (self.variance + self.EPSILON).log().sum()

    @staticmethod
    def _along(values: Tensor, h: Tensor) -> Tensor:
        return values.view(-1, *[1] * (h.dim() - 2))


class InvertibleEncoder(nn.Module):
    """Base of the random invertible encoders of the benchmark, section 5.7: flat samples [n, features] to codes.

    statistics  "batch": normalised by the current batch, as published; a code depends on the other samples. "fixed":
                set once by `calibrate`; one invertible map, which does not change mutual information

    Weights are not trained. `type(encoder)(**encoder.config)` and `load_state_dict` rebuild it with its calibration.
    """

    features: int
    code_features: int

    def __init__(self, statistics: str, **config: Any) -> None:
        super().__init__()
        self.config = {**config, "statistics": one_of("statistics", statistics, STATISTICS)}
        self.register_buffer("calibrated", torch.tensor(False))

    def forward(self, x: Tensor) -> Tensor:
        """The codes [n, code_features] of flat samples x [n, features].

        ValueError for another shape or a batch of one ("batch"); RuntimeError for fixed statistics that were never set.
        """
        self._check(x)
        if self.config["statistics"] == "fixed":
            self._require_calibration()
        return self._encode(x)

    @torch.no_grad()
    def calibrate(self, samples: Tensor) -> None:
        """Sets the fixed statistics to those of the samples [n, features], layer by layer.

        Use thousands of samples: features of small variance are scaled by up to 316. ValueError for another shape,
        fewer than two samples, or values that are not finite; RuntimeError with statistics "batch".
        """
        if self.config["statistics"] != "fixed":
            raise RuntimeError('statistics must be "fixed" to calibrate an encoder, got "batch".')
        self._check(samples, least=2)
        if not samples.isfinite().all():
            raise MissingValues("samples must be finite, got NaN or infinity.")
        layers = [module for module in self.modules() if isinstance(module, Normalisation)]
        try:
            for layer in layers:
                layer.storing = True
            self._encode(samples)
        finally:
            for layer in layers:
                layer.storing = False
        self.calibrated.fill_(True)

    @torch.no_grad()
    def inverse(self, code: Tensor) -> Tensor:
        """The samples [n, features] of codes. ValueError: another shape; RuntimeError: no fixed statistics."""
        self._require_calibration()
        if code.dim() != 2 or code.shape[1] != self.code_features:
            raise WrongShape(f"code must have shape [n, {self.code_features}], got {list(code.shape)}.")
        return self._decode(code)

    def _check(self, x: Tensor, least: int = 1) -> None:
        least = 2 if self.config["statistics"] == "batch" else least
        if x.dim() != 2 or x.shape[1] != self.features or len(x) < least:
            raise WrongShape(
                f"samples must have shape [n, {self.features}] with n of at least {least}, got {list(x.shape)}."
            )

    def _require_calibration(self) -> None:
        if self.config["statistics"] == "batch":
            raise RuntimeError(
                'statistics must be "fixed" for an inverse, and calibrated, got "batch": the code of a sample depends '
                "on its batch."
            )
        if not self.calibrated:
            raise RuntimeError("statistics must be set: call calibrate(samples) first.")

    def _encode(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _decode(self, code: Tensor) -> Tensor:
        raise NotImplementedError


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

    u_i = (x_i - m_i) exp(-a_i) by a MADE with two hidden ReLU layers (Germain et al. 2015). Hidden unit k has degree k
    mod (features - 1): with more features than hidden units, a map conditions on the first `hidden` only.
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
        before = torch.arange(features)  # number of features before each
        degree = torch.arange(hidden) % (features - 1)  # last feature that is an input of a hidden unit
        self.passes = min(features, hidden + 1)
        self.first = _masked(degree[:, None] >= before, generator)
        self.second = _masked(degree[:, None] >= degree, generator)
        self.last = _masked((before[:, None] > degree).repeat(2, 1), generator)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        shift, log_scale = self._conditioner(x)
        return (x - shift) * torch.exp(-log_scale), -log_scale.sum(1)

    def inverse(self, u: Tensor) -> Tensor:
        """The inverse, feature after feature; those beyond the largest degree together."""
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
    """x -> x exp(s) + t on every second feature; s and t are functions of the others."""

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
    """A linear layer with weight 0 where mask [out, in] is False; flows are not trained."""
    layer = linear(mask.shape[1], mask.shape[0], generator)
    layer.weight.data.mul_(mask)
    return layer
