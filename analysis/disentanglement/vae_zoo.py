"""Figures 3a to 3c of Tokui & Sato 2021: which autoencoder disentangles best, and is
that due to training?

Also: scores published elsewhere.
"""

import functools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.claims import Claim, decided, negative, verdict_of_all
from analysis.common.marks import ORANGE, panel_by_panel, sheet
from analysis.common.published import published, published_figures
from analysis.common.runs import latest, ordered
from analysis.common.tables import (
    Analysis,
    Result,
    level_with,
    plus_minus,
    plus_minus_column,
    spread,
    summarise,
    text_of,
    with_error,
)
from analysis.disentanglement._scores import (
    CROSSED,
    PUBLISHED,
    SCORES,
    TERMS,
    WHERE,
    WHOLE,
    better_half,
    components,
    crossed,
    evaluations,
    in_bits,
    latest_trainings,
    made_of,
    named,
    percent,
    scores_of,
)
from infoscope.command_line import option
from infoscope.errors import InvalidInput
from infoscope.estimators.result import Estimate
from infoscope.metrics import replicated
from sweeps.disentanglement.settings import DATA_FIELDS, EFFORT, MODELS, WITHOUT_DENSITY

SETTING = (*DATA_FIELDS, "latents", "channels", "hidden", *EFFORT)
UNIT = "of H(y)"
ESTIMATED = (
    "MIG, UniBound and bounds of the plain autoencoder (ae) are nearest-neighbour "
    "estimates: they are biased, can "
    "contradict one another (a lower bound above its upper one), and do not compare "
    "with the exact ones."
)


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """Scores, bounds, trainings of one model, and figures published elsewhere."""
    runs, left_out = latest(runs, SETTING)
    runs, older = latest_trainings(runs)
    runs = ordered(runs, ["model", "seed"], model=MODELS)
    runs = in_bits(runs.assign(name=named(runs)))
    words = [made_of(runs), *left_out, *older]
    if runs["model"].isin(WITHOUT_DENSITY).any():
        words.append(ESTIMATED)
    diverged = runs[runs["diverged"] > 0]
    if len(diverged) == len(runs):
        raise ValueError(
            f"all {len(runs)} trainings diverged; there are no scores to show"
        )
    if len(diverged):
        names = ", ".join(sorted(set(diverged["name"])))
        words.append(f"{len(diverged)} trainings diverged ({names}): no figure.")
    models = list(runs["model"].unique())
    if arguments.model not in models:
        raise InvalidInput(
            f"model is {arguments.model!r}; there are runs of {', '.join(models)}"
        )
    return [
        scores(runs, words),
        bounds(runs, words),
        trainings(runs, arguments.model, words),
        elsewhere(runs, words),
    ]


def with_exact_scores(runs: pd.DataFrame) -> pd.DataFrame:
    """The trainings whose scores are exact: of models with a density, those that did
    not diverge.
    """
    return runs[~runs["model"].isin(WITHOUT_DENSITY) & (runs["diverged"] == 0)]


