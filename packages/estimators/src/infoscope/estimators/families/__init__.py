"""Predictive families: what may be used to read one variable off another.

protocol     what a family is: fitted to (x, y), it gives log-probabilities or log-densities of unseen y
classifiers  families for labels that the coherent classifier is made of
logistic     logistic regression, all folds and penalties in one computation
closed_form  tables, Gaussian, Laplace and bounded logistic families
local        neighbours' classes, or a Gaussian around a local mean
networks     fully connected networks
scikit       any probabilistic classifier of scikit-learn's interface
complexity   Rademacher complexity and the PAC bound of a family
"""
