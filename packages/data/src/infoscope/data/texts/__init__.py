"""Labelled texts: LabelledTexts (`dataset`), cola, sst2, imdb and nli (`published`), generated reviews and inference,
transformations.
"""
