"""Estimators, tests and screens on samples of distributions whose true information is
known.
"""
