"""The command on a person's own representation: a page, tables, a heat map and one run;
or a sentence and nothing.
"""

import numpy as np
import pandas as pd
import pytest

from analysis import represent
from analysis.common.own_data import read_representation
from tests.analysis.commands import assert_refused, recorded, status_of, written


@pytest.fixture
def here(empty_folder):
    rng = np.random.default_rng(0)
    y, d = rng.integers(0, 2, (2, 160))
    frame = pd.DataFrame(
        {"z_y_0": y + 0.3 * rng.normal(size=160), "z_y_1": rng.normal(size=160)}
    )
    frame = frame.assign(
        z_d_0=d + 0.3 * rng.normal(size=160), size=frame["z_y_1"] + rng.normal(size=160)
    )
    frame["class"] = np.where(y, "dog", "cat")
    frame["site"] = np.where(d, "north", "south")
    frame["photo"] = [f"p{place}.png" for place in range(160)]
    frame.to_csv("own.csv", index=False)
    frame.assign(same="dog").to_csv("same.csv", index=False)
    np.savez(
        "own.npz",
        a=frame[["z_y_0", "z_y_1"]].to_numpy(),
        b=frame["z_d_0"].to_numpy(),
        y=y,
    )
    return empty_folder


def test_a_page_tables_a_heat_map_and_one_run(here, capsys):
    words = "--data own.csv --x z_y*,z_d* --targets class,size --domain site"
    assert status_of(represent.COMMAND, f"{words} --rows 60") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("No leak is detected: ")
    assert "\nclass: " in printed
    assert "\nsite: " in printed
    figures = written("represent-own", ".png", ".pdf", ".html").set_index(
        ["what", "block", "target"]
    )
    run = recorded("represent")
    assert run.data.params["x"] == "z_y,z_d"
    assert run.data.params["n"] == "160"
    assert run.info.run_name == "own.csv: z_y, z_d -> class, size"
    assert run.data.params["rows"] == "60"
    bits = run.data.metrics["z_y/class/richer_bits"]
    assert bits == pytest.approx(figures.loc[("richer", "z_y", "class"), "value"])
    assert 0.3 < bits < 1.05


def test_the_leak_of_a_column_is_named_and_the_advice_is_a_command(here, capsys):
    """z_y_1 carries the site and nothing of the class, of which z_y_0 carries most."""
    frame = pd.read_csv("own.csv")
    frame["z_y_1"] += 3.0 * (frame["site"] == "north")
    frame.to_csv("leak.csv", index=False)
    words = "--data leak.csv --x z_y*,z_d* --targets class --domain site --rows 60"
    assert status_of(represent.COMMAND, f"{words} --each") == 0
    leak, remedy, *_ = capsys.readouterr().out.splitlines()
    assert leak.startswith("Leak: z_y_1 also carries ")
    assert "drop z_y_1" in remedy
    assert status_of(represent.COMMAND, words) == 0
    leak, remedy, *_ = capsys.readouterr().out.splitlines()
    assert leak.startswith("Leak: z_y also carries ")
    assert "ARGS=--each" in remedy


def test_what_was_asked_for_and_cannot_be_said_fails_with_the_rest_written(
    here, capsys
):
    words = "--data same.csv --x z_y* --targets class --domain same --rows 60"
    assert status_of(represent.COMMAND, words) == 1
    printed, errors = capsys.readouterr()
    assert "error: nothing was measured about domain" in errors
    assert printed.startswith("Not measured: same")
    assert "\nclass: " in printed
    written("represent-same", ".html")


def test_blocks_by_prefix_array_or_column(here):
    path = here / "own.csv"
    named = {"targets": ["class"], "domain": "site"}
    assert list(read_representation(path, ["z_y_*", "z_d_0"], **named).blocks) == [
        "z_y",
        "x",
    ]
    assert list(read_representation(path, ["z*"], **named, each=True).blocks) == [
        "z_y_0",
        "z_y_1",
        "z_d_0",
    ]
    pd.read_csv(path).drop(columns="photo").to_csv("numbers.csv", index=False)
    left = read_representation(here / "numbers.csv", [], **named).blocks
    assert {name: block.shape for name, block in left.items()} == {"x": (160, 4)}
    arrays = here / "own.npz"
    assert list(read_representation(arrays, [], ["y"]).blocks) == ["a", "b"]
    assert list(read_representation(arrays, [], ["y"], each=True).blocks) == [
        "a 0",
        "a 1",
        "b 0",
    ]


@pytest.mark.parametrize(
    "words, argument",
    [
        ("", "TARGETS"),
        ("--targets class", "X"),  # the site is text
        ("--targets same --x z*", "same: the target has only one class"),
    ],
)
def test_bad_input_writes_nothing(here, capsys, words, argument):
    assert_refused(represent.COMMAND, f"--data same.csv {words}", argument, capsys)
