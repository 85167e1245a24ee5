"""Estimators on samples of known laws, and what is said of their estimates."""
