"""The evaluation of one logged model, kept with its run so that it is not done twice."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from analysis.common.models import Candidate, Codes, codes_of, digest, in_letters
from analysis.partition._models import Items
from infoscope.estimators.result import Estimate
from infoscope.metrics import partition
from infoscope.metrics.partition.evaluation import NullTest, PartitionReport
from infoscope.metrics.partition.published import AS_NUMBERS
from infoscope.metrics.partition.report import Items as Rows
from infoscope.metrics.partition.terms import CLASSIFIER
from infoscope.tracking import arrays, log_results

VERSION = 2  # of what is measured and kept; a new one makes every evaluation to be done again
PREFIX = "partition"  # of the metrics, and the folder of the artifacts
RECORD = "evaluation"
MEANS, DRAWS = "means", "draws"
Tell = Callable[[float, str], None]


@dataclass(frozen=True)
class Effort:
    """Settings of `partition.evaluate`; codes: MEANS of the posteriors, or DRAWS, one for every item."""

    family: str = "logistic"
    folds: int = 5
    k: int = 5
    resamples: int = 100
    permutations: int = 199
    draws: int = 2000
    codes: str = MEANS


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A candidate, the results of its codes and posterior, the items' digest, the data's name and the seconds taken."""

    candidate: Candidate
    key: str
    items: str
    data: str
    codes: str
    report: PartitionReport
    posterior: PartitionReport | None
    seconds: float

    @property
    def reports(self) -> tuple[PartitionReport, ...]:
        return (self.report,) if self.posterior is None else (self.report, self.posterior)

    def routes(self) -> dict[str, Mapping[str, Estimate]]:
        """By route, every quantity and score by name."""
        found = {
            route: {**report.figures[route], **report.shares[route]}
            for report in self.reports
            for route in report.routes
        }
        if AS_NUMBERS in found:
            found[AS_NUMBERS] |= sums_of_numbers(found[AS_NUMBERS])
        return found

    def json(self) -> dict[str, Any]:
        """Everything but the pointwise values, as plain values."""
        measured = {"codes": self.report.to_json()} | (
            {"posterior": self.posterior.to_json()} if self.posterior else {}
        )
        return {
            "model": self.candidate.kind, "training": self.candidate.name, "run_id": self.candidate.run_id,
            "data": self.data, "of": self.codes, "key": self.key, "seconds": self.seconds, **measured,
        }  # fmt: skip


