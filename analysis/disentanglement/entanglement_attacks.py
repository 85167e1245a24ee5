"""Figure 3d of Tokui & Sato 2021: which scores fall when a representation is entangled on purpose?

The evaluations of a training draw the same votes and noise at every strength, so that differences are paired.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common import tables
from analysis.common.marks import lines, panel_by_panel
from analysis.common.runs import latest
from analysis.common.tables import (
    Analysis,
    Claim,
    Result,
    changes_text,
    difference_claim,
    plus_minus_column,
    spread,
    verdict,
    with_interval,
)
from analysis.disentanglement._scores import CROSSED, PUBLISHED, SCORES, TERMS, WHERE, WHOLE, crossed, made_of, named
from infoscope.estimators.result import Estimate
from infoscope.metrics import replicated
from sweeps.disentanglement.settings import DATA_FIELDS, EFFORT

SHOWN = {name: SCORES[name] for name in PUBLISHED} | {"informativeness": WHOLE["informativeness"]}
VOTES = ("beta_vae", "factor_vae")
SOURCE = ["name", "training_seed", "attack"]
PLACE = [*SOURCE, "alpha"]
TITLES = {"name": "model", "training_seed": "seed"}
FALL = 0.05  # of a score, up to which it is said not to fall
SAME = 0.01  # of H(y), up to which I(y; z) is said to be unchanged
UNIT = "of the score"


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """Scores and bounds by the strength of the attack."""
    runs, left_out = latest(runs, (*DATA_FIELDS, *EFFORT))
    runs = runs.assign(name=named(runs)).sort_values([*PLACE, "evaluation"], kind="stable")
    sources = runs[["name", "training_seed"]].drop_duplicates()
    words = [
        f"Attacked: the best by UniBound of the trainings of vae-zoo, "
        f"{', '.join(f'{row.name} (seed {row.training_seed})' for row in sources.itertuples(index=False))}. "
        "Their scores before the attack are biased upwards, for they are the best.",
        made_of(runs),
        *left_out,
    ]
    return [scores(runs, words), bounds(runs, words)]


def over_evaluations(runs: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Mean and standard error over evaluations, a row per training, attack, strength and column."""
    return pd.DataFrame(
        [
            dict(zip(PLACE, group)) | {"score": column, "evaluations": over.n, **tables.with_error("mean", over)}
            for group, members in runs.groupby(PLACE, sort=False)
            for column in columns
            for over in [replicated(members[column].to_numpy())]
        ]
    )


def scores(runs: pd.DataFrame, words: list[str]) -> Result:
    """Figure 3d."""
    figures = over_evaluations(runs, list(SHOWN))
    text = spread(figures, PLACE, "score", plus_minus_column(figures, "mean"), order=SHOWN).rename(columns=TITLES)
    falls = {}
    for (name, attack), part in runs.groupby(["name", "attack"], sort=False):
        strongest = part["alpha"].max()
        if strongest > 0 and 0.0 in set(part["alpha"]):
            falls[f"{name}, {attack} attack"] = changes(part, strongest, "unibound")
    caption = [
        f"UniBound changes under the strongest attack: {changes_text(falls)}.",
        "Mean over evaluations ± its standard error, given the training. The votes of BetaVAE and FactorVAE are of "
        "draws of the attacked posterior, the rest is exact up to draws. An attack of strength 0 adds latents of pure "
        "noise: only FactorVAE, in which they vote too, can detect it.",
        *words,
    ]
    drawn = functools.partial(draw_scores, figures, SHOWN)
    return Result("scores", figures, text, caption, drawn, list(claims(runs)))


