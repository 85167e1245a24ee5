"""What sweeps that keep models with items, and the analyses of their representations, both name."""

ITEMS = "evaluation"  # the logged items of a training
TARGET = "target:"  # before the name of what is known of every item
KEPT = 2000  # items of a training
UNTRAINED, TRAINED = "first weights", "trained"
