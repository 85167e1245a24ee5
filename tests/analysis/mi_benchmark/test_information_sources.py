"""Figure 4 on made-up runs: which runs are in which panel, and the thresholds in both directions."""

import itertools
import math

import pandas as pd
import pytest

from analysis.common.tables import save
from analysis.mi_benchmark.information_sources import ANALYSIS, AS_PUBLISHED, reliable_up_to
from tests.analysis.pictures import drawn

ARGUMENTS = ANALYSIS.arguments([])
NUMBERS = (1, 4, 16, 100)


def cells(numbers=NUMBERS, bounds=("dv", "smile-inf"), seeds=(0, 1, 2), domains=("gaussian", "images", "text")):
    for domain, number, bound, seed in itertools.product(domains, numbers, bounds, seeds):
        truths = {1.0, number / 2, float(number)} | ({number / math.log(2)} if domain == "gaussian" else set())
        for bits in sorted(truths):
            yield dict(
                domain=domain, sources=number, bound=bound, seed=seed, schedule_bits=[bits], size=60, steps=20000
            )


def decoding(numbers=NUMBERS, domains=("images", "text")):
    """What decodes the labels of the same data, at every true MI of a number of sources."""
    for domain, number in itertools.product(domains, numbers):
        truths = sorted({1.0, number / 2, float(number)})
        rows = {"rows": math.isqrt(number)} if domain == "images" else {}
        yield dict(domain=domain, sources=number, kind="decoding", schedule_bits=truths, size=60) | rows


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
    found = verdicts(ANALYSIS.analyse(made_up([*cells(), *decoding()], AS_THE_PAPER_SAYS, decodes=0.99), ARGUMENTS))
    for panel in (AS_PUBLISHED, "1 bit in all", "1 bit per source"):
        thresholds = of_panel(found, panel, "Estimates become")
        begin = "Estimates become unreliable beyond about"
        assert thresholds[f"{begin} 4 sources: gaussian, {panel}, against the exact MI."] == "holds"
        # from 72 and 128 sources on: text cannot be judged by 100
        for truth in ("nominal", "decodable"):
            assert thresholds[f"{begin} 36 sources: images, {panel}, against the {truth} MI."] == "holds"
            assert thresholds[f"{begin} 64 sources: text, {panel}, against the {truth} MI."] == "undecided"
        assert len(thresholds) == 5


def test_thresholds_that_are_elsewhere_do_not_hold(made_up, verdicts):
    runs = made_up([*cells(), *decoding()], up_to({"gaussian": 100, "images": 1, "text": 1}), decodes=0.99)
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
    found = verdicts(ANALYSIS.analyse(made_up([*cells(), *decoding()], up_to(limits), decodes=0.99), ARGUMENTS))
    asked = {text: said for text, said in found.items() if "allow more sources" in text}
    assert len(asked) == 2 * 2 * 4 and set(asked.values()) == {verdict}
    assert sum("which differ" in text for text in asked) == 2 * 2


def test_diverged_estimates_are_unreliable(made_up, verdicts, tmp_path):
    def diverging(cell, bits):
        return (math.nan, math.nan) if cell["sources"] > 4 else (0.97 * bits, 0.1)

    results = ANALYSIS.analyse(made_up(cells(domains=("gaussian",)), diverging), ARGUMENTS)
    found = verdicts(results)
    assert set(of_panel(found, "", "Estimates become").values()) == {"holds"} and len(found) == 4
    assert any("100: diverged" in claim.evidence for claim in results[0].claims)
    assert drawn(save(results[0], tmp_path / "sources")) and not drawn(save(results[1], tmp_path / "unseen"))


def test_js_has_no_say(made_up, verdicts):
    runs = made_up(cells(bounds=("js", "dv"), domains=("gaussian",)), lambda cell, bits: (
        (0.1 if cell["bound"] == "js" else 0.97 if cell["sources"] <= 4 else 0.5) * bits, 0.1
    ))  # fmt: skip
    assert set(verdicts(ANALYSIS.analyse(runs, ARGUMENTS)).values()) == {"holds"}


def test_estimates_of_what_can_be_decoded_are_reliable_against_that_truth_only(made_up, verdicts):
    """Beyond 4 sources half of the nominal MI can be decoded, and that half is estimated."""
    left = up_to({"images": 4})
    runs = made_up(
        [*cells(domains=("images",)), *decoding(domains=("images",))],
        left,
        decodes=lambda cell: 0.97 if cell["sources"] <= 4 else 0.5,
    )
    results = ANALYSIS.analyse(runs, ARGUMENTS)
    found = of_panel(verdicts(results), "1 bit in all", "Estimates become")
    assert found.pop(
        "Estimates become unreliable beyond about 36 sources: images, 1 bit in all, against the decodable MI."
    )
    (nominal,) = found.values()
    assert nominal == "does not hold"  # unreliable at 16 already
    claim = next(claim for claim in results[0].claims if "1 bit in all, against the decodable" in claim.statement)
    assert claim.verdict == "does not hold" and "100 reliable" in claim.evidence
    row = results[0].figures.query("sources == 16 and panel == '1 bit in all' and bound == 'dv'").iloc[0]
    assert row["decodable_bits"] == pytest.approx(0.5) and row["decodable_mse_bits2"] == pytest.approx(0.1, rel=0.02)


def test_where_nothing_was_decoded_that_is_said(made_up, verdicts):
    results = ANALYSIS.analyse(made_up(cells()), ARGUMENTS)
    of = results[0].claims
    told = {claim.evidence for claim in of if "against the decodable" in claim.statement}
    assert told == {"no labels were decoded."}
    shown = results[0].text.set_index("domain")["decodable MI (bits)"]
    assert set(shown["text"]) == {"not decoded"} and "not decoded" not in set(shown["gaussian"])


def test_a_mixture_is_in_no_published_panel(made_up, tmp_path):
    runs = made_up(cells(domains=("mixture",), numbers=(1, 4)))
    result = ANALYSIS.analyse(runs, ARGUMENTS)[0]
    assert AS_PUBLISHED not in set(result.figures["panel"]) and "no run is of a published task" in result.caption
    assert drawn(save(result, tmp_path / "sources"))


def test_a_seed_without_any_number_in_common_has_no_threshold(made_up):
    assert math.isnan(reliable_up_to(pd.Series([math.nan, math.nan], index=[1, 4])))
    runs = made_up(cells())
    runs = runs[~((runs["domain"] == "text") & (runs["seed"] == 1) & (runs["sources"] < 100))]
    runs = runs[~((runs["domain"] == "gaussian") & (runs["sources"] == 100))]
    claims = ANALYSIS.analyse(runs, ARGUMENTS)[0].claims
    asked = [
        claim for claim in claims if "than Gaussian pairs: text" in claim.statement and "nominal" in claim.statement
    ]
    assert len(asked) == 4 and {claim.verdict for claim in asked} == {"undecided"}


def test_only_the_published_task_is_compared_with_the_published_setting(made_up):
    assert "not comparable" not in ANALYSIS.analyse(made_up(cells()), ARGUMENTS)[0].caption
    short = made_up([cell | {"steps": 600} for cell in cells()])
    assert "steps 600 (paper: 20,000)." in ANALYSIS.analyse(short, ARGUMENTS)[0].caption


def test_without_an_estimator_that_may_be_judged_nothing_is_claimed(made_up, verdicts):
    results = ANALYSIS.analyse(made_up(cells(bounds=("js",))), ARGUMENTS)
    assert set(verdicts(results).values()) == {"undecided"}
