"""How well do trained models keep information about the class and about the domain
apart?

Evaluates logged models on the items that their run kept, by nearest neighbours, by
classifiers and by exact densities (`infoscope.metrics.partition`). What is found is
added to the runs of the models, and is not measured again.

    make table-partition ARGS="--models nvae,diva"
    make table-partition MODEL=domain-partition-domain-model@champion DATA=my_items.npz
"""

import functools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from click import Choice
from mlflow.exceptions import MlflowException

from analysis.common.marks import mark, sheet
from analysis.common.models import (
    Candidate,
    candidate_at,
    candidates,
    each,
    has_posterior,
    loaded,
    sentence,
)
from analysis.common.published import ERROR, published_figures
from analysis.common.runs import latest
from analysis.common.tables import (
    FOLDER,
    PICTURE,
    Analysis,
    Result,
    plus_minus_column,
    print_result,
    printable,
    ranged,
    save,
)
from analysis.partition import _tables as tables
from analysis.partition._evaluation import (
    DRAWS,
    MEANS,
    Effort,
    Evaluation,
    evaluated,
    items_of,
)
from infoscope.checks import one_of
from infoscope.command_line import BAD_INPUT, FAILED, command, option
from infoscope.estimators.result import Estimate
from infoscope.metrics.partition.labels_as_numbers import AS_NUMBERS
from infoscope.metrics.partition.report import OLD_SUM, SEED_LIMITS
from infoscope.metrics.partition.terms import CLASSIFIER
from infoscope.tracking import attach, runs
from infoscope.tracking.tags import LOADED_FROM
from sweeps.partition.settings import IN_DOMAIN, MODELS

