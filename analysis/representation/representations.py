"""What do the representations of all trained models carry, in which block, and how sure is that?

Evaluates every logged model that can encode on the items that its run kept (`infoscope.metrics.representation`). The
results are added to the runs of the models and reused under the same settings.

    make table-representations
    make table-representations MODEL=models:/m-0123456789abcdef DATA=my_items.npz
    make table-representations MODEL=resnet18 DATA=my_items.npz
"""

import functools
import itertools
import math
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.marks import lines, panel_by_panel, sheet
from analysis.common.models import Candidate, candidate_at, candidates, each, loaded, sentence
from analysis.common.runs import latest
from analysis.common.tables import ERROR, FOLDER, Analysis, Page, Result, file_name, plus_minus, present, printable
from analysis.representation._named import named_model
from analysis.representation._reports import SHOWN, Effort, Held, held, items_of
from infoscope.command_line import FAILED, command, option
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics import rank_agreement, rank_agreement_within, replicated
from infoscope.metrics.partition.report import OLD_SUM
from infoscope.metrics.representation.reporting import CONSTANT, LINEAR, RICHER
from infoscope.notebook import heat
from infoscope.tracking import runs
from infoscope.tracking.models import address_of, search
from infoscope.tracking.store.store import Store

EXPERIMENTS = ("vae-zoo", "domain-partition", "dataset-difficulty", "resnet-layers")
EFFORTS = {"smoke": Effort(rows=200, resamples=10, permutations=9)}  # of a profile; of the others, the default
SHARED = ("unique", "redundant", "synergistic")
MOST_PANELS = 6  # of rank correlations that are drawn
FEWEST = 8  # trained models for a rank correlation
SURE = 20  # rank correlations that are printed
NEITHER = "given by hand"
PARTITION = "partition: "  # before the names of its scores


def effort_of(profile: str) -> Effort:
    """How models of a profile are measured."""
    return EFFORTS.get(profile.split(" ")[0], Effort())


def found_in(experiment: str, profile: str) -> tuple[list[Candidate], list[str]]:
    """The logged models of an experiment under a profile, and sentences on those left out."""
    try:
        frame = runs(experiment)
        labels = frame["profile"].str.split("; ")
        under = labels.map(lambda known: any(profile in (label, label.split(" ")[0]) for label in known))
        frame = frame[under] if under.any() else runs(experiment, profile)
    except LookupError as error:
        return [], [f"No models of {experiment}: {sentence(error)}."]
    frame, notes = latest(frame, ())
    logged = {model.source_run_id for model in search("", Store.open(experiment))}
    return candidates(frame[frame["run_id"].isin(logged)]), notes


def measured(
    found: Sequence[tuple[str, Candidate]], effort: Effort, file: str | None, again: bool
) -> tuple[list[Held], list[str]]:
    """The reports of models, by their experiments, and in a sentence each, of which there is none."""
    experiment_of = {candidate: experiment for experiment, candidate in found}

    def ask(candidate: Candidate) -> list[Held]:
        experiment = experiment_of[candidate]
        model = named_model(candidate.address) if candidate.run_id is None else loaded(candidate)
        return [held(candidate, experiment, model, items_of(candidate, file), effort, again)]

    return each([candidate for _, candidate in found], ask)


def holdings(reports: Sequence[Held]) -> pd.DataFrame:
    """A row for each kind of model, block and target: means over trainings in bits, with their standard errors."""
    rows = []
    for (experiment, data, kind), trainings in by_kind(reports):
        whole = pd.concat([one.table for one in trainings], ignore_index=True)
        for (block, target), part in whole.groupby(["block", "target"], sort=False):
            row = {"sweep": experiment, "data": data, "model": kind, "block": block, "target": target,
                   "role": part["role"].iloc[0], "trainings": len(part), "n": int(part["n"].min())}  # fmt: skip
            for name in (*SHOWN, *SHARED):
                over = replicated(part[name].astype(float) / NATS_PER_BIT)
                own = part[f"{name}_error"].astype(float).iloc[0] / NATS_PER_BIT
                error = over.standard_error if over.n > 1 else own
                row |= {f"{name}_bits": over.value, f"{name}_bits{ERROR}": error}
            row["share"] = float((part["richer"] / part["ceiling"].astype(float)).mean())
            rows.append(row)
    return pd.DataFrame(rows)


def by_kind(reports: Sequence[Held]) -> Iterator[tuple[tuple[str, str, str], list[Held]]]:
    """The trainings of each kind of model on the same kind of items."""
    groups: dict[tuple[str, str, str], list[Held]] = {}
    for one in reports:
        groups.setdefault((one.experiment, one.data, one.candidate.kind), []).append(one)
    yield from groups.items()


