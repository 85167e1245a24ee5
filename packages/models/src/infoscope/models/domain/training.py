"""The training loop of all domain models, with exact continuation from checkpoints, and rules of model selection."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from infoscope.checks import one_of, require_int
from infoscope.errors import Conflict
from infoscope.models.domain.base import DomainModel
from infoscope.models.domain.configs import Optimisation
from infoscope.models.domain.evaluation import DomainItems, accuracies, check_items, fetch

_Row = dict[str, float]

# rule of model selection -> the evaluated set it uses, and whether it selects among the steps of a training
RULES = {
    "last": (None, False),  # the last step, without a criterion
    "training": ("training", True),  # as DIVA's official code
    "training-domain-validation": ("validation", True),  # on unseen items of the training domains
    "oracle (test-domain)": ("test domain", False),  # the last step; its accuracy compares trainings
}


@dataclass(frozen=True)
class DomainFit:
    """A finished training: the model with the selected step's weights, that step (from 1) and its criterion (NaN for
    "last").

    curve: one row for each evaluation; ended: "done", "patience" or "diverged" (the loss was not finite at steps_done).
    """

    model: DomainModel
    step: int
    criterion: float
    curve: list[_Row]
    ended: str
    steps_done: int


def select_step(curve: Sequence[_Row], rule: str) -> tuple[int, float]:
    """The step selected by a rule (Gulrajani & Lopez-Paz 2021, section 3) from the evaluations of a training, and its
    criterion, the mean accuracy over the domains of the rule's set (NaN for "last").

    The first of equal ones; the last step if no criterion is finite. ValueError for an unknown rule, no evaluation, or
    none of the set.
    """
    name, chooses = RULES[one_of("rule", rule, RULES)]
    key = "step" if name is None else f"{name}/average"
    if not curve or key not in curve[0]:
        raise Conflict(f"curve must have evaluations of the set {name!r} for this rule, got {curve[:1]}.")
    if name is None:
        return curve[-1]["step"], math.nan
    finite = [row for row in curve if math.isfinite(row[key])] if chooses else []
    best = max(finite, key=lambda row: row[key]) if finite else curve[-1]
    return best["step"], best[key]


def fit_domain(
    model: DomainModel,
    train: DomainItems,
    validation: DomainItems | Mapping[str, DomainItems] | None = None,
    *,
    steps: int,
    generator: torch.Generator,
    rule: str = "last",
    every: int | None = None,
    patience: int | None = None,
    report: Callable[[int, _Row], None] | None = None,
    save: Callable[[Callable[[], dict]], None] | None = None,
    state: Mapping[str, Any] | None = None,
) -> DomainFit:
    """Trains a domain model for `steps` steps with its configuration's optimiser and schedules, on its own device.

    train       items with the model's classes and domains (`DomainData` or other `DomainItems`); y -1 where unknown
    validation  evaluated sets by name (a single one is named "validation"); `rule` (RULES) may need one of them
    every       steps between evaluations (None: a tenth of the training)
    patience    evaluations without a better criterion that end the training
    generator   CPU generator of all draws
    report      report(step, terms) after each step, with terms in nats per item; its exceptions end the training
    save, state  save(make) after each step; make() is the state (tensors and plain values) from which a training of
                the same configuration and data continues exactly

    The curve has the step, the mean of each term since the last evaluation, and "name/average", "name/overall" and
    "name/worst" for each set. ValueError for labels that do not suit the model, a rule without its set, a patience
    without a rule that selects among steps, and a state of another training.
    """
    if not isinstance(validation, Mapping):
        validation = {} if validation is None else {"validation": validation}
    sets = dict(validation)
    needed, chooses = RULES[one_of("rule", rule, RULES)]
    if needed == "training":
        sets.setdefault("training", train)
    if needed is not None and needed not in sets:
        raise Conflict(f"validation must have a set named {needed!r} for the rule {rule!r}, got {sorted(sets)}.")
    if patience is not None and not chooses:
        raise Conflict(f"patience must be None for the rule {rule!r}, which does not select a step, got {patience!r}.")
    check_items("train", train, model, train=True)
    for name, items in sets.items():
        check_items(f"validation[{name!r}]", items, model, train=False)
    training = _Training(model, train, require_int("steps", steps), rule, generator)
    if state is not None:
        training.load_state(state)
    every = max(1, steps // 10) if every is None else require_int("every", every)
    require_int("patience", 1 if patience is None else patience)
    while training.ended is None:
        terms = training.advance()
        if training.done % every == 0 or training.done == steps or training.ended:
            terms |= training.evaluate(sets, patience)
        if report is not None:
            report(training.done, terms)
        if save is not None:
            save(training.state)
    step, criterion = select_step(training.curve, rule)
    model.load_state_dict(training.best)
    return DomainFit(model.eval(), step, criterion, training.curve, training.ended, training.done)


class Minibatches:
    """Infinite minibatches of items in passes without repetition, over all items or, if balanced, over those of each
    domain. Draws from `generator`; `state` continues exactly."""

    def __init__(self, d: Tensor, batch: int, balanced: bool, generator: torch.Generator) -> None:
        domains = [d == domain for domain in d.unique()] if balanced else [torch.ones_like(d, dtype=torch.bool)]
        self._members = [torch.nonzero(of_domain)[:, 0] for of_domain in domains]
        self._batch, self._generator = batch, generator
        self.state = [members[:0] for members in self._members]  # rest of each pass

    def __iter__(self) -> Iterator[Tensor]:
        while True:
            yield torch.cat([self._take(stream) for stream in range(len(self._members))])

    def _take(self, stream: int) -> Tensor:
        """The next `batch` of one stream, across passes."""
        order, members = self.state[stream], self._members[stream]
        while len(order) < self._batch:
            order = torch.cat([order, members[torch.randperm(len(members), generator=self._generator)]])
        self.state[stream] = order[self._batch :]
        return order[: self._batch]


class _Training:
    """A training between two steps."""

    def __init__(
        self, model: DomainModel, train: DomainItems, steps: int, rule: str, generator: torch.Generator
    ) -> None:
        self.model, self.train, self.steps, self.rule, self.generator = model, train, steps, rule, generator
        settings = model.settings.optimisation
        self.minibatches = Minibatches(torch.as_tensor(train.d), settings.batch, settings.balanced, generator)
        self.indices = iter(self.minibatches)
        self.restart = model.restart(steps)
        self.optimisers = self._fresh_optimisers()
        self.done, self.ended = 0, None
        self.curve: list[_Row] = []
        self.sums: dict[str, list[float]] = {}
        self.best: dict[str, Tensor] | None = None
        model.train()

    def _fresh_optimisers(self) -> dict[str, torch.optim.Optimizer]:
        players = self.model.players().items()
        return {name: optimiser(self.model.optimisation(name), parameters) for name, parameters in players}

    def advance(self) -> _Row:
        """One step; the terms of its loss."""
        if self.done == self.restart:
            self.optimisers = self._fresh_optimisers()
        player = self.model.player(self.done)
        batch = fetch(self.train, next(self.indices), self.model)
        terms = self.model.losses(batch, self.done / self.steps, self.generator, player)
        self.model.zero_grad()
        terms["objective"].backward()
        self.optimisers[player].step()
        self.done += 1
        values = dict(zip(terms, torch.stack([term.detach() for term in terms.values()]).tolist()))
        if not math.isfinite(values["objective"]):
            self.ended = "diverged"
        elif self.done == self.steps:
            self.ended = "done"
        if len(self.optimisers) > 1:
            values[f"objective/{player}"] = values.pop("objective")
        for name, value in values.items():
            self.sums.setdefault(name, []).append(value)
        return values

    def evaluate(self, sets: Mapping[str, DomainItems], patience: int | None) -> _Row:
        """Adds a row to the curve and keeps the weights if the rule selects them; the accuracies."""
        scores: _Row = {}
        for name, items in sets.items():
            result = accuracies(self.model, items)
            scores |= {f"{name}/{part}": getattr(result, part).value for part in ("average", "overall", "worst")}
        means = {name: sum(values) / len(values) for name, values in self.sums.items()}
        self.curve.append({"step": self.done} | means | scores)
        self.sums = {}
        best, _ = select_step(self.curve, self.rule)
        if best == self.done:
            self.best = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        since = sum(row["step"] > best for row in self.curve)
        if self.ended is None and patience is not None and since >= patience:
            self.ended = "patience"
        return scores

    def state(self) -> dict[str, Any]:
        """A copy of the state of the training, as tensors and plain values."""
        state = {name: getattr(self, name) for name in ("steps", "rule", "done", "ended", "curve", "sums", "best")}
        state |= {"config": self.model.config, "model": self.model.state_dict(), "minibatches": self.minibatches.state}
        state |= {"optimisers": {name: entry.state_dict() for name, entry in self.optimisers.items()}}
        return copy.deepcopy(state | {"generator": self.generator.get_state()})

    def load_state(self, state: Mapping[str, Any]) -> None:
        own = {"config": self.model.config, "steps": self.steps, "rule": self.rule}
        if {name: state[name] for name in own} != own:
            raise Conflict(
                f"state must be of a training of {self.steps} steps by the rule {self.rule!r} of a model of the same "
                f"configuration, got one of {state['steps']} steps by {state['rule']!r} of {state['config']}."
            )
        self.model.load_state_dict(state["model"])
        for name, entry in self.optimisers.items():
            entry.load_state_dict(state["optimisers"][name])
        self.generator.set_state(state["generator"].cpu())
        for name in ("done", "ended", "best", "curve", "sums"):
            setattr(self, name, copy.deepcopy(state[name]))
        self.minibatches.state = list(state["minibatches"])


def optimiser(settings: Optimisation, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """The optimiser of these settings."""
    rate, decay = settings.learning_rate, settings.weight_decay
    if settings.method == "sgd":
        return torch.optim.SGD(parameters, lr=rate, momentum=settings.momentum, weight_decay=decay)
    betas = (settings.momentum, settings.second_momentum)
    return torch.optim.Adam(parameters, lr=rate, betas=betas, weight_decay=decay)
