"""Models that make representations: encoders.

Every model has `.config`, a dict of plain JSON values from which its class rebuilds it: `Model(**model.config)`, then
`load_state_dict`. Initial weights are drawn from a given `torch.Generator`, never from torch's global one.

Of flat samples [n, dim], random and invertible (the benchmark, section 5.7), on the statistics of the batch as
published, or calibrated once and fixed:
    MaskedAutoregressiveFlow, RealNVP    normalising flows
    IRevNet, IREVNET_BLOCKS              an invertible convolutional network, and its two sizes
Of images, not invertible:
    ResNet                               residual networks of several depths and widths
    fit_resnet                           trains one to read the patch labels
    LayerEncoder                         one of its layers as a fixed map, pooled if wished
    VAE, AutoEncoder, LatentSpec         variational autoencoders with real and categorical latents; a plain one
    fit_vae, VaeTraining, OBJECTIVES     trains one: (beta-)VAE, FactorVAE, beta-TCVAE, JointVAE, plain
    encode_all, Encoding, traverse       the posterior of a whole data set; images along one latent
Of images or features in several domains, with a latent block for class, domain, both and neither (more in `domain`):
    NVAE, DIVA, DANN, AugmentedDANN, IRM, CORAL, Fishr, DomainInformedERM, ERM
                                         the models; BlockSpec says which blocks there are
    fit_domain, DomainData               trains one on labelled items
    accuracies, extract_blocks           what it gets right by domain, and the values of its blocks
Of texts:
    TextEncoder                          a transformer with its tokenizer: embeddings
    pretrained_encoder, small_encoder    one from the Hugging Face hub or a folder; a small one made from a corpus alone
    SequenceClassifier, fine_tune        one with a head that tells the classes of texts, and how it is trained
    ClassifierTraining                   the same in pieces: epoch by epoch, resumable
    SentenceEncoder                      a small bag-of-words encoder of sentences
    fit_sentence_encoder                 trains one to tell the classes of a labelled corpus apart
"""

from importlib import import_module
from typing import Any

from infoscope.models.domain import (
    CORAL,
    DANN,
    DIVA,
    ERM,
    IRM,
    NVAE,
    AugmentedDANN,
    BlockSpec,
    DomainData,
    DomainInformedERM,
    Fishr,
    accuracies,
    extract_blocks,
    fit_domain,
)
from infoscope.models.invertible.flows import MaskedAutoregressiveFlow, RealNVP
from infoscope.models.invertible.irevnet import IREVNET_BLOCKS, IRevNet
from infoscope.models.text.sentence_encoder import SentenceEncoder, fit_sentence_encoder
from infoscope.models.vae.networks import VAE, AutoEncoder, Encoding, LatentSpec, encode_all, traverse
from infoscope.models.vae.objectives import OBJECTIVES
from infoscope.models.vae.training import VaeTraining, fit_vae

# torchvision and transformers take seconds to import: only for those who use them.
_LATE = {name: "resnet" for name in ("LayerEncoder", "ResNet", "fit_resnet")}
_LATE |= {name: "text.encoder" for name in ("TextEncoder", "pretrained_encoder", "small_encoder")}
_LATE |= {"SequenceClassifier": "text.classifier"}
_LATE |= {name: "text.training" for name in ("ClassifierTraining", "fine_tune")}

__all__ = [
    "AugmentedDANN", "AutoEncoder", "BlockSpec", "CORAL", "ClassifierTraining", "DANN", "DIVA", "DomainData",
    "DomainInformedERM", "ERM", "Encoding", "Fishr", "IREVNET_BLOCKS", "IRM", "IRevNet", "LatentSpec", "LayerEncoder",
    "MaskedAutoregressiveFlow", "NVAE", "OBJECTIVES", "RealNVP", "ResNet", "SentenceEncoder", "SequenceClassifier",
    "TextEncoder", "VAE", "VaeTraining", "accuracies", "encode_all", "extract_blocks", "fine_tune", "fit_domain",
    "fit_resnet", "fit_sentence_encoder", "fit_vae", "pretrained_encoder", "small_encoder", "traverse",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LATE[name]}", __name__), name)
