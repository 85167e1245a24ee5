"""Known laws: samples of any size, and the mutual information that they have.

known_truth    Case, CASES: what a law is, and the twelve on which the estimators on samples are compared
beyond_normal  the forty laws of Czyz et al. 2023, "Beyond Normal: On the Evaluation of Mutual Information Estimators"
verdict_laws   the laws on which the constants of the verdict on an estimate were chosen
unseen_laws    laws that chose nothing, and examine it
simulators     data with a known tree or order, for structure learning
"""
