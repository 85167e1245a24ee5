"""What the sweeps of usable information and their analyses both name."""

SIMULATED = "simulated"  # a case of structure-learning: networks of our own making, not of a table
NOTHING = "nothing"  # from which usable-leakage hides: an autoencoder only
FREQUENT = 6  # occurrences in the texts of a class from which on dataset-difficulty tells of a token
AS_THEY_ARE = "none"  # the noise of label-errors where nothing is flipped
HARDEST = 10  # items of a data set, those of least PVI, that label-errors shows
