"""Names shared by the sweeps of the benchmark and their analyses."""

# the kind of a cell that decodes labels; cells without a kind train a critic
DECODING = "decoding"
DOMAINS = ("gaussian", "images", "text")  # in the order of the tables
# in the order of the tables
ESTIMATORS = ("nwj", "js", "infonce", "dv", "mine", "smile-1", "smile-5", "smile-inf")
CRITICS = ("inner", "bilinear", "separable", "joint")  # in the order of the tables
# fields in the space of tune-critic
SEARCHED = ("bound", "learning_rate", "width", "depth", "batch")
RECENT = "recent_mse_bits2"  # the metric of a search
# of products in a training; a cell without one is of float32
PRECISIONS = ("float32", "bf16")
