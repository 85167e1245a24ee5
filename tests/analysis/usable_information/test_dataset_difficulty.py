"""The tables of difficulty on made-up runs, whose items have a PVI that is known."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from pytest import approx

from analysis.common.tables import save
from analysis.usable_information import dataset_difficulty
from analysis.usable_information._runs import over_seeds, paired, shown_family
from infoscope.metrics.v_information.pvi import threshold_window
from tests.analysis.pictures import drawn, numbers
from tests.analysis.runs import RUN, analysed, named

ANALYSIS = dataset_difficulty.ANALYSIS
CLASSES = ("contradiction", "entailment", "neutral")
LEVELS = {"std": 1.1, "shuffled": 1.0, "hypothesis": 0.5}  # mean PVI, bits
MEANS = {"v_information_bits": "pvi_bits", "null_entropy_bits": "H_yb",
         "conditional_entropy_bits": "H_yxb", "accuracy": "correct"}  # fmt: skip
# what the levels are multiplied by, in thirds
SIZES = {"snli": 3.0, "mnli-dev": 2.0, "cola": 1.0}


def items_of(data, transformation, seed, n=300):
    """Items in groups of three; predictions as the window of three even classes allows
    them, or of two.
    """
    draws = default_rng([seed, *data.encode(), *transformation.encode()])
    labels = CLASSES if data != "cola" else ("acceptable", "unacceptable")
    place = np.arange(n)
    label = np.array(labels)[place % len(labels)]
    hardness = default_rng(1).normal(size=n)  # the same for all inputs
    entropy = math.log2(len(labels))
    bits = (
        LEVELS[transformation] * SIZES[data] / 3
        + 0.3 * hardness
        + 0.02 * draws.normal(size=n)
    )
    bits = np.minimum(bits, entropy)
    low, high = threshold_window(entropy, len(labels))
    predicted = dict(
        label=label,
        predicted=label,
        pvi_bits=bits,
        H_yb=entropy,
        H_yxb=entropy - bits,
        fold=0,
    )
    text = [f"{transformation} text {i}" for i in place]
    about = dict(
        id=place.astype(str), group=place // 3, text=text, length=4 + place % 9
    )
    table = pd.DataFrame(predicted | about | dict(correct=bits > (low + high) / 2))
    if data != "cola":
        return table.assign(overlap=place // 3 % 14, overlap_share=0.5)
    return table


def figures_of(table):
    """What a run records of its items."""
    figures = {name: table[column].mean() for name, column in MEANS.items()}
    errors = {f"{name}_error": 0.02 for name in MEANS}
    of_all = dict(
        expected_calibration_error=0.05,
        best_temperature=1.2,
        floored_items=3.0,
        n=300,
        groups=100,
    )
    return figures | errors | of_all


@pytest.fixture
def store(monkeypatch):
    """Runs of both studies, and the tables behind them."""
    rows = []
    tables = {}

    def add(**cell):
        run = f"run-{len(rows)}"
        row = {"study": "difficulty", "transformation": "std", "family": "small-bert", "estimator": "held-out",
               "seed": 0, "items": 0, "epochs": 3, "artefacts": 0, "training_items": 900}  # fmt: skip
        later = {"run_id": run, "start": RUN["start"] + pd.Timedelta(len(rows), "s")}
        rows.append(RUN | row | later | cell)
        return run

    for data in SIZES:
        for kind in LEVELS if data != "cola" else ("std", "shuffled"):
            for seed in (0, 1):
                table = items_of(data, kind, seed)
                explained = (
                    {"artefacts": 50, "artefact_texts": 50.0}
                    if kind == "hypothesis"
                    else {}
                )
                run = add(
                    data=data,
                    transformation=kind,
                    seed=seed,
                    **figures_of(table),
                    **explained,
                )
                tables[run, "items"] = table
                tables[run, "artefacts"] = pd.DataFrame(
                    {"token": ["nobody", "rare", "the"], "code": 0, "mean_bits": [0.9, 2.0, 0.1], "label": CLASSES[0],
                     "standard_error_bits": 0.1, "occurrences": [20, 2, 40], "texts": [20, 2, 40]}
                )  # fmt: skip
    run = add(study="epochs", data="snli", epochs=10)
    tables[run, "epochs"] = pd.DataFrame(
        {"epoch": [1, 2, 3], "training_loss": [1.0, 0.7, 0.3], "v_information_bits": [0.4, 0.5, 0.2],
         "standard_error_bits": 0.01, "H_yb": 1.58, "H_yxb": 1.1, "accuracy": [0.6, 0.65, 0.66], "n": 9000}
    )  # fmt: skip
    monkeypatch.setattr(
        "infoscope.tracking.table", lambda run, name: tables[run, name].copy()
    )
    return pd.DataFrame(rows), tables


def results_of(runs):
    return named(analysed(ANALYSIS, runs))


@pytest.fixture
def information(store):
    return results_of(store[0])["information"]


def test_every_table_and_figure_is_there_and_can_be_saved(store, tmp_path):
    results = results_of(store[0])
    tables = ["hardest", "transformations", "artefacts"]
    assert list(results) == [
        "information",
        "right-and-wrong",
        "overlap",
        *tables,
        "epochs",
    ]
    assert drawn(save(results["right-and-wrong"], tmp_path / "right-and-wrong"))
    for result in results.values():
        assert (result.draw is None) == (result.name in tables)
        for value in result.text.to_numpy().ravel():
            assert "nan" not in str(value), result.name


def test_means_over_seeds_have_the_error_of_items_and_of_trainings(information):
    figures = information.figures.set_index(["data", "transformation"])
    row = figures.loc["snli", "std"]
    values = [items_of("snli", "std", seed)["pvi_bits"].mean() for seed in (0, 1)]
    assert row["v_information_bits"] == approx(np.mean(values))
    assert row["runs"] == 2
    spread = np.std(values, ddof=1) / math.sqrt(2)
    assert row["v_information_bits_error"] == approx(math.hypot(0.02, spread))
    assert over_seeds([0.3], [0.04], 10) == (0.3, 0.04, 10, 1)


def test_published_figures_stand_beside(information):
    figures = information.figures.set_index(["data", "transformation"])["paper_bits"]
    published = {
        ("snli", "std"): 1.1873,
        ("snli", "hypothesis"): 0.5704,
        ("cola", "std"): 0.339,
    }
    for place, bits in published.items():
        assert figures[place] == approx(bits)
    assert "epochs (3 for 2)" in information.caption  # said not to compare


def test_claims_follow_from_the_figures(store, verdicts):
    claims = verdicts(results_of(store[0]).values())
    for words in (
        "hypothesis only carries",
        "shuffled carries",
        "falls again",
        "than accuracy",
    ):
        assert claims.of("SNLI", words) == {"confirmed"}, words
    assert (
        claims.of("MultiNLI", "than SNLI")
        == {"confirmed"}
        == claims.of("from arithmetic")
    )


def test_an_item_that_arithmetic_forbids_is_found(store):
    runs, tables = store
    table = tables["run-0", "items"]
    table.loc[0, ["pvi_bits", "correct"]] = [-1.0, True]
    (claim, *_) = results_of(runs)["right-and-wrong"].claims
    assert claim.verdict == "contradicted"
    assert numbers(claim.evidence)[0] == 1


def test_the_hardest_come_first_and_rare_tokens_are_not_shown(store):
    results = results_of(store[0])
    hardest = results["hardest"].figures
    pvi = hardest[hardest["data"] == "snli"]["pvi_bits"]
    assert len(pvi) == 10
    assert pvi.is_monotonic_increasing
    assert pvi.iloc[0] == items_of("snli", "std", 0)["pvi_bits"].min()
    assert set(results["artefacts"].figures["token"]) == {"nobody", "the"}
    examples = results["transformations"].figures
    assert set(examples[examples["data"] == "snli"]["transformation"]) == set(LEVELS)


def test_differences_are_paired_by_item(store):
    runs, _ = store
    snli = runs[(runs["data"] == "snli") & (runs["study"] == "difficulty")]
    inputs = [snli[snli["transformation"] == kind] for kind in ("hypothesis", "std")]
    difference = paired(*inputs)
    assert difference.value == approx(-0.6, abs=0.02)
    assert difference.n == 300
    assert difference.seeds == 2
    assert difference.error < 0.01  # the items' hardness, 0.3 bits, is the same in both
    assert paired(inputs[0], inputs[1][:0]) is None


def test_data_are_ordered_by_the_share_of_their_entropy(store):
    """MultiNLI has fewer bits than SNLI, here of a smaller entropy."""
    runs, _ = store
    figures = results_of(runs)["information"].figures
    figures = figures[
        (figures["transformation"] == "std") & (figures["data"] != "cola")
    ]
    figures.loc[figures["data"] == "mnli-dev", "H_yb"] = 0.75
    vectors = figures.iloc[:1].assign(data="imdb-bert")
    figures = pd.concat([figures, vectors])
    text = dataset_difficulty.hardest_first(figures, runs)
    assert text.index("SNLI 6") < text.index("MultiNLI")
    assert "IMDB" not in text
    only = dataset_difficulty.hardest_first(vectors, runs)
    assert "only vectors" in only


@pytest.mark.parametrize("gain, families", [(0.0, ["a", "b"]), (0.2, ["a"])])
def test_families_are_level_where_their_paired_difference_is(store, gain, families):
    _, tables = store
    other = tables["run-0", "items"].copy()
    other["pvi_bits"] += 0.1 * np.random.default_rng(0).normal(size=len(other)) - gain
    tables["other", "items"] = other
    cell = {"study": "difficulty", "data": "snli", "transformation": "std",
            "estimator": "held-out", "seed": 0}  # fmt: skip
    rows = [cell | {"family": "a", "run_id": "run-0"}]
    rows.append(cell | {"family": "b", "run_id": "other"})
    measured = pd.DataFrame(rows)
    assert dataset_difficulty.level_families(measured, "snli", "a") == families


def test_without_held_out_runs_no_family_is_shown():
    runs = pd.DataFrame(columns=["data", "family", "v_information_bits"])
    with pytest.raises(LookupError, match="held-out items"):
        shown_family(runs, None)
