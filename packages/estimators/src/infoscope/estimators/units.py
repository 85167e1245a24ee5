"""Units of information: everything inside is in nats, what is shown is often in bits."""

from math import log

NATS_PER_BIT = log(2.0)
