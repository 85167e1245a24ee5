"""Closed forms that the tests of several metrics share."""

import numpy as np
from scipy import integrate


def sign_information(amplitude):
    """I(sign; amplitude * sign + N(0, 1)), nats, by quadrature."""

    def integrand(x):
        density = np.exp(-0.5 * (x - amplitude) ** 2) / np.sqrt(2 * np.pi)
        return density * (np.log(2) - np.logaddexp(0, -2 * amplitude * x))

    return integrate.quad(integrand, -10, 10)[0]
