"""Variational autoencoders with real and categorical latents, and plain autoencoders:
networks (VAE, AutoEncoder, LatentSpec, encode_all, traverse), objectives (OBJECTIVES),
training (fit_vae, VaeTraining), densities, images.
"""
