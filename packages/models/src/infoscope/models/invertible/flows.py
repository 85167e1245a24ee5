"""Random invertible encoders (the benchmark, section 5.7): their base, and normalising
flows on flat samples (Papamakarios et al. 2017, Dinh et al. 2017).
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
    """(h - mean) / sqrt(variance + 1e-5) of each feature (axis 1) of h.

    Mean and variance are statistics of the batch, or stored ones.
    """

    EPSILON = 1e-5
    mean: Tensor
    variance: Tensor

    def __init__(self, features: int, statistics: str) -> None:
        super().__init__()
        self.of_batch = statistics == "batch"
        self.storing = False
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("variance", torch.ones(features))

    def forward(self, h: Tensor) -> Tensor:
        if self.storing:
            others = [axis for axis in range(h.dim()) if axis != 1]
            variance, mean = torch.var_mean(h, others, correction=0)
            self.mean.copy_(mean)
            self.variance.copy_(variance)
        if self.of_batch:
            return batch_norm(h, None, None, training=True, eps=self.EPSILON)
        return batch_norm(h, self.mean, self.variance, eps=self.EPSILON)

    def inverse(self, h: Tensor) -> Tensor:
        """The inverse, with the stored statistics."""
        shape = [1] * (h.dim() - 1)
        shape[0] = -1
        variance = self.variance + self.EPSILON
        scale = variance.sqrt().view(shape)
        return h * scale + self.mean.view(shape)

    def log_det(self) -> Tensor:
        """log |det| of the map at one position, with the stored statistics; a scalar."""
        variance = self.variance + self.EPSILON
        return -0.5 * variance.log().sum()


class InvertibleEncoder(nn.Module):
    """The base of the random invertible encoders: flat samples [n, features] to codes.

    Weights are not trained. `type(encoder)(**encoder.config)` and `load_state_dict`
    rebuild an encoder with its calibration.

    Parameters
    ----------
    statistics
        "batch": normalised by the current batch, as published; a code depends on the
        other samples. "fixed": set once by `calibrate`; one invertible map, which does
        not change mutual information.
    """

    features: int
    code_features: int
    calibrated: Tensor

    def __init__(self, statistics: str, **config: Any) -> None:
        super().__init__()
        one_of("statistics", statistics, STATISTICS)
        self.config = {**config, "statistics": statistics}
        self.register_buffer("calibrated", torch.tensor(False))

    def forward(self, x: Tensor) -> Tensor:
        """The codes [n, code_features] of flat samples x [n, features].

        ValueError for another shape or a batch of one ("batch"); RuntimeError for fixed
        statistics that were never set.
        """
        self._check(x)
        if self.config["statistics"] == "fixed":
            self._require_calibration()
        return self._encode(x)

    @torch.no_grad()
    def calibrate(self, samples: Tensor) -> None:
        """Sets the fixed statistics, layer by layer, to those of samples [n, features].

        Use thousands of samples: features of small variance are scaled by up to 316.
        ValueError for another shape, fewer than two samples, or values that are not
        finite; RuntimeError with statistics "batch".
        """
        if self.config["statistics"] != "fixed":
            raise RuntimeError(
                'statistics must be "fixed" to calibrate an encoder, got "batch".'
            )
        self._check(samples, least=2)
        if not samples.isfinite().all():
            raise MissingValues("samples must be finite, got NaN or infinity.")
        try:
            self._set_storing(True)
            self._encode(samples)
        finally:
            self._set_storing(False)
        self.calibrated.fill_(True)

    def _set_storing(self, storing: bool) -> None:
        for module in self.modules():
            if isinstance(module, Normalisation):
                module.storing = storing

    @torch.no_grad()
    def inverse(self, code: Tensor) -> Tensor:
        """The samples [n, features] of codes [n, code_features].

        ValueError for another shape; RuntimeError without fixed statistics.
        """
        self._require_calibration()
        if code.dim() != 2 or code.shape[1] != self.code_features:
            raise WrongShape(
                f"code must have shape [n, {self.code_features}], got "
                f"{list(code.shape)}."
            )
        return self._decode(code)

    def _check(self, x: Tensor, least: int = 1) -> None:
        if self.config["statistics"] == "batch":
            least = 2
        if x.dim() != 2 or x.shape[1] != self.features or len(x) < least:
            raise WrongShape(
                f"samples must have shape [n, {self.features}] with n of at least "
                f"{least}, got {list(x.shape)}."
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
    """Flat samples [n, features] to codes [n, features] by `blocks` pairs of a
    triangular map and a normalisation.
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
        features = require_int("features", features, 2)
        hidden = require_int("hidden", hidden)
        blocks = require_int("blocks", blocks)
        super().__init__(statistics, features=features, hidden=hidden, blocks=blocks)
        self.features = features
        self.code_features = features
        generator = generator_or_default(generator)
        self.maps = nn.ModuleList()
        self.norms = nn.ModuleList()
        for block in range(blocks):
            self.maps.append(self._map(block, features, hidden, generator))
            self.norms.append(Normalisation(features, statistics))
        self.requires_grad_(False)

    def log_det(self, x: Tensor) -> Tensor:
        """log |det| of the Jacobian at samples x [n, features]: [n], nats.

        Errors as in `inverse`.
        """
        self._check(x)
        self._require_calibration()
        return self._transform(x)[1]

    def _transform(self, x: Tensor) -> tuple[Tensor, Tensor]:
        total = x.new_zeros(len(x))
        for triangular, norm in zip(self.maps, self.norms):
            x, log_det = triangular(x)
            assert isinstance(norm, Normalisation)
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
            assert isinstance(norm, Normalisation)
            assert isinstance(triangular, Autoregressive | Coupling)
            code = norm.inverse(code)
            code = triangular.inverse(code)
        return code

    def _map(
        self, block: int, features: int, hidden: int, generator: torch.Generator
    ) -> nn.Module:
        raise NotImplementedError


