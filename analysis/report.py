"""The report: one page with every analysis that has runs under a profile.

Every table with its caption, figure and claims, and at the top all claims with their verdicts. Where figures differ
from the published ones by more than sampling error, the page says so and why. It needs nothing but itself: pictures
are inside, and whatever comes from the store is escaped. Sections, and rows whose runs are known, link to them in the
MLflow UI: on the server, or where `make ui` shows it.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import math
import re
import shlex
import sys
import tempfile
import urllib.parse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from scipy.special import stdtrit

from analysis.common.tables import ERROR, Claim, Result, file_name, in_a_sentence, plus_minus
from analysis.common.tables import render as render_page
from analysis.disentanglement import entanglement_attacks, toy_model, tune_vae, vae_zoo
from analysis.mi_benchmark import (
    critic_architecture,
    critic_capacity,
    embedding_networks,
    estimator_choice,
    information_sources,
    layer_dependency,
    nuisance,
    representation_dimension,
    tune_critic,
)
from analysis.mi_benchmark._benchmark import trained_and_decoded
from analysis.mi_benchmark._notes import PUBLISHED, unlike_published
from analysis.partition import domain_partition, partition, tune_domain
from analysis.representation import representations, resnet_layers
from analysis.sample_estimators import independence, known_laws, reading, simulations
from analysis.usable_information import dataset_difficulty, label_errors, structure_learning, usable_leakage
from infoscope.tracking import StoreUnreachable, attach, parents, runs
from infoscope.tracking.notes import run_page
from infoscope.tracking.store.store import labels, made_home, tracking_uri, without_password

ORDER = (  # the papers', one after the other, then our own
    critic_architecture, critic_capacity, estimator_choice, information_sources, representation_dimension, nuisance,
    layer_dependency, embedding_networks, tune_critic,
    toy_model, vae_zoo, entanglement_attacks, tune_vae,
    domain_partition, partition, tune_domain,
    dataset_difficulty, label_errors, structure_learning, usable_leakage,
    known_laws, simulations, reading, independence, resnet_layers,
)  # fmt: skip
FOLDER = Path("runs")
PAPERS = "published_"  # prefix of the column that holds the paper's figure of a column
LARGE = 0.25  # part of the paper's figure, beyond which a difference beyond sampling error is listed
COMMON = ("smoke", "laptop", "paper")  # the profiles that every sweep has
LISTED = 12  # differences that are listed one by one
LONG = 40  # rows beyond which a table is folded
LINKED = 30  # runs that are compared at most
NEVER = "no runs of "  # begins what the record says of an experiment that was never run
MARKS = {"holds": "✓", "does not hold": "✗", "undecided": "?"}
UI = "http://127.0.0.1:5000"  # of `make ui`
WORDS = {"diverged", "infinite", "not run", "not decoded", "stopped or diverged", "too few trials", "-", "nan"}
NUMBER = re.compile(r"[-+]?[\d,.]+(e[-+]?\d+)?( ± [\d.]+(e[-+]?\d+)?)?( ?%)?( \(.*\))?")
AXES = ("critic", "depth", "width", "sources", "size", "schedule_bits", "batch", "learning_rate", "rows")
BROKEN = (ValueError, LookupError, TypeError, AttributeError, MlflowException, OSError)  # what one analysis may raise


@dataclass(frozen=True)
class Picture:
    """A result as the page shows it: the table as text with the alignment of its columns, and the figure as PNG."""

    result: Result
    header: Sequence[tuple[str, bool]]  # title, right-aligned
    rows: Sequence[Sequence[str]]
    image: str  # base64, or empty
    differences: Sequence[str] = ()
    pages: Sequence[str] = ()  # of the runs of each row, or empty

    @property
    def linked(self) -> int:
        """The column that holds the links."""
        return next((place for place, (title, _) in enumerate(self.header) if title == "runs"), 0)

    @property
    def long(self) -> bool:
        return len(self.rows) > LONG


@dataclass(frozen=True)
class Section:
    """An analysis on the page: what it shows, or why it shows nothing and what to run; `failed`: it raised an error."""

    experiment: str
    title: str
    pictures: Sequence[Picture] = field(default_factory=list)
    problem: str = ""
    command: str = ""
    failed: bool = False
    name: str = ""  # of the analysis: two may read one experiment
    page: str = ""  # of the sweep's run in the MLflow UI

    @property
    def claims(self) -> list[Claim]:
        return [claim for shown in self.pictures for claim in shown.result.claims]


def section(module: ModuleType, profile: str) -> Section:
    """One analysis of the runs under a profile's label."""
    analysis, title = module.ANALYSIS, title_of(module)
    try:
        found = runs(analysis.experiment, profile)
    except LookupError as error:
        return missing(analysis.experiment, title, profile, error.args[0])
    try:
        results = analysis.analyse(found, analysis.arguments(["--profile", profile]))
        page = sweep_page(analysis.experiment, profile)
        pictures = [picture(result, module, found, page) for result in results]
    except BROKEN as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        return Section(analysis.experiment, title, problem=f"the analysis failed: {kind}{error}", failed=True)
    return Section(analysis.experiment, title, pictures, page=page)


