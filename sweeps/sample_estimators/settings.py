"""What the sweeps of estimators from samples and their analyses both name."""

LEVELS = 200  # of digits paired by their labels, from 0 to 1 bit (Gowri et al. 2024)
FORMULAS = {  # that treat labels as numbers, whatever they mean -> their titles
    "labels-as-numbers": "labels as numbers (NPEET mi, cmi)",
    "micd": "entropy difference (NPEET micd)",
}
TEST_LEVEL = 0.05  # of the tests of independence, and the false discovery rate of screens
SCREEN, PAIRS = "screen", "pairs"  # of a table: every column against the target, and every pair
