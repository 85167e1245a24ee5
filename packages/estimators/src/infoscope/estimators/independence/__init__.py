"""Tests of (conditional) independence of two variables, or of hundreds of columns.

A test takes milliseconds.

arrays        independence_test of two variables, given a third
columns       the columns of a table with their types
association   tests of all columns with all others, from smooth functions of ranks
permutations  their p-values for few rows and rare values
beyond        tests of what is left beyond other columns, and a choice of columns step by step
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
