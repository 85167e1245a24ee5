"""Estimators on samples from known distributions, and the reading of samples."""
