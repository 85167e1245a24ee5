"""Distributions of known mutual information, from which samples of any size can be drawn.

catalogue      the collections on which estimators are examined, and what each distribution is held out from
cases          Case: a distribution with its truth
noisy          those in which y is a function of x and noise; numeric: others whose y is a number
labels         those whose y is a label or a category, and bits with co-information
beyond_normal  the forty of Czyż et al. 2023, "Beyond Normal: On the Evaluation of Mutual Information Estimators"
resampled      items paired by their labels (Gowri et al. 2024)
independence   tests of independence; simulators: structure learning
"""
