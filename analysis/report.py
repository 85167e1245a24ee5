"""The report: one page with every analysis that has runs under a profile, and all
claims with their verdicts.

Where figures differ from the published ones by more than sampling error, the page shows
by how much and why. Pictures are embedded, and text from the store is escaped. Sections
link to their runs in the MLflow UI.
"""

import contextlib
import math
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException

from analysis import TABLES
from analysis.common.claims import VERDICTS, Claim
from analysis.common.published import beyond_chance, deviation, place_of
from analysis.common.tables import Picture, Result, base64_of, file_name, plus_minus
from analysis.common.tables import render as render_page
from infoscope.command_line import BAD_INPUT, FAILED, command, profile_option
from infoscope.tracking import attach, parents, runs
from infoscope.tracking.home import made_home
from infoscope.tracking.notes import run_page
from infoscope.tracking.store import labels
from infoscope.tracking.ui import address

ORDER = [import_module(place) for place in TABLES.values()]
FOLDER = Path("runs")
LARGE = 0.25  # of the paper's figure: larger differences are listed
LISTED = 12  # differences that are listed one by one
NEVER = "no runs of "  # begins what the record says of an experiment that was never run
MARKS = dict(zip(VERDICTS, "✓✗?–"))

COMMON = ("smoke", "laptop", "paper")  # the profiles that every sweep has
# what one analysis may raise
BROKEN = (ValueError, LookupError, TypeError, AttributeError, MlflowException, OSError)


@dataclass(frozen=True)
class Section:
    """An analysis on the page: its pictures, or the reason why there are none and the
    command that makes them.
    """

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
        """The claims of all results, in their order."""
        return [claim for picture in self.pictures for claim in picture.result.claims]


def section(module: ModuleType, profile: str) -> Section:
    """One analysis of the runs under a profile's label."""
    analysis = module.ANALYSIS
    title = title_of(module)
    try:
        frame = runs(analysis.experiment, profile)
    except LookupError as error:
        return missing(analysis.experiment, title, profile, error.args[0])
    try:
        results = analysis.analyse(frame, analysis.arguments(["--profile", profile]))
        page = sweep_page(analysis.experiment, profile)
        pictures = [picture(result) for result in results]
    except BROKEN as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        return Section(
            analysis.experiment,
            title,
            problem=f"the analysis failed: {kind}{error}",
            failed=True,
        )
    return Section(analysis.experiment, title, pictures, page=page)


def name_of(module: ModuleType) -> str:
    """The name of an analysis, as `make table-NAME` takes it."""
    return module.__name__.rpartition(".")[2].replace("_", "-")


def title_of(module: ModuleType) -> str:
    """The title of an analysis, the first paragraph of its module's docstring."""
    paragraph = module.__doc__.partition("\n\n")[0]
    return " ".join(paragraph.split()).removesuffix(".")


def missing(experiment: str, title: str, profile: str, problem: str) -> Section:
    """An analysis without runs, with the command that makes them where the sweep surely
    has the profile.
    """
    name = profile.split(" ")[0]
    if name in COMMON:
        return Section(
            experiment,
            title,
            problem=problem,
            command=make_command(experiment, profile),
        )
    only = f"{name!r} is not of the profiles that every sweep has, {', '.join(COMMON)}"
    return Section(experiment, title, problem=f"{problem}; {only}")


def make_command(experiment: str, profile: str) -> str:
    """What makes the runs of an experiment under a profile's label: the profile's name
    and replaced settings.
    """
    name, *settings = profile.split()
    command = f"make sweep-{experiment} PROFILE={shlex.quote(name)}"
    if settings:
        command += f" SET={shlex.quote(' '.join(settings))}"
    return command


def sweep_page(experiment: str, profile: str) -> str:
    """The address of the newest invocation under a label, or of all runs where none has
    it; empty without a store.
    """
    try:
        invocations = parents(experiment, profile) or parents(experiment)
    except LookupError:
        return ""
    if not invocations:
        return ""
    newest = invocations[0].info
    return f"{address()}/{run_page(newest.experiment_id, newest.run_id)}"


def picture(result: Result) -> Picture:
    """A result with its figure drawn."""
    image = ""
    if result.draw is not None:
        with tempfile.TemporaryDirectory() as folder:
            result.draw(Path(folder) / "figure.png")
            image = base64_of(Path(folder) / "figure.png")
    return Picture(result, image, differences(result))


def deviations(figures: pd.DataFrame) -> pd.DataFrame:
    """By quantity of published figures that were run: how many, the `mean` and the
    `largest` part by which ours differ, and the `place` of the largest.

    Quantities that are small or of either sign, such as a bias, are left out.
    """
    figures = figures[np.isfinite(figures["ours"])]
    least = figures.groupby("quantity")["published"].transform("min")
    figures = figures[least > 0]
    part = deviation(figures).groupby(figures["quantity"], sort=False)
    places = figures["place"][part.idxmax()].to_numpy()
    return part.agg(n="size", mean="mean", largest="max").assign(place=places)


