"""Figure 4 on made-up runs: which runs are in which panel, and the thresholds in both directions."""

import itertools
import math

import pandas as pd
import pytest

from analysis.information_sources import ANALYSIS, AS_PUBLISHED, reliable_up_to
from analysis.report import save

ARGUMENTS = ANALYSIS.arguments([])
NUMBERS = (1, 4, 16, 100)


def cells(numbers=NUMBERS, bounds=("dv", "smile-inf"), seeds=(0, 1, 2), domains=("gaussian", "images", "text")):
    for domain, number, bound, seed in itertools.product(domains, numbers, bounds, seeds):
        truths = {1.0, number / 2, float(number)} | ({number / math.log(2)} if domain == "gaussian" else set())
        for bits in sorted(truths):
            yield dict(
                domain=domain, sources=number, bound=bound, seed=seed, schedule_bits=[bits], size=60, steps=20000
            )


def up_to(limits):
    """Estimates that are right up to a domain's number of sources and half of the truth beyond it."""
    return lambda cell, bits: ((0.97 if cell["sources"] <= limits[cell["domain"]] else 0.5) * bits, 0.1)


AS_THE_PAPER_SAYS = up_to({"gaussian": 4, "images": 36, "text": 64})


def test_panels_ask_the_same_of_every_domain_but_the_published_one(made_up):
    figures = ANALYSIS.analyse(made_up(cells()), ARGUMENTS)[0].figures
    for panel, rows in figures.groupby("panel"):
        truths = rows.groupby("domain").apply(lambda part: tuple(zip(part["sources"], part["true_bits"].round(6))))
        assert (truths.nunique() == 1) == (panel != AS_PUBLISHED)
    published = figures[(figures["panel"] == AS_PUBLISHED) & (figures["sources"] == 16)]
    truth = published.groupby("domain")["true_bits"].first()
    assert truth.to_dict() == {"gaussian": pytest.approx(23.0831, abs=1e-4), "images": 1.0, "text": 16.0}


def of_panel(found, panel, start=""):
    return {text: verdict for text, verdict in found.items() if panel in text and text.startswith(start)}


def test_thresholds_as_published_hold_where_the_figures_say_so(made_up, verdicts):
    found = verdicts(ANALYSIS.analyse(made_up(cells(), AS_THE_PAPER_SAYS), ARGUMENTS))
    for panel in (AS_PUBLISHED, "1 bit in all", "1 bit per source"):
        thresholds = of_panel(found, panel, "Estimates become")
        assert thresholds[f"Estimates become unreliable beyond about 4 sources: gaussian, {panel}."] == "holds"
        # from 72 and 128 sources on: text cannot be judged by 100
        assert thresholds[f"Estimates become unreliable beyond about 36 sources: images, {panel}."] == "holds"
        assert thresholds[f"Estimates become unreliable beyond about 64 sources: text, {panel}."] == "undecided"


def test_thresholds_that_are_elsewhere_do_not_hold(made_up, verdicts):
    runs = made_up(cells(), up_to({"gaussian": 100, "images": 1, "text": 1}))
    found = verdicts(ANALYSIS.analyse(runs, ARGUMENTS))
    assert set(of_panel(found, "", "Estimates become").values()) == {"does not hold"}


def test_the_number_of_sources_allowed_is_where_the_error_crosses_the_limit():
    errors = pd.DataFrame(
        [[0.1, 0.15, 0.35], [0.1, 0.2, math.inf], [0.1, 0.1, 0.2], [0.3, 0.1, 0.1]], columns=[1, 4, 16]
    )
    assert errors.apply(reliable_up_to, axis=1).tolist() == pytest.approx([3.0, 2.0, 4.0, 0.0])


@pytest.mark.parametrize(("limits", "verdict"), [
    ({"gaussian": 4, "images": 36, "text": 64}, "holds"),
    ({"gaussian": 100, "images": 4, "text": 4}, "does not hold"),
])  # fmt: skip
def test_unstructured_data_against_gaussian_pairs(made_up, verdicts, limits, verdict):
    found = verdicts(ANALYSIS.analyse(made_up(cells(), up_to(limits)), ARGUMENTS))
    asked = {text: said for text, said in found.items() if "allow more sources" in text}
    assert len(asked) == 2 * 4 and set(asked.values()) == {verdict}
    assert sum("which differ" in text for text in asked) == 2


def test_diverged_estimates_are_unreliable(made_up, verdicts, tmp_path):
    def diverging(cell, bits):
        return (math.nan, math.nan) if cell["sources"] > 4 else (0.97 * bits, 0.1)

    results = ANALYSIS.analyse(made_up(cells(domains=("gaussian",)), diverging), ARGUMENTS)
    found = verdicts(results)
    assert set(of_panel(found, "", "Estimates become").values()) == {"holds"} and len(found) == 4
    assert any("100: diverged" in claim.evidence for claim in results[0].claims)
    assert len(save(results[0], tmp_path / "sources")) == 3 and len(save(results[1], tmp_path / "unseen")) == 2


def test_js_has_no_say(made_up, verdicts):
    runs = made_up(cells(bounds=("js", "dv"), domains=("gaussian",)), lambda cell, bits: (
        (0.1 if cell["bound"] == "js" else 0.97 if cell["sources"] <= 4 else 0.5) * bits, 0.1
    ))  # fmt: skip
    assert set(verdicts(ANALYSIS.analyse(runs, ARGUMENTS)).values()) == {"holds"}
