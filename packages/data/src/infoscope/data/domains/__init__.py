"""Items of a class, a domain and a group: DomainDataset and DomainSplit (`dataset`, `split`), loaders of `digits`, of
image files and Camelyon17 (`folders`).
"""