def scores(runs: pd.DataFrame, words: list[str]) -> Result:
    """Figure 3a: every score by model, over all trainings and over the better half of
    them, chosen score by score.
    """
    titles = scores_of(runs)
    rows = []
    for name, members in runs.groupby("name", sort=False):
        for score in titles:
            values = evaluations(members, score)
            for selection, chosen in (
                ("all", values),
                ("better half", better_half(values)),
            ):
                low, median, high = np.percentile(chosen, (25, 50, 75))
                row = {"name": name, "score": score, "selection": selection}
                row |= {"trainings": len(chosen), "evaluations": chosen.size}
                row |= with_error("mean", replicated(chosen.mean(axis=1)))
                row |= {"low_quartile": low, "median": median, "high_quartile": high}
                rows.append(row)
    figures = pd.DataFrame(rows)
    means = plus_minus_column(figures, "mean", "-")
    text = spread(
        figures, ["name", "selection", "trainings"], "score", means, order=titles
    )
    text["trainings"] = text["trainings"].astype(str) + " (" + text["selection"] + ")"
    text = text.drop(columns="selection").rename(columns={"name": "model"})
    unibound = figures[
        (figures["score"] == "unibound") & (figures["selection"] == "all")
    ]
    exact = with_exact_scores(runs)
    unibound = unibound[unibound["name"].isin(exact["name"])].dropna(subset="mean")
    unibound = unibound.sort_values("mean", ascending=False)
    values = [
        f"{row['name']} {plus_minus(row['mean'], row['mean_error'])}"
        for _, row in unibound.iterrows()
    ]
    finding = "No model has an exact UniBound in all of its trainings."
    if values:
        finding = (
            "One latent alone holds at least this share of a factor's entropy "
            f"(UniBound of models with a density): {', '.join(values)} (± over "
            "trainings)."
        )
    caption = [
        finding,
        "Mean over trainings ± its standard error. Better half: each score is the "
        "mean of its better half of "
        "trainings, as published for JointVAE, and is therefore biased upwards. -: "
        "not defined in some training, "
        "which diverged or whose latents carry no information.",
        *words,
    ]
    return Result(
        "scores",
        figures,
        text,
        caption,
        claims=claims_of_scores(exact),
    )


def claims_of_scores(runs: pd.DataFrame) -> list[Claim]:
    """The paper's claims on figure 3a; runs: with exact scores."""
    if runs.empty:
        return []
    gap = replicated((runs["unibound"] - runs["mig"]).to_numpy())
    claims = [
        decided(
            "UniBound is at most MIG.", gap, "UniBound - MIG", UNIT, "+.2g", below=0.0
        ),
        trend(runs),
    ]
    mig = versus(runs, "factor-vae", "mig")
    if mig is not None:
        statement = "MIG puts FactorVAE above the other models."
        claims.append(
            negative(statement, mig, "MIG of the others (mean) - FactorVAE", UNIT)
        )
        unibound = versus(runs, "factor-vae", "unibound", sign=-1.0)
        statement = "UniBound puts FactorVAE below the other models."
        claims.append(
            negative(
                statement, unibound, "UniBound of FactorVAE - the others (mean)", UNIT
            )
        )
    return claims


def trend(runs: pd.DataFrame) -> Claim:
    """Spearman's correlation of MIG and UniBound over trainings."""
    statement = "The trend of MIG and UniBound is similar over models and trainings."
    if len(runs) < 4:
        return Claim(
            statement,
            "not tested",
            f"{len(runs)} trainings are too few for a correlation.",
        )
    ranks = runs[["mig", "unibound"]].rank()
    rho = np.corrcoef(ranks, rowvar=False)[0, 1]
    # of Fisher's z of a rank correlation (Fieller et al. 1957)
    margin = 1.96 * 1.03 / math.sqrt(len(runs) - 3)
    z = np.arctanh(min(rho, 1 - 1e-9))
    interval = (np.tanh(z - margin), np.tanh(z + margin))
    return decided(
        statement,
        Estimate(rho, n=len(runs), interval=interval),
        "rank correlation",
        form="+.2f",
        above=0.5,
        over="trainings",
        more=", taken for similar above 0.5",
    )


def versus(
    runs: pd.DataFrame,
    model: str,
    column: str,
    sign: float = 1.0,
    other: str | None = None,
) -> Estimate | None:
    """The mean of the other models (or one) less this one, times sign, paired by seed;
    None if missing.
    """
    by_seed = runs.pivot_table(index="seed", columns="model", values=column)
    others = [name for name in by_seed if name != model and other in (None, name)]
    if model not in by_seed or not others:
        return None
    pairs = by_seed[[model, *others]].dropna()
    if pairs.empty:
        return None
    differences = pairs[others].mean(axis=1) - pairs[model]
    return replicated((sign * differences).to_numpy())


