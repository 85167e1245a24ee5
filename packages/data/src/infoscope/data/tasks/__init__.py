"""Known laws: samples of any size, and the mutual information that they have.

known_truth    Case, CASES: what a law is, and those on which the estimators from samples were built
beyond_normal  the forty laws of Czyz et al. 2023, "Beyond Normal: On the Evaluation of Mutual Information Estimators"
everyday       twelve laws like the data that people have
resampled      items paired by their labels: the benchmark of Gowri et al. 2024, and what goes beyond it
exam           the collections of laws that estimators are examined on
verdict_laws   the laws on which the constants of the verdict on an estimate were chosen
unseen_laws    laws that chose nothing, and examine it
late_laws      laws that examined the advice first
later_laws     laws that were written after them, and examined it
latest_laws    laws that were written after these, and examine it
edge_laws      laws with sharp edges, and smooth ones, that were written after it was taught to see edges
independence_laws  settings of tests of independence, a null and an alternative each
simulators     data with a known tree or order, for structure learning
"""
