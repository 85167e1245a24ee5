"""Names shared by the sweeps of partitions and their analyses."""

# in the order of the tables
MODELS = ("nvae", "diva", "augmented-dann", "dann", "irm", "erm")
CONFIG = "config."  # prefix of a cell's fields that are a model's configuration
# of evaluation items, by their code in `split`
PARTS = IN_DOMAIN, OUT_OF_DOMAIN = ("in-domain", "out-of-domain")
ITEMS = "evaluation"  # name of the logged evaluation items of a training
CRITERION = "criterion"  # the metric of a search
