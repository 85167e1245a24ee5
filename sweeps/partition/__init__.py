"""Latent blocks for class and domain: NVAE, DIVA, DANN, AugmentedDANN, IRM, CORAL, Fishr, DI-ERM and plain ERM."""
