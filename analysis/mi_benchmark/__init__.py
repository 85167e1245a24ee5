"""Lee & Rhee 2024, each experiment with the table or figure that it repeats.

_benchmark  how the runs of an experiment become its tables
_captions   sentences of captions
_claims     verdicts on the paper's sentences
_terms      columns with their titles, limits of claims

A table is a module that declares `ANALYSIS`, with its line in `analysis.TABLES`.
"""
