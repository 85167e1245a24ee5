"""How difficult is a data set, which of its items, and why?

Published figures are of BERT-base, fine-tuned on the whole training sets (Ethayarajh et al. 2022).
"""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde

from analysis.common.marks import mark, sheet
from analysis.common.tables import Analysis, Claim, Result, plus_minus_column, published, verdict
from analysis.usable_information import _items
from analysis.usable_information._items import shortened
from analysis.usable_information._runs import (
    INPUTS,
    NAMES,
    TAIL,
    Z95,
    Figure,
    cautions,
    described,
    hardest_shown,
    items,
    less_than,
    newest_of,
    of_study,
    over_seeds,
    paired,
    shown_family,
    shown_items,
)
from infoscope import tracking
from infoscope.command_line import option
from infoscope.estimators.units import NATS_PER_BIT
from sweeps.usable_information.settings import FREQUENT

GROUP = ["data", "transformation", "family", "estimator"]
PAPERS = {"snli": ("snli", "test"), "mnli": ("multinli", "validation_matched"), "cola": ("cola", "id_dev")}
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
HARDER = (("snli", "mnli"), ("snli", "mnli-dev"), ("mnli", "cola"), ("mnli-dev", "cola"))  # the first is the easier


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """All tables and figures of the studies that were run."""
    runs, left_out = newest_of(runs)
    results = []
    measured = of_study(runs, "difficulty")
    if len(measured):
        results.append(information(measured, arguments.family, [*cautions(measured), described(measured), *left_out]))
        family = shown_family(measured, arguments.family)
        shown = of_study(measured, "difficulty", family=family, transformation="std", estimator="held-out")
        results += _items.results(shown_items(measured, family), family, [described(shown), *left_out])
        results += explained(measured, left_out)
    results += epochs(of_study(runs, "epochs"), left_out)
    return results


def information(measured: pd.DataFrame, asked: str | None, words: list[str]) -> Result:
    """V-information by data, input and family beside the published; with figure 1 of the paper."""
    figures = pd.DataFrame([row_of(dict(zip(GROUP, group)), of) for group, of in measured.groupby(GROUP, sort=False)])
    text = pd.DataFrame(
        {
            "data": figures["data"].map(NAMES),
            "family": figures["family"],
            "estimator": figures["estimator"],
            "input": figures["transformation"].map(INPUTS),
            "V-information": plus_minus_column(figures, "v_information_bits"),
            "Shannon": figures["shannon_bits"].map(lambda bits: f"{bits:.3f}" if math.isfinite(bits) else "unknown"),
            "H(Y)": plus_minus_column(figures, "H_yb"),
            "accuracy": plus_minus_column(figures, "accuracy"),
            "calibration error": figures["expected_calibration_error"].map("{:.3f}".format),
            "items": figures["n"].map("{:,}".format),
            "fitted to": figures["training_items"].map("{:,}".format),
            "BERT-base": plus_minus_column(figures, "paper_bits", "-"),
        }
    )
    whole = figures[(figures["transformation"] == "std") & (figures["estimator"] == "held-out")]
    whole = whole.sort_values("v_information_bits").drop_duplicates("data", keep="last")
    used = zip(whole["data"].map(NAMES), whole["family"], plus_minus_column(whole, "v_information_bits"))
    ordered = [f"{data} {bits} bits ({family})" for data, family, bits in used]
    caption = [
        f"Usable information by data, hardest first, of the family that can use most: {', '.join(ordered)}.",
        "Bits. ± is a standard error over items, robust to those that share a premise; where there are several "
        "trainings it includes their scatter. With one training, what another one would give is not in it. Nothing is "
        "clipped: below 0 a family predicts unseen items worse than the class frequencies do.",
        "What a family can use is what its fit to so many items has found, a lower bound but for chance. Where less "
        "input gives more, the fit has not learnt to ignore the rest: that tells of the family, not of the data. A "
        "small-* transformer starts from random weights.",
        "calibration error: mean |share right - top probability| over 15 bins; about sqrt(15 / items) of it is noise. "
        "Shannon: the mutual information of the input and the class, known of generated data only.",
        comparability(measured),
        *floored(figures),
        *words,
    ]
    family = shown_family(measured, asked)
    draw = functools.partial(difficulty_densities, shown_items(measured, family), family)
    return Result("information", figures, text, caption, draw, list(claims(measured, figures)))


