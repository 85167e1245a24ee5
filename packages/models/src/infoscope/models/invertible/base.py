"""The base of the invertible encoders: their statistics, and when a code is a function of its sample alone."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from infoscope.checks import one_of
from infoscope.errors import MissingValues, WrongShape

STATISTICS = ("batch", "fixed")


class Normalisation(nn.Module):
    """(h - mean) / sqrt(variance + 1e-5), per feature of h [n, c] or channel of h [n, c, height, width], batch or
    stored.
    """

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
        """The h that the stored statistics map to this one."""
        return h * self._along((self.variance + self.EPSILON).sqrt(), h) + self._along(self.mean, h)

    def log_det(self) -> Tensor:
        """log |det| of the map of one position [c], with the stored statistics: a scalar."""
        return -0.5 * (self.variance + self.EPSILON).log().sum()

    @staticmethod
    def _along(values: Tensor, h: Tensor) -> Tensor:
        return values.view(-1, *[1] * (h.dim() - 2))


class InvertibleEncoder(nn.Module):
    """Base of the random invertible encoders of the benchmark, section 5.7: flat samples [n, features] to codes.

    statistics  "batch": normalised by the current batch, as published; a code depends on the other samples. "fixed":
                set once by `calibrate`; one invertible map, which leaves mutual information as it is

    Weights are never trained. `type(encoder)(**encoder.config)` and `load_state_dict` rebuild it, calibration included.
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

        Take thousands: what hardly varies among them is stretched by up to 316. ValueError for another shape, fewer
        than two samples, or values that are not finite; RuntimeError with the statistics of the batch.
        """
        if self.config["statistics"] != "fixed":
            raise RuntimeError('only an encoder with statistics="fixed" can be calibrated, this one has "batch".')
        self._check(samples, least=2)
        if not samples.isfinite().all():
            raise MissingValues("samples must be finite, but hold NaN or infinity.")
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
                'with statistics="batch" a code depends on its batch and has no inverse of its own: take '
                'statistics="fixed" and calibrate it with the batch.'
            )
        if not self.calibrated:
            raise RuntimeError("the statistics are not set yet: call calibrate(samples) first.")

    def _encode(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _decode(self, code: Tensor) -> Tensor:
        raise NotImplementedError