def scores_of(reports: Sequence[Held]) -> pd.DataFrame:
    """A row for each trained model: scores, and the mean usable shares of targets and domain."""
    rows = []
    for one in reports:
        every = one.table.groupby("target", sort=False).tail(1)  # of all blocks together
        shares = (every["richer"] / every["ceiling"].astype(float)).groupby(every["role"]).mean()
        linear = (every["linear"] / every["ceiling"].astype(float)).groupby(every["role"]).mean()
        row = {"sweep": one.experiment, "data": one.data, "kind": one.candidate.kind, "seed": one.candidate.seed}
        row |= {"usable of targets": shares.get("target", math.nan), "linearly usable": linear.get("target", math.nan)}
        row |= {"usable of the domain": shares.get("domain", math.nan)}
        row |= dict(zip(one.scores.get("score", ()), one.scores.get("value", ())))
        row |= {
            PARTITION + name.replace("seed", OLD_SUM): value
            for name, (value, _) in one.partition.items()
            if not name.endswith("_ceiling")  # of the items, not of a model
        }
        rows.append(row)
    return pd.DataFrame(rows)


def agreement(scores: pd.DataFrame, generator: np.random.Generator) -> pd.DataFrame:
    """Spearman correlation of every two scores over models and over trainings of one kind, with 95 % intervals."""
    rows = []
    for data, own in scores.groupby("data", sort=False):
        values = own.drop(columns=["sweep", "data", "kind", "seed"]).astype(float)
        names = [name for name in values if values[name].notna().sum() >= FEWEST and values[name].nunique() > 1]
        for a, b in itertools.combinations(names, 2):
            told = values[[a, b]].notna().all(axis=1)
            if told.sum() < FEWEST:
                continue
            pair = (values.loc[told, a], values.loc[told, b], own.loc[told, "kind"])
            over, within = rank_agreement(*pair, generator), rank_agreement_within(*pair, generator)
            rows.append({"data": data, "a": a, "b": b, "models": over.n, "kinds": own.loc[told, "kind"].nunique(),
                         "rho": over.value, "low": over.low, "high": over.high, "within": within.value,
                         "within_low": within.low, "within_high": within.high})  # fmt: skip
    columns = ["data", "a", "b", "models", "kinds", "rho", "low", "high", "within", "within_low", "within_high"]
    table = pd.DataFrame(rows, columns=columns)
    of_one_view = table["a"].map(view) == table["b"].map(view)
    return table.iloc[np.lexsort([table["high"] - table["low"], of_one_view])].reset_index(drop=True)


def view(score: str) -> str:
    """Which of the bodies of work a score of `scores_of` belongs to."""
    return "partition" if score.startswith(PARTITION) else "usable" if "usable" in score else "disentanglement"


def differences(reports: Sequence[Held]) -> pd.DataFrame:
    """What is usable of each target from all of a model, less the same of the first kind trained with the same seed on
    the same data, bits: mean over seeds, standard error and 95 % interval (Student t)."""
    usable: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for one in reports:
        for row in one.table.groupby("target", sort=False).tail(1).itertuples():
            of_kind = usable.setdefault((one.data, row.target), {}).setdefault(one.candidate.kind, {})
            of_kind[one.candidate.seed] = row.richer / NATS_PER_BIT
    rows = []
    for (data, target), kinds in usable.items():
        (first, before), *others = kinds.items()
        for kind, seeds in others:
            shared = [seeds[seed] - before[seed] for seed in seeds if seed in before]
            if shared:
                over = replicated(shared)
                rows.append({"data": data, "target": target, "model": kind, "less": first, "bits": over.value,
                             f"bits{ERROR}": over.standard_error, "low": over.low, "high": over.high,
                             "trainings": over.n})  # fmt: skip
    return pd.DataFrame(rows)


