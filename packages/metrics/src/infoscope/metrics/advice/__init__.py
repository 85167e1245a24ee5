"""Which estimator for one's own data: twins of the data whose information is known.

twins    Twin, and the families that draw them: null, scores, cells, latent, mixture; `families` makes all of them
"""
