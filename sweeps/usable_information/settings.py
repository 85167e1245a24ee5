"""Names shared by the sweeps of usable information and their analyses."""

SIMULATED = "simulated"  # case of structure-learning with simulated networks instead of a table
NOTHING = "nothing"  # setting of usable-leakage for a plain autoencoder that hides nothing
FREQUENT = 6  # smallest number of occurrences of a token that dataset-difficulty reports