def row_of(group: dict, runs: pd.DataFrame) -> dict:
    """The figures of one data set, input, family and estimator, over seeds, and the published one."""
    row = group | {"runs": len(runs), "n": int(runs["n"].iloc[0]), "groups": int(runs["groups"].iloc[0]),
                   "training_items": int(runs["training_items"].iloc[0])}  # fmt: skip
    for name, metric in MEASURED.items():
        figure = over_seeds(runs[metric], runs[f"{metric}_error"], row["n"])
        row |= {name: figure.value, f"{name}_error": figure.error}
    for name in ("expected_calibration_error", "best_temperature"):
        row[name] = float(runs[name].mean())
    row["floored"] = float(runs["floored_items"].mean())
    paper = papers_figure(group["data"], group["transformation"]) if group["estimator"] == "held-out" else None
    value, error = (math.nan, math.nan) if paper is None else paper
    row["shannon_bits"] = float(runs["shannon_bits"].iloc[0]) if "shannon_bits" in runs else math.nan
    return row | {"paper_bits": value, "paper_bits_error": error}


def papers_figure(data: str, transformation: str) -> tuple[float, float] | None:
    """BERT-base's V-information (bits) and its error, after two epochs where several are published."""
    rows = published("vinfo")
    dataset, split = PAPERS.get(data, (None, None))
    rows = rows[(rows["dataset"] == dataset) & (rows["split"] == split) & (rows["model"] == BERT)]
    rows = rows[(rows["condition"] == transformation) & (rows["epochs"].isna() | (rows["epochs"] == EPOCHS))]
    if rows.empty:
        return None
    row = rows.sort_values("epochs").iloc[0]  # those without a number come last
    return float(row["v_information_bits"]), float(row["v_information_bits_error"])


def comparability(runs: pd.DataFrame) -> str:
    """What must be the same for the levels to compare with BERT-base's, and is not."""
    beside = runs[runs["data"].isin(PAPERS) & (runs["estimator"] == "held-out")]
    if beside.empty:
        return "None of these data sets is in the paper: nothing to compare with."
    differs = []
    if set(beside["family"]) != {f"hub:{BERT}"}:
        differs.append(f"other families ({BERT} is pretrained)")
    if (beside["items"] > 0).any() or beside["tags"].map(lambda tags: "20k" in tags.get("infoscope.data", "")).any():
        differs.append("fewer training items (SNLI has 549,367 pairs)")
    if "mnli-dev" in set(beside["data"]):
        differs.append("of MultiNLI a part of its matched development set in place of its 392,702 training pairs")
    epochs = set(beside["epochs"].dropna())
    if epochs - {EPOCHS}:
        differs.append(f"epochs ({', '.join(f'{count:g}' for count in sorted(epochs))} for {EPOCHS})")
    if not differs:
        return "BERT-base: the published setting."
    return (
        f"BERT-base (published, whole training sets) is there for the order of data sets and inputs, not to compare "
        f"levels. What differs here: {'; '.join(differs)}."
    )


def floored(figures: pd.DataFrame) -> list[str]:
    """How many items needed the floor of probabilities."""
    share = figures["floored"] / figures["n"]
    row = figures.loc[share.idxmax()]
    if not row["floored"]:
        return []
    return [
        f"Floored at a probability of 1e-6: at most {share.max():.1%} of the items of a row "
        f"({NAMES[row['data']]}, {INPUTS[row['transformation']]}, {row['family']})."
    ]


