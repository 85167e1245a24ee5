"""Models that make representations: encoders.

Every model has `.config`, plain JSON values, from which `Model(**model.config)` and `load_state_dict` rebuild it.
Initial weights are drawn from a given `torch.Generator`.

Of flat samples [n, dim], random and invertible (the benchmark, section 5.7): flows and i-RevNets. Of images: residual
networks and their layers; variational autoencoders with real and categorical latents, their objectives and training.
Of images or features in several domains (more in `domain`). Of texts: transformers with their tokenizers, classifiers
and their fine-tuning, a small bag-of-words encoder.
"""

from infoscope.late import late, names_of

# torch, torchvision and transformers take seconds to import: only for those who use them.
_LATE = names_of(
    {
        "domain": (
            "CORAL", "DANN", "DIVA", "ERM", "IRM", "NVAE", "AugmentedDANN", "BlockSpec", "DomainData",
            "DomainInformedERM", "Fishr", "accuracies", "extract_blocks", "fit_domain",
        ),
        "invertible": ("IREVNET_BLOCKS", "IRevNet", "MaskedAutoregressiveFlow", "RealNVP"),
        "resnet": ("LayerEncoder", "ResNet", "fit_resnet"),
        "text.classifier": ("ClassifierTraining", "SequenceClassifier", "fine_tune"),
        "text.encoder": ("TextEncoder", "pretrained_encoder", "small_encoder"),
        "text.sentence_encoder": ("SentenceEncoder", "fit_sentence_encoder"),
        "vae.networks": ("VAE", "AutoEncoder", "Encoding", "LatentSpec", "encode_all", "traverse"),
        "vae.objectives": ("OBJECTIVES",),
        "vae.training": ("VaeTraining", "fit_vae"),
    }
)  # fmt: skip

__all__ = [*_LATE]
__getattr__ = late(__name__, _LATE)