def joint_section(profile: str) -> Section:
    """What the joint table of all logged models has saved: it is of no one experiment, and takes minutes a model."""
    pictures = [picture(result, representations, pd.DataFrame()) for result in representations.saved(profile)]
    asked = f"make table-representations PROFILE={shlex.quote(profile)}"
    problem = "" if pictures else "not asked yet"
    title, name = title_of(representations), name_of(representations)
    return Section(representations.STEM, title, pictures, problem, asked, name=name)


def name_of(module: ModuleType) -> str:
    """The name of an analysis, as `make table-NAME` takes it."""
    return module.__name__.rpartition(".")[2].replace("_", "-")


def title_of(module: ModuleType) -> str:
    """The caption of an analysis, the first paragraph of its module."""
    return " ".join(module.__doc__.split("\n\n")[0].split())


def missing(experiment: str, title: str, profile: str, problem: str) -> Section:
    """An analysis without runs, with the command that makes them where the sweep surely has the profile."""
    name = profile.split(" ")[0]
    if name in COMMON:
        return Section(experiment, title, problem=problem, command=command(experiment, profile))
    only = f"{name!r} is not of the profiles that every sweep has, {', '.join(COMMON)}"
    return Section(experiment, title, problem=f"{problem}; {only}")


def command(experiment: str, profile: str) -> str:
    """What makes the runs of an experiment under a profile's label: the profile's name and replaced settings."""
    name, *settings = profile.split()
    words = [f"PROFILE={shlex.quote(name)}", *([f"SET={shlex.quote(' '.join(settings))}"] if settings else [])]
    return " ".join([f"make sweep-{experiment}", *words])


def sweep_page(experiment: str, profile: str) -> str:
    """The address of the newest invocation under a label, or of all runs where none has it; empty without a store."""
    try:
        newest = next(iter(parents(experiment, profile) or parents(experiment)), None)
    except LookupError:
        return ""
    uri = tracking_uri()
    address = without_password(uri).rstrip("/") if uri.startswith(("http://", "https://")) else UI
    return f"{address}/{run_page(newest.info.experiment_id, newest.info.run_id)}" if newest else ""


def row_pages(result: Result, found: pd.DataFrame, page: str) -> list[str]:
    """By row the address of its runs; empty where their number differs from the row's."""
    figures = result.figures
    if not page or len(figures) != len(result.text) or "runs" not in figures:
        return []
    keys = [name for name in figures.columns[: figures.columns.get_loc("runs")] if name in found]
    pages = []
    for (_, row), shown in zip(figures.iterrows(), result.text.astype(str).values):
        same = np.logical_and.reduce([[one == row[name] for one in found[name]] for name in keys], initial=True)
        chosen = found["run_id"][same] if keys else found["run_id"][:0]
        told = all(row[name] in shown for name in keys if isinstance(row[name], str))
        pages.append(runs_page(page, list(chosen)) if told and 0 < len(chosen) == row["runs"] <= LINKED else "")
    return pages


def runs_page(page: str, run_ids: Sequence[str]) -> str:
    """The address of a run, or of several beside one another, given the page of another run of the experiment."""
    address, experiment = re.fullmatch(r"(.*)/#/experiments/(\w+)/runs/\w+(?:\?.*)?", page).groups()
    if len(run_ids) == 1:
        return f"{address}/{run_page(experiment, run_ids[0])}"
    listed = (urllib.parse.quote(json.dumps(names)) for names in (run_ids, [experiment]))
    return "{}/#/compare-runs?runs={}&experiments={}".format(address, *listed)


