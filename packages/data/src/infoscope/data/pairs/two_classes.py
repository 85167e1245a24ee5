"""The choice of the items of a binary pair: labels of x and y first, then an item of each label."""

from __future__ import annotations

import torch

from infoscope.errors import InvalidInput, TooFew


class TwoClasses:
    """The items of a pool of two classes, sorted by class (lower label: bit 0) and kept once on every device.

    values [n, ...], labels int64 [n]. ValueError unless there are exactly two classes of at least two items each.
    """

    def __init__(self, values: torch.Tensor, labels: torch.Tensor, name: str = "pool") -> None:
        classes, counts = labels.unique(return_counts=True)
        if len(classes) != 2:
            raise InvalidInput(
                f"{name} must hold exactly two classes, got {classes.tolist()}; use its restrict((a, b))."
            )
        if int(counts.min()) < 2:
            raise TooFew(f"{name} must hold at least two items of each class, got {counts.tolist()}.")
        self.counts: tuple[int, int] = tuple(counts.tolist())
        in_order = bool((labels.diff() >= 0).all())
        self._values = values if in_order else values[labels.argsort(stable=True)]
        self._tables: dict[torch.device, torch.Tensor] = {}

    def draw(self, labels: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """One item for each of the labels (bool), uniform in its class: int64 rows of `table`, on the generator's
        device."""
        of_0, of_1 = (self._any(label, labels.shape, generator) for label in (0, 1))
        return torch.where(labels, of_1, of_0)

    def draw_pairs(
        self, x_labels: torch.Tensor, y_labels: torch.Tensor, generator: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The items of x and y, labels bool of one shape: two int64 tensors of that shape, rows of `table`.

        Items are uniform in their class; no item meets itself (the benchmark, section 4.4).
        """
        first_0, second_0 = self._distinct(0, x_labels.shape, generator)
        first_1, second_1 = self._distinct(1, x_labels.shape, generator)
        x = torch.where(x_labels, first_1, first_0)
        partner = torch.where(x_labels, second_1, second_0)
        other = torch.where(x_labels, first_0, first_1)
        return x, torch.where(x_labels == y_labels, partner, other)

    def table(self, device: torch.device | str) -> torch.Tensor:
        """The items sorted by class, on `device`: copied there the first time only."""
        device = torch.device(device)
        if device not in self._tables:
            self._tables[device] = self._values.to(device)
        return self._tables[device]

    def _any(self, label: int, shape: torch.Size, generator: torch.Generator) -> torch.Tensor:
        row = torch.randint(self.counts[label], shape, generator=generator, device=generator.device)
        return row + label * self.counts[0]

    def _distinct(self, label: int, shape: torch.Size, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Ordered pairs of distinct rows of one class, uniform over all of them, without rejection: the second is
        drawn among the others and steps over the first."""
        first = self._any(label, shape, generator)
        second = torch.randint(self.counts[label] - 1, shape, generator=generator, device=generator.device)
        second += label * self.counts[0]
        second += second >= first
        return first, second
