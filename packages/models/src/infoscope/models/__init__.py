"""Models that make representations: encoders.

Every model has `.config`, plain JSON values, from which `Model(**model.config)` and
`load_state_dict` rebuild it. Initial weights are drawn from a given `torch.Generator`.

For flat samples [n, dim], random and invertible (the benchmark, section 5.7): flows and
i-RevNets. For images: residual networks and their layers; variational autoencoders with
real and categorical latents, their objectives and training. For images or features in
several domains: see `domain`. For texts: transformers with their tokenizers,
classifiers and their fine-tuning, a small bag-of-words encoder.
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
