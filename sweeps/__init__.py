"""The sweeps: one module each."""
