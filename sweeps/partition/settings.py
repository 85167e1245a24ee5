"""What the sweeps of partitions and their analyses both name."""

# as tables show them
MODELS = ("nvae", "diva", "augmented-dann", "dann", "irm", "coral", "fishr", "di-erm", "uninformed-erm", "balanced-erm",
          "erm")  # fmt: skip
CONFIG = "config."  # prefix of a cell's fields that are a model's configuration
PARTS = IN_DOMAIN, OUT_OF_DOMAIN = ("in-domain", "out-of-domain")  # of these items, by their code in `split`
CRITERION = "criterion"  # what a search decides by
