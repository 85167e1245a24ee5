"""Names shared by the sweeps of usable information and their analyses."""

# case of structure-learning with simulated networks instead of a table
SIMULATED = "simulated"
# setting of usable-leakage for a plain autoencoder that hides nothing
NOTHING = "nothing"
# smallest number of occurrences of a token that dataset-difficulty reports
FREQUENT = 6