class MaskedAutoregressiveFlow(_Flow):
    """A random flow of autoregressive maps (Papamakarios et al. 2017).

    A block is a map, a normalisation and a reversal of the order of features. The map:
    u_i = (x_i - m_i) exp(-a_i) by a MADE with two hidden ReLU layers (Germain et al.
    2015). Hidden unit k has degree k mod (features - 1): with more features than hidden
    units, a map conditions on the first `hidden` only.

    Parameters
    ----------
    features
        Length of a sample, at least 2.
    hidden
        Units of each hidden layer.
    blocks
        Number of blocks.
    statistics
        "batch" or "fixed", as in `InvertibleEncoder`.
    generator
        CPU generator of the weights; None: seed 0.

    Raises
    ------
    ValueError
        For sizes or statistics out of range.

    Examples
    --------
    >>> flow = MaskedAutoregressiveFlow(features=4, hidden=8, blocks=2)
    >>> flow(torch.randn(100, 4)).shape
    torch.Size([100, 4])
    """

    reverse = True

    def _map(
        self, block: int, features: int, hidden: int, generator: torch.Generator
    ) -> nn.Module:
        return Autoregressive(features, hidden, generator)


class RealNVP(_Flow):
    """A random flow of affine couplings, each with a normalisation (Dinh et al. 2017).

    A coupling maps every second feature x to x exp(s) + t. s has two hidden tanh layers
    and t two hidden ReLU layers; both are functions of the other features. Arguments
    and errors as in `MaskedAutoregressiveFlow`.

    Examples
    --------
    >>> flow = RealNVP(features=4, hidden=8, blocks=2)
    >>> flow(torch.randn(100, 4)).shape
    torch.Size([100, 4])
    """

    def _map(
        self, block: int, features: int, hidden: int, generator: torch.Generator
    ) -> nn.Module:
        return Coupling(features, hidden, 1 - block % 2, generator)


class Autoregressive(nn.Module):
    """x -> (x - m) exp(-a), by masked weights (MADE): features i of m and a are functions
    of the features before i.
    """

    def __init__(self, features: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        before = torch.arange(features)  # number of features before each
        # last feature that is an input of a hidden unit
        degree = torch.arange(hidden) % (features - 1)
        self.passes = min(features, hidden + 1)
        self.first = _masked(degree[:, None] >= before, generator)
        self.second = _masked(degree[:, None] >= degree, generator)
        outputs = before[:, None] > degree
        self.last = _masked(outputs.repeat(2, 1), generator)  # shifts, then log scales

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        shift, log_scale = self._conditioner(x)
        centred = x - shift
        return centred * torch.exp(-log_scale), -log_scale.sum(1)

    def inverse(self, u: Tensor) -> Tensor:
        """The inverse, feature after feature; features after the largest degree at once."""
        x = torch.zeros_like(u)
        for i in range(self.passes):
            shift, log_scale = self._conditioner(x)
            end = None if i + 1 == self.passes else i + 1
            columns = slice(i, end)
            scale = torch.exp(log_scale[:, columns])
            x[:, columns] = u[:, columns] * scale + shift[:, columns]
        return x

    def _conditioner(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = relu(self.first(x))
        h = relu(self.second(h))
        shift, log_scale = self.last(h).chunk(2, 1)
        return shift, log_scale


class Coupling(nn.Module):
    """x -> x exp(s) + t on every second feature; s and t are functions of the others."""

    def __init__(
        self, features: int, hidden: int, first_input: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.inputs = slice(first_input, None, 2)
        self.outputs = slice(1 - first_input, None, 2)
        inputs = len(range(features)[self.inputs])
        outputs = features - inputs

        def network(activation: type[nn.Module]) -> nn.Sequential:
            return nn.Sequential(
                linear(inputs, hidden, generator, fan_in=features),
                activation(),
                linear(hidden, hidden, generator),
                activation(),
                linear(hidden, outputs, generator),
            )

        self.log_scale = network(nn.Tanh)
        self.shift = network(nn.ReLU)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        inputs = x[:, self.inputs].contiguous()
        log_scale = self.log_scale(inputs)
        scaled = x[:, self.outputs] * log_scale.exp()
        y = x.clone()
        y[:, self.outputs] = scaled + self.shift(inputs)
        return y, log_scale.sum(1)

    def inverse(self, y: Tensor) -> Tensor:
        inputs = y[:, self.inputs].contiguous()
        log_scale = self.log_scale(inputs)
        centred = y[:, self.outputs] - self.shift(inputs)
        x = y.clone()
        x[:, self.outputs] = centred * torch.exp(-log_scale)
        return x


def _masked(mask: Tensor, generator: torch.Generator) -> nn.Linear:
    """A linear layer with weight 0 where mask [out, in] is False (never trained)."""
    layer = linear(mask.shape[1], mask.shape[0], generator)
    layer.weight.data.mul_(mask)
    return layer