def bounds(runs: pd.DataFrame, words: list[str]) -> Result:
    """Figure 3b: bounds of unique, redundant and synergistic information, shares of
    H(y).
    """
    parts = []
    for _, members in runs.groupby("name", sort=False):
        for prefix, where in WHERE.items():
            for term in TERMS:
                low = members[f"{prefix}{term}_low"]
                high = members[f"{prefix}{term}_high"]
                parts.append(
                    members.assign(
                        where=where, term=term, low=low, high=high, excess=low - high
                    )
                )
    figures = summarise(
        pd.concat(parts), ["name", "where", "term"], ["low", "high", "excess", *WHOLE]
    )
    columns = {title: column for column, title in WHOLE.items()}
    rows = text_of(figures, ["name", "where", "term"], columns, "-")
    excess = [
        crossed(value, error)
        for value, error in zip(figures["excess"], figures["excess_error"])
    ]
    lows = plus_minus_column(figures, "low")
    highs = plus_minus_column(figures, "high")
    cells = [
        f"{low} to {high}{crossing}" for low, high, crossing in zip(lows, highs, excess)
    ]
    text = spread(rows, ["name", "where", *columns], "term", cells, order=TERMS)
    text = text.rename(columns={"name": "model", "where": "latent"})
    unique = figures[
        (figures["term"] == "unique") & (figures["where"] == figures["where"].iloc[0])
    ]
    caption = [
        most_unique(with_exact_scores(runs), unique.set_index("name")),
        "Lower to upper bound of the unique (U), redundant (R) and synergistic or "
        "complementary (C) information of one "
        "latent about a factor, against all other latents; shares of H(y), means over "
        "factors and trainings ± standard "
        "error over trainings.",
        "As published: the largest over latents for each bound by itself, so that the "
        "bounds of a factor may come from "
        "three latents and do not add up. At one latent: all at the one with most "
        "information about it. "
        "Total correlation, and information about the image, need a density.",
    ]
    if any(excess):
        caption.append(CROSSED)
    caption += words
    claims = claims_of_bounds(with_exact_scores(runs))
    return Result(
        "bounds", figures, text, caption, functools.partial(draw_bars, figures), claims
    )


def most_unique(runs: pd.DataFrame, figures: pd.DataFrame) -> str:
    """The model that holds most uniquely, or those that cannot be ranked: whose upper
    bounds are not surely below the largest lower one. runs: with exact scores.
    """
    if runs.empty:
        return "No model has exact bounds."
    as_published = next(iter(WHERE))
    bound = {}
    for side in ("low", "high"):
        column = f"{as_published}unique_{side}"
        bound[side] = runs.pivot_table(index="seed", columns="name", values=column)
    best = bound["low"].mean().idxmax()
    others = level_with(bound["low"][best], bound["high"].drop(columns=best))
    ranges = []
    for name in (best, *others):
        row = figures.loc[name]
        low = plus_minus(row["low"], row["low_error"])
        high = plus_minus(row["high"], row["high_error"])
        ranges.append(f"{name} {low} to {high}")
    count = f"({figures['runs'].max()} trainings)"
    if others:
        return (
            "These models cannot be ranked by what one latent holds uniquely, for their "
            f"bounds overlap within error: {', '.join(ranges)} of H(y) {count}."
        )
    return f"One latent holds most uniquely in {ranges[0]} of H(y) {count}."


def claims_of_bounds(runs: pd.DataFrame) -> list[Claim]:
    """The paper's claims on figure 3b; runs: with exact scores."""
    claims = []
    redundant = versus(runs, "factor-vae", "redundant_low")
    if redundant is not None:
        what = "lower bound of R of the others (mean) - FactorVAE"
        statement = "FactorVAE encodes factors more redundantly than the others."
        claims.append(negative(statement, redundant, what, UNIT))
    for term, word in (("unique", "uniqueness"), ("synergistic", "synergy")):
        improved = versus(runs, "beta-tcvae", f"{term}_low", other="beta-vae")
        if improved is not None:
            what = f"lower bound of {TERMS[term]} of beta-VAE - beta-TCVAE"
            claims.append(
                negative(
                    f"Beta-TCVAE has more {word} than beta-VAE.", improved, what, UNIT
                )
            )
    return claims


