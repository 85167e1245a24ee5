"""Lee & Rhee 2024, each experiment with the table or figure that it repeats.

_benchmark  how the runs of an experiment become its tables
_notes      what captions say of the runs
_claims     verdicts on the paper's sentences
_terms      columns, their titles, and the limits of claims

A table is a module that declares `ANALYSIS`, with its place in `analysis.report`.
"""
