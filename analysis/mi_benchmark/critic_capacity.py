"""Table 2: is a deeper critic more accurate?"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.claims import Claim, decided, with_interval
from analysis.common.figures import drawing
from analysis.common.marks import GREEN, VERMILLION, critic_style, in_order, lines
from analysis.common.published import PAPERS, published, published_table
from analysis.common.tables import Analysis, Result, spread, summarise
from analysis.mi_benchmark._benchmark import (
    Evidence,
    figure_text,
    figures_at,
    figures_text,
    latest_setting,
    true_levels,
)
from analysis.mi_benchmark._captions import least_error, setting_differences
from analysis.mi_benchmark._claims import paired_changes
from analysis.mi_benchmark._terms import FIELD_TITLES, GROUP, ORACLE, titled
from infoscope.command_line import option
from infoscope.estimators.result import Estimate
from infoscope.metrics import correlation
from infoscope.metrics.report import listed

TITLES = titled("bias_bits", "variance_bits2", "mse_bits2", "second_half_mse_bits2")
PRINTED = {  # columns of the paper's table
    "bias_bits": "bias, sign turned",
    "variance_bits2": "variance",
    "mse_bits2": "MSE",
}
PUBLISHED_BOUND = "smile-inf"
ONE_RUN = (
    "The paper's figures are one run each, without errors; its bias is truth - mean, "
    "here with its sign turned."
)
OTHERS = (
    "Note: the paper has these figures only for smile-inf with a joint critic at 2 "
    "bits."
)


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """The published table by depth for joint and separable critics, and the MSE of all
    by depth and width.
    """
    levels = [arguments.bits] if arguments.bits else true_levels(runs)
    bounds = sorted(set(runs["bound"]))
    default = PUBLISHED_BOUND if PUBLISHED_BOUND in bounds else bounds[0]
    bound = arguments.bound or default
    if bound not in bounds:
        raise ValueError(
            f"bound must be an estimator of these runs, {', '.join(bounds)}, got "
            f"{bound!r}."
        )
    results = []
    for study in runs["study"].unique():
        size = "width" if study == "width" else "depth"
        prefix = "" if study == "depth" else f"{study}-"
        of_study, left_out = latest_setting(
            runs[runs["study"] == study], axes=(size, "critic")
        )
        for bits in levels:
            rows = figures_at(of_study, bits)
            rows = rows.sort_values(
                [*GROUP, "critic", size, "bound", "seed"], kind="stable"
            )
            evidence = Evidence(rows, rows.iloc[:0], rows, left_out=left_out)
            if size == "depth" and bits == levels[0]:
                results.append(depth_table(evidence, bound, bits, prefix))
            results.append(estimator_table(evidence, size, bits, prefix))
    return results


def depth_table(evidence: Evidence, bound: str, bits: float, prefix: str) -> Result:
    """Table 2 with standard errors, the second half, the oracle critic and the
    published figures.
    """
    runs = evidence.rows[evidence.rows["bound"] == bound]
    is_published = (
        bound == PUBLISHED_BOUND and bits == 2 and set(runs["critic"]) == {"joint"}
    )
    differing = (
        setting_differences(truncate_schedules(runs, bits))
        if is_published
        else [OTHERS]
    )
    figures = summarise(runs, [*GROUP, "study", "depth"], TITLES)
    oracles = runs.groupby(GROUP, as_index=False)[ORACLE].first()
    figures = figures.merge(oracles, on=GROUP)
    figures = replace(evidence, comparison=differing).add_published(
        figures, "table2", ["domain", "depth"]
    )
    text = figures_text(
        figures,
        [*GROUP, "depth"],
        TITLES | {"oracle_critic_mse_bits2": "oracle critic"},
    )
    against = None
    if not differing:
        for column, title in PRINTED.items():
            text[f"paper: {title}"] = figures[PAPERS + column].map("{:.3f}".format)
        against = published_table("table2", [*PRINTED], ["domain", "depth"], figures)
    sentences = [
        f"With {bound} at {bits:g} bits {depth_finding(runs)}",
        f"Error of {bound} by critic depth at a true MI of {bits:g} bits; bias = mean "
        "estimate - truth.",
        "All steps are included, from the first one on, as in the paper; the second "
        "half is the trained critic.",
    ]
    of_bound = replace(
        evidence, trained=runs, rows=runs, comparison=differing or [ONE_RUN]
    )
    return of_bound.result(
        f"{prefix}{bound}-{bits:g}bits",
        figures,
        text,
        sentences,
        drawing(figures, draw_depths, "MSE (bits²)"),
        correlations(runs, not differing),
        against=against,
        title=f"{bound} by critic depth at {bits:g} bits",
    )


def depth_finding(runs: pd.DataFrame) -> str:
    """By how much the MSE of the shallowest critic differs from that of all deeper ones,
    and the deepest from the second, paired by seed, in a sentence.
    """
    first, *deeper = sorted(set(runs["depth"]))
    if len(deeper) < 2:
        return "fewer than three depths were run."
    second, deepest = deeper[0], deeper[-1]
    shallow = runs.assign(shallow=runs["depth"] == first)
    of_first = paired_changes(shallow, "shallow", True, False, "mse_bits2")
    of_deepest = paired_changes(runs, "depth", deepest, second, "mse_bits2")
    return (
        f"depth {first} {sure_text(of_first, f'depths {second} to {deepest}')}; depth "
        f"{deepest} {sure_text(of_deepest, f'depth {second}')}."
    )


def sure_text(changes: Mapping[str, Estimate], other: str) -> str:
    """For which data sets the MSE surely differs from that of another depth, by its
    95 % interval, in words.
    """
    if not changes:
        return f"shares no seed with {other}"
    if all(change.n == 1 for change in changes.values()):
        figures = [f"{name} {change.value:+.3f}" for name, change in changes.items()]
        return (
            f"cannot be told from {other} by MSE ({', '.join(figures)} bits², one run "
            "each, no interval)"
        )
    larger = {name: change for name, change in changes.items() if change.low > 0}
    smaller = {name: change for name, change in changes.items() if change.high < 0}
    parts = []
    for kind, sure in (("larger", larger), ("smaller", smaller)):
        if sure:
            figures = [
                f"{name} {with_interval(change, 'bits²')}"
                for name, change in sure.items()
            ]
            parts.append(f"has a {kind} MSE than {other} for {listed(figures)}")
    return " and ".join(parts) or f"has no surely different MSE from {other}"


def truncate_schedules(runs: pd.DataFrame, bits: float) -> pd.DataFrame:
    """The runs with their schedules up to this true MI."""
    schedules = []
    for schedule in runs["schedule_bits"]:
        end = list(schedule).index(bits) + 1
        schedules.append(list(schedule)[:end])
    return runs.assign(schedule_bits=schedules)


def correlations(runs: pd.DataFrame, comparable: bool) -> list[Claim]:
    """By domain, the paper's sentence judged by the Pearson correlation of depth and
    accuracy (-MSE) over seeds.
    """
    theirs = published("table2").groupby("domain")
    of_theirs = {
        domain: np.corrcoef(rows["depth"], -rows["mse_bits2"])[0, 1]
        for domain, rows in theirs
    }
    claims = []
    for (domain, pool), members in runs.groupby(GROUP, sort=False):
        (bound,) = members["bound"].unique()
        statement = f"Accuracy of {bound} does not rise with depth, {domain} ({pool})."
        wide = members.pivot(index="seed", columns="depth", values="mse_bits2")
        wide = wide.dropna(axis="columns", how="all")
        complete = wide.dropna()
        short = len(wide) - len(complete)
        short = (
            f", {short} runs left out, diverged or not run at some depth"
            if short
            else ""
        )
        if complete.empty or complete.shape[1] < 3:
            claims.append(
                Claim(
                    statement,
                    "undecided" if members["depth"].nunique() > 2 else "not tested",
                    f"it needs three depths with finite MSE{short}.",
                )
            )
            continue
        r = correlation(complete.columns.to_numpy(float), -complete.to_numpy())
        more = f", {complete.shape[1]} depths{short}"
        shallowest = complete.columns[0]
        deeper = complete.drop(columns=shallowest)
        if deeper.shape[1] > 2:
            without = correlation(deeper.columns.to_numpy(float), -deeper.to_numpy())
            of_deeper = with_interval(without, form="+.2f")
            more += f"; without depth {shallowest:g} {of_deeper}"
        if comparable and domain in of_theirs:
            more += (
                "; from the paper's own table (joint critic, one run) "
                f"{of_theirs[domain]:+.2f}"
            )
        what = "correlation of depth and -MSE"
        claims.append(decided(statement, r, what, form="+.2f", below=0.0, more=more))
    return claims


def estimator_table(evidence: Evidence, size: str, bits: float, prefix: str) -> Result:
    """The MSE of every estimator by the size of the critic (depth or width), with the
    oracle critic's.
    """
    rows = [*GROUP, "critic", "bound"]
    figures = summarise(evidence.rows, [*rows, size], ["mse_bits2"])
    oracles = evidence.rows.groupby(rows, as_index=False, sort=False)[ORACLE].first()
    sizes = {value: f"{size} {value}" for value in sorted(set(figures[size]))}
    text = spread(
        figures, rows, size, figure_text(figures, "mse_bits2"), "not run", sizes
    )
    text = text.rename(columns=FIELD_TITLES)
    text["oracle critic"] = figure_text(oracles, "oracle_critic_mse_bits2")
    sentences = [
        least_error(
            evidence.rows.assign(
                size=f"{size} " + evidence.rows[size].astype(str), true_bits=bits
            ),
            "domain",
            ["critic", "bound", "size"],
        ),
        f"MSE (bits²) of every estimator by critic {size} at a true MI of {bits:g} "
        "bits, all steps.",
    ]
    draw = drawing(figures, functools.partial(draw_estimators, size), "MSE (bits²)")
    name = f"{prefix}all-{bits:g}bits"
    title = f"All estimators by critic {size} at {bits:g} bits"
    figures = figures.merge(oracles, on=rows)
    return evidence.result(
        name, figures, text, sentences, draw, has_oracle=False, title=title
    )


def draw_depths(axis: Any, rows: pd.DataFrame) -> None:
    """MSE by depth: ours, the second half, published, oracle."""
    parts = (
        ("mse_bits2", "o", VERMILLION, "all steps"),
        ("second_half_mse_bits2", "s", GREEN, "second half"),
    )
    for column, marker, colour, label in parts:
        error = rows[column + "_error"]
        axis.errorbar(
            rows["depth"],
            rows[column],
            error,
            marker=marker,
            color=colour,
            capsize=3,
            label=label,
        )
    if rows["published_mse_bits2"].notna().any():
        axis.plot(
            rows["depth"],
            rows["published_mse_bits2"],
            "k--",
            marker="x",
            label="paper (one run)",
        )
    axis.axhline(
        rows["oracle_critic_mse_bits2"].iloc[0],
        color="grey",
        linestyle=":",
        label="oracle critic",
    )
    axis.set(xlabel="critic depth", xticks=rows["depth"])


def draw_estimators(size: str, axis: Any, rows: pd.DataFrame) -> None:
    """MSE by size, one line per critic (its style) and estimator (its mark), on a
    logarithmic axis.
    """
    critics = in_order("critic", rows["critic"])
    for critic in critics:
        linestyle = critic_style(critic)
        for bound, line, mark in lines(rows[rows["critic"] == critic], "bound"):
            name = bound if len(critics) == 1 else f"{critic} {bound}"
            errors = line["mse_bits2_error"]
            axis.errorbar(
                line[size],
                line["mse_bits2"],
                errors,
                label=name,
                capsize=3,
                linestyle=linestyle,
                **mark,
            )
    sizes = sorted(set(rows[size]))
    axis.set(
        xlabel=f"critic {size}",
        yscale="log",
        xscale="log" if size == "width" else "linear",
    )
    axis.set_xticks(sizes, labels=sizes, minor=False)


ANALYSIS = Analysis(
    "critic-capacity",
    analyse,
    [
        option(
            "bound",
            help="estimator of the first table (default: smile-inf, the paper's)",
        ),
        option(
            "bits",
            type=float,
            help="true MI, in bits (default: all, and the lowest in the first table)",
        ),
    ],
    claims_from="Lee & Rhee 2024, section 5.2",
)
