"""What the sweeps of the benchmark and their analyses both name."""

DECODING = "decoding"  # the kind of a cell that reads the labels; one without a kind trains a critic
ESTIMATORS = ("nwj", "js", "infonce", "dv", "mine", "smile-1", "smile-5", "smile-inf")  # in the order of the tables
CRITICS = ("inner", "bilinear", "separable", "joint")  # likewise
SEARCHED = ("bound", "learning_rate", "width", "depth", "batch")  # by tune-critic
RECENT = "recent_mse_bits2"  # what a search decides by