def sums_of_numbers(figures: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Sums of terms with labels as numbers, of which the score seed is made: I(z_x;Y,D) by the chain rule, and
    co-information as the mean of both formulas, which differ; for the blocks that are there.
    """
    made = {
        "I(z_x;Y,D)": {"I(z_x;Y)": 1.0, "I(z_x;D|Y)": 1.0},
        "co-information(z_dy;Y;D)": {
            "I(z_dy;Y)": 0.5, "I(z_dy;Y|D)": -0.5, "I(z_dy;D)": 0.5, "I(z_dy;D|Y)": -0.5,
        },
    }  # fmt: skip
    return {
        name: replace(figures[next(iter(terms))], value=sum(sign * figures[term].value for term, sign in terms.items()))
        for name, terms in made.items()
        if set(terms) <= set(figures)
    }


def evaluation_key(model: torch.nn.Module, items: Items, effort: Effort) -> str:
    """The same for the same weights, configuration, items and settings."""
    plain = json.dumps([VERSION, asdict(effort), model.config, type(model).__name__], sort_keys=True)
    weights = [value.detach().cpu().contiguous().numpy() for _, value in sorted(model.state_dict().items())]
    return digest(plain.encode(), items.digest().encode(), *weights)


def evaluated(
    candidate: Candidate, model: torch.nn.Module, items: Items, effort: Effort, again: bool, tell: Tell
) -> Evaluation:
    """The evaluation of a model, from its run where the key agrees unless `again`. tell: gets the share done and a
    step.
    """
    key = evaluation_key(model, items, effort)
    if candidate.run_id is not None and not again:
        try:
            kept = arrays(candidate.run_id, f"{PREFIX}/{key}/{RECORD}")
            done = unpacked(kept, candidate, key, items, effort.codes)
        except (LookupError, ValueError):  # not there, or not whole: it is measured
            pass
        else:
            _logged(done, (), PREFIX, items)
            return done
    began = time.perf_counter()
    codes = codes_of(model, items.x, lambda share: tell(0.1 * share, "codes"))
    with threadpool_limits(1):  # small products: threads would only wait for one another
        found = measured(codes, items, effort, lambda share, what: tell(0.1 + 0.9 * share, what))
    report = replace(found[0], items=rows_of(items))
    seconds = time.perf_counter() - began
    done = Evaluation(candidate, key, items.digest(), items.name, effort.codes, report, found[1], seconds)
    if candidate.run_id is not None:
        keep(done, items)
    return done


def rows_of(items: Items) -> Rows:
    """The labels and groups of items as codes in the order of their values."""
    groups = np.arange(len(items.y)) if items.groups is None else items.groups
    return Rows(*(np.unique(labels, return_inverse=True)[1] for labels in (items.y, items.d, groups)))


def measured(codes: Codes, items: Items, effort: Effort, tell: Tell) -> tuple[PartitionReport, PartitionReport | None]:
    """The quality of codes, and of the posteriors that they come from; every draw has a fixed seed."""
    dense = codes.scales is not None and effort.codes == MEANS
    own = 0.8 if dense else 1.0
    values = codes.means if effort.codes == MEANS else codes.drawn(np.random.default_rng(1))
    report = partition.evaluate(
        values, items.y, items.d, items.groups, family=effort.family, folds=effort.folds, k=effort.k,
        resamples=effort.resamples, permutations=effort.permutations, generator=np.random.default_rng(0),
        progress=lambda share, what: tell(own * share, what),
    )  # fmt: skip
    if not dense:
        return report, None
    posterior = partition.evaluate_posterior(
        codes.means, codes.scales, items.y, items.d, items.groups, draws=effort.draws,
        generator=np.random.default_rng(2), progress=lambda share, what: tell(own + (1 - own) * share, what),
    )  # fmt: skip
    return report, posterior


def metrics_of(found: Evaluation) -> dict[str, float]:
    """Metrics partition/[draws/]ROUTE/QUANTITY of an evaluation (nats, or shares of 1) with standard errors."""
    metrics = {}
    for route, figures in found.routes().items():
        for name, figure in figures.items():
            if np.isfinite(figure.value) and "_low(" not in name and "_high(" not in name:
                stem = f"{_stem(found)}/{route}/{metric_name(name)}"
                metrics[stem] = figure.value
                if np.isfinite(figure.standard_error):
                    metrics[f"{stem}_error"] = figure.standard_error
    return metrics


def _stem(found: Evaluation) -> str:
    return PREFIX if found.codes == MEANS else f"{PREFIX}/{found.codes}"


def keep(found: Evaluation, items: Items) -> None:
    """Adds an evaluation to its model's run (metrics, JSON, data for `evaluated`), and its scores to the model."""
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "it_results.json", Path(folder) / f"{RECORD}.npz"
        paths[0].write_text(json.dumps(found.json(), indent=2), encoding="utf-8")
        np.savez_compressed(paths[1], **packed(found))
        _logged(found, paths, f"{PREFIX}/{found.key}", items)


def _logged(found: Evaluation, paths: Iterable[Path], folder: str, items: Items) -> None:
    metrics = metrics_of(found)
    stems = {f"{_stem(found)}/{CLASSIFIER}/{metric_name(name)}" for name in found.report.shares[CLASSIFIER]}
    scores = stems | {f"{stem}_error" for stem in stems}
    log_results(found.candidate.run_id, metrics, paths, folder, items.data_set().input, scores)


def metric_name(quantity: str) -> str:
    """The name of a quantity in letters that MLflow takes: I(z_y;Y|D) is I.z_y.Y_given_D."""
    spoken = quantity.replace("|", "_given_").replace(";", ".").replace(",", "+").replace("(", ".").rstrip(")")
    return in_letters(spoken.replace("+", "_and_"))


def packed(found: Evaluation) -> dict[str, np.ndarray]:
    """An evaluation as arrays: text, and the influences of the classifier's figures, for differences of models."""
    figures = {**found.report.figures[CLASSIFIER], **found.report.shares[CLASSIFIER]}
    influence = {name: each.influence for name, each in figures.items() if each.influence is not None}
    text = {
        "reports": [_plain(report) for report in found.reports],
        "influence": list(influence),
        "data": found.data,
        "seconds": found.seconds,
    }
    return {"text": np.array(json.dumps(text)), "influence": np.array(list(influence.values()), np.float64)}


FIELDS = ("value", "standard_error", "unit", "n", "method", "notes", "settings", "units", "degrees", "interval")


def _fields(figure: Estimate) -> list[Any]:
    return [getattr(figure, name) for name in FIELDS]


def _plain(report: PartitionReport) -> dict[str, Any]:
    def rows(routes: Mapping[str, Mapping[str, Estimate]]) -> dict[str, Any]:
        return {route: {name: _fields(figure) for name, figure in figures.items()} for route, figures in routes.items()}

    return {
        "blocks": dict(report.blocks),
        "n": report.n,
        "groups": report.groups,
        "figures": rows(report.figures),
        "shares": rows(report.shares),
        "tests": {name: [test.p_value, test.p_holm, test.exchanged] for name, test in report.tests.items()},
        "settings": dict(report.settings),
    }


def unpacked(kept: Mapping[str, np.ndarray], candidate: Candidate, key: str, items: Items, codes: str) -> Evaluation:
    """The opposite of `packed`. Raises ValueError for anything else."""
    try:
        text = json.loads(str(kept["text"]))
        first, *others = [_report(plain) for plain in text["reports"]]
        influence = dict(zip(text["influence"], kept["influence"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"the evaluation kept under {key} lacks {error}") from None
    first = replace(
        first,
        figures=_with_influence(first.figures, influence),
        shares=_with_influence(first.shares, influence),
        items=rows_of(items),
    )
    posterior = others[0] if others else None
    return Evaluation(candidate, key, items.digest(), text["data"], codes, first, posterior, text["seconds"])


def _figure(notes: list[str], interval: list[float] | None, **fields: Any) -> Estimate:
    return Estimate(**fields, notes=tuple(notes), interval=None if interval is None else tuple(interval))


def _report(plain: Mapping[str, Any]) -> PartitionReport:
    def figures(routes: Mapping[str, Any]) -> dict[str, dict[str, Estimate]]:
        return {
            route: {name: _figure(**dict(zip(FIELDS, fields))) for name, fields in rows.items()}
            for route, rows in routes.items()
        }

    tests = {name: NullTest(*test) for name, test in plain["tests"].items()}
    return PartitionReport(
        plain["blocks"], plain["n"], plain["groups"], figures(plain["figures"]), figures(plain["shares"]), tests,
        plain["settings"], None,
    )  # fmt: skip


def _with_influence(routes: Mapping[str, Mapping[str, Estimate]], influence: Mapping[str, np.ndarray]) -> dict:
    return {
        route: {
            name: replace(figure, influence=influence[name]) if route == CLASSIFIER and name in influence else figure
            for name, figure in figures.items()
        }
        for route, figures in routes.items()
    }
