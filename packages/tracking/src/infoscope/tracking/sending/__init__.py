"""Records of cells, on their way to MLflow.

publish     a record that has ended, as the run of its cell
live        running cells, as far as they got
checkpoint  of a pack, and its copy in the store
signs       whether an invocation lives
sync        what dead processes left behind
summaries   means over seeds
machine     the load of a worker's machine
"""
