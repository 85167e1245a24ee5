"""Tables over runs: means, errors, published figures, and what is written to disk."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from mlflow.exceptions import MlflowException

from analysis.common import tables
from analysis.common.published import published
from analysis.common.tables import Result, level_with, plus_minus, save, summarise
from infoscope import tracking
from infoscope.command_line import run_command
from infoscope.tracking import Profile, Sweep, status
from infoscope.tracking.sweep import grid


def test_summary_is_mean_and_standard_error_over_runs_and_undefined_where_a_run_is():
    frame = pd.DataFrame(
        {"depth": [1, 1, 1, 2, 3, 3], "mse": [1.0, 2.0, 3.0, 5.0, 1.0, np.nan]}
    )
    summary = summarise(frame, ["depth"], ["mse"]).set_index("depth")
    assert summary.loc[1, "mse"] == 2.0
    assert summary.loc[1, "mse_error"] == pytest.approx(1 / math.sqrt(3))
    assert summary.loc[2, "runs"] == 1
    assert math.isnan(summary.loc[2, "mse_error"])
    assert math.isnan(summary.loc[3, "mse"])
    assert plus_minus(0.1234, 0.0101) == "0.123 ± 0.010"
    assert plus_minus(0.1234, math.nan) == "0.123"


@dataclass(frozen=True)
class Demo(Profile):
    depths: tuple[int, ...] = (1, 2)
    seeds: tuple[int, ...] = (0, 1)
    steps: int = 3


def recorded(monkeypatch, tmp_path):
    """A sweep of two depths and two seeds whose cells are all recorded; (keys of its
    runs by depth and seed).
    """
    monkeypatch.chdir(tmp_path)
    profile = Demo()
    sweep = Sweep("demo", lambda profile: grid(depth=[*profile.depths], seed=[*profile.seeds], steps=profile.steps),
                  print, {"smoke": profile}, axes=("depths", "seeds"))  # fmt: skip
    plan = sweep.plan(profile)
    frame = pd.DataFrame(
        [cell | {"key": key, "mse": float(cell["depth"])} for key, cell in plan.items()]
    )
    monkeypatch.setattr(status, "sweep_named", lambda name: sweep)
    monkeypatch.setattr(tracking, "runs", lambda experiment, label: frame)
    monkeypatch.setattr(tracking, "publish", lambda *arguments: "#/the/run")


def by_depth(runs, arguments):
    figures = summarise(runs, ["depth"], ["mse"])
    return [Result("mse", figures, figures, "By depth.", draw=draw)]


def test_a_table_of_some_cells_leaves_that_of_all_as_it_is(
    monkeypatch, tmp_path, capsys
):
    recorded(monkeypatch, tmp_path)
    command = tables.Analysis("demo", by_depth).command()
    assert run_command(command, ["--profile", "smoke"]) == 0
    folder = tmp_path / "runs" / "tables"
    whole = {path: path.read_bytes() for path in folder.iterdir()}
    assert (
        run_command(command, ["--profile", "smoke", "--set", "seeds=1 depths=2"]) == 0
    )
    assert {path: path.read_bytes() for path in whole} == whole
    part = {path.name for path in folder.iterdir()} - {path.name for path in whole}
    assert part == {
        path.name.replace("smoke", "smoke-depths-2-seeds-1") for path in whole
    }
    (csv,) = (folder / name for name in part if name.endswith(".csv"))
    assert pd.read_csv(csv, comment="#")[["depth", "runs"]].values.tolist() == [[2, 1]]


@pytest.mark.parametrize(
    "analyse",
    [
        lambda runs, _: runs.groupby("mes"),
        lambda runs, _: summarise(runs, ["depth"], ["mes"]),
    ],
)
def test_a_misspelt_metric_is_one_sentence_with_the_metrics(
    monkeypatch, tmp_path, capsys, analyse
):
    recorded(monkeypatch, tmp_path)
    assert (
        run_command(tables.Analysis("demo", analyse).command(), ["--profile", "smoke"])
        == 2
    )
    said = capsys.readouterr().err
    assert "'mes'" in said
    assert "mse" in said.split("'mes'")[1]
    assert said.count("\n") == 1


def test_the_published_table_is_internally_consistent():
    """MSE = bias² + variance, to the rounding of three printed decimals of each."""
    table = published("table2")
    assert len(table) == 15
    np.testing.assert_allclose(
        table["bias_bits"] ** 2 + table["variance_bits2"],
        table["mse_bits2"],
        atol=0.0016,
    )


def test_saved_files_carry_the_caption(tmp_path):
    figures = pd.DataFrame({"mse_bits2": [0.5]})
    text = pd.DataFrame({"MSE (bits²)": ["0.500 ± 0.100"]})
    result = Result("demo", figures, text, "First.\n95 % of_all", draw)
    saved = save(result, tmp_path / "tables" / "demo v1.5")
    assert saved.csv.read_text().startswith("# First.\n# 95 %")
    assert pd.read_csv(saved.csv, comment="#").equals(figures)
    assert r"$\pm$" in saved.tex.read_text()
    assert r"% 95 \% of\_all" in saved.tex.read_text()
    assert saved.png.read_bytes() == b"\x89PNG"
    assert saved.pdf.name == "demo v1.5.pdf"


def test_a_table_without_a_figure_has_no_picture(tmp_path):
    frame = pd.DataFrame({"a": [1]})
    saved = save(Result("demo", frame, frame, ""), tmp_path / "demo")
    assert saved.png is saved.pdf is None
    assert {*saved} == {*tmp_path.iterdir()}


def test_a_caption_in_latex_is_one_sentence_and_a_spreadsheet_is_given_no_formula(
    tmp_path,
):
    frame = pd.DataFrame(
        {
            "name": ["=cmd()", "-", "-0.5 or less", "plain"],
            "=column": [-1.5, 2.0, 3.0, 4.0],
        }
    )
    result = Result(
        "demo", frame, frame, "Bits, by e.g. KSG of A. Kraskov.\nA second sentence."
    )
    saved = save(result, tmp_path / "demo")
    assert r"\caption{Bits, by e.g. KSG of A. Kraskov.}" in saved.tex.read_text()
    assert saved.tex.read_text().startswith(
        "% Bits, by e.g. KSG of A. Kraskov.\n% A second sentence.\n"
    )
    lines = saved.csv.read_text().splitlines()[2:]
    assert lines == [
        "name,'=column",
        "'=cmd(),-1.5",
        "-,2.0",
        "'-0.5 or less,3.0",
        "plain,4.0",
    ]


def test_a_row_with_the_sign_of_comments_is_read_back(tmp_path):
    frame = pd.DataFrame({"item": ["item #3", "item 4"], "bits": [0.5, 0.25]})
    saved = save(Result("demo", frame, frame, "One."), tmp_path / "demo")
    assert pd.read_csv(saved.csv, comment="#").equals(frame)


def test_an_analysis_adds_what_it_prints_to_the_run_of_the_sweep(tmp_path, monkeypatch):
    """Files that are there, a page that shows what a store holds as text."""
    published = []

    def publish(experiment, profile, cells, tables, paths):
        for path in paths:
            assert path.is_file()
        published.append((experiment, profile, tables, {path.name for path in paths}))

    frame = pd.DataFrame({"a": [1.0]})
    result = Result(
        "mse", frame, pd.DataFrame({"a": ["<b>1</b>"]}), "Of <i>one</i> run.", draw=draw
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tracking, "runs", lambda experiment, profile: frame)
    monkeypatch.setattr(tracking, "publish", publish)
    demo = tables.Analysis("demo", lambda runs, arguments: [result]).command()
    assert run_command(demo, ["--profile", "smoke"]) == 0
    names = {f"demo-smoke-mse.{suffix}" for suffix in ("csv", "tex", "png", "pdf")} | {
        "demo-smoke-tables.html"
    }
    shown = [("mse", ["a"], [["<b>1</b>"]], "Of <i>one</i> run.")]
    assert published == [("demo", "smoke", shown, names)]
    page = (tmp_path / "runs" / "tables" / "demo-smoke-tables.html").read_text()
    assert "&lt;b&gt;1&lt;/b&gt;" in page
    assert "&lt;i&gt;one" in page
    assert page.count("data:image/png;base64,") == 1


def test_a_store_that_is_away_costs_a_sentence(tmp_path, monkeypatch, capsys):
    def away(*arguments):
        raise MlflowException("away\nfor long")

    frame = pd.DataFrame({"a": [1.0]})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tracking, "runs", lambda experiment, profile: frame)
    monkeypatch.setattr(tracking, "publish", away)
    demo = tables.Analysis(
        "demo", lambda runs, arguments: [Result("one", frame, frame, "")]
    ).command()
    assert run_command(demo, ["--profile", "smoke"]) == 0
    assert capsys.readouterr().err.endswith(": away\n")


def draw(*paths):
    for path in paths:
        path.write_bytes(b"\x89PNG" if path.suffix == ".png" else b"%PDF")


@pytest.mark.parametrize(
    "values, is_level",
    [
        ((0.9, 0.8, 0.85), True),  # itself
        ((0.7, 0.61, 0.65), False),
        ((0.6, 0.9, 0.8), True),
        ((0.1, math.nan, math.nan), True),  # one pair has no interval
        ((math.nan,) * 3, True),
    ],
)
def test_what_is_not_surely_below_the_best_is_level(values, is_level):
    best = pd.Series([0.9, 0.8, 0.85])
    others = pd.DataFrame({"other": values})
    assert (level_with(best, others) == ["other"]) == is_level