# what should be large; the others should be small, but for that of z_dy
WANTED = ("I(z_y;Y|D)", "I(z_d;D|Y)")
PANELS = (
    *tables.SCORES,
    "I(z_y;Y|D)",
    "I(z_d;D|Y)",
    "I(z_dy;Y,D)",
    "I(z_y;D|Y)",
    "I(z_d;Y|D)",
    "I(z_x;Y,D)",
)
EXPERIMENT = "domain-partition"
PUBLISHED_DATA = "crmnist"
CODES = {"both": (MEANS, DRAWS), MEANS: (MEANS,), DRAWS: (DRAWS,)}
OUTPUTS = FOLDER / "information_theoretic_analysis"
# of a profile; of the others, the defaults
EFFORTS = {"smoke": Effort(resamples=20, permutations=19, draws=300)}
LIMITS = (
    "unique: in [0, 1]; 1 if and only if z_y and z_d each determine their label given "
    "the other and no other block "
    "carries any of it; what z_dy repeats lowers the score. unique_without_z_dy: the "
    "same as if z_dy did not exist. "
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
    """The settings of an evaluation: those of the profile, but for what the options
    say.
    """
    profile = arguments.profile.split(" ")[0]
    effort = EFFORTS.get(profile, Effort())
    changes = {}
    for name in asdict(effort):
        value = getattr(arguments, name)
        if name != "codes" and value is not None:
            changes[name] = value
    return replace(effort, **changes)


def outcome(models: Sequence[Candidate], arguments: SimpleNamespace) -> Outcome:
    """Evaluates the models; the failure of one does not stop the others."""
    effort = effort_of(arguments)
    evaluations, failures = each(
        models, lambda candidate: evaluations_of(candidate, effort, arguments)
    )
    return Outcome(evaluations, failures, effort)


def evaluations_of(
    candidate: Candidate, effort: Effort, arguments: SimpleNamespace
) -> list[Evaluation]:
    """The evaluations of one model: of its means and, if requested and the model has a
    posterior, of draws.
    """
    model = loaded(candidate)
    items = items_of(candidate, arguments.data, arguments.split)
    evaluations = []
    for codes in CODES[arguments.codes]:
        kind = candidate
        if codes == DRAWS:
            if not has_posterior(model, items.x):
                continue
            kind = replace(candidate, kind=f"{candidate.kind} {DRAWS}")
        evaluations.append(
            evaluated(kind, model, items, replace(effort, codes=codes), arguments.again)
        )
    return evaluations


def results(outcome: Outcome) -> list[Result]:
    """The tables: models by their figures, and paired differences between them."""
    evaluations = outcome.evaluations
    figures = tables.comparison(evaluations)
    by_model = Result(
        "partition",
        tables.with_units(figures),
        tables.comparison_text(figures),
        caption(outcome, figures),
        functools.partial(draw_scores, evaluations),
        tables.claims(evaluations),
    )
    results = [by_model, *published_result(figures, evaluations)]
    over = tables.over_trainings(evaluations)
    if over.empty:
        return results
    within = tables.within_items(evaluations)
    explanation = (
        "Paired differences a - b of models that were trained on the same data and "
        "evaluated on the same items, by "
        "classifiers: mean ± standard error over trainings (seeds) with a 95 % "
        "interval (Student t), and of how many "
        "single pairs of trained models the sign is sure over items (adjusted over "
        "all quantities and pairs of a seed, "
        "Holm). A wide interval over trainings needs more seeds, not more items. Here "
        "the pairs with "
        f"{over['a'].iloc[0]}, means with means and draws with draws; every pair and "
        "quantity is in the CSV file."
    )
    text = tables.differences_text(over, within)
    results.append(
        Result(
            "differences", over, text, [tables.largest_difference(over), explanation]
        )
    )
    return results


def published_result(
    figures: pd.DataFrame, evaluations: Sequence[Evaluation]
) -> list[Result]:
    """Published figures of these models on the same kind of data, where there are some."""
    beside = tables.beside_published(figures)
    is_same_data = all(
        evaluation.data.startswith(PUBLISHED_DATA) for evaluation in evaluations
    )
    if beside.empty or not is_same_data:
        return []
    text = beside[["model", "quantity", "trainings"]].copy()
    for name in ("published", AS_NUMBERS, CLASSIFIER):
        text[name] = plus_minus_column(beside, name, tables.ABSENT)
    difference = (beside[AS_NUMBERS] - beside["published"]).abs().dropna()
    caption = [
        "With labels taken as numbers, as they did, ours differ from the published "
        f"figures by {difference.median():.2f} bits (median of {len(difference)}).",
        "Bits. Published figures are of one run, without errors, and not comparable "
        "with ours. They are written into the code of the NVAE experiments, which differ "
        "in the estimate (labels as "
        "numbers, k = 7; ours in the same way with another k beside it), the "
        "networks, the training and the items.",
    ]
    same = beside.assign(
        place=beside["model"],
        unit="bits",
        ours=beside[AS_NUMBERS],
        ours_error=beside[AS_NUMBERS + ERROR],
        runs=beside["trainings"],
        unlike="networks, training, items and k",
    )
    against = published_figures("partition of CRMNIST", same.to_dict("records"))
    return [Result("published", beside, text, caption, against=against)]


def caption(outcome: Outcome, figures: pd.DataFrame) -> list[str]:
    """The caption: measured quantities and their limits."""
    evaluations = outcome.evaluations
    family = evaluations[0].report.settings["family"]
    items = ranged([evaluation.report.n for evaluation in evaluations])
    groups = ranged([evaluation.report.groups for evaluation in evaluations])
    data = ", ".join(sorted({evaluation.data for evaluation in evaluations}))
    spread = "one training each: ± is over its items"
    if (figures["trainings"] > 1).any():
        spread = "± is the standard error over trainings"
    return [
        tables.finding(evaluations),
        f"Bits, by {family} classifiers ({outcome.effort.folds} folds); {items} items "
        "in "
        f"{groups} groups; {spread}. Scores have no unit. Every route (classifier, "
        "neighbours, "
        "labels as numbers, posterior), quantity and the old score, with both errors, "
        "is in the CSV file.",
        "Quoted of models with posteriors: one draw for each item, as the decoder "
        "sees it. Their means are a "
        "deterministic function of the item and can carry what the noise of draws "
        "hides; they are in the CSV file.",
        f"Items: {data}; not seen in training.",
        LIMITS,
        *tables.arithmetic(evaluations),
        "it_summary_report.txt has the full report of every model.",
        *outcome.notes,
        *(f"Not evaluated: {failure}" for failure in outcome.failures),
    ]


def analyse(frame: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """Evaluates the models of these runs where that is not done yet. Raises ValueError
    when none can be.
    """
    models, notes = of_runs(frame, arguments.models)
    evaluated = outcome(models, arguments)
    if not evaluated.evaluations:
        raise ValueError(f"no model could be evaluated: {' '.join(evaluated.failures)}")
    return results(replace(evaluated, notes=notes))


def write(outcome: Outcome, results: Sequence[Result], folder: Path) -> list[Path]:
    """Writes the files of the evaluation into a folder; returns the paths of those that
    concern all models.
    """
    folder.mkdir(parents=True, exist_ok=True)
    first, *others = results
    paths = [*save(replace(first, draw=None), folder / "it_comparison_table")]
    for result in others:
        paths += save(result, folder / f"it_{result.name}")
    pictures = [folder / f"it_model_comparison{suffix}" for suffix in PICTURE]
    draw_scores(outcome.evaluations, *pictures)
    parts = []
    for evaluation in outcome.evaluations:
        model = evaluation.candidate
        for report in evaluation.reports:
            parts.append(
                report.table.assign(
                    model=model.kind, seed=model.seed, run_id=model.run_id
                )
            )
    more = {
        "trainings": pd.concat(parts),
        "differences_over_items": tables.within_items(outcome.evaluations),
    }
    for name, table in more.items():
        path = folder / f"it_{name}.csv"
        table.to_csv(path, index=False)
        paths.append(path)
    report_file = folder / "it_summary_report.txt"
    report_file.write_text(summary(outcome, results), encoding="utf-8")
    return [*paths, *pictures, report_file]


def summary(outcome: Outcome, results: Sequence[Result]) -> str:
    """The report in words: tables, captions and claims, then every trained model."""
    parts = [f"Settings: {asdict(outcome.effort)}", ""]
    for result in results:
        claims = [str(claim) for claim in result.claims]
        parts += [result.text.to_string(index=False), result.caption, *claims, ""]
    for evaluation in outcome.evaluations:
        model = evaluation.candidate
        parts.append(
            f"== {model.name} (run {model.run_id or 'none'}), {evaluation.data}"
        )
        parts.append(f"{evaluation.words}\n")
    return "\n".join(parts)


def draw_scores(evaluations: Sequence[Evaluation], *paths: Path) -> None:
    """Scores and quantities of every training with 95 % intervals over items, by kind."""
    kinds = tables.by_kind(evaluations)
    across = 2
    down = math.ceil(len(PANELS) / across)
    with sheet(paths, down, across, (4.2 * across, 2.7 * down), 130) as axes:
        axes[0, 0].figure.suptitle(
            "By classifiers: every training with its 95 % interval over items;\n"
            "line: mean over trainings; dashed: the most that these labels allow",
            fontsize=10,
        )
        for axis, name in zip(axes.flat, PANELS):
            panel(axis, name, kinds)


def panel(axis: Any, name: str, kinds: Mapping[str, Sequence[Evaluation]]) -> None:
    """One score or quantity of every training, by kind."""
    for place, (kind, trainings) in enumerate(kinds.items()):
        figures = [
            training.by_classifier[name]
            for training in trainings
            if name in training.by_classifier
        ]
        figures = [figure for figure in figures if math.isfinite(figure.value)]
        draw_kind(axis, place, kind, figures)
    axis.set_xlim(-0.6, len(kinds) - 0.4)
    if name in (*WANTED, "seed"):
        ceilings = [tables.most_of(trainings, name) for trainings in kinds.values()]
        axis.axhline(max(ceilings), color="grey", linestyle="--", linewidth=0.8)
    low, high = axis.get_ylim()
    low = min(0.0, low)
    axis.set_ylim(low, high + 0.08 * (high - low))
    title = name if name in tables.SCORES else f"{name} (bits)"
    if name == "seed":
        title = f"{OLD_SUM} (an absent block counts 0)"
    axis.set_title(title, fontsize=10)
    axis.set_xticks(
        range(len(kinds)), labels=list(kinds), rotation=25, ha="right", fontsize=8
    )
    axis.grid(axis="y", alpha=0.3)
    axis.plot([], [])  # so that a panel where nothing applies keeps its axes


def draw_kind(axis: Any, place: int, kind: str, figures: Sequence[Estimate]) -> None:
    """The figures of one kind of model, side by side with their intervals, and their
    mean.
    """
    if not figures:
        across = axis.get_xaxis_transform()
        axis.text(
            place,
            0.02,
            "n/a",
            ha="center",
            va="bottom",
            color="grey",
            fontsize=8,
            transform=across,
        )
        return
    offsets = place + 0.1 * (np.arange(len(figures)) - (len(figures) - 1) / 2)
    values = np.array([figure.value for figure in figures])
    below = values - [figure.low for figure in figures]
    above = [figure.high for figure in figures] - values
    is_of_draws = kind.endswith(tables.OF_DRAWS)
    axis.errorbar(
        offsets,
        values,
        np.clip([below, above], 0, None),
        linestyle="none",
        markersize=4,
        capsize=2,
        fillstyle="none" if is_of_draws else "full",
        **mark("model", kind.removesuffix(tables.OF_DRAWS))._asdict(),
    )
    axis.hlines(values.mean(), place - 0.3, place + 0.3, color="black", linewidth=1)


OPTIONS = [
    option("models", default="", help="only these models, such as nvae,diva"),
    option(
        "model",
        multiple=True,
        help="a model by run id, MLflow address or folder; may be repeated",
    ),
    option(
        "data",
        help="your own items: an .npz file with x, y, d and, if rows depend, groups",
    ),
    option(
        "split",
        default=IN_DOMAIN,
        help=f"which logged items: {IN_DOMAIN} (default), out-of-domain or all",
    ),
    option(
        "family",
        help="of the classifiers: logistic (default), gradient-boosting, mlp, knn",
    ),
    option("folds", type=int, help="of the classifiers (default: 5)"),
    option("k", type=int, help="neighbours (default: 5)"),
    option(
        "resamples",
        type=int,
        help="half-samples of the neighbours' errors (default: 100)",
    ),
    option("permutations", type=int, help="of each test of leakage (default: 199)"),
    option("draws", type=int, help="of the exact densities (default: 2000)"),
    option(
        "codes",
        type=Choice(tuple(CODES)),
        default="both",
        help="of posteriors: means, a draw each, or both",
    ),
    option("again", is_flag=True, help="evaluate again what is evaluated already"),
]
ANALYSIS = Analysis(
    EXPERIMENT, analyse, OPTIONS, claims_from="documentation of the framework"
)


def of_runs(frame: pd.DataFrame, models: str) -> tuple[list[Candidate], list[str]]:
    """The models of these runs, or those of the names between commas, and notes on
    runs of older versions and on those without models.
    """
    if models:
        names = models.split(",")
        for name in names:
            one_of("models", name, list(frame["model"].unique()))
        frame = frame[frame["model"].isin(names)]
    selected, notes = latest(frame, ())
    is_loaded = selected["tags"].map(lambda tags: LOADED_FROM in tags)
    if is_loaded.any() and not is_loaded.all():
        notes.append(f"{is_loaded.sum()} runs were loaded from files, without models.")
        selected = selected[~is_loaded]
    return candidates(selected, MODELS), notes


def asked(arguments: SimpleNamespace) -> tuple[list[Candidate], list[str], list[str]]:
    """The models that the command line asks for, and in a sentence each, the addresses
    without one and what is left out unasked.
    """
    if not arguments.model:
        models, notes = of_runs(runs(EXPERIMENT, arguments.profile), arguments.models)
        return models, [], notes
    models = []
    missing = []
    for address in arguments.model:
        try:
            models.append(candidate_at(address))
        except LookupError as error:
            missing.append(sentence(error))
    return models, missing, []


def main(arguments: SimpleNamespace) -> int:
    """Evaluates and writes; the exit status: 1 when a model could not be evaluated, 2
    when none could.
    """
    models, missing, notes = asked(arguments)
    evaluated = outcome(models, arguments)
    failures = [*missing, *evaluated.failures]
    evaluated = replace(evaluated, failures=failures, notes=notes)
    for failure in failures:
        print(f"error: {printable(failure)}", file=sys.stderr)
    if not evaluated.evaluations:
        return BAD_INPUT
    tabled = results(evaluated)
    for result in tabled:
        print_result(result)
        print()
    paths = write(evaluated, tabled, OUTPUTS)
    print("saved:", ", ".join(map(str, paths)))
    if not arguments.model:
        try:
            attach(EXPERIMENT, arguments.profile, paths, OUTPUTS.name)
        except (LookupError, MlflowException) as error:
            print(f"not attached to the sweep: {sentence(error)}", file=sys.stderr)
    return FAILED if failures else 0


COMMAND = command("partition", main, ANALYSIS.command().params, __doc__)
