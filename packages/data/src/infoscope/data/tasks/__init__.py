"""Distributions of known mutual information, from which samples of any size can be
drawn.

catalogue      the collections on which estimators are tested, and which of them are held out
cases          Case: a distribution with its truth
noisy          y is a function of x and noise; numeric: other distributions with a number y
labels         y is a label or a category; bits with co-information
beyond_normal  the forty of Czyż et al. 2023, "Beyond Normal: On the Evaluation of Mutual Information Estimators"
resampled      items paired by their labels (Gowri et al. 2024)
independence   tests of independence; simulators: structure learning
"""
