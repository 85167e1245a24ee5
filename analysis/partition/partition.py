"""How well do trained models keep information about the class and about the domain apart?

Evaluates logged models on the items that their run kept, by nearest neighbours, by classifiers and by exact densities
(`infoscope.metrics.partition`). What is found is added to the runs of the models, and is not measured again.

    make table-partition ARGS="--models nvae,diva"
    make table-partition MODEL=domain-partition-domain-model@champion DATA=my_items.npz
"""

import functools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from click import Choice
from mlflow.exceptions import MlflowException

from analysis.common.marks import mark, sheet
from analysis.common.models import Candidate, candidate_at, candidates, each, has_posterior, loaded, sentence
from analysis.common.runs import latest
from analysis.common.tables import FOLDER, PICTURE, Analysis, Result, plus_minus, print_result, printable, ranged, save
from analysis.partition import _tables as tables
from analysis.partition._evaluation import DRAWS, MEANS, Effort, Evaluation, evaluated, items_of
from analysis.partition._tables import arithmetic, claims
from infoscope.checks import one_of
from infoscope.command_line import BAD_INPUT, FAILED, command, option
from infoscope.metrics.partition.labels_as_numbers import AS_NUMBERS
from infoscope.metrics.partition.report import OLD_SUM, SEED_LIMITS
from infoscope.metrics.partition.terms import CLASSIFIER
from infoscope.tracking import attach, runs
from sweeps.partition.settings import IN_DOMAIN, MODELS

