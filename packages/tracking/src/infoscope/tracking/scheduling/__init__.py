"""From a sweep's cells to trials on Ray Tune.

driver      run: finds what is missing, and has it run
invocation  one run of that, the parent of its cells' runs
dispatch    which packs go into the next trial
worker      RecordedReport, and what happens on a worker
watch       follows the trials of an invocation
search      configurations suggested by Optuna
placement   how many packs share a GPU, measured
cluster     a local Ray, or the one of RAY_ADDRESS
progress    what a person sees of a sweep
"""
