"""How difficult is a data set, which of its items, and why?

Published figures are of BERT-base, fine-tuned on the whole training sets (Ethayarajh et
al. 2022).
"""

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde

from analysis.common.claims import Claim, decided
from analysis.common.marks import mark, sheet
from analysis.common.published import published, published_figures
from analysis.common.runs import newest, ordered
from analysis.common.tables import (
    Analysis,
    Result,
    plus_minus,
    plus_minus_column,
    text_of,
)
from analysis.usable_information import _items
from analysis.usable_information._items import shortened
from analysis.usable_information._runs import (
    INPUTS,
    NAMES,
    TAIL,
    VECTORS,
    Z95,
    Figure,
    cautions,
    described,
    hardest_shown,
    items,
    less_than,
    of_study,
    over_seeds,
    paired,
    shown_family,
)
from infoscope import tracking
from infoscope.command_line import option
from infoscope.estimators.result import Estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.report import listed
from sweeps.usable_information.settings import FREQUENT

CELL = ["study", "data", "transformation", "family", "estimator", "seed"]
GROUP = ["data", "transformation", "family", "estimator"]
ESTIMATORS = ("held-out", "cross-fitted")
PAPERS = {
    "snli": ("snli", "test"),
    "mnli": ("multinli", "validation_matched"),
    "cola": ("cola", "id_dev"),
}
PAPERS["mnli-dev"] = PAPERS["mnli"]
BERT = "bert-base-cased"
TOKENS = 5  # shown for each class, the most helpful ones
EPOCHS = 2  # of the published fine-tuning, where there are several
MEASURED = {  # columns of the table, as the paper's code has them, with their metrics
    "v_information_bits": "v_information_bits",
    "H_yb": "null_entropy_bits",
    "H_yxb": "conditional_entropy_bits",
    "accuracy": "accuracy",
}
# the first is the easier
HARDER = (
    ("snli", "mnli"),
    ("snli", "mnli-dev"),
    ("mnli", "cola"),
    ("mnli-dev", "cola"),
)


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """All tables and figures of the studies that were run."""
    runs, left_out = newest(runs, CELL)
    columns = ["data", "family", "estimator", "transformation"]
    runs = ordered(
        runs, columns, data=NAMES, estimator=ESTIMATORS, transformation=INPUTS
    )
    results = []
    measured = of_study(runs, "difficulty")
    if len(measured):
        words = [*cautions(measured), described(measured), *left_out]
        whole = of_study(
            measured, "difficulty", transformation="std", estimator="held-out"
        )
        family = shown_family(whole, arguments.family)
        shown = whole[whole["family"] == family]
        first = shown.drop_duplicates("data")
        tables = {run.data: items(run.run_id) for run in first.itertuples()}
        results.append(information(measured, tables, family, words))
        results += _items.results(tables, family, [described(shown), *left_out])
        results += explained(measured, left_out)
    results += epochs(of_study(runs, "epochs"), left_out)
    return results


def information(
    measured: pd.DataFrame, tables: _items.Tables, family: str, words: list[str]
) -> Result:
    """V-information by data, input and family, next to published values; with figure 1
    of the paper, of the items of one family.
    """
    rows = []
    for group, members in measured.groupby(GROUP, sort=False):
        rows.append(row_of(dict(zip(GROUP, group)), members))
    figures = pd.DataFrame(rows)
    columns = {
        "data": figures["data"].map(NAMES),
        "family": "family",
        "estimator": "estimator",
        "input": figures["transformation"].map(INPUTS),
        "V-information": "v_information_bits",
        "Shannon": plus_minus_column(figures, "shannon_bits", "unknown"),
        "H(Y)": "H_yb",
        "accuracy": "accuracy",
        "calibration error": ("expected_calibration_error", "{:.3f}"),
        "items": ("n", "{:,}"),
        "fitted to": ("training_items", "{:,}"),
        "BERT-base": plus_minus_column(figures, "paper_bits", "-"),
    }
    text = text_of(figures, [], columns)
    is_whole = (figures["transformation"] == "std") & (
        figures["estimator"] == "held-out"
    )
    caption = [
        hardest_first(figures[is_whole], measured),
        "Bits. ± is a standard error over items, robust to those that share a "
        "premise; where there are several "
        "trainings it includes their scatter. With one training, what another one "
        "would give is not in it. Nothing is "
        "clipped: below 0 a family predicts unseen items worse than the class "
        "frequencies do.",
        "Usable information is what a fit to so many items has found: a lower bound, "
        "up to chance. If less input "
        "gives more, the fit has not learnt to ignore the rest: a finding about the "
        "family, not the data. A small-* "
        "transformer starts from random weights.",
        "calibration error: mean |share right - top probability| over 15 bins; about "
        "sqrt(15 / items) of it is noise. "
        "Shannon: the mutual information of the input and the class, known of "
        "generated data only.",
        comparability(measured),
        *floored(figures),
        *words,
    ]
    draw = functools.partial(difficulty_densities, tables, family)
    claims = [*claims_on_data(figures[is_whole]), *claims_on_inputs(measured)]
    against = bert_figures(figures[figures["estimator"] == "held-out"], measured)
    return Result("information", figures, text, caption, draw, claims, against=against)