def picture(result: Result, module: ModuleType, found: pd.DataFrame, page: str = "") -> Picture:
    """A result with its figure drawn."""
    text = result.text.astype(str)
    header = [(str(name), _numeric(text.iloc[:, place])) for place, name in enumerate(text.columns)]
    image = ""
    if result.draw is not None:
        with tempfile.TemporaryDirectory() as folder:
            result.draw(Path(folder) / "figure.png")
            image = base64.b64encode((Path(folder) / "figure.png").read_bytes()).decode("ascii")
    told = differences(result, module, found)
    return Picture(result, header, text.values.tolist(), image, told, row_pages(result, found, page))


def _numeric(values: pd.Series) -> bool:
    return all(value in WORDS or NUMBER.fullmatch(value) for value in values)


@dataclass(frozen=True)
class Deviation:
    """By what part of the paper's figures ours differ in one column, over `n` of them: mean, largest, and where."""

    column: str
    n: int
    mean: float
    largest: float
    where: str

    def __str__(self) -> str:
        return f"{_spoken(self.column)} by {self.mean:.1%} on average and {self.largest:.1%} at most ({self.where})"


@dataclass(frozen=True)
class Comparison:
    """Our figures and the paper's. compared: in both; alone: from one run; sure: beyond sampling error (95 %);
    diverged: ours are not finite; deviations: by column; told: sure and large ones, in words; apart: their rows.

    Difference / standard error has Student's t distribution with runs - 1 degrees of freedom, at equal scatter.
    """

    compared: int = 0
    alone: int = 0
    sure: int = 0
    diverged: int = 0
    deviations: Sequence[Deviation] = ()
    told: Sequence[str] = ()
    apart: Sequence[int] = ()


def compare(figures: pd.DataFrame) -> Comparison:
    """The columns that stand beside a column of the paper's, compared with it."""
    columns = [name for name in figures if PAPERS + name in figures and name + ERROR in figures]
    compared, alone, sure, diverged, deviations, told, apart = 0, 0, 0, 0, [], [], set()
    for name in columns:
        both = figures[np.isfinite(figures[PAPERS + name])]
        diverged += int((~np.isfinite(both[name])).sum())
        both = both[np.isfinite(both[name])]
        of_difference = both[name + ERROR] * np.sqrt(1 + both["runs"])
        off = both[name] - both[PAPERS + name]
        beyond = off.abs() > stdtrit(np.maximum(both["runs"] - 1, 1), 0.975) * of_difference
        compared, alone, sure = compared + len(both), alone + int(of_difference.isna().sum()), sure + int(beyond.sum())
        if len(both) and (both[PAPERS + name] > 0).all():  # a bias is small or of either sign
            part = off.abs() / both[PAPERS + name]
            worst = _place(both.loc[part.idxmax()])
            deviations.append(Deviation(name, len(both), float(part.mean()), float(part.max()), worst))
        for index in both.index[beyond & (off.abs() > LARGE * both[PAPERS + name].abs())]:
            row = both.loc[index]
            ours = plus_minus(row[name], row[name + ERROR])
            told.append(f"{_place(row)}: {_spoken(name)} {ours}, paper {row[PAPERS + name]:.3f}")
            apart.add(index)
    return Comparison(compared, alone, sure, diverged, deviations, told, sorted(apart))


def differences(result: Result, module: ModuleType, found: pd.DataFrame) -> list[str]:
    """Where our figures differ from the paper's beyond sampling error (95 %), by how much, and the known reasons."""
    seen = compare(result.figures)
    if not seen.compared + seen.diverged:
        return []
    said = [f"Ours differ from the paper's in {'; '.join(map(str, seen.deviations))}."] if seen.deviations else []
    if known := seen.compared - seen.alone:
        said.append(
            f"{seen.sure} of {known} figures differ from the paper's beyond sampling error (95 %, Student's t), "
            f"{len(seen.told)} of these by more than {LARGE:.0%}{', listed below' if seen.told else ''}; the paper's "
            "are one run each, published without error, whose scatter is taken to be that of one of our runs."
        )
    if seen.alone:
        said.append(
            f"Of {seen.alone} figures it cannot be told whether that is chance: one run, its scatter is unknown."
        )
    if seen.diverged:
        said.append(f"{seen.diverged} further figures diverged here, and not in the paper.")
    listed = [*seen.told[:LISTED]]
    if len(seen.told) > LISTED:
        listed.append(f"and {len(seen.told) - LISTED} more")
    why = reasons(result.figures.loc[[*seen.apart]], module, found) if seen.told else ()
    return [" ".join(said), *why, *listed]


