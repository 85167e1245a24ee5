"""Variational autoencoders with real and categorical latents, and a plain one.

networks    VAE, AutoEncoder, LatentSpec; encode_all -> Encoding; traverse
objectives  OBJECTIVES: (beta-)VAE, FactorVAE, beta-TCVAE, JointVAE, plain
training    fit_vae; VaeTraining: the same, interruptible
densities   divergences, and the parts of the KL divergence
images      an array, or something that gives images by index
layers      the convolutional encoder and decoder
"""

from infoscope.models.vae.networks import VAE, AutoEncoder, Encoding, LatentSpec, encode_all, traverse
from infoscope.models.vae.objectives import OBJECTIVES
from infoscope.models.vae.training import VaeTraining, fit_vae

__all__ = [
    "AutoEncoder",
    "Encoding",
    "LatentSpec",
    "OBJECTIVES",
    "VAE",
    "VaeTraining",
    "encode_all",
    "fit_vae",
    "traverse",
]