def results(reports: Sequence[Held], notes: Sequence[str] = ()) -> list[Result]:
    """The joint table, the scores of models and how they agree, and paired differences."""
    table, scores = holdings(reports), scores_of(reports)
    agree = agreement(scores, np.random.default_rng(0))
    items = sorted({f"{one.data} ({one.n:,} items)" for one in reports})
    target = table[table["role"] == "target"]
    most = target.loc[target["richer_bits"].idxmax()]
    caption = [
        f"{most['block']} of {most['model']} holds most that is usable about {most['target']}: "
        f"{plus_minus(most['richer_bits'], most[f'richer_bits{ERROR}'])} bits ({most['data']}, {most['trainings']} "
        "trainings).",
        f"What {len(reports)} trained models carry, bits, mean ± standard error over trainings (seeds), of a single "
        "training over its items. Usable by a linear family and by a mixture of it with boosted trees (richer), on "
        f"items that neither was fitted to: lower bounds; linear: {LINEAR}; trees: {RICHER.name}. "
        "Reading: the information, calibrated on simulated data. Unique, redundant and synergistic (Williams & Beer "
        "2010): compared with all other blocks. Share: of H(target), usable by the richer family, a mean over "
        "trainings with the error of those bits. A target called domain is leakage.",
        f"Items: {'; '.join(items)}.",
        *dict.fromkeys(f"Not measured: {note}" for one in reports for note in one.notes),
        *collapsed(reports),
        *dict.fromkeys(
            f"No reading: {note}" for one in reports for note in one.table.loc[one.table["reading"].isna(), "notes"]
        ),
        *notes,
    ]
    found = [Result("holdings", table, holdings_text(table), caption, functools.partial(draw_holdings, table))]
    if len(agree):
        sure = int((agree["low"] > 0).sum())
        said = (
            f"{sure} of {len(agree)} pairs of scores surely agree on which model is better (95 % intervals above 0).\n"
            "Do the scores agree on which model is better? Spearman's rank correlation over the trained models of one "
            "data set, with the 95 % interval of draws of kinds of models, then of trainings of each; within: the same "
            "among trainings of one kind, of ranks less the mean of their kind. First scores of two views (usable, "
            "disentanglement, partition), the surest of these first. Usable: mean share of H(target) from all of a "
            "model."
        )
        said += f" Here {min(len(agree), SURE)} of {len(agree)} pairs; all are in the CSV file."
        found.append(
            Result("agreement", agree, agreement_text(agree), said, functools.partial(draw_agreement, scores, agree))
        )
    apart = differences(reports)
    if len(apart):
        largest = apart.loc[apart["bits"].abs().idxmax()]
        said = (
            f"The largest difference is that of {largest['model']} from {largest['less']} about {largest['target']}: "
            f"{plus_minus(largest['bits'], largest[f'bits{ERROR}'])} bits ({largest['trainings']} trainings).\n"
            "Usable from all of a model less the same of another kind, paired by seeds, bits: mean ± standard error "
            "over trainings, 95 % Student interval."
        )
        found.append(Result("paired", apart, paired_text(apart), said))
    return found


def collapsed(reports: Sequence[Held]) -> list[str]:
    """A sentence for each model that has constant blocks, which count as 0 in every mean."""
    found = []
    for one in reports:
        constant = one.table.loc[one.table["notes"].fillna("").str.contains(CONSTANT, regex=False), "block"].unique()
        if len(constant):
            found.append(
                f"Included as 0: {', '.join(constant)} of {one.candidate.name} on {one.data}, constant in all items: a "
                "training that collapsed, or a block that it does not use."
            )
    return found


def holdings_text(table: pd.DataFrame) -> pd.DataFrame:
    """The joint table to read."""
    text = table[["data", "model", "block", "target", "trainings", "n"]].copy()
    for name in (*SHOWN, *SHARED):
        absent = "no other block" if name in SHARED else "not had"
        text[f"{name} (bits)"] = [
            plus_minus(value, error, absent)
            for value, error in zip(table[f"{name}_bits"], table[f"{name}_bits{ERROR}"])
        ]
    text["share"] = [f"{share:.2f}" if math.isfinite(share) else "numbers" for share in table["share"]]
    return text


def agreement_text(table: pd.DataFrame) -> pd.DataFrame:
    """The first rank correlations to read."""
    text = table[["data", "a", "b", "models", "kinds"]].copy()
    for title, value, before in (("rank correlation", "rho", ""), ("within kinds", "within", "within_")):
        ends = table[[f"{before}low", f"{before}high"]].set_axis(["low", "high"], axis=1)
        text[title] = table[value].map(lambda rho: f"{rho:+.2f}" if math.isfinite(rho) else "none")
        text[f"95 %{' within' * bool(before)}"] = _interval(ends, "+.2f", "too few kinds" if not before else "none")
    return text.head(SURE)


def paired_text(table: pd.DataFrame) -> pd.DataFrame:
    """The paired differences to read."""
    bits = [plus_minus(*pair) for pair in zip(table["bits"], table[f"bits{ERROR}"])]
    text = table.assign(bits=bits, interval=_interval(table, "+.3f"))
    return text.drop(columns=[f"bits{ERROR}", "low", "high"]).rename(columns={"interval": "95 %"})


