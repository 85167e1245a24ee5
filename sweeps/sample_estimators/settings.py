"""Names shared by the sweeps of estimators on samples and their analyses."""

FORMULAS = {  # that treat labels as numbers, and their titles
    "labels-as-numbers": "labels as numbers (NPEET mi)",
    "micd": "entropy difference (NPEET micd)",
}
RECORDED_PACKAGES = ("npeet-plus", "infomeasure", "ennemi-sum", "sklearn-sum")  # as named in runs up to 0.2
PACKAGES = "sweeps.sample_estimators.peers:"  # functions of public packages, as methods
TEST_LEVEL = 0.05  # significance level of tests of independence, and false discovery rate of screens
