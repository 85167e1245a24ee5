"""What makes representations: encoders.

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
Of texts:
    TextEncoder                          a transformer with its tokenizer: embeddings, and classes once fine-tuned
    pretrained_encoder, small_encoder    one from the Hugging Face hub or a folder; a small one made from a corpus alone
    fine_tune                            trains one to tell the classes of texts
    SentenceEncoder                      a small bag-of-words encoder of sentences
    fit_sentence_encoder                 trains one to tell the classes of a labelled corpus apart
"""

from importlib import import_module
from typing import Any

from .flows import MaskedAutoregressiveFlow, RealNVP
from .irevnet import IREVNET_BLOCKS, IRevNet
from .sentence_encoder import SentenceEncoder, fit_sentence_encoder

# torchvision and transformers take seconds to import: only for those who use them.
_LATE = {name: "resnet" for name in ("LayerEncoder", "ResNet", "fit_resnet")}
_LATE |= {name: "text_encoder" for name in ("TextEncoder", "fine_tune", "pretrained_encoder", "small_encoder")}

__all__ = [
    "IREVNET_BLOCKS",
    "IRevNet",
    "LayerEncoder",
    "MaskedAutoregressiveFlow",
    "RealNVP",
    "ResNet",
    "SentenceEncoder",
    "TextEncoder",
    "fine_tune",
    "fit_resnet",
    "fit_sentence_encoder",
    "pretrained_encoder",
    "small_encoder",
]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LATE[name]}", __name__), name)
