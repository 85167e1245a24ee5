"""The training loop of all domain models, with exact continuation from checkpoints, and
rules of model selection.
"""

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
from infoscope.models.domain.evaluation import (
    DomainItems,
    accuracies,
    check_items,
    fetch,
)

_Row = dict[str, Any]

# rule of model selection -> the evaluated set it uses, and whether it selects among the
# steps of a training
RULES = {
    "last": (None, False),  # the last step, without a criterion
    "training": ("training", True),  # as DIVA's official code
    # on unseen items of the training domains
    "training-domain-validation": ("validation", True),
    # the last step; its accuracy compares trainings
    "oracle (test-domain)": ("test domain", False),
}


@dataclass(frozen=True)
class DomainFit:
    """A finished training: the model with the weights of the selected step, that step
    (from 1) and its criterion.

    Attributes
    ----------
    criterion
        Accuracy by which the step was selected; NaN for the rule "last".
    curve
        One row for each evaluation.
    ended
        "done", "patience" or "diverged" (the loss was not finite at steps_done).
    """

    model: DomainModel
    step: int
    criterion: float
    curve: list[_Row]
    ended: str
    steps_done: int


def select_step(curve: Sequence[_Row], rule: str) -> tuple[int, float]:
    """The step selected by a rule (Gulrajani & Lopez-Paz 2021, section 3), and its
    criterion.

    The criterion is the mean accuracy over the domains of the rule's set (NaN for
    "last"). The first of equal steps is selected, and the last step if no criterion is
    finite.

    Parameters
    ----------
    curve
        The evaluations of a training, as in `DomainFit`.
    rule
        A name of RULES.

    Raises
    ------
    ValueError
        For an unknown rule, no evaluation, or no evaluation of the rule's set.

    Examples
    --------
    >>> curve = [{"step": 10, "validation/average": 0.8}, {"step": 20, "validation/average": 0.7}]
    >>> select_step(curve, "training-domain-validation")
    (10, 0.8)
    """
    name, chooses = RULES[one_of("rule", rule, RULES)]
    key = "step" if name is None else f"{name}/average"
    if not curve or key not in curve[0]:
        raise Conflict(
            f"curve must have evaluations of the set {name!r} for this rule, got "
            f"{curve[:1]}."
        )
    selected = curve[-1]
    if name is None:
        return selected["step"], math.nan
    finite = [row for row in curve if math.isfinite(row[key])]
    if chooses and finite:
        selected = max(finite, key=lambda row: row[key])
    return selected["step"], selected[key]


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
    """A training of a domain model with its configuration's optimiser and schedules, on
    the model's device.

    Parameters
    ----------
    model
        Trained in place.
    train
        Items with the model's classes and domains (`DomainData` or other
        `DomainItems`); y -1 where unknown.
    validation
        Evaluated sets by name (a single one is named "validation"); `rule` may need
        one.
    steps
        Steps of the optimisers.
    generator
        CPU generator of all draws.
    rule
        Rule of model selection, a name of RULES.
    every
        Steps between evaluations (None: a tenth of the training).
    patience
        Evaluations without a better criterion that end the training.
    report
        report(step, terms) after each step, with terms in nats per item; its exceptions
        end the training.
    save, state
        save(make) after each step; make() is the state (tensors and plain values) from
        which a training of the same configuration and data continues exactly.

    Returns
    -------
    DomainFit
        Its curve has the step, the mean of each term since the last evaluation, and
        "name/average", "name/overall" and "name/worst" for each set.

    Raises
    ------
    ValueError
        For labels that do not suit the model, a rule without its set, a patience
        without a rule that selects among steps, and a state of another training.
    """
    if validation is None:
        sets = {}
    elif isinstance(validation, Mapping):
        sets = dict(validation)
    else:
        sets = {"validation": validation}
    needed, chooses = RULES[one_of("rule", rule, RULES)]
    if needed == "training":
        sets.setdefault("training", train)
    if needed is not None and needed not in sets:
        raise Conflict(
            f"validation must have a set named {needed!r} for the rule {rule!r}, got "
            f"{sorted(sets)}."
        )
    if patience is not None and not chooses:
        raise Conflict(
            f"patience must be None for the rule {rule!r}, which does not select a "
            f"step, got {patience!r}."
        )
    check_items("train", train, model, train=True)
    for name, items in sets.items():
        check_items(f"validation[{name!r}]", items, model, train=False)
    training = _Training(model, train, require_int("steps", steps), rule, generator)
    if state is not None:
        training.load_state(state)
    every = max(1, steps // 10) if every is None else require_int("every", every)
    if patience is not None:
        require_int("patience", patience)
    while training.ended is None:
        terms = training.advance()
        if training.done % every == 0 or training.done == steps or training.ended:
            terms |= training.evaluate(sets, patience)
        if report is not None:
            report(training.done, terms)
        if save is not None:
            save(training.state)
    step, criterion = select_step(training.curve, rule)
    assert training.best is not None
    model.load_state_dict(training.best)
    return DomainFit(
        model.eval(), step, criterion, training.curve, training.ended, training.done
    )


class Minibatches:
    """Infinite minibatches of items in passes without repetition over all items, or
    over each domain if balanced.

    Draws from `generator`; `state` continues exactly.
    """

    def __init__(
        self, d: Tensor, batch: int, balanced: bool, generator: torch.Generator
    ) -> None:
        if balanced:
            self._members = [torch.nonzero(d == domain)[:, 0] for domain in d.unique()]
        else:
            self._members = [torch.arange(len(d), device=d.device)]
        self._batch = batch
        self._generator = generator
        self.state = [members[:0] for members in self._members]  # rest of each pass

    def __iter__(self) -> Iterator[Tensor]:
        while True:
            streams = range(len(self._members))
            yield torch.cat([self._take(stream) for stream in streams])

    def _take(self, stream: int) -> Tensor:
        """The next `batch` items of a stream, across passes."""
        order = self.state[stream]
        members = self._members[stream]
        while len(order) < self._batch:
            permutation = torch.randperm(len(members), generator=self._generator)
            order = torch.cat([order, members[permutation]])
        self.state[stream] = order[self._batch :]
        return order[: self._batch]


class _Training:
    """A training between two steps."""

    def __init__(
        self,
        model: DomainModel,
        train: DomainItems,
        steps: int,
        rule: str,
        generator: torch.Generator,
    ) -> None:
        self.model = model
        self.train = train
        self.steps = steps
        self.rule = rule
        self.generator = generator
        settings = model.settings.optimisation
        self.minibatches = Minibatches(
            torch.as_tensor(train.d), settings.batch, settings.balanced, generator
        )
        self.indices = iter(self.minibatches)
        self.restart = model.restart(steps)
        self.optimisers = self._fresh_optimisers()
        self.done = 0
        self.ended: str | None = None
        self.curve: list[_Row] = []
        self.sums: dict[str, list[float]] = {}
        self.best: dict[str, Tensor] | None = None
        model.train()

    def _fresh_optimisers(self) -> dict[str, torch.optim.Optimizer]:
        optimisers = {}
        for player, parameters in self.model.players().items():
            settings = self.model.optimisation(player)
            optimisers[player] = optimiser(settings, parameters)
        return optimisers

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
        numbers = torch.stack([term.detach() for term in terms.values()]).tolist()
        values = dict(zip(terms, numbers))
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
        """Adds a row to the curve and keeps the weights if the rule selects them; the
        accuracies.
        """
        scores: _Row = {}
        for name, items in sets.items():
            result = accuracies(self.model, items)
            scores[f"{name}/average"] = result.average.value
            scores[f"{name}/overall"] = result.overall.value
            scores[f"{name}/worst"] = result.worst.value
        means = {name: sum(values) / len(values) for name, values in self.sums.items()}
        self.curve.append({"step": self.done} | means | scores)
        self.sums = {}
        best, _ = select_step(self.curve, self.rule)
        if best == self.done:
            self.best = copy.deepcopy(self.model.state_dict())
        worse = sum(row["step"] > best for row in self.curve)
        if self.ended is None and patience is not None and worse >= patience:
            self.ended = "patience"
        return scores

    def state(self) -> dict[str, Any]:
        """A copy of the state of the training, as tensors and plain values."""
        state = {
            name: getattr(self, name)
            for name in ("steps", "rule", "done", "ended", "curve", "sums", "best")
        }
        state["config"] = self.model.config
        state["model"] = self.model.state_dict()
        state["minibatches"] = self.minibatches.state
        state["optimisers"] = {
            player: entry.state_dict() for player, entry in self.optimisers.items()
        }
        state["generator"] = self.generator.get_state()
        return copy.deepcopy(state)

    def load_state(self, state: Mapping[str, Any]) -> None:
        same = (
            state["config"] == self.model.config
            and state["steps"] == self.steps
            and state["rule"] == self.rule
        )
        if not same:
            raise Conflict(
                f"state must be of a training of {self.steps} steps by the rule "
                f"{self.rule!r} of a model of the same "
                f"configuration, got one of {state['steps']} steps by "
                f"{state['rule']!r} of {state['config']}."
            )
        self.model.load_state_dict(state["model"])
        for name, entry in self.optimisers.items():
            entry.load_state_dict(state["optimisers"][name])
        self.generator.set_state(state["generator"].cpu())
        for name in ("done", "ended", "best", "curve", "sums"):
            setattr(self, name, copy.deepcopy(state[name]))
        self.minibatches.state = list(state["minibatches"])


def optimiser(
    settings: Optimisation, parameters: list[torch.nn.Parameter]
) -> torch.optim.Optimizer:
    """The optimiser of these settings."""
    rate = settings.learning_rate
    decay = settings.weight_decay
    if settings.method == "sgd":
        return torch.optim.SGD(
            parameters, lr=rate, momentum=settings.momentum, weight_decay=decay
        )
    betas = (settings.momentum, settings.second_momentum)
    return torch.optim.Adam(parameters, lr=rate, betas=betas, weight_decay=decay)