def differences(result: Result) -> list[str]:
    """Where our figures differ from the paper's beyond sampling error (95 %), by how
    much, and the known reasons.
    """
    if result.against is None:
        return []
    is_same = result.against["unlike"] == ""
    run = result.against[is_same & (result.against["runs"] > 0)]
    if run.empty:
        return []
    ours = run[np.isfinite(run["ours"])]
    is_sure = beyond_chance(ours)
    large = ours[is_sure & (deviation(ours) > LARGE)]
    sentences = []
    by_quantity = []
    for quantity, row in deviations(ours).iterrows():
        by_quantity.append(
            f"{quantity} by {row['mean']:.1%} on average and {row['largest']:.1%} at "
            f"most ({row['place']})"
        )
    if by_quantity:
        sentences.append(f"Ours differ from the paper's in {'; '.join(by_quantity)}.")
    with_error = int(ours["ours_error"].notna().sum())
    if with_error:
        below = ", listed below" if len(large) else ""
        sentences.append(
            f"{is_sure.sum()} of {with_error} figures differ from the paper's beyond "
            "sampling error (95 %, "
            f"Student's t), {len(large)} of these by more than {LARGE:.0%}{below}; "
            "the paper's "
            "are one run each, published without error, and are assumed to scatter "
            "like one of our runs."
        )
    without_error = len(ours) - with_error
    if without_error:
        sentences.append(
            f"For {without_error} figures chance cannot be excluded: one run, its "
            "scatter is unknown."
        )
    diverged = len(run) - len(ours)
    if diverged:
        sentences.append(
            f"{diverged} further figures diverged here, and not in the paper."
        )
    lines = [" ".join(sentences)]
    if is_sure.any():
        places = result.figures.apply(place_of, axis=1)
        lines += reasons(result.figures[places.isin(ours.loc[is_sure, "place"])])
    for row in large.head(LISTED).itertuples():
        figure = plus_minus(row.ours, row.ours_error)
        lines.append(f"{row.place}: {row.quantity} {figure}, paper {row.published:.3f}")
    left = len(large) - LISTED
    if left > 0:
        lines.append(f"and {left} more")
    return lines


def reasons(rows: pd.DataFrame) -> Iterator[str]:
    """Known reasons for differences of the figures in these rows."""
    if "mine" in set(rows.get("bound", [])):
        yield (
            "MINE: the released code averages the last two batches only (mine-one-step "
            "here), the published method all."
        )
    if "text" in set(rows["domain"]):
        yield (
            "Text: both score a nominal truth, the MI of the labels; how much of it "
            "can be found depends on the "
            "embeddings."
        )
    if {"mse_bits2", "oracle_critic_mse_bits2"} <= set(rows):
        share = (rows["oracle_critic_mse_bits2"] / rows["mse_bits2"]).median()
        if math.isfinite(share):
            yield (
                "Of our MSE in these rows, the oracle critic alone scores "
                f"{share:.0%} (median): that much is the "
                "batch estimator's own noise, not the critic's."
            )


def render(sections: Sequence[Section], profile: str) -> str:
    """The page."""
    shown = [part for part in sections if part.pictures]
    claims = []
    for part in shown:
        claims += [(part.name, claim) for claim in part.claims]
    verdicts = Counter(claim.verdict for _, claim in claims if not claim.is_ours)
    tested = "No claim of a paper is judged."
    if verdicts:
        counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in MARKS)
        tested = f"Of {verdicts.total()} claims of papers {counts}."
    answers = [
        tested,
        f"{len(shown)} of {len(sections)} analyses have runs; Details has the "
        "commands for the others.",
    ]
    title = f"Infoscope report: profile {profile}"
    return render_page(
        "report.html",
        title=title,
        answers=answers,
        sections=sections,
        claims=claims,
        marks=MARKS,
    )


def finished() -> list[str]:
    """The labels of profiles under which anything that the page shows has finished,
    that of the most sweeps first.
    """
    sweeps: Counter[str] = Counter()
    for experiment in dict.fromkeys(module.ANALYSIS.experiment for module in ORDER):
        with contextlib.suppress(LookupError):
            profiles = runs(experiment)["profile"]
            sweeps.update(set().union(*map(labels, profiles)))
    return [label for label, _ in sweeps.most_common()]


def main(arguments: SimpleNamespace) -> int:
    """Writes the page and adds it to the newest runs; the exit status: 1 if an analysis
    failed, 2 if nothing can be shown.
    """
    profile = arguments.profile
    sections = [
        replace(section(module, profile), name=name_of(module)) for module in ORDER
    ]
    shown = [part for part in sections if part.pictures]
    if not shown:
        explain_nothing(profile, sections)
        return BAD_INPUT
    path = FOLDER / f"report-{file_name(profile)}.html"
    made_home()
    path.write_text(render(sections, profile), encoding="utf-8")
    print(path)
    for experiment in dict.fromkeys(part.experiment for part in shown):
        try:
            attach(experiment, profile, [path])
        except (LookupError, MlflowException, OSError) as error:
            print(f"not attached to {experiment}: {error}", file=sys.stderr)
    failed = [part for part in sections if part.failed]
    for part in failed:
        print(f"error: {part.experiment}: {part.problem}", file=sys.stderr)
    return FAILED if failed else 0


def explain_nothing(profile: str, sections: Sequence[Section]) -> None:
    """Prints why nothing can be shown under a profile, and which profiles have runs."""
    others = [f"`make report PROFILE={shlex.quote(label)}`" for label in finished()]
    instead = f"; {' or '.join(others)} would show what there is" if others else ""
    print(
        f"error: nothing to show under profile {profile!r}{instead}:", file=sys.stderr
    )
    never = 0
    for part in sections:
        if part.problem.startswith(NEVER):
            never += 1
        else:
            print(f"  {part.name}: {part.problem}", file=sys.stderr)
    if never:
        print(
            f"  {never} others: never run; `make help` lists the sweeps",
            file=sys.stderr,
        )


COMMAND = command(
    "report", main, [profile_option("the profile whose runs to show")], __doc__
)
