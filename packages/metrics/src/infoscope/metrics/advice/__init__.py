"""Which estimator for one's own data, and how much information there is: an interval, or a refusal."""

from infoscope.metrics.advice.advising import ANSWERED, LEAST_SECONDS, NOTHING, REFUSED, Advice, advise

__all__ = ["ANSWERED", "LEAST_SECONDS", "NOTHING", "REFUSED", "Advice", "advise"]
