"""Names shared by sweeps that log models with evaluation items and the analyses of their representations."""

ITEMS = "evaluation"  # name of the logged evaluation items of a training
TARGET = "target:"  # prefix of the names of known variables of the items
LOGGED_ITEMS = 2000  # logged items of a training
UNTRAINED, TRAINED = "first weights", "trained"