def claims(runs: pd.DataFrame, figures: pd.DataFrame) -> Iterator[Claim]:
    """The order of data sets and of inputs, for every family that has both."""
    held_out = runs[runs["estimator"] == "held-out"]
    whole = figures[(figures["estimator"] == "held-out") & (figures["transformation"] == "std")]
    for (easier, harder), family in itertools.product(HARDER, dict.fromkeys(whole["family"])):
        own = whole[whole["family"] == family].set_index("data")
        if {easier, harder} <= set(own.index):
            first, second = own.loc[harder], own.loc[easier]
            error = math.hypot(first["v_information_bits_error"], second["v_information_bits_error"])
            difference = Figure(
                first["v_information_bits"] - second["v_information_bits"], error, int(first["n"] + second["n"]),
                int(min(first["runs"], second["runs"])),
            )  # fmt: skip
            yield less_than(
                f"{NAMES[harder]} has less information that {family} can use than {NAMES[easier]} (figure 1).",
                difference, "difference",
            )  # fmt: skip
    for (data, family), own in held_out.groupby(["data", "family"], sort=False):
        for less, more in (("hypothesis", "shuffled"), ("shuffled", "std"), ("premise", "hypothesis")):
            inputs = {name: own[own["transformation"] == name] for name in (less, more)}
            if all(map(len, inputs.values())):
                yield less_than(
                    f"{NAMES[data]}, {family}: {INPUTS[less]} carries less usable information than {INPUTS[more]}.",
                    paired(inputs[less], inputs[more]), "paired difference",
                )  # fmt: skip


def difficulty_densities(tables: dict[str, pd.DataFrame], family: str, *paths: Path) -> None:
    """Figure 1: the density of PVI in every data set (Scott's rule), dotted means."""
    with sheet(paths, size=(6.5, 4.0)) as ((axis,),):
        for name, table in tables.items():
            bits, colour = table["pvi_bits"].to_numpy(), mark("data", name).color
            grid = np.linspace(hardest_shown(table["pvi_bits"]), bits.max() + 0.5, 400)
            axis.plot(grid, gaussian_kde(bits)(grid), color=colour, label=f"{NAMES[name]} ({len(bits):,})")
            axis.axvline(bits.mean(), linestyle=":", color=colour)
        axis.set(xlabel=f"PVI (bits), {family}; but for the hardest {100 * TAIL:g} %", ylabel="density",
                 title="Difficulty of items; dotted: the means")  # fmt: skip


def explained(runs: pd.DataFrame, words: Sequence[str]) -> list[Result]:
    """Table 7, examples of the transformations; and the token artefacts. words: the end of their captions."""
    measured = of_study(runs, "difficulty", estimator="held-out")
    with_text = measured[~measured["data"].str.startswith("imdb-")]
    found = [examples(with_text, [described(with_text), *words])] if len(with_text) else []
    marked = measured[measured["artefacts"] > 0]
    if "artefact_texts" in marked and marked["artefact_texts"].notna().any():
        marked = marked[marked["artefact_texts"].notna()]
        found.append(artefacts(marked, [described(marked), *words]))
    return found


def examples(runs: pd.DataFrame, words: Sequence[str]) -> Result:
    """Table 7: what every transformation leaves of one item of each data set, the first that all of them measured."""
    rows = []
    for data, of_data in runs.groupby("data", sort=False):
        own = of_data.drop_duplicates("transformation").set_index("transformation")["run_id"]
        tables = {name: items(own[name]) for name in INPUTS if name in own}
        first = next(iter(tables.values()))
        shared = set.intersection(*(set(table["id"]) for table in tables.values()))
        if not shared:
            continue
        chosen = next(item for item in first["id"] if item in shared)
        for name, table in tables.items():
            row = table[table["id"] == chosen].iloc[0]
            rows.append({"data": data, "transformation": name, "label": row["label"], "text": row["text"]})
    figures = pd.DataFrame(rows, columns=["data", "transformation", "label", "text"])
    text = pd.DataFrame(
        {
            "data": figures["data"].map(NAMES),
            "input": figures["transformation"].map(INPUTS),
            "class": figures["label"],
            "text": figures["text"].map(shortened),
        }
    )
    caption = (
        f"{figures['transformation'].nunique()} transformations of one item of each data set (examples: no error).\n"
        "What each transformation leaves of an item; the information of what is left is that of a family fitted to it."
    )
    return Result("transformations", figures, text, "\n".join([caption, *words]), quotes=True)


