"""What to run: one module per sweep."""
