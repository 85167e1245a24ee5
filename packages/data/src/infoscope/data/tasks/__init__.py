"""Distributions of known mutual information, from which samples of any size can be
drawn.

catalogue      the collections on which estimators are tested, and which of them are held out
cases          Case: a distribution with its truth
everyday       distributions as measured data often are
difficult      columns computed from columns, angles, weak tables, signals in many columns
unseen         distributions that no constant was chosen on
tables         whole tables with a target: which columns depend on it is known
beyond_normal  the forty of Czyż et al. 2023, "Beyond Normal: On the Evaluation of Mutual Information Estimators"
resampled      items paired by their labels (Gowri et al. 2024)
independence   tests of independence; simulators: structure learning
"""
