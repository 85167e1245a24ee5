"""Figures 3a to 3c of Tokui & Sato 2021: which autoencoder disentangles best, and is that due to training?

Also: scores published elsewhere.
"""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common import tables
from analysis.common.marks import ORANGE, panel_by_panel, sheet
from analysis.common.runs import latest, ordered
from analysis.common.tables import (
    Analysis,
    Claim,
    Result,
    difference_claim,
    plus_minus,
    plus_minus_column,
    spread,
    text_of,
    verdict,
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
    "Of the plain autoencoder (ae) MIG, UniBound and bounds are estimates by nearest neighbours: biased, and they can "
    "contradict one another (a lower bound above its upper one), so that they do not compare with the exact ones."
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
        raise ValueError(f"all {len(runs)} trainings diverged; there are no scores to show")
    if len(diverged):
        words.append(f"{len(diverged)} trainings diverged ({', '.join(sorted(set(diverged['name'])))}): no figure.")
    if arguments.model not in set(runs["model"]):
        raise InvalidInput(f"model is {arguments.model!r}; there are runs of {', '.join(dict.fromkeys(runs['model']))}")
    return [
        scores(runs, words),
        bounds(runs, words),
        trainings(runs, arguments.model, words),
        elsewhere(runs, words),
    ]


def scores(runs: pd.DataFrame, words: list[str]) -> Result:
    """Figure 3a: every score by model, over all trainings and over the better half of them, chosen score by score."""
    rows, titles, index = [], scores_of(runs), ["name", "selection", "trainings"]
    models = dict(list(runs.groupby("name", sort=False)))
    for (name, members), score in itertools.product(models.items(), titles):
        every = evaluations(members, score)
        for selection, values in (("all", every), ("better half", better_half(every))):
            quartiles = zip(("low_quartile", "median", "high_quartile"), np.percentile(values, (25, 50, 75)))
            rows.append(
                {
                    "name": name,
                    "score": score,
                    "selection": selection,
                    "trainings": len(values),
                    "evaluations": values.size,
                    **with_error("mean", replicated(values.mean(axis=1))),
                    **dict(quartiles),
                }
            )
    figures = pd.DataFrame(rows)
    text = spread(figures, index, "score", plus_minus_column(figures, "mean", "-"), order=titles)
    text["trainings"] = [f"{count} ({selection})" for count, selection in zip(text["trainings"], text["selection"])]
    text = text.drop(columns="selection").rename(columns={"name": "model"})
    unibound = figures[(figures["score"] == "unibound") & (figures["selection"] == "all")].dropna(subset="mean")
    best = unibound.sort_values("mean", ascending=False).to_dict("records")
    ranked = [f"{row['name']} {plus_minus(row['mean'], row['mean_error'])}" for row in best]
    caption = [
        f"UniBound, the uniquely held share of H(y), by model: {', '.join(ranked)} (± over trainings).",
        "Mean over trainings ± its standard error. Better half: each score is the mean of its better half of "
        "trainings, as published for JointVAE, and is therefore biased upwards. -: not defined in some training, "
        "which diverged or whose latents carry no information.",
        *words,
    ]
    return Result("scores", figures, text, caption, claims=list(claims_of_scores(runs)))


def claims_of_scores(runs: pd.DataFrame) -> Iterator[Claim]:
    """The paper's claims on figure 3a."""
    exact = runs[~runs["model"].isin(WITHOUT_DENSITY) & (runs["diverged"] == 0)]
    if exact.empty:
        return
    gap = replicated((exact["unibound"] - exact["mig"]).to_numpy())
    yield difference_claim("UniBound is at most MIG.", gap, "UniBound - MIG", UNIT)
    yield trend(exact)
    others = versus(exact, "factor-vae", "mig")
    if others is not None:
        yield difference_claim(
            "MIG puts FactorVAE above the other models.", others, "MIG of the others (mean) - FactorVAE", UNIT
        )
        below = versus(exact, "factor-vae", "unibound", sign=-1.0)
        yield difference_claim(
            "UniBound puts FactorVAE below the other models.", below, "UniBound of FactorVAE - the others (mean)", UNIT
        )


def trend(runs: pd.DataFrame) -> Claim:
    """Spearman's correlation of MIG and UniBound over trainings."""
    statement = "The trend of MIG and UniBound is similar over models and trainings."
    if len(runs) < 4:
        return Claim(statement, "undecided", f"{len(runs)} trainings are too few for a correlation.")
    rho = np.corrcoef(runs[["mig", "unibound"]].rank(), rowvar=False)[0, 1]
    margin = 1.96 * 1.03 / math.sqrt(len(runs) - 3)  # of Fisher's z of a rank correlation (Fieller et al. 1957)
    low, high = np.tanh([np.arctanh(min(rho, 1 - 1e-9)) + side * margin for side in (-1, 1)])
    said = f"rank correlation {rho:+.2f} (95 % interval {low:+.2f} to {high:+.2f}, {len(runs)} trainings), taken for"
    return Claim(statement, verdict(-high, -low, -0.5), f"{said} similar above 0.5.")


def versus(runs: pd.DataFrame, model: str, column: str, sign: float = 1.0, other: str | None = None) -> Estimate | None:
    """The mean of the other models (or one) less this one, times sign, paired by seed; None if missing."""
    by_seed = runs.pivot_table(index="seed", columns="model", values=column)
    rest = [name for name in by_seed if name != model and other in (None, name)]
    if model not in by_seed or not rest:
        return None
    pairs = by_seed[[model, *rest]].dropna()
    return replicated((sign * (pairs[rest].mean(axis=1) - pairs[model])).to_numpy()) if len(pairs) else None


def bounds(runs: pd.DataFrame, words: list[str]) -> Result:
    """Figure 3b: bounds of unique, redundant and synergistic information, shares of H(y)."""
    parts = []
    for _, members in runs.groupby("name", sort=False):
        for (prefix, where), term in itertools.product(WHERE.items(), TERMS):
            low, high = (members[f"{prefix}{term}_{side}"] for side in ("low", "high"))
            parts.append(members.assign(where=where, term=term, low=low, high=high, excess=low - high))
    figures = tables.summarise(pd.concat(parts), ["name", "where", "term"], ["low", "high", "excess", *WHOLE])
    whole = text_of(figures, (), {title: column for column, title in WHOLE.items()}, "-")
    excess = [crossed(*pair) for pair in zip(figures["excess"], figures["excess_error"])]
    cells = [
        f"{low} to {high}{over}"
        for low, high, over in zip(plus_minus_column(figures, "low"), plus_minus_column(figures, "high"), excess)
    ]
    index = ["name", "where", *whole]
    text = spread(pd.concat([figures[["name", "where", "term"]], whole], axis=1), index, "term", cells, order=TERMS)
    text = text.rename(columns={"name": "model", "where": "latent"})
    unique = figures[(figures["term"] == "unique") & (figures["where"] == figures["where"].iloc[0])]
    best = unique.loc[unique["low"].idxmax()]
    caption = [
        f"{best['name']} holds most uniquely: at least {plus_minus(best['low'], best['low_error'])} and at most "
        f"{plus_minus(best['high'], best['high_error'])} of H(y) ({best['runs']} trainings).",
        "Lower to upper bound of the unique (U), redundant (R) and synergistic or complementary (C) information of one "
        "latent about a factor, against all other latents; shares of H(y), means over factors and trainings ± standard "
        "error over trainings.",
        "As published: the largest over latents for each bound by itself, so that the bounds of a factor may come from "
        "three latents and do not add up. At one latent: all at the one with most information about it. "
        "Total correlation, and information about the image, need a density.",
        *([CROSSED] if any(excess) else []),
        *words,
    ]
    claims = list(claims_of_bounds(runs[~runs["model"].isin(WITHOUT_DENSITY) & (runs["diverged"] == 0)]))
    return Result("bounds", figures, text, caption, functools.partial(draw_bars, figures), claims)


def claims_of_bounds(runs: pd.DataFrame) -> Iterator[Claim]:
    """The paper's claims on figure 3b."""
    redundant = versus(runs, "factor-vae", "redundant_low")
    if redundant is not None:
        what = "lower bound of R of the others (mean) - FactorVAE"
        yield difference_claim("FactorVAE encodes factors more redundantly than the others.", redundant, what, UNIT)
    for term, word in (("unique", "uniqueness"), ("synergistic", "synergy")):
        improved = versus(runs, "beta-tcvae", f"{term}_low", other="beta-vae")
        if improved is not None:
            what = f"lower bound of {TERMS[term]} of beta-VAE - beta-TCVAE"
            yield difference_claim(f"Beta-TCVAE has more {word} than beta-VAE.", improved, what, UNIT)


def trainings(runs: pd.DataFrame, model: str, words: list[str]) -> Result:
    """Figure 3c: scores of every training of one model, and how much of their variance is training."""
    chosen, titles = runs[runs["model"] == model], scores_of(runs)
    figures = pd.DataFrame(
        [
            {"name": name, "seed": seed, "score": score, "evaluations": over.n, **with_error("mean", over)}
            for (name, seed), members in chosen.groupby(["name", "seed"], sort=False)
            for score in titles
            for over in [replicated(evaluations(members, score)[0])]
        ]
    )
    text = spread(figures, ["name", "seed"], "score", plus_minus_column(figures, "mean", "-"), order=titles)
    parts = {score: components(evaluations(chosen, score)) for score in titles}
    text = text.rename(columns={"name": "model"}).astype(str)
    text.loc[len(text)] = ["share of variance", "training", *(percent(of.share) for of in parts.values())]
    published_ones = {score: of for score, of in parts.items() if score in PUBLISHED}
    said = "; ".join(
        f"{SCORES[score]} {percent(of.share)} ({percent(of.low)} to {percent(of.high)})"
        for score, of in published_ones.items()
    )
    caption = [
        f"Share of the variance that is due to training, 95 % interval: {said}.",
        f"Every training of {model}: mean over its evaluations ± standard error over evaluations. Last row: the share "
        "of the variance that is between trainings (one-way random effects), the rest is between evaluations.",
        *words,
    ]
    claim = Claim(
        f"The scores of {model} vary because of training, not of evaluation.",
        tables.verdict_of_all([of.verdict for of in published_ones.values()]),
        f"share of the variance between trainings, 95 % interval: {said}; confirmed where all are above half.",
    )
    drawn = functools.partial(draw_trainings, chosen)
    return Result("trainings", figures, text, caption, drawn, [claim])


def elsewhere(runs: pd.DataFrame, words: list[str]) -> Result:
    """Scores on dSprites published elsewhere, and ours of the same model with what differs."""
    known, rows = tables.published("dsprites"), []
    for row in known[known["model"].isin(runs["model"])].to_dict("records"):
        ours = runs[runs["model"] == row["model"]]
        if math.isfinite(row["weight"]) and (ours["weight"] == row["weight"]).any():
            ours = ours[ours["weight"] == row["weight"]]
        first, over = ours.iloc[0], replicated(ours[row["score"]].to_numpy())
        rows.append(
            row | {"differs": "; ".join(differences(row, first)), **with_error("ours", over), "runs": len(ours)}
        )
    figures = pd.DataFrame(rows, columns=[*known, "differs", "ours", "ours_error"])
    columns = {
        "weight": ("weight", "{:g}", "not stated"),
        "score": figures["score"].map(SCORES),
        "published": plus_minus_column(figures.rename(columns={"std": "value_error"}), "value"),
        "ours": plus_minus_column(figures, "ours", "-"),
        "comparable": [f"no: differs in {of}" if of else "as far as it is stated" for of in figures["differs"]],
        "not stated": figures["not_stated"],
    }
    text = text_of(figures, ["model"], columns).assign(source=figures["source"])
    alike = int((figures["differs"] == "").sum())
    caption = [
        f"{alike} of {len(figures)} published scores are of our setting, as far as it is stated.",
        "Scores published elsewhere: ± is their standard deviation over trainings as printed. Ours: mean over "
        "trainings ± standard error. The scores of Tokui & Sato 2021 are published as box plots only.",
        *words,
    ]
    return Result("elsewhere", figures, text, caption)


def differences(row: dict, ours: pd.Series) -> Iterator[str]:
    """In what our setting differs from that of a published figure, as far as it is stated."""
    if ours["data"] != "dsprites-full" or ours["every_orientation"] > 1 or ours["every_position"] > 1:
        yield f"data ({ours['data']})"
    if ours["resolution"] != 64:
        yield f"resolution ({ours['resolution']})"
    if math.isfinite(row["weight"]) and row["weight"] != ours["weight"]:
        yield f"weight ({ours['weight']:g})"
    if row["score"].startswith("dci"):
        yield "predictor (extra trees; as published mostly gradient-boosted trees, see dci)"


def _finite(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


def draw_bars(figures: pd.DataFrame, *paths: Path) -> None:
    """Bounds of U, R and C by model: grey up to the lower one, orange from there to the upper one."""
    places, names = list(dict.fromkeys(figures["where"])), list(dict.fromkeys(figures["name"]))
    size = (max(7.5, 1.5 * len(names) * len(places) + 1.5), 3.8)
    title = "lower bound (grey), up to the upper bound (orange); ± standard error over trainings"
    with sheet(paths, 1, len(places), size, 130, title=title, sharey=True) as axes:
        for axis, where in zip(axes[0], places):
            part = figures[figures["where"] == where].set_index(["name", "term"])
            for (number, name), (side, term) in itertools.product(enumerate(names), enumerate(TERMS)):
                row, at = part.loc[name, term], number + 0.27 * (side - 1)
                axis.bar(at, row["low"], 0.25, color="lightgrey")
                axis.bar(at, row["high"] - row["low"], 0.25, bottom=row["low"], color=ORANGE)
                axis.errorbar([at - 0.05, at + 0.05], row[["low", "high"]].astype(float),
                              row[["low_error", "high_error"]].astype(float), fmt="none", color="black",
                              capsize=1.5, linewidth=0.8)  # fmt: skip
                axis.annotate(TERMS[term], (at, 0), (0, -10), textcoords="offset points", ha="center", fontsize=7)
            axis.set_title(where, fontsize="medium")
            axis.set_xticks(range(len(names)), labels=names, rotation=25, ha="right")
            axis.tick_params(axis="x", pad=12)
            axis.axhline(0, color="black", linewidth=0.6)
        axes[0][0].set_ylabel("share of H(y)")


def draw_trainings(runs: pd.DataFrame, *paths: Path) -> None:
    """A panel per published score: a box of evaluations for each training."""
    labels = [f"seed {seed}" for seed in runs["seed"]]
    if runs["name"].nunique() > 1:
        labels = [f"{name}, {label}" for name, label in zip(runs["name"], labels)]
    for axis, score in panel_by_panel(paths, PUBLISHED, (3.2, 3.2), ylabel="score", dpi=130):
        for place, values in enumerate(evaluations(runs, score)):
            axis.boxplot(_finite(values), positions=[place], widths=0.5, medianprops={"color": "black"})
        axis.set_title(SCORES[score], fontsize="medium")
        axis.set_xticks(range(len(runs)), labels=labels, rotation=40, ha="right")
        axis.set_ylim(0, 1.02)


ANALYSIS = Analysis(
    "vae-zoo",
    analyse,
    [option("model", default="beta-tcvae", help="whose trainings to show (default: beta-tcvae)")],
)