WANTED = ("I(z_y;Y|D)", "I(z_d;D|Y)")  # what should be large; the others should be small, but for that of z_dy
PANELS = (*tables.SCORES, "I(z_y;Y|D)", "I(z_d;D|Y)", "I(z_dy;Y,D)", "I(z_y;D|Y)", "I(z_d;Y|D)", "I(z_x;Y,D)")
EXPERIMENT = "domain-partition"
PUBLISHED_DATA = "crmnist"
CODES = {"both": (MEANS, DRAWS), MEANS: (MEANS,), DRAWS: (DRAWS,)}
OUTPUTS = FOLDER / "information_theoretic_analysis"
EFFORTS = {"smoke": Effort(resamples=20, permutations=19, draws=300)}  # of a profile; of the others, the defaults
LIMITS = (
    "unique: in [0, 1]; 1 if and only if z_y and z_d each determine their label given the other and no other block "
    "carries any of it; what z_dy repeats lowers the score. unique_without_z_dy: the same as if z_dy did not exist. "
    "Both are limited to what this family of classifiers can use. "
    f"{OLD_SUM}: {SEED_LIMITS}"
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Evaluations, and a sentence for each model that failed or was left out."""

    evaluations: Sequence[Evaluation]
    failures: Sequence[str]
    effort: Effort
    notes: Sequence[str] = ()


def effort_of(arguments: SimpleNamespace) -> Effort:
    """The settings of an evaluation: those of the profile, but for what the options say."""
    effort = EFFORTS.get(arguments.profile.split(" ")[0], Effort())
    names = [name for name in asdict(effort) if name != "codes" and getattr(arguments, name) is not None]
    return replace(effort, **{name: getattr(arguments, name) for name in names})


def outcome(found: Sequence[Candidate], arguments: SimpleNamespace) -> Outcome:
    """Evaluates the models; the failure of one does not stop the others."""
    effort = effort_of(arguments)
    evaluations, failures = each(found, lambda one: evaluations_of(one, effort, arguments))
    return Outcome(evaluations, failures, effort)


def evaluations_of(candidate: Candidate, effort: Effort, arguments: SimpleNamespace) -> list[Evaluation]:
    """The evaluations of one model: of its means, and where they are asked for and it has a posterior, of draws."""
    model, items = loaded(candidate), items_of(candidate, arguments.data, arguments.split)
    return [
        evaluated(named(candidate, codes), model, items, replace(effort, codes=codes), arguments.again)
        for codes in CODES[arguments.codes]
        if codes == MEANS or has_posterior(model, items.x)
    ]


def named(candidate: Candidate, codes: str) -> Candidate:
    """The candidate, as another kind where it is evaluated by draws."""
    return candidate if codes == MEANS else replace(candidate, kind=f"{candidate.kind} {codes}")


def results(found: Outcome) -> list[Result]:
    """The tables: models by their figures, and paired differences between them."""
    evaluations = found.evaluations
    figures = tables.comparison(evaluations)
    words = caption(found, figures)
    by_model = Result(
        "partition", tables.with_units(figures), tables.comparison_text(figures), "\n".join(words),
        functools.partial(draw_scores, evaluations), claims(evaluations),
    )  # fmt: skip
    found_so_far = [by_model, *published_result(figures, evaluations)]
    over = tables.over_trainings(evaluations)
    if over.empty:
        return found_so_far
    within = tables.within_items(evaluations)
    said = (
        f"{tables.largest_difference(over)}\n"
        "Paired differences a - b of models that were trained on the same data and evaluated on the same items, by "
        "classifiers: mean ± standard error over trainings (seeds) with a 95 % interval (Student t), and of how many "
        "single pairs of trained models the sign is sure over items (adjusted over all quantities and pairs of a seed, "
        "Holm). Where an interval over trainings is wide, more seeds are needed, not more items. Here the pairs with "
        f"{over['a'].iloc[0]}, means with means and draws with draws; every pair and quantity is in the CSV file."
    )
    return [*found_so_far, Result("differences", over, tables.differences_text(over, within), said)]


def published_result(figures: pd.DataFrame, evaluations: Sequence[Evaluation]) -> Iterator[Result]:
    """Published figures of these models on the same kind of data, where there are some."""
    beside = tables.beside_published(figures)
    if beside.empty or not all(one.data.startswith(PUBLISHED_DATA) for one in evaluations):
        return
    text = beside.copy()
    for name in ("published", AS_NUMBERS, CLASSIFIER):
        text[name] = [plus_minus(value, math.nan, tables.ABSENT) for value in beside[name]]
    said = (
        "Published figures are those of one run without errors, and not comparable with ours.\n"
        "Bits. They are written into the code of the NVAE experiments, which differ in the estimate (labels as "
        "numbers, k = 7; ours in the same way with another k beside it), the networks, the training and the items."
    )
    yield Result("published", beside, text, said)


def caption(found: Outcome, figures: pd.DataFrame) -> list[str]:
    """What is measured of what, with which limits."""
    first = found.evaluations[0].report
    items, groups = (ranged([getattr(one.report, name) for one in found.evaluations]) for name in ("n", "groups"))
    data = ", ".join(sorted({one.data for one in found.evaluations}))
    effort = found.effort
    several = (figures["trainings"] > 1).any()
    spread = "± is the standard error over trainings" if several else "one training each: ± is over its items"
    return [
        tables.finding(found.evaluations),
        f"Bits, by {first.settings['family']} classifiers ({effort.folds} folds); {items} items in "
        f"{groups} groups; {spread}. Scores have no unit. Every route (classifier, neighbours, "
        "labels as numbers, posterior), quantity and the old score, with both errors, is in the CSV file.",
        "Quoted of models with posteriors: one draw for each item, as the decoder sees it. Their means are a "
        "deterministic function of the item and can carry what the noise of draws hides; they are in the CSV file.",
        f"Items: {data}; not seen in training.",
        LIMITS,
        *arithmetic(found.evaluations),
        "it_summary_report.txt has the full report of every model.",
        *found.notes,
        *(f"Not evaluated: {failure}" for failure in found.failures),
    ]


def analyse(frame: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """Evaluates the models of these runs where that is not done yet. Raises ValueError when none can be."""
    models, notes = of_runs(frame, arguments.models)
    found = outcome(models, arguments)
    if not found.evaluations:
        raise ValueError(f"no model could be evaluated: {' '.join(found.failures)}")
    return results(replace(found, notes=notes))


def write(found: Outcome, tabled: Sequence[Result], folder: Path) -> list[Path]:
    """Writes the files of the evaluation into a folder; returns the paths of those that concern all models."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [*save(replace(tabled[0], draw=None), folder / "it_comparison_table")]
    for result in tabled[1:]:
        paths += save(result, folder / f"it_{result.name}")
    pictures = [folder / f"it_model_comparison{suffix}" for suffix in PICTURE]
    draw_scores(found.evaluations, *pictures)
    trainings = pd.concat(
        report.table.assign(model=one.candidate.kind, seed=one.candidate.seed, run_id=one.candidate.run_id)
        for one in found.evaluations
        for report in one.reports
    )
    more = {"trainings": trainings, "differences_over_items": tables.within_items(found.evaluations)}
    for name, table in more.items():
        paths.append(folder / f"it_{name}.csv")
        table.to_csv(paths[-1], index=False)
    (folder / "it_summary_report.txt").write_text(summary(found, tabled), encoding="utf-8")
    return [*paths, *pictures, folder / "it_summary_report.txt"]


def summary(found: Outcome, tabled: Sequence[Result]) -> str:
    """The report in words: tables, captions and claims, then every trained model."""
    parts = [f"Settings: {asdict(found.effort)}", ""]
    for result in tabled:
        parts += [result.text.to_string(index=False), result.caption, *map(str, result.claims), ""]
    for one in found.evaluations:
        parts.append(f"== {one.candidate.name} (run {one.candidate.run_id or 'none'}), {one.data}")
        parts.append(f"{one.words}\n")
    return "\n".join(parts)


def ceiling(of: Evaluation, name: str) -> float:
    """The most that a quantity or the score seed can be with the labels of these items."""
    return of.routes()[CLASSIFIER][tables.most(name)].value


def draw_scores(evaluations: Sequence[Evaluation], *paths: Path) -> None:
    """Scores and quantities of every training with 95 % intervals over items, by kind."""
    kinds, across = tables.by_kind(evaluations), 3
    down = -(-len(PANELS) // across)
    with sheet(paths, down, across, (4.2 * across, 2.7 * down), 130) as axes:
        axes[0, 0].figure.suptitle(
            "By classifiers: every training with its 95 % interval over items; line: mean over "
            "trainings; dashed: the most that these labels allow",
            fontsize=10,
        )
        for axis, name in zip(axes.flat, PANELS):
            panel(axis, name, kinds)


def panel(axis: Any, name: str, kinds: Mapping[str, Sequence[Evaluation]]) -> None:
    """One score or quantity of every training, by kind."""
    evaluations = [one for trainings in kinds.values() for one in trainings]
    for place, (kind, trainings) in enumerate(kinds.items()):
        found = [one.routes()[CLASSIFIER].get(name) for one in trainings]
        found = [one for one in found if one is not None and math.isfinite(one.value)]
        if not found:
            axis.text(place, 0.02, "n/a", ha="center", va="bottom", color="grey", fontsize=8,
                      transform=axis.get_xaxis_transform())  # fmt: skip
            continue
        offsets = place + 0.1 * (np.arange(len(found)) - (len(found) - 1) / 2)
        values = np.array([one.value for one in found])
        reach = np.array([[one.value - one.low, one.high - one.value] for one in found]).T
        axis.errorbar(
            offsets, values, np.clip(reach, 0, None), linestyle="none", markersize=4, capsize=2,
            fillstyle="none" if kind.endswith(tables.OF_DRAWS) else "full",
            **mark("model", kind.removesuffix(tables.OF_DRAWS))._asdict(),
        )  # fmt: skip
        axis.hlines(values.mean(), place - 0.3, place + 0.3, color="black", linewidth=1)
    axis.set_xlim(-0.6, len(kinds) - 0.4)
    if name in (*WANTED, "seed"):
        axis.axhline(max(ceiling(one, name) for one in evaluations), color="grey", linestyle="--", linewidth=0.8)
    low, high = axis.get_ylim()
    axis.set_ylim(min(0.0, low), high + 0.08 * (high - min(0.0, low)))
    title = name if name in tables.SCORES else f"{name} (bits)"
    if name == "seed":
        title = f"{OLD_SUM} (an absent block counts 0)"
    axis.set_title(title, fontsize=10)
    axis.set_xticks(range(len(kinds)), labels=list(kinds), rotation=25, ha="right", fontsize=8)
    axis.grid(axis="y", alpha=0.3)
    axis.plot([], [])  # so that a panel where nothing applies keeps its axes


OPTIONS = [
    option("models", default="", help="only these models, such as nvae,diva"),
    option("model", multiple=True, help="a model by run id, MLflow address or folder; may be repeated"),
    option("data", help="your own items: an .npz file with x, y, d and, if rows depend, groups"),
    option("split", default=IN_DOMAIN, help=f"which logged items: {IN_DOMAIN} (default), out-of-domain or all"),
    option("family", help="of the classifiers: logistic (default), gradient-boosting, mlp, knn"),
    option("folds", type=int, help="of the classifiers (default: 5)"),
    option("k", type=int, help="neighbours (default: 5)"),
    option("resamples", type=int, help="half-samples of the neighbours' errors (default: 100)"),
    option("permutations", type=int, help="of each test of leakage (default: 199)"),
    option("draws", type=int, help="of the exact densities (default: 2000)"),
    option("codes", type=Choice(tuple(CODES)), default="both", help="of posteriors: means, a draw each, or both"),
    option("again", is_flag=True, help="evaluate again what is evaluated already"),
]
ANALYSIS = Analysis(EXPERIMENT, analyse, OPTIONS)


def of_runs(frame: pd.DataFrame, models: str) -> tuple[list[Candidate], list[str]]:
    """The models of these runs, or those of the names between commas, and a note on runs of older versions."""
    if models:
        names = models.split(",")
        for name in names:
            one_of("models", name, list(dict.fromkeys(frame["model"])))
        frame = frame[frame["model"].isin(names)]
    found, notes = latest(frame, ())
    return candidates(found, MODELS), notes


def asked(arguments: SimpleNamespace) -> tuple[list[Candidate], list[str], list[str]]:
    """The models that the command line asks for, and in a sentence each, the addresses without one and what is left out
    unasked."""
    if not arguments.model:
        models, notes = of_runs(runs(EXPERIMENT, arguments.profile), arguments.models)
        return models, [], notes
    found, missing = [], []
    for address in arguments.model:
        try:
            found.append(candidate_at(address))
        except LookupError as error:
            missing.append(sentence(error))
    return found, missing, []


def main(given: SimpleNamespace) -> int:
    """Evaluates and writes; the exit status: 1 when a model could not be evaluated, 2 when none could."""
    models, missing, notes = asked(given)
    found = outcome(models, given)
    found = replace(found, failures=[*missing, *found.failures], notes=notes)
    for failure in found.failures:
        print(f"error: {printable(failure)}", file=sys.stderr)
    if not found.evaluations:
        return BAD_INPUT
    tabled = results(found)
    for result in tabled:
        print_result(result)
        print()
    paths = write(found, tabled, OUTPUTS)
    print("saved:", ", ".join(map(str, paths)))
    if not given.model:
        try:
            attach(EXPERIMENT, given.profile, paths, OUTPUTS.name)
        except (LookupError, MlflowException) as error:
            print(f"not attached to the sweep: {sentence(error)}", file=sys.stderr)
    return FAILED if found.failures else 0


COMMAND = command("partition", main, ANALYSIS.command().params, __doc__)
