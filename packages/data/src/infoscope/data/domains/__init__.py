"""Items of a class, a domain and a group: DomainDataset and DomainSplit; loaders of
digits and of Camelyon17.
"""