def trainings(runs: pd.DataFrame, model: str, words: list[str]) -> Result:
    """Figure 3c: scores of every training of one model, and how much of their variance
    is training.
    """
    chosen = runs[runs["model"] == model]
    titles = scores_of(runs)
    rows = []
    for (name, seed), members in chosen.groupby(["name", "seed"], sort=False):
        for score in titles:
            mean = replicated(evaluations(members, score)[0])
            row = {"name": name, "seed": seed, "score": score, "evaluations": mean.n}
            rows.append(row | with_error("mean", mean))
    figures = pd.DataFrame(rows)
    text = spread(
        figures,
        ["name", "seed"],
        "score",
        plus_minus_column(figures, "mean", "-"),
        order=titles,
    )
    text = text.rename(columns={"name": "model"}).astype(str)
    parts = {score: components(evaluations(chosen, score)) for score in titles}
    shares = [percent(part.share) for part in parts.values()]
    text.loc[len(text)] = ["share of variance", "training", *shares]
    of_paper = {score: part for score, part in parts.items() if score in PUBLISHED}
    intervals = []
    for score, part in of_paper.items():
        intervals.append(
            f"{SCORES[score]} {percent(part.share)} ({percent(part.low)} to "
            f"{percent(part.high)})"
        )
    evidence = "; ".join(intervals)
    caption = [
        f"Share of the variance that is due to training, 95 % interval: {evidence}.",
        f"Every training of {model}: mean over its evaluations ± standard error over "
        "evaluations. Last row: the share "
        "of the variance that is between trainings (one-way random effects), the rest "
        "is between evaluations.",
        *words,
    ]
    claim = Claim(
        f"The scores of {model} vary because of training, not of evaluation.",
        verdict_of_all([part.verdict for part in of_paper.values()]),
        f"share of the variance between trainings, 95 % interval: {evidence}; "
        "confirmed where all are above half.",
    )
    draw = functools.partial(draw_trainings, chosen)
    return Result("trainings", figures, text, caption, draw, [claim])


def elsewhere(runs: pd.DataFrame, words: list[str]) -> Result:
    """Scores on dSprites published elsewhere, and ours of the same model with what
    differs.
    """
    scores = published("dsprites")
    rows = []
    for row in scores[scores["model"].isin(runs["model"])].to_dict("records"):
        ours = runs[runs["model"] == row["model"]]
        same_weight = ours[ours["weight"] == row["weight"]]
        if len(same_weight):
            ours = same_weight
        mean = replicated(ours[row["score"]].to_numpy())
        row["differs"] = "; ".join(differences(row, ours.iloc[0]))
        row |= with_error("ours", mean)
        rows.append(row | {"runs": len(ours)})
    figures = pd.DataFrame(rows, columns=[*scores, "differs", "ours", "ours_error"])
    is_same = figures["differs"] == ""
    comparable = ("no: differs in " + figures["differs"]).mask(
        is_same, "as far as it is stated"
    )
    columns = {
        "weight": ("weight", "{:g}", "not stated"),
        "score": figures["score"].map(SCORES),
        "published": plus_minus_column(
            figures.rename(columns={"std": "value_error"}), "value"
        ),
        "ours": plus_minus_column(figures, "ours", "-"),
        "comparable": comparable,
        "not stated": figures["not_stated"],
        "source": figures["source"],
    }
    text = text_of(figures, ["model"], columns)
    caption = [
        f"{is_same.sum()} of {len(figures)} published scores are of our setting, as "
        "far as it is stated.",
        "Scores published elsewhere: ± is their standard deviation over trainings as "
        "printed. Ours: mean over "
        "trainings ± standard error. The scores of Tokui & Sato 2021 are published as "
        "box plots only.",
        *words,
    ]
    places = figures["model"] + ", weight " + text["weight"] + ", " + figures["source"]
    same = figures.assign(
        place=places,
        quantity=text["score"],
        unit="score",
        published=figures["value"],
        published_error=figures["std"],
        unlike=figures["differs"],
    )
    against = published_figures("scores on dSprites", same.to_dict("records"))
    return Result("elsewhere", figures, text, caption, against=against)


