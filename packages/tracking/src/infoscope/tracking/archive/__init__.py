"""Finished runs as a file, which can be loaded into another store.

format    the file: a header, then one run per line, checked on reading
portable  what of a run's tags and data sets a file holds
saving    writes the finished cells of an experiment to a file
loading   loads a file into a store, where its cells count as done
"""
