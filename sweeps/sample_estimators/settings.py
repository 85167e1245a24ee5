"""What the sweeps of estimators from samples and their analyses both name."""

LEVELS = 200  # of digits paired by their labels, from 0 to 1 bit (Gowri et al. 2024)
FORMULAS = {  # that treat labels as numbers, whatever they mean -> their titles
    "labels-as-numbers": "labels as numbers (NPEET mi, cmi)",
    "micd": "entropy difference (NPEET micd)",
}
TEST_LEVEL = 0.05  # of the tests of independence
