"""Disentanglement through partial information decomposition (Tokui & Sato 2021)."""
