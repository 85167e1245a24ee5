"""Models of data with domains, whose latent blocks are to keep class and domain apart.

    BlockSpec, Block                     which latent blocks there are, and what items have in one
    NVAE, DIVA                           variational autoencoders, one or several encoders
    DANN, AugmentedDANN                  domain-adversarial training, of one block or of three
    IRM, ERM                             invariant and plain risk minimisation
    MODELS, PUBLISHED                    the six by name; published settings that are not a model's defaults
    DomainData, fit_domain, select_step  items with labels; one training loop for all; rules of model selection
    accuracies, extract_blocks, posteriors    what a trained model gets right, and what its blocks hold

    model = NVAE(shape=(3, 28, 28), classes=10, domains=5, generator=torch.Generator().manual_seed(0))
    fit = fit_domain(model, DomainData(x, y, d), steps=2000, generator=torch.Generator().manual_seed(1))
    z = extract_blocks(fit.model, x)["z_y"]

Every model's settings, with the published defaults, are its `Config` (see `domain_configs`).
"""

from __future__ import annotations

from typing import Any

from .domain_adversarial import DANN, AugmentedDANN
from .domain_blocks import BLOCK_NAMES, Block, BlockSpec
from .domain_configs import Adversary, Network, Optimisation
from .domain_data import DomainData, DomainItems
from .domain_evaluation import Accuracies, Accuracy, accuracies, extract_blocks, posteriors
from .domain_models import ERM, IRM, Batch, DomainModel, invariance_penalty
from .domain_training import RULES, DomainFit, fit_domain, select_step
from .domain_variational import DIVA, NVAE

MODELS: dict[str, type[DomainModel]] = {
    "nvae": NVAE,
    "diva": DIVA,
    "dann": DANN,
    "augmented-dann": AugmentedDANN,
    "irm": IRM,
    "erm": ERM,
}

_CAMELYON17 = {
    "network": {"kind": "densenet121"},
    "optimisation": {"method": "sgd", "learning_rate": 1e-3, "momentum": 0.9, "weight_decay": 0.01, "batch": 32},
}

# name -> model and settings to be given beside shape, classes and domains
PUBLISHED: dict[str, tuple[str, dict[str, Any]]] = {
    # NVAE's comparison on coloured, rotated MNIST: the same 32 dimensions and losses without z_dy
    "diva-crmnist": (
        "diva",
        {
            "blocks": BlockSpec().without("z_dy").to_dict(),
            "reconstruction": "squared",
            "alpha_y": 150.0,
            "alpha_d": 150.0,
            "beta_warmup": 0.0,
            "optimisation": {"batch": 64},
        },
    ),
    "nvae-wilds": (
        "nvae",
        {
            "blocks": {"z_y": 128, "z_x": 128, "z_dy": 128, "z_d": 128},
            "alpha_d": 40.0,
            "l1": {"z_y": 10.0, "z_x": 10.0, "z_dy": 100.0, "z_d": 10.0},
            "l1_form": "item-sum",
            "optimisation": {"learning_rate": 1e-4},
        },
    ),
    # DomainBed's defaults for images of 28 x 28: 64 items of each domain a step
    "erm-domainbed": ("erm", {"optimisation": {"learning_rate": 1e-3, "batch": 64, "balanced": True}}),
    "dann-domainbed": (
        "dann",
        {
            "hidden": [],
            "adversary": {
                "method": "alternating",
                "hidden": [256, 256],
                "weight": 1.0,
                "gamma": None,
                "steps": 1,
                "gradient_penalty": 0.0,
                "learning_rate": 1e-3,
                "weight_decay": 0.0,
            },
            "optimisation": {
                "learning_rate": 1e-3,
                "momentum": 0.5,
                "second_momentum": 0.9,
                "weight_decay": 0.0,
                "batch": 64,
                "balanced": True,
            },
        },
    ),
    "erm-camelyon17": ("erm", _CAMELYON17),
    # two hospitals of 16 patches a step in WILDS; here 11 of each of the three
    "irm-camelyon17": (
        "irm",
        {
            "network": _CAMELYON17["network"],
            "optimisation": _CAMELYON17["optimisation"] | {"batch": 11, "balanced": True},
            "penalty": "unbiased",
            "weight": 1.0,
            "switch": 0.0,
        },
    ),
}

__all__ = [
    "BLOCK_NAMES",
    "DANN",
    "DIVA",
    "ERM",
    "IRM",
    "MODELS",
    "NVAE",
    "PUBLISHED",
    "RULES",
    "Accuracies",
    "Accuracy",
    "Adversary",
    "AugmentedDANN",
    "Batch",
    "Block",
    "BlockSpec",
    "DomainData",
    "DomainFit",
    "DomainItems",
    "DomainModel",
    "Network",
    "Optimisation",
    "accuracies",
    "extract_blocks",
    "fit_domain",
    "invariance_penalty",
    "posteriors",
    "select_step",
]
