"""What the tables and figures share.

tables    the command line of an analysis, its tables and files
claims    sentences of papers, what decides them, intervals in words
figures   curves and bars by panel
marks     a colour and a marker for every name
runs      which runs a table shows
search    the trials of a search
models    logged models, and what evaluations keep with them
own_files, own_columns  users' files and the types of their columns
own_data  what options mean for them
own_report  a report on them: files, page, run
"""
