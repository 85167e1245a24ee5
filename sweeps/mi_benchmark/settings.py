"""Names shared by the sweeps of the benchmark and their analyses."""

DECODING = "decoding"  # the kind of a cell that decodes labels; cells without a kind train a critic
DOMAINS = ("gaussian", "images", "text")  # in the order of the tables
ESTIMATORS = ("nwj", "js", "infonce", "dv", "mine", "smile-1", "smile-5", "smile-inf")  # in the order of the tables
CRITICS = ("inner", "bilinear", "separable", "joint")  # in the order of the tables
SEARCHED = ("bound", "learning_rate", "width", "depth", "batch")  # fields in the space of tune-critic
RECENT = "recent_mse_bits2"  # the metric of a search
PRECISIONS = ("float32", "bf16")  # of products in a training; a cell without one is of float32
