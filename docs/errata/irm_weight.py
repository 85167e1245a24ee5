"""Partitioned latents: the IRM baseline is not IRM.

Its dummy weight has the shape of the logits. It penalises the gradient of every logit
even where no common factor of the logits would help (the penalty of IRMv1 is then 0),
and it halves if the batch is twice as long.
"""

import torch
from torch.nn.functional import cross_entropy


def penalty(logits, labels, weight):
    (gradient,) = torch.autograd.grad(cross_entropy(logits * weight, labels), weight)
    return float(gradient.square().sum())


stream = torch.Generator().manual_seed(0)
logits = torch.randn(512, 2, generator=stream, dtype=torch.float64)
labels = torch.bernoulli(torch.softmax(logits, 1)[:, 1], generator=stream).long()
factor = torch.ones((), dtype=torch.float64, requires_grad=True)
fit = torch.optim.LBFGS([factor], max_iter=50, tolerance_grad=1e-12)


def loss():
    fit.zero_grad()
    found = cross_entropy(logits * factor, labels)
    found.backward()
    return found


fit.step(loss)
logits = logits * factor.detach()  # the best common factor is now 1
scalar = penalty(
    logits, labels, torch.ones((), dtype=torch.float64, requires_grad=True)
)
for copies in (1, 2):
    many, their_labels = logits.repeat(copies, 1), labels.repeat(copies)
    released = penalty(many, their_labels, torch.ones_like(many, requires_grad=True))
    print(f"{len(many)} rows: released {released:.1e}, IRMv1 {scalar:.1e}")
assert (
    scalar < 1e-9 < penalty(logits, labels, torch.ones_like(logits, requires_grad=True))
)
