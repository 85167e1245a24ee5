"""How records of cells get into MLflow.

publish       the run of a record that has ended
live_updates  the runs of cells that are still running
checkpoint    the checkpoint of a pack, and its copy in the store
heartbeat     whether an invocation is alive
sync          sends the records of ended processes
summaries     means over seeds
"""
