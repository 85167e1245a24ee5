"""Models that make representations: encoders.

Every model has `.config`, plain JSON values, from which `Model(**model.config)` and `load_state_dict` rebuild it.
Initial weights are drawn from a given `torch.Generator`.

Of flat samples [n, dim], random and invertible (the benchmark, section 5.7):
    MaskedAutoregressiveFlow, RealNVP, IRevNet (IREVNET_BLOCKS)
Of images, not invertible:
    ResNet, fit_resnet, LayerEncoder     residual networks; one layer as a fixed map
    VAE, AutoEncoder, LatentSpec         variational autoencoders with real and categorical latents; a plain one
    fit_vae, VaeTraining, OBJECTIVES     (beta-)VAE, FactorVAE, beta-TCVAE, JointVAE, plain
    encode_all, Encoding, traverse       the posterior of a whole data set; images along one latent
Of images or features in several domains (more in `domain`):
    NVAE, DIVA, DANN, AugmentedDANN, IRM, CORAL, Fishr, DomainInformedERM, ERM, BlockSpec
    fit_domain, DomainData, accuracies, extract_blocks
Of texts:
    TextEncoder, pretrained_encoder, small_encoder           transformers with their tokenizers
    SequenceClassifier, fine_tune, ClassifierTraining        classifiers of texts and their training
    SentenceEncoder, fit_sentence_encoder                    a small bag-of-words encoder
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