def _place(row: pd.Series) -> str:
    names = [name for name in ("domain", "pool", "critic", "depth", "size", "bound") if name in row.index]
    place = dict.fromkeys(str(row[name]) if isinstance(row[name], str) else f"{name} {row[name]:g}" for name in names)
    return " ".join(place) + (f" at {row['true_bits']:g} bits" if "true_bits" in row.index else "")


def _spoken(name: str) -> str:
    return {"mse_bits2": "MSE"}.get(name, name.replace("_bits2", "").replace("_bits", ""))


def reasons(rows: pd.DataFrame, module: ModuleType, found: pd.DataFrame) -> Iterator[str]:
    """What is known to make the figures of these rows differ."""
    trained, _, _ = trained_and_decoded(found, axes=AXES)
    same = [name for name in ("domain", "pool", "study") if name in rows]
    of_rows = trained.merge(rows[same].drop_duplicates(), on=same)
    yield from unlike_published(of_rows, getattr(module, "PUBLISHED_SETTING", PUBLISHED))
    if "text" in set(rows["domain"]):
        yield (
            "Text: both score a nominal truth, that of the labels; how much of it there is to find depends on the "
            "embeddings."
        )
    if {"mse_bits2", "floor_mse_bits2"} <= set(rows):
        share = (rows["floor_mse_bits2"] / rows["mse_bits2"]).median()
        if math.isfinite(share):
            yield (
                f"Of our MSE in these rows, the oracle critic alone scores {share:.0%} (median): that much is the "
                "batch estimator's own noise, not the critic's."
            )


def render(sections: Sequence[Section], profile: str) -> str:
    """The page."""
    counts = Counter(claim.verdict for part in sections for claim in part.claims)
    return render_page("page.html", sections=sections, profile=profile, counts=counts, marks=MARKS)


def finished() -> list[str]:
    """The labels of profiles under which anything that the page shows has finished, that of the most sweeps first."""
    found = Counter()
    for experiment in dict.fromkeys(module.ANALYSIS.experiment for module in ORDER):
        with contextlib.suppress(LookupError):
            found.update({label for profile in runs(experiment)["profile"] for label in labels(profile)})
    return [label for label, _ in found.most_common()]


@in_a_sentence()
def main(words: Sequence[str] | None = None) -> None:
    """Writes the page and adds it to the newest runs. Exits with 1 if an analysis failed, 2 if nothing can be shown."""
    parser = argparse.ArgumentParser(description=sys.modules[__name__].__doc__)
    parser.add_argument("--profile", default="laptop", help="the profile whose runs to show (default: laptop)")
    profile = parser.parse_args(words).profile
    try:
        sections = [replace(section(module, profile), name=name_of(module)) for module in ORDER]
        sections.append(joint_section(profile))
    except StoreUnreachable as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    if not any(part.pictures for part in sections):
        others = [f"`make report PROFILE={shlex.quote(label)}`" for label in finished()]
        instead = f"; {' or '.join(others)} would show what there is" if others else ""
        print(f"error: nothing to show under profile {profile!r}{instead}:", file=sys.stderr)
        told = [part for part in sections if not part.problem.startswith(NEVER)]
        for part in told:
            print(f"  {part.name}: {part.problem}", file=sys.stderr)
        if never := len(sections) - len(told):
            print(f"  {never} others: never run; `make help` lists the sweeps", file=sys.stderr)
        sys.exit(2)
    path = FOLDER / f"report-{file_name(profile)}.html"
    made_home()
    path.write_text(render(sections, profile), encoding="utf-8")
    print(path)
    shown = dict.fromkeys(part.experiment for part in sections if part.pictures)
    for experiment in (name for name in shown if name != representations.STEM):
        try:
            attach(experiment, profile, [path])
        except (LookupError, MlflowException, OSError) as error:
            print(f"not attached to {experiment}: {error}", file=sys.stderr)
    failed = [part for part in sections if part.failed]
    for part in failed:
        print(f"error: {part.experiment}: {part.problem}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