def _interval(table: pd.DataFrame, form: str, missing: str = "one training") -> list[str]:
    return [
        f"{low:{form}} to {high:{form}}" if math.isfinite(low) else missing
        for low, high in zip(table["low"], table["high"])
    ]


def draw_holdings(holdings: pd.DataFrame, *paths: Path) -> None:
    """A panel for each data set: usable information of every block about every target, as a share of the target's
    entropy; grey: numbers have none, or the model was not evaluated."""
    rows = holdings.assign(line=holdings["model"] + ": " + holdings["block"])
    tables = {
        data: part.pivot_table("share", "line", "target", sort=False, dropna=False)
        for data, part in rows.groupby("data", sort=False)
    }
    lengths = [len(table) for table in tables.values()]
    widest = max(table.shape[1] for table in tables.values())
    size = (1.0 * widest + 5, 0.26 * sum(lengths) + 0.7 * len(tables) + 1)
    with sheet(paths, len(tables), 1, size, height_ratios=[length + 1 for length in lengths]) as axes:
        for axis, (data, table) in zip(axes.flat, tables.items()):
            shares = table.to_numpy(float)
            texts = [[f"{share:.2f}" if np.isfinite(share) else "" for share in row] for row in shares]
            image = heat(axis, shares, texts, table.index, table.columns, fontsize=7)
            axis.set_title(data, fontsize=8)
        axes[0, 0].figure.colorbar(
            image, ax=axes, label="share of H(target) that is usable, mean over trainings", aspect=40
        )


def draw_agreement(scores: pd.DataFrame, agreement: pd.DataFrame, *paths: Path) -> None:
    """The first pairs of scores of a table of rank correlations, a point a trained model."""
    pairs = itertools.islice(agreement.itertuples(), MOST_PANELS)
    for axis, pair in panel_by_panel(paths, pairs, (4, 3.3), (1.5, 0), across=3):
        own = scores[scores["data"] == pair.data]
        for name, part, style in lines(own, "model", "kind"):
            axis.plot(part[pair.a], part[pair.b], label=name, **style | {"linestyle": "none"})
        axis.set_xlabel(pair.a, fontsize=8)
        axis.set_ylabel(pair.b, fontsize=8)
        interval = f" ({pair.low:+.2f} to {pair.high:+.2f})" if np.isfinite(pair.low) else ""
        axis.set_title(f"{pair.data}\nrank correlation {pair.rho:+.2f}{interval}", fontsize=8)


OPTIONS = [
    option(
        "experiments", default=",".join(EXPERIMENTS), help="whose models: sweeps, by name (default: all that keep some)"
    ),
    option("model", help="one model instead: a run, an MLflow address, a folder, a name of a library"),
    option("data", help="items of your own: an .npz file with x, target:NAME, perhaps domain, groups"),
    option("again", is_flag=True, help="measure again what is measured already"),
]
STEM = "representations"  # of the names of files
ANALYSIS = Analysis(STEM, lambda frame, arguments: [], OPTIONS)


def main(given: SimpleNamespace) -> int:
    """Evaluates the models and writes; exit status 1 when a model failed. LookupError: when all did."""
    found, notes = asked(given)
    reports, failures = measured(found, effort_of(given.profile), given.data, given.again)
    for failure in failures:
        print(f"error: {printable(failure)}", file=sys.stderr)
    if not reports:
        raise LookupError(f"no model could be evaluated. {' '.join(notes)}")
    found = results(reports, [*notes, *(f"Failed: {failure}" for failure in failures)])
    stem = f"{STEM}-{given.model or given.profile}"
    page = Page(f"What the representations of {given.model or given.profile} carry")
    present(found, lambda one: FOLDER / file_name(f"{stem}-{one.name}"), FOLDER / file_name(f"{stem}-tables"), page)
    return FAILED if failures else 0


def asked(arguments: SimpleNamespace) -> tuple[list[tuple[str, Candidate]], list[str]]:
    """The models that are asked for, by experiment, and in a sentence each, what is left out."""
    if address := arguments.model:
        if re.fullmatch("[0-9a-f]{32}", address):
            return [(NEITHER, Candidate(address, "", address, address))], []
        of_mlflow = address_of(address).startswith(("models:/", "runs:/"))
        return [(NEITHER, candidate_at(address) if of_mlflow else Candidate(address, "", address, None))], []
    found, notes = [], []
    for experiment in arguments.experiments.split(","):
        models, left_out = found_in(experiment, arguments.profile)
        found += [(experiment, one) for one in models]
        notes += left_out
    if not found:
        raise LookupError(" ".join(notes) or "no experiment is named.")
    return found, notes


COMMAND = command("representations", main, ANALYSIS.command().params, __doc__)
