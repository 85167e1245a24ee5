"""Figures 6 and 11: does the estimate stay the same behind an invertible network, and
fall from layer to layer?
"""

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.claims import Claim, decided
from analysis.common.figures import draw_second_half, drawing, finish
from analysis.common.marks import BLUE, VERMILLION, panel_by_panel
from analysis.common.tables import Analysis, Result
from analysis.mi_benchmark._benchmark import (
    Benchmark,
    Evidence,
    figure_text,
    figures_text,
)
from analysis.mi_benchmark._captions import CURVES_ONLY, DECODED, PUBLISHED, runs_text
from analysis.mi_benchmark._claims import limit_claim, relative_error, scored_against
from analysis.mi_benchmark._terms import (
    CONSTANT,
    GROUP,
    NOT_DECODED,
    OFF_BY_DEFINITION,
    REASONABLE,
    TRUTHS,
    titled,
)
from infoscope.metrics import correlation
from infoscope.metrics.report import listed

INVERTIBLE = {"batch": "batch statistics, as published", "fixed": "one fixed map"}
SIGNIFICANT = 2  # standard errors, above which two estimates differ
MARGIN = 0.1  # share of the true MI; smaller changes of the estimate are ignored
ESTIMATE = "second_half_mean_bits"
# an encoder with batch statistics is the same map at the same batch size only
UNSEEN = "held_out_same_batch_bits"
PUBLISHED_SETTING = PUBLISHED | {"encoder_size": {"published"}, "network_depth": {50}}
WHOLE = [*GROUP, "true_bits", "encoder", "statistics", "bound"]
LAYERS = [*GROUP, "true_bits", "layer_index", "layer", "bound"]
TITLES = titled(
    "second_half_mean_bits", "mean_bits", "mse_bits2", "oracle_critic_mse_bits2", "decodable_bits",
    "decodable_mse_bits2", second_half_mean_bits="mean, 2nd half (bits)",
    decodable_bits="decodable MI of the data (bits)",
)  # fmt: skip
CHANGES = {
    "change_bits": "change from the data",
    UNSEEN: "unseen, same batch size (bits)",
    "unseen_change_bits": "change from the data, unseen",
}
ANOTHER_MAP = (
    "With batch statistics, an encoder is another map at another batch size: at batch "
    "512 the critic is evaluated on "
    "codes that it was not trained on. Only the same batch size, as in the figure, "
    "can be compared."
)


def tables(evidence: Evidence) -> Sequence[Result]:
    """The invertible networks, the layers where there are some, and the estimates on
    unseen pairs.
    """
    results = []
    is_layer = evidence.rows["encoder"] == "resnet"
    whole_networks = evidence.rows[~is_layer]
    layers = evidence.rows[is_layer]
    if not whole_networks.empty:
        results.append(
            invertible_table(replace(evidence, rows=add_change(whole_networks)))
        )
        results.append(
            replace(evidence, rows=whole_networks).unseen(WHOLE, remarks=[ANOTHER_MAP])
        )
    if not layers.empty:
        of_data = whole_networks[
            (whole_networks["encoder"] == "identity")
            & whole_networks["domain"].isin(layers["domain"])
        ]
        of_data = of_data.assign(layer="(data)", layer_index=-1)
        all_layers = pd.concat([of_data, layers], ignore_index=True)
        results.append(layer_table(replace(evidence, rows=all_layers)))
        unseen = replace(evidence, rows=layers).unseen(LAYERS)
        results.append(replace(unseen, name="unseen-layers"))
    return results