def claims(runs: pd.DataFrame) -> Iterator[Claim]:
    """The paper's claims on figure 3d, for every model, between no and the strongest attack."""
    strongest = runs["alpha"].max()
    if runs["alpha"].min() > 0 or strongest == 0:
        return
    for (name, attack), members in runs.groupby(["name", "attack"], sort=False):
        change = functools.partial(changes, members, strongest)
        where = f"{name}, {attack} attack"
        for score in ("unibound",) if attack == "redundancy" else VOTES + ("mig", "unibound"):
            what = says(SHOWN[score], strongest)
            yield difference_claim(f"{SHOWN[score]} falls ({where}).", change(score), what, UNIT)
        if attack == "redundancy":
            less = changes(members.assign(both=members["unibound"] - members["mig"]), strongest, "both")
            what = says("UniBound - MIG", strongest)
            yield difference_claim(f"MIG falls less than UniBound ({where}).", less, what, UNIT)
            for score in VOTES:
                found = change(score)
                within = verdict(-found.high, -found.low, FALL)
                limit = f"not to fall is to fall by less than {FALL:g}"
                said = f"{says(SHOWN[score], strongest)} {with_interval(found)}; {limit}."
                yield Claim(f"{SHOWN[score]} does not fall ({where}).", within, said)
        found = change("informativeness")
        kept = tables.verdict_of_all([verdict(found.low, found.high, SAME), verdict(-found.high, -found.low, SAME)])
        said = f"{says(SHOWN['informativeness'], strongest)} {with_interval(found)}; unchanged is to within {SAME:g}."
        yield Claim(f"All latents together know as much as before ({where}).", kept, said)


def says(what: str, strongest: float) -> str:
    return f"{what} at alpha {strongest:g} less that at 0"


def changes(runs: pd.DataFrame, alpha: float, column: str) -> Estimate:
    """A column at a strength less that at 0, over trainings, or over the evaluations of the only one."""
    by = runs.pivot(index=["training_seed", "evaluation"], columns="alpha", values=column)
    differences = (by[alpha] - by[0.0]).dropna()
    per_training = differences.groupby(level="training_seed").mean()
    return replicated(np.asarray(per_training if len(per_training) > 1 else differences))


def bounds(runs: pd.DataFrame, words: list[str]) -> Result:
    """The bounds of unique, redundant and synergistic information by the strength of the attack."""
    pairs = {
        f"{letter}, {where}": f"{prefix}{term}"
        for prefix, where in WHERE.items()
        for term, letter in TERMS.items()
    }  # fmt: skip
    columns = []
    for pair in pairs.values():
        low, high, excess = (f"{pair}_{side}" for side in ("low", "high", "excess"))
        runs = runs.assign(**{excess: runs[low] - runs[high]})
        columns += [low, high, excess]
    figures = over_evaluations(runs, columns)
    is_excess = figures["score"].str.endswith("_excess")
    crossings = [crossed(*pair) for pair in zip(figures["mean"], figures["mean_error"])]
    cells = figures.assign(cell=pd.Series(crossings).where(is_excess, plus_minus_column(figures, "mean")))
    wide = cells.pivot(index=PLACE, columns="score", values="cell")
    text = pd.DataFrame(
        {title: wide[f"{pair}_low"] + " to " + wide[f"{pair}_high"] + wide[f"{pair}_excess"]
         for title, pair in pairs.items()}
    )  # fmt: skip
    text = text.reset_index().rename(columns=TITLES)
    most = runs["alpha"].max()
    least = replicated(runs.loc[runs["alpha"] == most, f"{next(iter(WHERE))}unique_low"])
    caption = [
        f"With alpha {most:g}, the most, at least {with_interval(least, form='.3f')} of H(y) is held uniquely.",
        "Lower to upper bound, shares of H(y), means over factors and evaluations ± standard error over evaluations. "
        "As published: each bound at its own best latent; at one latent: all at the one with most information.",
        *([CROSSED] if cells.loc[is_excess, "cell"].any() else []),
        *words,
    ]
    return Result("bounds", figures, text, caption)


def draw_scores(figures: pd.DataFrame, scores: Mapping[str, str], *paths: Path) -> None:
    """Scores by the strength of the attack, ± standard error over evaluations; a panel per training and attack."""
    groups, across = figures.groupby(SOURCE, sort=False), figures["attack"].nunique()
    drawn = panel_by_panel(paths, groups, (4.4, 3), (1.2, 0), across, "score", dpi=130, sharey=True)
    for axis, ((name, seed, attack), part) in drawn:
        for score, line, mark in lines(part[part["score"].isin(list(scores))], "score"):
            axis.errorbar(line["alpha"], line["mean"], line["mean_error"], markersize=4, capsize=2,
                          label=scores[score], **mark)  # fmt: skip
        axis.set_title(f"{name} (seed {seed}), {attack}", fontsize="medium")
        axis.set(xlabel="alpha", ylim=(-0.02, 1.02))


ANALYSIS = Analysis("entanglement-attacks", analyse)
