"""From local records to MLflow, whatever dies on the way.

flush       batches, idempotently, from where the last attempt got to
checkpoint  from what a pack goes on after a fault
machine     how busy the machine of a worker is
claims      which living process works on which cells
identity    who this working tree is
duplicates  one run of a cell counts
summaries   one run for each configuration, with means over its seeds
sync        sends and closes what dead processes have left behind
"""
