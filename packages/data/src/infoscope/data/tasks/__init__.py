"""Distributions of known mutual information, from which samples of any size can be drawn.

known_truth    Case, CASES: the cases on which the estimators from samples were built
beyond_normal  the forty of Czyz et al. 2023, "Beyond Normal: On the Evaluation of Mutual Information Estimators"
resampled      items paired by their labels (Gowri et al. 2024)
exam           the collections on which estimators are examined

Also everyday; unseen_laws, latest_laws, edge_laws (held out); late_laws, later_laws (held out when written);
independence_laws (tests of independence); simulators (structure learning).
"""
