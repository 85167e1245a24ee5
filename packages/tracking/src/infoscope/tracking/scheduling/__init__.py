"""Runs the cells of a sweep as trials on Ray Tune.

driver      run: finds the missing cells and runs them
invocation  one run of missing cells, the parent of their runs in MLflow
dispatch    which packs go into the next trial
worker      RecordedReport, and the work of a worker
monitor     follows the trials of an invocation
search      configurations suggested by Optuna
gpu_memory  how many packs share a GPU, measured
cluster     a local Ray, or the cluster of RAY_ADDRESS
progress    the display on the terminal
"""
