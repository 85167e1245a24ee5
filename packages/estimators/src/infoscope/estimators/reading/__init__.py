"""The reading: a calibrated estimate of I(x; y) from quick figures of a sample, trained on simulated data sets."""
