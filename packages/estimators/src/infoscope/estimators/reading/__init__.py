"""The reading: a calibrated estimate of I(x; y) from quick figures of a sample, trained
on simulated data sets.

From arrays to the printed interval: `diagnosis.diagnose` checks and types them
(`pairs`, `column_types`), leaves out derived columns and finds copies and series;
`result.read` puts the rows in one order (`order`), computes the `figures`, evaluates
the networks (`reader`), caps the answer at the entropy of labels and tests
independence; `sentences` says it.
"""