def hardest_first(figures: pd.DataFrame, measured: pd.DataFrame) -> str:
    """The usable information of every data set, hardest first by its share of H(Y), and
    the families that can use most of it; figures: of whole inputs, held out.

    Data sets of vectors are left out: their figures do not tell how hard the data are.
    """
    of_texts = figures[~figures["data"].str.startswith(VECTORS)]
    if of_texts.empty:
        return "How hard the data are does not follow: only vectors were measured."
    of_texts = of_texts.assign(share=of_texts["v_information_bits"] / of_texts["H_yb"])
    best = of_texts.sort_values("share").drop_duplicates("data", keep="last")
    levels = []
    for row in best.itertuples():
        error = row.v_information_bits_error / row.H_yb
        bits = plus_minus(row.v_information_bits, row.v_information_bits_error)
        families = level_families(measured, row.data, row.family)
        tied = " equally within error" if len(families) > 1 else ""
        levels.append(
            f"{NAMES[row.data]} {100 * row.share:.0f} ± {100 * error:.0f} % ({bits} "
            f"bits, {listed(families)}{tied})"
        )
    return (
        "The family that can use most finds this share of H(Y), hardest data first: "
        f"{', '.join(levels)}."
    )


def level_families(runs: pd.DataFrame, data: str, best: str) -> list[str]:
    """The best family, and those of which it is not surely ahead on the same items."""
    whole = of_study(
        runs, "difficulty", data=data, transformation="std", estimator="held-out"
    )
    families = [best]
    for family, members in whole.groupby("family", sort=False):
        if family == best:
            continue
        ahead = paired(whole[whole["family"] == best], members)
        if ahead is not None and ahead.value <= Z95 * ahead.error:
            families.append(str(family))
    return families


