"""Figure 3d of Tokui & Sato 2021: which scores fall when a representation is entangled
on purpose?

The evaluations of a training draw the same votes and noise at every strength, so that
differences are paired.
"""

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from analysis.common.claims import Claim, decided, with_interval
from analysis.common.marks import lines, panel_by_panel
from analysis.common.runs import latest
from analysis.common.tables import (
    Analysis,
    Result,
    plus_minus_column,
    spread,
    with_error,
)
from analysis.disentanglement._scores import (
    CROSSED,
    PUBLISHED,
    SCORES,
    TERMS,
    WHERE,
    WHOLE,
    crossed,
    made_of,
    named,
)
from infoscope.estimators.result import Estimate
from infoscope.metrics import replicated
from sweeps.disentanglement.settings import DATA_FIELDS, EFFORT

SHOWN = {name: SCORES[name] for name in PUBLISHED} | {
    "informativeness": WHOLE["informativeness"]
}
VOTES = ("beta_vae", "factor_vae")
SOURCE = ["name", "training_seed", "attack"]
PLACE = [*SOURCE, "alpha"]
TITLES = {"name": "model", "training_seed": "seed"}
FALL = 0.05  # of a score, up to which it is said not to fall
SAME = 0.01  # of H(y), up to which I(y; z) is said to be unchanged
OF_ENTROPY = "of H(y)"
# of the others: OF_ENTROPY
UNITS = dict.fromkeys(VOTES, "of a score from 0 to 1") | {"informativeness": ""}


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """Scores and bounds by the strength of the attack."""
    runs, left_out = latest(runs, (*DATA_FIELDS, *EFFORT))
    runs = runs.assign(name=named(runs)).sort_values(
        [*PLACE, "evaluation"], kind="stable"
    )
    sources = runs[["name", "training_seed"]].drop_duplicates()
    models = ", ".join(
        f"{row.name} (seed {row.training_seed})"
        for row in sources.itertuples(index=False)
    )
    words = [
        f"Attacked: the best by UniBound of the trainings of vae-zoo, {models}. "
        "Their scores before the attack are biased upwards, for they are the best.",
        made_of(runs),
        *left_out,
    ]
    return [scores(runs, words), bounds(runs, words)]


