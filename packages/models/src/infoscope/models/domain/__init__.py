"""Models of data with domains, whose latent blocks separate class and domain.

BlockSpec, Block                     the latent blocks, and the values of items in one
NVAE, DIVA                           variational autoencoders with one or several encoders
DANN, AugmentedDANN                  domain-adversarial training of one block or of three
IRM, ERM                             invariant and empirical risk minimisation
MODELS, PUBLISHED                    all of them by name; published settings that are not a model's defaults
DomainData, fit_domain, select_step  items with labels; one training loop for all; rules of model selection
accuracies, extract_blocks, posteriors

model = NVAE(shape=(3, 28, 28), classes=10, domains=5,
generator=torch.Generator().manual_seed(0)) fit = fit_domain(model, DomainData(x, y, d),
steps=2000, generator=torch.Generator().manual_seed(1)) z = extract_blocks(fit.model,
x)["z_y"]
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
