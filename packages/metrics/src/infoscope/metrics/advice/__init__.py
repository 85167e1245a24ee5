"""Which estimator for one's own data, and how much there is: an answer with an interval, or a refusal.

advising    advise, Advice: what estimators say of the data beside what they say of twins
twins       data made of one's own rows, or like them, whose information is known
statistics  what is asked of data and twins
inversion   the levels at which twins behave as the data do
realism     whether trees tell the data from a twin
"""

from infoscope.metrics.advice.advising import ANSWERED, LEAST_SECONDS, NOTHING, REFUSED, Advice, advise

__all__ = ["ANSWERED", "LEAST_SECONDS", "NOTHING", "REFUSED", "Advice", "advise"]
