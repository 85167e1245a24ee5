"""What is concluded from estimates.

errors, Errors             bias, variance and mean squared error of a series of estimates
replicated, Replicated     a figure over independent runs, with its standard error and interval
correlation                a correlation over independent runs, with its interval
batch_means_error          the standard error of the mean of a dependent series
"""

from infoscope.metrics.accuracy import Errors, Replicated, batch_means_error, correlation, errors, replicated

__all__ = ["Errors", "Replicated", "batch_means_error", "correlation", "errors", "replicated"]
