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
BECOME, IN_ALL, PER_SOURCE = "Estimates become", "1 bit in all", "1 bit per source"


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


def test_panels_have_the_same_claims_for_every_domain_but_the_published_one(made_up):
    figures = ANALYSIS.analyse(made_up(cells()), ARGUMENTS)[0].figures
    for panel, rows in figures.groupby("panel"):
        truths = rows.groupby("domain").apply(lambda part: tuple(zip(part["sources"], part["true_bits"].round(6))))
        assert (truths.nunique() == 1) == (panel != AS_PUBLISHED)
    published = figures[(figures["panel"] == AS_PUBLISHED) & (figures["sources"] == 16)]
    truth = published.groupby("domain")["true_bits"].first()
    assert truth.to_dict() == {"gaussian": pytest.approx(23.0831, abs=1e-4), "images": 1.0, "text": 16.0}


def test_published_thresholds_hold_for_figures_that_agree(made_up, verdicts):
    found = verdicts(ANALYSIS.analyse(made_up([*cells(), *decoding()], AS_THE_PAPER_SAYS, decodes=0.99), ARGUMENTS))
    for panel in (AS_PUBLISHED, IN_ALL, PER_SOURCE):
        assert found.of(BECOME, f" 4 sources: gaussian, {panel}") == {"confirmed"}
        # from 72 and 128 sources on: text cannot be judged by 100
        for truth in ("nominal", "decodable"):
            assert found.of(BECOME, f" 36 sources: images, {panel}", truth) == {"confirmed"}
            assert found.of(BECOME, f" 64 sources: text, {panel}", truth) == {"undecided"}
        assert sum(BECOME in text and panel in text for text in found) == 5


def test_thresholds_that_are_elsewhere_do_not_hold(made_up, verdicts):
    runs = made_up([*cells(), *decoding()], up_to({"gaussian": 100, "images": 1, "text": 1}), decodes=0.99)
    assert verdicts(ANALYSIS.analyse(runs, ARGUMENTS)).of(BECOME) == {"contradicted"}


def test_the_number_of_sources_allowed_is_where_the_error_crosses_the_limit():
    errors = pd.DataFrame(
        [[0.1, 0.15, 0.35], [0.1, 0.2, math.inf], [0.1, 0.1, 0.2], [0.3, 0.1, 0.1]], columns=[1, 4, 16]
    )
    assert errors.apply(reliable_up_to, axis=1).tolist() == pytest.approx([3.0, 2.0, 4.0, 0.0])


@pytest.mark.parametrize(("limits", "verdict"), [
    ({"gaussian": 4, "images": 36, "text": 64}, "confirmed"),
    ({"gaussian": 100, "images": 4, "text": 4}, "contradicted"),
])  # fmt: skip
def test_unstructured_data_against_gaussian_pairs(made_up, verdicts, limits, verdict):
    found = verdicts(ANALYSIS.analyse(made_up([*cells(), *decoding()], up_to(limits), decodes=0.99), ARGUMENTS))
    assert found.of("allow more sources") == {verdict}
    assert sum("allow more sources" in text for text in found) == 2 * 2 * 4


def test_diverged_estimates_are_unreliable(made_up, verdicts, tmp_path):
    def diverging(cell, bits):
        return (math.nan, math.nan) if cell["sources"] > 4 else (0.97 * bits, 0.1)

    results = ANALYSIS.analyse(made_up(cells(domains=("gaussian",)), diverging), ARGUMENTS)
    found = verdicts(results)
    assert found.of(BECOME) == {"confirmed"} and len(found) == 4
    assert any("100: diverged" in claim.evidence for claim in results[0].claims)
    assert drawn(save(results[0], tmp_path / "sources")) and results[1].draw is None


def test_js_is_not_part_of_the_claims(made_up, verdicts):
    runs = made_up(cells(bounds=("js", "dv"), domains=("gaussian",)), lambda cell, bits: (
        (0.1 if cell["bound"] == "js" else 0.97 if cell["sources"] <= 4 else 0.5) * bits, 0.1
    ))  # fmt: skip
    assert set(verdicts(ANALYSIS.analyse(runs, ARGUMENTS)).values()) == {"confirmed"}


def test_estimates_of_what_can_be_decoded_are_reliable_against_that_truth_only(made_up, verdicts):
    """Beyond 4 sources half of the nominal MI can be decoded, and that half is estimated."""
    left = up_to({"images": 4})
    runs = made_up(
        [*cells(domains=("images",)), *decoding(domains=("images",))],
        left,
        decodes=lambda cell: 0.97 if cell["sources"] <= 4 else 0.5,
    )
    results = ANALYSIS.analyse(runs, ARGUMENTS)
    nominal, decodable = (
        next(one for one in results[0].claims if IN_ALL in one.statement and truth in one.statement)
        for truth in ("nominal", "decodable")
    )
    assert nominal.verdict == "contradicted"  # unreliable at 16 already
    assert decodable.verdict == "contradicted" and "100 reliable" in decodable.evidence
    row = results[0].figures.set_index(["sources", "panel", "bound"]).loc[16, IN_ALL, "dv"]
    assert row["decodable_bits"] == pytest.approx(0.5) and row["decodable_mse_bits2"] == pytest.approx(0.1, rel=0.02)


def test_a_seed_without_any_number_in_common_has_no_threshold(made_up, verdicts):
    assert math.isnan(reliable_up_to(pd.Series([math.nan, math.nan], index=[1, 4])))
    runs = made_up(cells())
    runs = runs[~((runs["domain"] == "text") & (runs["seed"] == 1) & (runs["sources"] < 100))]
    runs = runs[~((runs["domain"] == "gaussian") & (runs["sources"] == 100))]
    assert verdicts(ANALYSIS.analyse(runs, ARGUMENTS)).of("Gaussian pairs: text", "nominal") == {"undecided"}
