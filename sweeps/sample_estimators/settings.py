"""Names shared by the sweeps of estimators on samples and their analyses."""

FORMULAS = {  # that treat labels as numbers, and their titles
    "labels-as-numbers": "labels as numbers (NPEET mi)",
    "micd": "entropy difference (NPEET micd)",
}
# as named in runs up to 0.2
RECORDED_PACKAGES = ("npeet-plus", "infomeasure", "ennemi-sum", "sklearn-sum")
PACKAGES = "sweeps.sample_estimators.peers:"  # functions of public packages, as methods
# significance level of tests of independence, and false discovery rate of screens
TEST_LEVEL = 0.05
