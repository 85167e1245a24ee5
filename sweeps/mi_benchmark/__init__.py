"""The benchmark of neural estimators of mutual information (Lee & Rhee 2024)."""