def artefacts(runs: pd.DataFrame, words: Sequence[str]) -> Result:
    """The tokens that help most, by class."""
    rows = []
    for _, run in runs.drop_duplicates(["data", "family"]).iterrows():
        table = tracking.table(run["run_id"], "artefacts")
        for label, own in table.groupby("label", sort=False):
            best = own[own["occurrences"] >= FREQUENT].nlargest(TOKENS, "mean_bits")
            rows.append(best.assign(data=run["data"], family=run["family"], input=run["transformation"], label=label))
    figures = pd.concat(rows, ignore_index=True)
    bits = plus_minus_column(figures.rename(columns={"standard_error_bits": "mean_bits_error"}), "mean_bits", "-")
    shown = figures.assign(
        tokens=[f"{token} {said} ({count})" for token, said, count in zip(figures["token"], bits,
                                                                        figures["occurrences"])],
        data=figures["data"].map(NAMES),
        input=figures["input"].map(INPUTS),
    )  # fmt: skip
    text = shown.groupby(["data", "input", "family", "label"], sort=False)["tokens"].agg("; ".join).reset_index()
    most = figures["mean_bits"].idxmax()
    caption = [
        f"{figures.loc[most, 'token']} helps most, to predict {figures.loc[most, 'label']}: {bits[most]} bits.",
        f"The {TOKENS} tokens that help most to predict each class: H(y | x without the token) - H(y | x), bits, ± its "
        f"standard error over texts (and occurrences), of tokens that occur {FREQUENT} times or more in the class, in "
        f"{', '.join(f'{count:,.0f}' for count in sorted(set(runs['artefact_texts'])))} held-out texts. Tokens are "
        "words, and signs of punctuation apart from them, as published (the tokenizers' Whitespace). Members are not "
        "fitted again. The largest of many: a token that leads by its error only may lead by luck.",
        *words,
    ]
    return Result("artefacts", figures, text.rename(columns={"label": "class"}), caption)


def epochs(runs: pd.DataFrame, words: Sequence[str]) -> list[Result]:
    """Figure 2: V-information and accuracy after every epoch; nothing where it was not run."""
    if runs.empty:
        return []
    curves = [tracking.table(run["run_id"], "epochs").assign(data=run["data"], family=run["family"], seed=run["seed"])
              for _, run in runs.iterrows()]  # fmt: skip
    rows = []
    for (data, family, epoch), own in pd.concat(curves).groupby(["data", "family", "epoch"], sort=False):
        bits = over_seeds(own["v_information_bits"], own["standard_error_bits"], int(own["n"].iloc[0]))
        spread = np.sqrt(own["accuracy"] * (1 - own["accuracy"]) / own["n"])  # that of a share: groups change it little
        right = over_seeds(own["accuracy"], spread, bits.n)
        rows.append(
            {"data": data, "family": family, "epoch": int(epoch), "v_information_bits": bits.value,
             "v_information_bits_error": bits.error, "accuracy": right.value, "accuracy_error": right.error,
             "training_loss": own["training_loss"].mean(), "H_yb": own["H_yb"].mean(), "n": bits.n, "runs": bits.seeds}
        )  # fmt: skip
    figures = pd.DataFrame(rows)
    text = figures[["data", "family", "epoch"]].assign(
        data=figures["data"].map(NAMES),
        **{
            "V-information": plus_minus_column(figures, "v_information_bits"),
            "accuracy": plus_minus_column(figures, "accuracy"),
            "training loss (bits)": (figures["training_loss"] / NATS_PER_BIT).map("{:.3f}".format),
        },
    )
    ends = figures.groupby(["data", "family"], sort=False).tail(1)
    last = zip(ends["data"].map(NAMES), ends["family"], plus_minus_column(ends, "v_information_bits"))
    caption = [
        f"After the last epoch: {', '.join(f'{data} {family} {bits} bits' for data, family, bits in last)}.",
        "V-information (bits) and accuracy of held-out items after every epoch of one training, ± standard error over "
        "items and, of several trainings, over these. Its learning rate falls to 0 over all epochs, so that an early "
        "one is not the same as a training of so many. The claims take the best epoch by these figures, which favours "
        "a fall. The figure has BERT-base's as published (dashed; whole training sets, not comparable in level).",
        described(runs),
        *words,
    ]
    found = [claim for group in curve_groups(figures) for claim in falls(*group)]
    return [Result("epochs", figures, text, caption, functools.partial(draw_epochs, figures), found)]


