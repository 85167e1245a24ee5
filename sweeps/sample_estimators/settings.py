"""What the sweeps of estimators from samples and their analyses both name."""

ESTIMATORS = {  # of the sweep measures -> its title, in the order of the table
    "knn": "nearest neighbours (typed)",
    "classifier": "classifier (logistic, held out)",
    "labels-as-numbers": "labels as numbers (NPEET mi, cmi)",
    "micd": "entropy difference (NPEET micd)",
}
