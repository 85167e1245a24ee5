"""Items of a class, a domain and a group: DomainDataset and DomainSplit (`dataset`, `split`), loaders of digits
(`crmnist`, `rotated_mnist`), of `camelyon17` and of image files (`folders`).
"""
