"""What a report says of given values: which blocks leak, where information is, the
picture and the page.
"""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx

from infoscope.estimators.result import Estimate
from infoscope.metrics.representation.reporting import sharing
from infoscope.metrics.representation.result import (
    ALL,
    DOMAIN,
    TARGET,
    RepresentationReport,
    Row,
)
from infoscope.metrics.v_information.usable import Local

BIT = math.log(2)


def row_of(block, target, bits, columns):
    estimate = Estimate(bits * BIT, interval=((bits - 0.05) * BIT, (bits + 0.05) * BIT))
    return Row(
        block=block,
        columns=columns,
        target=target,
        role=DOMAIN if target == DOMAIN else TARGET,
        classes=2,
        richer=estimate,
        linear=estimate,
        reading=estimate,
        ceiling=Estimate(BIT),
        sharing={},
    )


def report_of(bits, label="", wide=()):
    """A report of these bits, ± 0.05, by block and target; the domain is called site."""
    rows = []
    most = {}
    for block, values in bits.items():
        for target, value in values.items():
            columns = 3 if block in wide else 1
            rows.append(row_of(block, target, value, columns))
            most[target] = max(value, most.get(target, 0.0))
    widths = {row.block: row.columns for row in rows}
    for target, value in most.items():
        rows.append(row_of(ALL, target, value, 1))
    return RepresentationReport(
        widths, 100, 100, rows, pd.DataFrame(), None, {}, label=label, domain="site"
    )


def of(digit, domain):
    return {"digit": digit, DOMAIN: domain}


TWO_TARGETS = {
    "h0": {"digit": 0.9, "place": 0.4},
    "h1": {"digit": 0.0, "place": 0.9},
}


@pytest.mark.parametrize(
    ("bits", "wide", "leaks"),
    [
        ({"z_y": of(0.9, 0.0), "z_d": of(0.5, 0.8)}, (), "z_d digit"),
        (
            {"z_y": of(0.9, 0.3), "z_x": of(0.2, 0.1)},
            (),
            "z_y site, z_x digit, z_x site",
        ),
        ({"z_y": of(0.9, 0.0), "z_dy": of(0.5, 0.5)}, (), ""),
        ({"zy": of(0.9, 0.4), "zd": of(0.0, 0.9)}, (), "zy site"),
        ({"z_d0": of(0.0, 0.9)}, (), ""),
        ({"z_digit": of(0.9, 0.0), "z_depth": of(0.3, 0.8)}, (), "z_depth site"),
        ({"h0": of(0.9, 0.0), "h1": of(0.0, 0.8)}, (), "h1 site"),
        ({"h0": of(0.9, 0.0), "h1": of(0.0, 0.8)}, ("h1",), ""),
        ({"h0": of(0.9, 0.0), "h1": of(0.3, 0.8)}, ("h1",), "h1 site"),
        (TWO_TARGETS, (), "h0 place"),
    ],
)
def test_blocks_leak_what_they_are_not_meant_for(bits, wide, leaks):
    """By their names, and by what other blocks carry more of; the largest leak comes
    first.
    """
    has_label = any(block.startswith("z") for block in bits)
    sentences = report_of(bits, "digit" if has_label else "", wide).leaks
    first = sentences[0] if sentences else ""
    pairs = re.findall(r"(\w+) also carries [^;]* about (\w+)", first)
    assert ", ".join(f"{block} {variable}" for block, variable in pairs) == leaks
    assert (len(sentences) > 1) == bool(leaks)  # what to do about it


def test_the_answers_say_where_the_information_is():
    blocks = {"copy": of(0.9, 0.0), "part": of(0.4, 0.6), "noise": of(0.0, 0.0)}
    leak, remedy, about_digit, about_site = report_of(blocks, "digit").answers
    assert leak.startswith("Leak: part")
    assert "or drop part." in remedy
    assert "0.90 of 1.00 bits (95 %: 0.85 to 0.95) in copy." in about_digit
    assert "Also in part 0.40" in about_digit
    assert about_site.startswith("site:")
    nothing = report_of({"a": of(0.0, 0.0)})
    assert "none is detected" in nothing.answers[-1]


def test_the_picture_has_the_shares_of_every_block():
    report = report_of({"a": of(0.9, 0.2), "b": of(0.4, 0.6)})
    image = report.plot(Figure().subplots()).images[0]
    assert_allclose(image.get_array(), [[0.9, 0.2], [0.4, 0.6], [0.9, 0.6]])
    assert image.get_clim() == (0.0, 1.0)


@pytest.mark.parametrize("crossed", [True, False])
def test_crossed_bounds_have_a_note_with_a_code(crossed):
    """Two blocks together seem to have less information than each of them."""
    rng = default_rng(10)
    good = rng.normal(0.3, 1, 900)
    noisy = rng.normal(-0.5, 1, 900)
    ratio_of_both = noisy if crossed else good
    part = Local(good, good)
    both = Local(ratio_of_both, ratio_of_both)
    rows = np.arange(900)
    terms = sharing(part, part, both, rows % 4, rows)
    assert terms["redundant"] == approx(good.mean())
    assert terms["unique"] == approx(0.0)
    row = row_of("a", "digit", 0.9, 1)
    row = replace(row, sharing=terms)
    bounds = [entry for entry in row.record("digit") if entry.what == "unique_low"]
    assert bounds[0].codes == ["crossed bounds"] * crossed
