"""Variational autoencoders with real and categorical latents, and a plain one: VAE, AutoEncoder, LatentSpec,
encode_all, traverse; OBJECTIVES; fit_vae, VaeTraining; densities, images, layers.
"""

from infoscope.models.vae.networks import VAE, AutoEncoder, Encoding, LatentSpec, encode_all, traverse
from infoscope.models.vae.objectives import OBJECTIVES
from infoscope.models.vae.training import VaeTraining, fit_vae

__all__ = [
    "AutoEncoder", "Encoding", "LatentSpec", "OBJECTIVES", "VAE", "VaeTraining", "encode_all", "fit_vae", "traverse",
]  # fmt: skip
