"""cleanlab: the confident joint counts classes below their threshold.

Northcutt et al. 2021 assign an item to the likeliest of the classes whose threshold it
reaches. Where it reaches two or more, version 2.9.0 takes the likeliest of all classes,
even one whose threshold it does not reach.
"""

import numpy as np

probabilities, thresholds = np.array([0.45, 0.35, 0.20]), np.array([0.90, 0.30, 0.15])
confident = probabilities >= thresholds
published = np.where(confident, probabilities, -1).argmax()
counted = probabilities.argmax() if confident.sum() > 1 else published
print(
    f"confident of classes {np.flatnonzero(confident)}; by the paper {published}, as "
    f"released {counted}"
)
assert published == 1 and counted == 0 and not confident[counted]
