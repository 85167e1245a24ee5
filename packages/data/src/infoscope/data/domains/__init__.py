"""Items of a class, a domain and a group: DomainDataset and DomainSplit (`dataset`, `split`), loaders of digits
(`crmnist`, `rotated_mnist`), of `camelyon17` and of image files (`folders`).
"""

from infoscope.data.domains.camelyon17 import camelyon17
from infoscope.data.domains.crmnist import crmnist
from infoscope.data.domains.dataset import DomainDataset, DomainSplit
from infoscope.data.domains.folders import image_folder
from infoscope.data.domains.rotated_mnist import rotated_mnist

__all__ = [
    "DomainDataset",
    "DomainSplit",
    "camelyon17",
    "crmnist",
    "image_folder",
    "rotated_mnist",
]
