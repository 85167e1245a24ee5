"""Items of a class, a domain and a group.

dataset        DomainDataset, DomainSplit: your own arrays or those of a loader
split          which items are trained on, validated on and tested on: by group, and by domain
labels         labels of any kind as codes with names
images         where the images come from: memory, files, a rendering
folders        image_folder: image files in folders, or listed in a table
digits         handwritten digits, turned and coloured: the base of the next two
crmnist        digits coloured and rotated by domain
rotated_mnist  digits rotated by domain, in the protocol of DIVA or of DomainBed
camelyon17     patches of lymph nodes from five hospitals, as WILDS cuts them
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
