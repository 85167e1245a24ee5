"""Models of data with domains, whose latent blocks are to keep class and domain apart.

BlockSpec, Block                     the latent blocks, and the values of items in one
NVAE, DIVA                           variational autoencoders, one or several encoders
DANN, AugmentedDANN                  domain-adversarial training, of one block or of three
IRM, CORAL, Fishr                    risk minimisation with a penalty on what differs between domains
DomainInformedERM, ERM, UninformedERM, BalancedERM    risk minimisation with domain information, plain, controls
MODELS, PUBLISHED                    all of them by name; published settings that are not a model's defaults
DomainData, fit_domain, select_step  items with labels; one training loop for all; rules of model selection
accuracies, extract_blocks, posteriors

model = NVAE(shape=(3, 28, 28), classes=10, domains=5, generator=torch.Generator().manual_seed(0))
fit = fit_domain(model, DomainData(x, y, d), steps=2000, generator=torch.Generator().manual_seed(1))
z = extract_blocks(fit.model, x)["z_y"]
"""

from infoscope.models.blocks import Block
from infoscope.models.domain.adversarial import DANN, AugmentedDANN
from infoscope.models.domain.base import (
    CORAL,
    ERM,
    IRM,
    BalancedERM,
    Batch,
    DomainInformedERM,
    DomainModel,
    Fishr,
    UninformedERM,
    gradient_variances,
    invariance_penalty,
    moment_distance,
)
from infoscope.models.domain.configs import BLOCK_NAMES, PUBLISHED, Adversary, BlockSpec, Network, Optimisation
from infoscope.models.domain.evaluation import (
    Accuracies,
    Accuracy,
    DomainData,
    DomainItems,
    accuracies,
    extract_blocks,
    posteriors,
)
from infoscope.models.domain.training import RULES, DomainFit, fit_domain, select_step
from infoscope.models.domain.variational import DIVA, NVAE

MODELS: dict[str, type[DomainModel]] = {
    "nvae": NVAE,
    "diva": DIVA,
    "dann": DANN,
    "augmented-dann": AugmentedDANN,
    "irm": IRM,
    "coral": CORAL,
    "fishr": Fishr,
    "di-erm": DomainInformedERM,
    "uninformed-erm": UninformedERM,
    "balanced-erm": BalancedERM,
    "erm": ERM,
}

__all__ = [
    "BLOCK_NAMES", "CORAL", "DANN", "DIVA", "ERM", "IRM", "MODELS", "NVAE", "PUBLISHED", "RULES", "Accuracies",
    "Accuracy", "Adversary", "AugmentedDANN", "BalancedERM", "Batch", "Block", "BlockSpec", "DomainData", "DomainFit",
    "DomainInformedERM", "DomainItems", "DomainModel", "Fishr", "Network", "Optimisation", "UninformedERM",
    "accuracies", "extract_blocks", "fit_domain", "gradient_variances", "invariance_penalty", "moment_distance",
    "posteriors", "select_step",
]  # fmt: skip