def curve_groups(figures: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Every curve with its name."""
    groups = figures.groupby(["data", "family"], sort=False)
    return [(f"{NAMES[data]}, {family}", own) for (data, family), own in groups]


def falls(name: str, curve: pd.DataFrame) -> list[Claim]:
    """Whether V-information ends below its best epoch, and whether it loses a larger part than accuracy does."""
    best, last = curve.loc[curve["v_information_bits"].idxmax()], curve.iloc[-1]
    statement = f"{name}: V-information falls again with over-fitting (figure 2)."
    if best["epoch"] == last["epoch"]:
        return [Claim(statement, "contradicted", f"it is largest after the last of {last['epoch']} epochs.")]
    lost, errors = {}, {}
    for column in ("v_information_bits", "accuracy"):
        lost[column] = last[column] - best[column]
        errors[column] = float(np.hypot(best[f"{column}_error"], last[f"{column}_error"]))
    fall = Figure(lost["v_information_bits"], errors["v_information_bits"], int(last["n"]), int(last["runs"]))
    share = lost["v_information_bits"] / last["H_yb"]
    margin = Z95 * float(np.hypot(errors["v_information_bits"] / last["H_yb"], errors["accuracy"]))
    difference = share - lost["accuracy"]
    said = (
        f"from epoch {best['epoch']} to {last['epoch']} V-information changes by {share:+.1%} of H(Y), accuracy by "
        f"{lost['accuracy']:+.1%} of the items; 95 % interval of the difference {difference - margin:+.1%} to "
        f"{difference + margin:+.1%}."
    )
    return [
        less_than(statement, fall, f"from epoch {best['epoch']} to {last['epoch']}"),
        Claim(f"{name}: V-information is more sensitive to over-fitting than accuracy (figure 2).",
              verdict(difference - margin, difference + margin), said),
    ]  # fmt: skip


def draw_epochs(figures: pd.DataFrame, *paths: Path) -> None:
    """Figure 2: V-information above, accuracy below."""
    papers = published("vinfo")
    papers = papers[(papers["model"] == BERT) & papers["epochs"].notna()]
    titles = {"v_information_bits": "V-information (bits)", "accuracy": "accuracy"}
    with sheet(paths, 2, 1, (6.0, 6.0), legend_at="outside lower center", ncols=2) as axes:
        for axis, (column, title) in zip(axes[:, 0], titles.items()):
            for name, curve in curve_groups(figures):
                data, family = curve["data"].iloc[0], curve["family"].iloc[0]
                colour = mark("data", data).color  # and the marker is the family's
                axis.errorbar(curve["epoch"], curve[column], Z95 * curve[f"{column}_error"], capsize=2, color=colour,
                              marker=mark("family", family).marker, label=name)  # fmt: skip
                paper = papers[papers["dataset"] == data].sort_values("epochs")
                if len(paper):
                    axis.plot(paper["epochs"], paper[column], "--", color=colour, marker="x",
                              label=f"{NAMES[data]}, BERT-base (published)")  # fmt: skip
            axis.set(xlabel="epoch", xticks=sorted(set(figures["epoch"])), ylabel=title)
        axes[0][0].axhline(0, color="grey", linewidth=0.8)
        axes[0][0].set_title("with 95 % intervals", fontsize="medium")


ANALYSIS = Analysis(
    "dataset-difficulty", analyse, [option("family", help="whose items are shown (default: the one that can use most)")]
)