def over_evaluations(runs: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Mean and standard error over evaluations, a row per training, attack, strength
    and column.
    """
    rows = []
    for group, members in runs.groupby(PLACE, sort=False):
        for column in columns:
            mean = replicated(members[column].to_numpy())
            row = dict(zip(PLACE, group)) | {"score": column, "evaluations": mean.n}
            rows.append(row | with_error("mean", mean))
    return pd.DataFrame(rows)


def scores(runs: pd.DataFrame, words: list[str]) -> Result:
    """Figure 3d."""
    figures = over_evaluations(runs, list(SHOWN))
    text = spread(
        figures, PLACE, "score", plus_minus_column(figures, "mean"), order=SHOWN
    ).rename(columns=TITLES)
    falls = []
    for (name, attack), part in runs.groupby(["name", "attack"], sort=False):
        strongest = part["alpha"].max()
        if strongest > 0 and 0.0 in set(part["alpha"]):
            change = changes(part, strongest, "unibound")
            falls.append(
                f"{name}, {attack} attack "
                f"{with_interval(change, OF_ENTROPY, over=replicates(part))}"
            )
    caption = [
        f"UniBound changes under the strongest attack: {'; '.join(falls)}.",
        "Mean over evaluations ± its standard error, given the training. The votes of "
        "BetaVAE and FactorVAE are of "
        "draws of the attacked posterior, the rest is exact up to draws. An attack of "
        "strength 0 adds latents of pure "
        "noise: only FactorVAE, in which they vote too, can detect it.",
        *words,
    ]
    drawn = functools.partial(draw_scores, figures)
    return Result("scores", figures, text, caption, drawn, claims(runs))


def claims(runs: pd.DataFrame) -> list[Claim]:
    """The paper's claims on figure 3d, for every model, between no and the strongest
    attack.
    """
    strongest = runs["alpha"].max()
    if runs["alpha"].min() > 0 or strongest == 0:
        return []
    claims = []
    runs = runs.assign(unibound_minus_mig=runs["unibound"] - runs["mig"])
    for (name, attack), members in runs.groupby(["name", "attack"], sort=False):
        where = f"{name}, {attack} attack"
        falling = ("unibound",) if attack == "redundancy" else PUBLISHED
        for score in falling:
            statement = f"{SHOWN[score]} falls ({where})."
            claims.append(change_claim(statement, members, strongest, score))
        if attack == "redundancy":
            claims += redundancy_claims(where, members, strongest)
        claims.append(
            change_claim(
                f"All latents together know as much as before ({where}).",
                members,
                strongest,
                "informativeness",
                above=-SAME,
                below=SAME,
                more=f"; unchanged is to within {SAME:g}",
            )
        )
    return claims


def redundancy_claims(where: str, runs: pd.DataFrame, strongest: float) -> list[Claim]:
    """Whether MIG falls less than UniBound under the redundancy attack, and the votes
    do not fall.
    """
    statement = f"MIG falls less than UniBound ({where})."
    claims = [change_claim(statement, runs, strongest, "unibound_minus_mig")]
    for score in VOTES:
        claims.append(
            change_claim(
                f"{SHOWN[score]} does not fall ({where}).",
                runs,
                strongest,
                score,
                above=-FALL,
                below=math.inf,
                more=f"; a fall is one of at least {FALL:g}",
            )
        )
    return claims


def change_claim(
    statement: str,
    runs: pd.DataFrame,
    strongest: float,
    score: str,
    above: float = -math.inf,
    below: float = 0.0,
    more: str = "",
) -> Claim:
    """A claim that the change of a score from no to the strongest attack lies between
    two limits: by default, that it falls.
    """
    return decided(
        statement,
        changes(runs, strongest, score),
        f"{SHOWN.get(score, 'UniBound - MIG')} at alpha {strongest:g} less that at 0",
        UNITS.get(score, OF_ENTROPY),
        above=above,
        below=below,
        over=replicates(runs),
        more=more,
    )


def replicates(runs: pd.DataFrame) -> str:
    """What an interval of `changes` is over."""
    if runs["training_seed"].nunique() > 1:
        return "trainings"
    return "evaluations of one training"


def changes(runs: pd.DataFrame, alpha: float, column: str) -> Estimate:
    """A column at a strength less that at 0, over trainings, or over the evaluations of
    the only one.
    """
    by_strength = runs.pivot(
        index=["training_seed", "evaluation"], columns="alpha", values=column
    )
    differences = (by_strength[alpha] - by_strength[0.0]).dropna()
    per_training = differences.groupby(level="training_seed").mean()
    if len(per_training) > 1:
        differences = per_training
    return replicated(differences.to_numpy())


def bounds(runs: pd.DataFrame, words: list[str]) -> Result:
    """The bounds of unique, redundant and synergistic information by the strength of
    the attack.
    """
    titles = {}
    columns = []
    for prefix, where in WHERE.items():
        for term, letter in TERMS.items():
            bound = prefix + term
            titles[bound] = f"{letter}, {where}"
            excess = runs[f"{bound}_low"] - runs[f"{bound}_high"]
            runs = runs.assign(**{f"{bound}_excess": excess})
            columns += [f"{bound}_low", f"{bound}_high", f"{bound}_excess"]
    figures = over_evaluations(runs, columns)
    is_excess = figures["score"].str.endswith("_excess")
    crossings = [
        crossed(excess, error)
        for excess, error in zip(figures["mean"], figures["mean_error"])
    ]
    means = pd.Series(plus_minus_column(figures, "mean"), figures.index)
    cells = figures.assign(cell=means.mask(is_excess, crossings))
    wide = cells.pivot(index=PLACE, columns="score", values="cell")
    text = pd.DataFrame(index=wide.index)
    for bound, title in titles.items():
        text[title] = (
            wide[f"{bound}_low"]
            + " to "
            + wide[f"{bound}_high"]
            + wide[f"{bound}_excess"]
        )
    text = text.reset_index().rename(columns=TITLES)
    caption = [
        least_shares(runs),
        "Lower to upper bound, shares of H(y), means over factors and evaluations ± "
        "standard error over evaluations. "
        "As published: each bound at its own best latent; at one latent: all at the "
        "one with most information.",
    ]
    if cells.loc[is_excess, "cell"].any():
        caption.append(CROSSED)
    return Result("bounds", figures, text, [*caption, *words])


def least_shares(runs: pd.DataFrame) -> str:
    """The lower bounds of unique, redundant and synergistic information after the
    strongest attacks, in a sentence; intervals are over evaluations.
    """
    strongest = runs["alpha"].max()
    attacked = runs[runs["alpha"] == strongest]
    as_published = next(iter(WHERE))
    shares = []
    sources = len(attacked[["name", "training_seed"]].drop_duplicates())
    over = f"evaluations of {sources} trainings"
    if sources == 1:
        over = "evaluations of one training"
    for attack, part in attacked.groupby("attack", sort=False):
        for term, letter in TERMS.items():
            bound = part.groupby("evaluation")[f"{as_published}{term}_low"].mean()
            share = with_interval(replicated(bound), OF_ENTROPY, ".3f", over)
            shares.append(f"{letter} after the {attack} attack {share}")
    return (
        f"With alpha {strongest:g}, at least this much is unique (U), redundant (R) and "
        f"synergistic (C): {'; '.join(shares)}."
    )


def draw_scores(figures: pd.DataFrame, *paths: Path) -> None:
    """Scores by the strength of the attack, ± standard error over evaluations; a panel
    per training and attack.
    """
    groups = figures.groupby(SOURCE, sort=False)
    panels = panel_by_panel(
        paths, groups, (3.2, 2.7), (0, 0.5), ylabel="score", sharey=True
    )
    for axis, ((name, seed, attack), part) in panels:
        for score, line, mark in lines(part, "score"):
            axis.errorbar(
                line["alpha"],
                line["mean"],
                line["mean_error"],
                markersize=4,
                capsize=2,
                label=SHOWN[score],
                **mark,
            )
        axis.set_title(f"{name} (seed {seed}), {attack}", fontsize="medium")
        axis.set(xlabel="alpha", ylim=(-0.02, 1.02))


ANALYSIS = Analysis(
    "entanglement-attacks", analyse, claims_from="Tokui & Sato 2021, section 5.2"
)
