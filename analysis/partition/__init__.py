"""Latent blocks for class and domain: NVAE, DIVA, DANN, AugmentedDANN, IRM and ERM."""
