"""Labelled texts: LabelledTexts, published data sets, generated reviews and inference,
transformations.
"""
