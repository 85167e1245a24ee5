"""Finished runs as a file, from store to store.

lines     the file: a header, then a run a line; what is carried of a run, what is refused
saving    the finished cells of an experiment into a file
loading   a file into a store, where its cells count as done
"""
