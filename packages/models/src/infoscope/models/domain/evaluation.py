"""The accuracy of a trained domain model, by domain, and the contents of its blocks."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from infoscope.checks import one_of, require_int
from infoscope.errors import Conflict, OutOfRange, TooFew
from infoscope.models.blocks import Block
from infoscope.models.domain.base import DomainModel
from infoscope.models.domain.items import DomainItems, check_items, fetch, labels

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Accuracy:
    """A share of items in [0, 1] and its standard error over `clusters` independent groups of the items (one: NaN)."""

    value: float
    standard_error: float
    n: int
    clusters: int


@dataclass(frozen=True)
class Accuracies:
    """By overall, average (over domains), domain, and slice (class, domain); worst_domain and worst_slice are biased
    downwards.
    """

    overall: Accuracy
    average: Accuracy
    by_domain: dict[int, Accuracy]
    by_slice: dict[tuple[int, int], Accuracy]
    worst_domain: int
    worst_slice: tuple[int, int]

    @property
    def worst(self) -> Accuracy:
        """The accuracy of the worst domain."""
        return self.by_domain[self.worst_domain]


def accuracies(model: DomainModel, data: DomainItems, of: str = "class", batch: int = 512) -> Accuracies:
    """How often the model's most probable class (or domain, `of`) is right, in batches of one domain.

    Items of unknown class are left out. Standard errors are robust to the groups of `data`. ValueError when no item has
    a label, for labels that do not suit the model, and for a model that never reads the domain.
    """
    one_of("of", of, ("class", "domain"))
    check_items("data", data, model, train=False)
    d = torch.as_tensor(data.d)
    index = torch.nonzero(torch.as_tensor(data.y) >= 0)[:, 0] if of == "class" else torch.arange(len(d))
    if not len(index):
        raise OutOfRange("data.y must have known classes (at least 0) to count what is right, got -1.")
    index = index[d[index].argsort(stable=True)]
    d = d[index]
    counts = d.unique_consecutive(return_counts=True)[1].tolist()
    batch = require_int("batch", batch)
    with evaluating(model):
        correct = torch.cat([
            _correct(model, data, rows, of)
            for of_domain in index.split(counts)
            for rows in of_domain.tensor_split(math.ceil(len(of_domain) / batch))
        ])  # fmt: skip
    groups = getattr(data, "groups", None)
    clusters = index if groups is None else labels("data.groups", groups, len(data), None)[index]
    by_domain = {key: _mean(correct[rows], clusters[rows]) for (key,), rows in _slices(d)}
    by_slice = {key: _mean(correct[rows], clusters[rows]) for key, rows in _slices(torch.as_tensor(data.y)[index], d)}
    return Accuracies(
        overall=_mean(correct, clusters),
        average=_average(correct, d, clusters, by_domain),
        by_domain=by_domain,
        by_slice=by_slice,
        worst_domain=_worst(by_domain),
        worst_slice=_worst(by_slice),
    )


def posteriors(model: DomainModel, data: Any, batch: int = 512, progress: Progress | None = None) -> dict[str, Block]:
    """Means and scales [n, dim] of all items in each block of the model, on the CPU, without gradients.

    data: items x [n, *shape], or a data set with `images(index)`. progress(done, n) is called after every batch.
    ValueError for no items or items of another shape.
    """
    if not len(data):
        raise TooFew("data must have one item or more, got none.")
    x = data.images if hasattr(data, "images") else torch.as_tensor(data).__getitem__
    parameter = next(model.parameters())
    parts: list[dict[str, Block]] = []
    with evaluating(model):
        for rows in torch.arange(len(data)).split(require_int("batch", batch)):
            blocks = model.blocks(torch.as_tensor(x(rows)).to(parameter.device, parameter.dtype))
            parts.append({name: Block(*map(_to_cpu, (block.mean, block.scale))) for name, block in blocks.items()})
            if progress is not None:
                progress(int(rows[-1]) + 1, len(data))
    return {name: _joined([part[name] for part in parts]) for name in parts[0]}


def extract_blocks(
    model: DomainModel,
    data: Any,
    batch: int = 512,
    generator: torch.Generator | None = None,
    progress: Progress | None = None,
) -> dict[str, Tensor]:
    """The values of every block, [n, dim] on the CPU: the posterior means, or, with a CPU generator, one draw for every
    item.

    data, progress and errors as in `posteriors`.
    """
    blocks = posteriors(model, data, batch, progress)
    return {name: block.mean if generator is None else block.draw(generator) for name, block in blocks.items()}


@contextlib.contextmanager
def evaluating(model: DomainModel) -> Iterator[None]:
    """The model in evaluation mode for a while, without gradients."""
    mode = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(mode)


def _correct(model: DomainModel, data: DomainItems, rows: Tensor, of: str) -> Tensor:
    """1 right, 0 wrong, NaN where a logit is not finite: float64 [rows]."""
    batch = fetch(data, rows, model)
    logits = model.class_logits(batch.x) if of == "class" else model.domain_logits(batch.x)
    if logits is None:
        raise Conflict(f"of must be class for {type(model).__name__}, which never reads the domain, got {of!r}.")
    right = (logits.argmax(1) == (batch.y if of == "class" else batch.d)).double()
    return right.masked_fill(~logits.isfinite().all(1), math.nan).cpu()


def _slices(*labels: Tensor) -> Iterator[tuple[tuple[int, ...], Tensor]]:
    """Each combination of labels that occurs and a mask of its items."""
    present, place = torch.stack([one.long() for one in labels], 1).unique(dim=0, return_inverse=True)
    yield from ((tuple(key), place == number) for number, key in enumerate(present.tolist()))


def _worst(accuracies_of: dict[Any, Accuracy]) -> Any:
    return min(accuracies_of, key=lambda key: (not math.isnan(accuracies_of[key].value), accuracies_of[key].value))


def _mean(correct: Tensor, clusters: Tensor) -> Accuracy:
    value = correct.mean()
    error, count = _standard_error((correct - value) / len(correct), clusters)
    return Accuracy(value.item(), error, len(correct), count)


def _average(correct: Tensor, d: Tensor, clusters: Tensor, by_domain: dict[int, Accuracy]) -> Accuracy:
    """Mean over domains. A cluster may have items of several domains, whose errors then go together."""
    residuals = torch.empty_like(correct)
    for value, accuracy in by_domain.items():
        residuals[d == value] = (correct[d == value] - accuracy.value) / (accuracy.n * len(by_domain))
    error, count = _standard_error(residuals, clusters)
    return Accuracy(sum(entry.value for entry in by_domain.values()) / len(by_domain), error, len(correct), count)


def _standard_error(residuals: Tensor, clusters: Tensor) -> tuple[float, int]:
    """The standard error of a sum of residuals that are independent between clusters only; how many clusters."""
    present, place = clusters.unique(return_inverse=True)
    sums = torch.zeros(len(present), dtype=residuals.dtype).index_add_(0, place, residuals)
    if len(present) < 2:
        return math.nan, len(present)
    return math.sqrt(len(present) / (len(present) - 1) * sums.square().sum().item()), len(present)


def _to_cpu(values: Tensor | None) -> Tensor | None:
    return None if values is None else values.cpu()


def _joined(blocks: Sequence[Block]) -> Block:
    mean = torch.cat([block.mean for block in blocks])
    return Block(mean, None if blocks[0].scale is None else torch.cat([block.scale for block in blocks]))
