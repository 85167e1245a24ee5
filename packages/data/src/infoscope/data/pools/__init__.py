"""Labelled items for pairs of images and texts: ImagePool, EmbeddingPool (`pools`);
loaders; textures; canvas.
"""