def add_change(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the change of the estimate (bits) from that of the data themselves
    in the same seed, on training batches and on unseen pairs at the same batch size.
    """
    keys = [*GROUP, "true_bits", "bound", "seed"]
    of_data = rows.loc[rows["encoder"] == "identity", [*keys, ESTIMATE, UNSEEN]]
    of_data = of_data.rename(columns={ESTIMATE: "of_data", UNSEEN: "unseen_of_data"})
    rows = rows.merge(of_data, on=keys, how="left")
    return rows.assign(
        change_bits=rows[ESTIMATE] - rows["of_data"],
        unseen_change_bits=rows[UNSEEN] - rows["unseen_of_data"],
        compared=relative_error(rows, "of_data") <= REASONABLE,
    )


def invertible_table(evidence: Evidence) -> Result:
    """Estimates behind every invertible network, and their change from the data's
    estimate.
    """
    titles = TITLES | CHANGES
    figures = evidence.figures(WHOLE, titles)
    changes = figures.loc[figures["encoder"] != "identity", "change_bits"].dropna()
    claims = invertible_claims(evidence.rows)
    sentences = [
        unchanged(evidence.rows, claims),
        f"The estimate changes by {changes.median():+.3f} bits (median of "
        f"{len(changes)} estimates, range {changes.min():+.3f} to "
        f"{changes.max():+.3f}).",
        "Estimates behind random invertible networks, which do not change the MI. "
        "Change: estimate behind the network "
        "minus that for the data in the same seed, second half of a segment. "
        "Statistics 'batch', as published: "
        "normalised by the current batch, so that the code of a sample depends on its "
        "batch and the map is invertible "
        f"only given that batch; 'fixed': one map for all. {ANOTHER_MAP} "
        f"{CURVES_ONLY} {DECODED}",
    ]
    text = figures_text(figures, WHOLE, titles)
    draw = functools.partial(draw_networks, figures)
    return evidence.result("invertible", figures, text, sentences, draw, claims)


def draw_networks(figures: pd.DataFrame, *paths: Path) -> None:
    """A panel for the data and behind every network, in each domain."""
    names = figures["encoder"] + " " + figures["statistics"]
    names = names.str.removesuffix(" none")
    groups = figures.groupby(["domain", names], sort=False)
    for axis, ((domain, name), rows) in panel_by_panel(
        paths, groups, (3, 2.5), (0, 0.5), ylabel="estimate (bits)"
    ):
        draw_second_half(axis, rows)
        axis.set_title(f"{name}, {domain}")
        finish(axis)


def unchanged(rows: pd.DataFrame, claims: Sequence[Claim]) -> str:
    """Behind how many networks which estimates stay the same, in a sentence."""
    compared = rows[rows["compared"] & rows["statistics"].isin(INVERTIBLE)]
    if compared.empty:
        return f"No estimate of the data is within {REASONABLE:.0%} of the true MI."
    pairs = compared[["bound", "true_bits"]].drop_duplicates().to_numpy()
    estimates = listed(f"{bound} at {bits:g} bits" for bound, bits in pairs)
    counts: Counter[str] = Counter()
    for claim in claims:
        measured = claim.measured
        is_infinite = measured is not None and not math.isfinite(measured.value)
        counts["not finite" if is_infinite else claim.verdict] += 1
    networks = compared.groupby(["domain", "encoder", "statistics"])
    runs = runs_text(networks["seed"].nunique())
    return (
        f"The estimate of {estimates} stays the same, to {MARGIN:.0%} of the true MI, "
        f"behind {counts['confirmed']} of {len(claims)} random invertible networks; it "
        f"changes behind {counts['contradicted']}, is not finite behind "
        f"{counts['not finite']} and undecided behind {counts['undecided']} (95 % "
        f"intervals, {runs})."
    )


def invertible_claims(rows: pd.DataFrame) -> list[Claim]:
    """Whether the estimate is unchanged behind every invertible network, where that of
    the data is reliable.
    """
    what = (
        "median |change| relative to the true MI, where the data's estimate is "
        f"within {REASONABLE:.0%} of it"
    )
    claims = []
    for (domain, encoder, statistics), part in rows.groupby(
        ["domain", "encoder", "statistics"], sort=False
    ):
        if statistics not in INVERTIBLE:
            continue
        statement = (
            f"The estimate is the same behind {encoder}, {domain}: "
            f"{INVERTIBLE[statistics]}."
        )
        compared = part[part["compared"]]
        change = (compared["change_bits"] / compared["true_bits"]).abs().fillna(np.inf)
        by_seed = change.groupby(compared["seed"]).median()
        claims.append(limit_claim(statement, by_seed, MARGIN, what, ".1%"))
    return claims


def layer_table(evidence: Evidence) -> Result:
    """Estimates by layer with the least that data processing allows: the greatest
    estimate of the layers above.
    """
    rows = evidence.rows
    figures = evidence.figures(LAYERS, TITLES, constant=(*CONSTANT, "truth"))
    figures = add_least(figures)
    text = figures_text(figures, LAYERS, TITLES)
    text["least by data processing"] = [
        f"{value:.3f}" if value == value else "-" for value in figures["least_bits"]
    ]
    missing = figures["missing_bits"]
    text["below it by"] = figure_text(figures, "missing_bits")
    text["below it by"] = text["below it by"].where(missing > 0, "-")
    violated = missing > SIGNIFICANT * figures["missing_bits_error"]
    sentences = [
        f"{violated.sum()} of {figures['least_bits'].notna().sum()} estimates are "
        f"below that of a higher layer by more than {SIGNIFICANT} standard errors of "
        "the difference, against the data processing inequality "
        f"({runs_text(figures['runs'])} each).",
        "Estimates by layer of the network, lowest first; (data): the images. No "
        "layer can carry more than the one "
        "before it. An estimate below the greatest of the layers above it "
        "contradicts that one; the difference is "
        f"shaded in the figure. {CURVES_ONLY} {DECODED} It is the decodable MI of the "
        "images.",
    ]
    draw = drawing(figures, draw_layers, "estimate (bits)", "bound", "truth")
    return evidence.result(
        "layers",
        figures,
        text,
        sentences,
        draw,
        layer_claims(rows[rows["layer_index"] >= 0]),
    )


def add_least(figures: pd.DataFrame) -> pd.DataFrame:
    """The figures, by layer, with the greatest estimate of the layers above and how far
    theirs is below it, with the standard error of the difference.
    """
    series = [*GROUP, "true_bits", "bound"]
    figures = figures.sort_values(
        [*series, "layer_index"], kind="stable", ignore_index=True
    )
    greatest = {}  # estimate and its standard error
    rows = []
    for row in figures.iloc[::-1].to_dict("records"):
        key = tuple(row[name] for name in series)
        estimate, error = row[ESTIMATE], row[ESTIMATE + "_error"]
        least, its_error = greatest.get(key, (np.nan, np.nan))
        row["least_bits"] = least
        row["missing_bits"] = least - estimate
        row["missing_bits_error"] = np.hypot(error, its_error)
        rows.append(row)
        if not estimate <= least and np.isfinite(estimate):
            greatest[key] = estimate, error
    return pd.DataFrame(rows[::-1])


def layer_claims(rows: pd.DataFrame) -> list[Claim]:
    """Section 5.7's sentences on layers."""
    judged = rows[rows["bound"] != OFF_BY_DEFINITION]
    claims = []
    for (domain, pool), part in judged.groupby(GROUP, sort=False):
        place = f"{domain} ({pool})"
        for truth, column in TRUTHS.items():
            claims += scored_against(
                truth, [accuracy_claim(place, part, truth, column)]
            )
        claims.append(order_claim(place, part))
    return claims


def accuracy_claim(place: str, rows: pd.DataFrame, truth: str, column: str) -> Claim:
    """Whether the error against a truth (a column) falls with the layer, by its
    correlation over seeds.
    """
    statement = (
        "Upper layers are estimated more accurately than lower ones, against the "
        f"{truth} MI: {place}."
    )
    rows = rows.dropna(subset=column)
    if rows.empty:
        return Claim(statement, "not tested", NOT_DECODED)
    rows = rows.assign(relative=relative_error(rows, ESTIMATE, column))
    errors = (
        rows.groupby(["seed", "layer_index"])["relative"]
        .median()
        .unstack("layer_index")
    )
    if errors.shape[1] < 3:
        return Claim(statement, "not tested", "fewer than three layers were run.")
    finite = errors.where(np.isfinite(errors)).dropna(axis="columns", how="all")
    complete = finite.dropna()
    if len(complete) < 2 or complete.shape[1] < 3:
        return Claim(
            statement,
            "undecided",
            "it needs three layers with finite estimates, in two runs.",
        )
    r = correlation(complete.columns.to_numpy(float), complete.to_numpy())
    left_out = len(errors) - len(complete)
    short = f", {left_out} runs left out, diverged" if left_out else ""
    return decided(
        statement,
        r,
        "correlation of layer and median relative error",
        form="+.2f",
        below=0.0,
        more=f", {complete.shape[1]} layers{short}",
    )


def order_claim(place: str, rows: pd.DataFrame) -> Claim:
    """Whether the lower half of the layers is estimated below the upper half, against
    data processing.
    """
    statement = (
        "Lower layers are estimated to carry less than upper ones, against data "
        f"processing: {place}."
    )
    upper = rows["layer_index"] > rows["layer_index"].median()
    halves = rows.assign(upper=upper).pivot_table(
        index=["seed", "bound", "true_bits"],
        columns="upper",
        values=ESTIMATE,
        aggfunc=lambda values: values.mean(skipna=False),
        dropna=False,
    )
    if halves.shape[1] < 2:
        return Claim(statement, "not tested", "one layer was run.")
    difference = halves[False] - halves[True]
    by_seed = difference.groupby(level="seed").agg(
        lambda values: values.median(skipna=False)
    )
    return limit_claim(
        statement,
        by_seed,
        0.0,
        "lower minus upper half of the layers (bits)",
        "+.3f",
    )


def draw_layers(axis: Any, rows: pd.DataFrame) -> None:
    """Estimates by layer, the nominal MI, and the least that data processing allows,
    shaded where it is larger.
    """
    rows = rows.sort_values("layer_index")
    place = rows["layer_index"].to_numpy(float)
    estimate = rows[ESTIMATE].to_numpy(float)
    least = rows["least_bits"].to_numpy(float)
    bits = rows["true_bits"].iloc[0]
    error = rows[ESTIMATE + "_error"]
    axis.errorbar(
        place, estimate, error, marker="o", markersize=3, color=BLUE, label="estimate"
    )
    axis.plot(
        place,
        least,
        "--",
        color=VERMILLION,
        linewidth=1,
        label="greatest of the layers above",
    )
    axis.fill_between(
        place, estimate, least, where=least > estimate, color=VERMILLION, alpha=0.3
    )
    axis.axhline(bits, color="black", linewidth=0.8, label="nominal MI")
    axis.set(xlabel="layer", ylim=(0, 1.5 * bits))
    axis.set_xticks(place, labels=rows["layer"], rotation=90, fontsize="xx-small")


ANALYSIS = Analysis(
    "layer-dependency",
    Benchmark(
        tables,
        order=[
            *GROUP,
            "true_bits",
            "encoded",
            "statistics",
            "encoder",
            "layer_index",
            "bound",
        ],
        setting=PUBLISHED_SETTING,
        derive=lambda rows: rows.assign(
            truth=rows["true_bits"].map("{:g} bits".format),
            encoded=rows["encoder"] != "identity",
        ),
    ),
    claims_from="Lee & Rhee 2024, section 5.7",
)
