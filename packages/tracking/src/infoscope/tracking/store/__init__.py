"""The MLflow tracking store, and what is read from it.

store    Store; runs, curve, table, arrays, parents
client   the client of a store, which may answer late, wrongly or never
find     one search over the cells of every sweep
publish  adds tables, figures and metrics to runs; records a run that belongs to no sweep
ui       what the MLflow UI shows of an experiment first
"""
