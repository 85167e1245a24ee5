"""The MLflow tracking store.

store    Store; runs, curve, table, arrays, parents
client   a client for servers that answer late, wrongly or never
find     a search over the cells of all sweeps
results  adds tables, figures and metrics to runs; records a run that belongs to no sweep
ui       the first view of an experiment in the MLflow UI
"""
