"""Labelled items for pairs of images and texts: ImagePool, EmbeddingPool; loaders; idx (MNIST's files), textures,
canvas, resampling.
"""