def differences(row: dict, ours: pd.Series) -> Iterator[str]:
    """Differences of our setting from a published figure's, as far as it is stated."""
    if (
        ours["data"] != "dsprites-full"
        or ours["every_orientation"] > 1
        or ours["every_position"] > 1
    ):
        yield f"data ({ours['data']})"
    if ours["resolution"] != 64:
        yield f"resolution ({ours['resolution']})"
    if math.isfinite(row["weight"]) and row["weight"] != ours["weight"]:
        yield f"weight ({ours['weight']:g}, published {row['weight']:g})"
    if row["score"].startswith("dci"):
        yield "predictor (extra trees; as published mostly gradient-boosted trees, see dci)"


def draw_bars(figures: pd.DataFrame, *paths: Path) -> None:
    """Bounds of U, R and C by model: grey up to the lower one, orange from there to the
    upper one.
    """
    places = figures["where"].unique()
    names = list(figures["name"].unique())
    size = (max(5.0, 1.4 * len(names)), 3.0 * len(places) + 0.5)
    title = (
        "lower bound (grey), up to the upper bound (orange); ± standard error over "
        "trainings"
    )
    with sheet(paths, len(places), 1, size, 130, title=title, sharey=True) as axes:
        for axis, where in zip(axes.flat, places):
            bars = figures[figures["where"] == where].set_index(["name", "term"])
            for number, name in enumerate(names):
                for side, term in enumerate(TERMS):
                    place = number + 0.27 * (side - 1)
                    draw_bar(axis, place, bars.loc[name, term])
                    axis.annotate(
                        TERMS[term],
                        (place, 0),
                        (0, -10),
                        textcoords="offset points",
                        ha="center",
                        fontsize=7,
                    )
            axis.set_title(where, fontsize="medium")
            axis.set_xticks(range(len(names)), labels=names, rotation=25, ha="right")
            axis.tick_params(axis="x", pad=12)
            axis.axhline(0, color="black", linewidth=0.6)
            axis.set_ylabel("share of H(y)")


def draw_bar(axis: Any, place: float, bounds: pd.Series) -> None:
    """A lower and an upper bound at a place, with standard errors."""
    low = bounds["low"]
    axis.bar(place, low, 0.25, color="lightgrey")
    axis.bar(place, bounds["high"] - low, 0.25, bottom=low, color=ORANGE)
    ends = bounds[["low", "high"]].astype(float)
    errors = bounds[["low_error", "high_error"]].astype(float)
    axis.errorbar(
        [place - 0.05, place + 0.05],
        ends,
        errors,
        fmt="none",
        color="black",
        capsize=1.5,
        linewidth=0.8,
    )


def draw_trainings(runs: pd.DataFrame, *paths: Path) -> None:
    """A panel per published score: a box of evaluations for each training."""
    labels = "seed " + runs["seed"].astype(str)
    if runs["name"].nunique() > 1:
        labels = runs["name"] + ", " + labels
    for axis, score in panel_by_panel(
        paths, PUBLISHED, (3.2, 3.2), ylabel="score", dpi=130
    ):
        for place, values in enumerate(evaluations(runs, score)):
            finite = values[np.isfinite(values)]
            axis.boxplot(
                finite, positions=[place], widths=0.5, medianprops={"color": "black"}
            )
        axis.set_title(SCORES[score], fontsize="medium")
        axis.set_xticks(range(len(runs)), labels=labels, rotation=40, ha="right")
        axis.set_ylim(0, 1.02)


ANALYSIS = Analysis(
    "vae-zoo",
    analyse,
    [
        option(
            "model",
            default="beta-tcvae",
            help="whose trainings to show (default: beta-tcvae)",
        )
    ],
    claims_from="Tokui & Sato 2021, section 5.2",
)
