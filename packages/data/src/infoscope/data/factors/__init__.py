"""Images with known discrete factors: FactorDataset, dsprites, sprites (synthetic),
factor_data (either).
"""
