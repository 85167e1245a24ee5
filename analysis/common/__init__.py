"""What the tables and figures share.

tables    the command line of an analysis, its tables, claims and files
figures   curves and bars by panel
marks     a colour and a marker for every name
searches  what a search has found
"""