def bert_figures(figures: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """The published V-information of BERT-base, with ours of the family that can use
    most of the same input.
    """
    rows = []
    for paper in papers_rows().to_dict("records"):
        names = [
            name
            for name, place in PAPERS.items()
            if place == (paper["dataset"], paper["split"])
        ]
        ours = figures[
            figures["data"].isin(names)
            & (figures["transformation"] == paper["condition"])
        ]
        ours = ours.sort_values("v_information_bits").tail(1)
        epochs = paper["epochs"]
        after = "" if math.isnan(epochs) else f", {epochs:g} epochs"
        condition = INPUTS.get(paper["condition"], paper["condition"])
        row = {
            "place": f"{paper['dataset']} {paper['split']}, input {condition}{after}",
            "quantity": "V-information",
            "unit": "bits",
            "published": paper["v_information_bits"],
            "published_error": paper["v_information_bits_error"],
        }
        for best in ours.itertuples():
            row["ours"] = best.v_information_bits
            row["ours_error"] = best.v_information_bits_error
            row["runs"] = best.runs
            row["unlike"] = comparability(measured)
        rows.append(row)
    return published_figures("V-information of BERT-base", rows)


def row_of(group: dict, runs: pd.DataFrame) -> dict:
    """The figures of one data set, input, family and estimator, over seeds, and the
    published one.
    """
    first = runs.iloc[0]
    row = group | {"runs": len(runs)}
    for name in ("n", "groups", "training_items"):
        row[name] = int(first[name])
    for name, metric in MEASURED.items():
        figure = over_seeds(runs[metric], runs[f"{metric}_error"], row["n"])
        row[name] = figure.value
        row[f"{name}_error"] = figure.error
    for name in ("expected_calibration_error", "best_temperature"):
        row[name] = float(runs[name].mean())
    row["floored"] = float(runs["floored_items"].mean())
    row["shannon_bits"] = float(first.get("shannon_bits", math.nan))
    row["paper_bits"] = math.nan
    row["paper_bits_error"] = math.nan
    if group["estimator"] == "held-out":
        row["paper_bits"], row["paper_bits_error"] = papers_figure(
            group["data"], group["transformation"]
        )
    return row


def papers_rows() -> pd.DataFrame:
    """The published figures of BERT-base, after two epochs where the number is known."""
    rows = published("vinfo")
    return rows[(rows["model"] == BERT) & rows["epochs"].isin([math.nan, EPOCHS])]


def papers_figure(data: str, transformation: str) -> tuple[float, float]:
    """BERT-base's V-information (bits) and its error, after two epochs where several
    are published; NaN: none is.
    """
    rows = papers_rows()
    dataset, split = PAPERS.get(data, (None, None))
    rows = rows[
        (rows["dataset"] == dataset)
        & (rows["split"] == split)
        & (rows["condition"] == transformation)
    ]
    if rows.empty:
        return math.nan, math.nan
    row = rows.sort_values("epochs").iloc[0]  # those without a number come last
    return float(row["v_information_bits"]), float(row["v_information_bits_error"])


def comparability(runs: pd.DataFrame) -> str:
    """Differences from BERT-base's setting that prevent a comparison of levels."""
    beside = runs[runs["data"].isin(PAPERS) & (runs["estimator"] == "held-out")]
    if beside.empty:
        return "None of these data sets is in the paper: nothing to compare with."
    differs = []
    if set(beside["family"]) != {f"hub:{BERT}"}:
        differs.append(f"other families ({BERT} is pretrained)")
    sources = [tags.get("infoscope.data", "") for tags in beside["tags"]]
    if (beside["items"] > 0).any() or any("20k" in source for source in sources):
        differs.append("fewer training items (SNLI has 549,367 pairs)")
    if "mnli-dev" in set(beside["data"]):
        differs.append(
            "of MultiNLI a part of its matched development set in place of its "
            "392,702 training pairs"
        )
    epochs = set(beside["epochs"].dropna())
    if epochs - {EPOCHS}:
        counts = ", ".join(f"{count:g}" for count in sorted(epochs))
        differs.append(f"epochs ({counts} for {EPOCHS})")
    if not differs:
        return "BERT-base: the published setting."
    return (
        "BERT-base (published, whole training sets) is there for the order of data "
        "sets and inputs, not to compare "
        f"levels. What differs here: {'; '.join(differs)}."
    )


def floored(figures: pd.DataFrame) -> list[str]:
    """How many items needed the floor of probabilities."""
    share = figures["floored"] / figures["n"]
    row = figures.loc[share.idxmax()]
    if not row["floored"]:
        return []
    return [
        f"Floored at a probability of 1e-6: at most {share.max():.1%} of the items of "
        "a row "
        f"({NAMES[row['data']]}, {INPUTS[row['transformation']]}, {row['family']})."
    ]


def claims_on_data(figures: pd.DataFrame) -> list[Claim]:
    """The order of data sets, for every family that has both; figures: of whole inputs,
    held out.
    """
    claims = []
    for easier, harder in HARDER:
        for family in figures["family"].unique():
            of_family = figures[figures["family"] == family].set_index("data")
            if not {easier, harder} <= set(of_family.index):
                continue
            first = of_family.loc[harder]
            second = of_family.loc[easier]
            difference = first["v_information_bits"] - second["v_information_bits"]
            error = math.hypot(
                first["v_information_bits_error"], second["v_information_bits_error"]
            )
            runs = min(first["runs"], second["runs"])
            figure = Figure(difference, error, int(first["n"] + second["n"]), int(runs))
            statement = (
                f"{NAMES[harder]} has less information that {family} can use than "
                f"{NAMES[easier]} (figure 1)."
            )
            claims.append(less_than(statement, figure, "difference"))
    return claims


def claims_on_inputs(runs: pd.DataFrame) -> list[Claim]:
    """The order of inputs, for every data set and family that has both; the paper's is
    of SNLI.
    """
    held_out = runs[runs["estimator"] == "held-out"]
    claims = []
    for (data, family), members in held_out.groupby(["data", "family"], sort=False):
        for less, more in (
            ("hypothesis", "shuffled"),
            ("shuffled", "std"),
            ("premise", "hypothesis"),
        ):
            first = members[members["transformation"] == less]
            second = members[members["transformation"] == more]
            if len(first) and len(second):
                statement = (
                    f"{NAMES[data]}, {family}: {INPUTS[less]} carries less usable "
                    f"information than {INPUTS[more]}."
                )
                claim = less_than(statement, paired(first, second), "paired difference")
                claims.append(claim._replace(is_ours=data != "snli"))
    return claims


def difficulty_densities(tables: _items.Tables, family: str, *paths: Path) -> None:
    """Figure 1: the density of PVI in every data set (Scott's rule), dotted means."""
    with sheet(paths, size=(6.5, 4.0)) as ((axis,),):
        for name, table in tables.items():
            bits = table["pvi_bits"].to_numpy()
            colour = mark("data", name).color
            grid = np.linspace(hardest_shown(table["pvi_bits"]), bits.max() + 0.5, 400)
            density = gaussian_kde(bits)
            axis.plot(
                grid,
                density(grid),
                color=colour,
                label=f"{NAMES[name]} ({len(bits):,})",
            )
            axis.axvline(bits.mean(), linestyle=":", color=colour)
        axis.set(
            xlabel=f"PVI (bits), {family}; but for the hardest {100 * TAIL:g} %",
            ylabel="density",
            title="Difficulty of items; dotted: the means",
        )


def explained(runs: pd.DataFrame, words: Sequence[str]) -> list[Result]:
    """Table 7, examples of the transformations; and the token artefacts. words: the end
    of their captions.
    """
    measured = of_study(runs, "difficulty", estimator="held-out")
    with_text = measured[~measured["data"].str.startswith(VECTORS)]
    results = []
    if len(with_text):
        results.append(examples(with_text, [described(with_text), *words]))
    if "artefact_texts" in measured:
        marked = measured[measured["artefact_texts"].notna()]
        if len(marked):
            results.append(artefacts(marked, [described(marked), *words]))
    return results


def examples(runs: pd.DataFrame, words: Sequence[str]) -> Result:
    """Table 7: what every transformation leaves of one item of each data set, the first
    that all of them measured.
    """
    rows = []
    for data, members in runs.groupby("data", sort=False):
        run_ids = members.drop_duplicates("transformation").set_index("transformation")[
            "run_id"
        ]
        tables = {
            name: items(run_ids[name]).set_index("id")
            for name in INPUTS
            if name in run_ids
        }
        first, *others = tables.values()
        shared = first.index
        for table in others:
            shared = shared[shared.isin(table.index)]
        if shared.empty:
            continue
        for name, table in tables.items():
            item = table.loc[[shared[0]]].iloc[0]
            rows.append(
                {
                    "data": data,
                    "transformation": name,
                    "label": item["label"],
                    "text": item["text"],
                }
            )
    figures = pd.DataFrame(rows, columns=["data", "transformation", "label", "text"])
    text = pd.DataFrame(
        {
            "data": figures["data"].map(NAMES),
            "input": figures["transformation"].map(INPUTS),
            "class": figures["label"],
            "text": figures["text"].map(shortened),
        }
    )
    caption = [
        f"{figures['transformation'].nunique()} transformations of one item of each "
        "data set (examples: no error).",
        "What each transformation leaves of an item; its information is what a family "
        "fitted to the rest can use.",
        *words,
    ]
    return Result("transformations", figures, text, caption, quotes=True)


def artefacts(runs: pd.DataFrame, words: Sequence[str]) -> Result:
    """The tokens that help most, by class."""
    rows = []
    for run in runs.drop_duplicates(["data", "family"]).itertuples():
        table = tracking.table(run.run_id, "artefacts")
        frequent = table[table["occurrences"] >= FREQUENT]
        for label in table["label"].unique():
            best = frequent[frequent["label"] == label].nlargest(TOKENS, "mean_bits")
            rows.append(
                best.assign(
                    data=run.data,
                    family=run.family,
                    input=run.transformation,
                    label=label,
                )
            )
    figures = pd.concat(rows, ignore_index=True)
    with_errors = figures.rename(columns={"standard_error_bits": "mean_bits_error"})
    shown = figures.assign(
        bits=plus_minus_column(with_errors, "mean_bits", "-"),
        data=figures["data"].map(NAMES),
        input=figures["input"].map(INPUTS),
    )
    shown["tokens"] = (
        shown["token"]
        + " "
        + shown["bits"]
        + " ("
        + shown["occurrences"].astype(str)
        + ")"
    )
    text = (
        shown.groupby(["data", "input", "family", "label"], sort=False)["tokens"]
        .agg("; ".join)
        .reset_index()
    )
    most = shown.loc[figures["mean_bits"].idxmax()]
    counts = ", ".join(f"{count:,.0f}" for count in sorted(set(runs["artefact_texts"])))
    caption = [
        f"{most['token']} helps most, to predict {most['label']}: {most['bits']} bits.",
        f"The {TOKENS} tokens that help most to predict each class: H(y | x without "
        "the token) - H(y | x), bits, ± its "
        "standard error over texts (and occurrences), of tokens that occur "
        f"{FREQUENT} times or more in the class, in "
        f"{counts} held-out texts. Tokens are "
        "words, and signs of punctuation apart from them, as published (the "
        "tokenizers' Whitespace). Members are not "
        "fitted again. The largest of many: a token that leads by its error only may "
        "lead by luck.",
        *words,
    ]
    return Result(
        "artefacts", figures, text.rename(columns={"label": "class"}), caption
    )


def epochs(runs: pd.DataFrame, words: Sequence[str]) -> list[Result]:
    """Figure 2: V-information and accuracy after every epoch; nothing without runs."""
    if runs.empty:
        return []
    figures = epoch_figures(runs)
    losses = figures["training_loss"] / NATS_PER_BIT
    columns = {
        "V-information": "v_information_bits",
        "accuracy": "accuracy",
        "training loss (bits)": losses.map("{:.3f}".format),
    }
    text = text_of(figures, ["data", "family", "epoch"], columns)
    text["data"] = figures["data"].map(NAMES)
    final_rows = text.groupby(["data", "family"], sort=False).tail(1)
    ends = [
        f"{row['data']} {row['family']} {row['V-information']} bits"
        for _, row in final_rows.iterrows()
    ]
    caption = [
        f"After the last epoch: {', '.join(ends)}.",
        "V-information (bits) and accuracy of held-out items after every epoch of one "
        "training, ± standard error over "
        "items and, of several trainings, over these. Its learning rate falls to 0 "
        "over all epochs, so that an early "
        "one is not the same as a training of so many. The claims take the best epoch "
        "by these figures, which favours "
        "a fall. The figure has BERT-base's as published (dashed; whole training "
        "sets, not comparable in level).",
        described(runs),
        *words,
    ]
    claims = []
    for name, curve in curve_groups(figures):
        claims += falls(name, curve)
    return [
        Result(
            "epochs",
            figures,
            text,
            caption,
            functools.partial(draw_epochs, figures),
            claims,
        )
    ]


def epoch_figures(runs: pd.DataFrame) -> pd.DataFrame:
    """A row for each data set, family and epoch, with means over trainings."""
    curves = []
    for run in runs.itertuples():
        curve = tracking.table(run.run_id, "epochs")
        curves.append(curve.assign(data=run.data, family=run.family, seed=run.seed))
    rows = []
    for (data, family, epoch), members in pd.concat(curves).groupby(
        ["data", "family", "epoch"], sort=False
    ):
        n = int(members["n"].iloc[0])
        bits = over_seeds(
            members["v_information_bits"], members["standard_error_bits"], n
        )
        accuracy = members["accuracy"]
        # of a share: groups change it little
        errors = np.sqrt(accuracy * (1 - accuracy) / members["n"])
        right = over_seeds(accuracy, errors, n)
        rows.append(
            {
                "data": data,
                "family": family,
                "epoch": int(epoch),
                "v_information_bits": bits.value,
                "v_information_bits_error": bits.error,
                "accuracy": right.value,
                "accuracy_error": right.error,
                "training_loss": members["training_loss"].mean(),
                "H_yb": members["H_yb"].mean(),
                "n": n,
                "runs": bits.seeds,
            }
        )
    return pd.DataFrame(rows)


def curve_groups(figures: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Every curve with its name."""
    groups = figures.groupby(["data", "family"], sort=False)
    return [(f"{NAMES[data]}, {family}", curve) for (data, family), curve in groups]


def falls(name: str, curve: pd.DataFrame) -> list[Claim]:
    """Whether V-information ends below its best epoch, and whether it loses a larger
    part than accuracy does.
    """
    best = curve.loc[curve["v_information_bits"].idxmax()]
    final = curve.iloc[-1]
    statement = f"{name}: V-information falls again with over-fitting (figure 2)."
    if best["epoch"] == final["epoch"]:
        return [
            Claim(
                statement,
                "contradicted",
                f"it is largest after the last of {final['epoch']} epochs.",
            )
        ]
    bits = final["v_information_bits"] - best["v_information_bits"]
    bits_error = float(
        np.hypot(best["v_information_bits_error"], final["v_information_bits_error"])
    )
    accuracy = final["accuracy"] - best["accuracy"]
    accuracy_error = float(np.hypot(best["accuracy_error"], final["accuracy_error"]))
    share = bits / final["H_yb"]
    error = float(np.hypot(bits_error / final["H_yb"], accuracy_error))
    difference = Estimate(share - accuracy, error, n=int(final["n"]))
    epochs = f"from epoch {best['epoch']} to {final['epoch']}"
    changes = (
        f"{epochs} V-information changes by {share:+.1%} of H(Y), accuracy by "
        f"{accuracy:+.1%} of the items; difference"
    )
    fall = Figure(bits, bits_error, int(final["n"]), int(final["runs"]))
    sensitive = (
        f"{name}: V-information is more sensitive to over-fitting than accuracy "
        "(figure 2)."
    )
    return [
        less_than(statement, fall, epochs),
        decided(sensitive, difference, changes, form="+.1%", below=0.0, over="items"),
    ]


def draw_epochs(figures: pd.DataFrame, *paths: Path) -> None:
    """Figure 2: V-information above, accuracy below."""
    papers = published("vinfo")
    papers = papers[(papers["model"] == BERT) & papers["epochs"].notna()].sort_values(
        "epochs"
    )
    titles = {"v_information_bits": "V-information (bits)", "accuracy": "accuracy"}
    epochs = sorted(set(figures["epoch"]))
    with sheet(paths, 2, 1, (6.0, 6.0), ncols=2) as axes:
        for axis, (column, title) in zip(axes.flat, titles.items()):
            for name, curve in curve_groups(figures):
                data = curve["data"].iloc[0]
                colour = mark("data", data).color
                marker = mark("family", curve["family"].iloc[0]).marker
                reach = Z95 * curve[f"{column}_error"]
                axis.errorbar(
                    curve["epoch"],
                    curve[column],
                    reach,
                    capsize=2,
                    color=colour,
                    marker=marker,
                    label=name,
                )
                paper = papers[papers["dataset"] == data]
                if len(paper):
                    label = f"{NAMES[data]}, BERT-base (published)"
                    axis.plot(
                        paper["epochs"],
                        paper[column],
                        "--",
                        color=colour,
                        marker="x",
                        label=label,
                    )
            axis.set(xlabel="epoch", xticks=epochs, ylabel=title)
        top = axes[0, 0]
        top.axhline(0, color="grey", linewidth=0.8)
        top.set_title("with 95 % intervals", fontsize="medium")


ANALYSIS = Analysis(
    "dataset-difficulty",
    analyse,
    [
        option(
            "family", help="whose items are shown (default: the one that can use most)"
        )
    ],
    claims_from="Ethayarajh et al. 2022, input transformations, figure 5",
)
