"""Sentences of the evaluation of a partition."""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot, isfinite
from typing import Any, Protocol

from infoscope.estimators.result import Estimate
from infoscope.metrics.partition.terms import CLASSIFIER, EXACT, NEIGHBOURS, NOTHING, POSTERIOR
from infoscope.metrics.pid import CROSSED

_SIGNIFICANT_ERRORS = 2.0  # standard errors by which two routes must differ to disagree
_MIN_SHOWN = 5e-4  # nats; smaller differences are not printed
_SIGNIFICANT = 0.05
_COMPARED = ("I(z_y;Y|D)", "I(z_y;D|Y)", "I(z_d;D|Y)", "I(z_d;Y|D)", "I(z_x;Y,D)", "I(z_dy;Y,D)")
UNTAUGHT = "what so few rows do not teach"
OLD_SUM = "old sum"  # to a reader, to whom a seed is a random one: the score "seed"
SEED_LIMITS = (
    "The constants of the old score (typical entropy 2.5, three terms) are no property of these labels; it rewards "
    "co-information, which cannot exceed I(Y;D); it ignores Y or D alone in z_dy, and counts an absent block as 0."
)
_POSTERIOR_LIMITS = (
    "Not shown: what a reader of finite means could use. Where the posteriors of rows do not overlap, a draw tells its "
    "row, and every block holds everything. Nor what holds for other rows: these are the population, so differences "
    "between classes that are chance count as information, and a block without any is above 0 here. Errors count rows "
    "as drawn, too, and so are larger than those of the draws alone."
)


class Evaluation(Protocol):
    """The contents of a report, with the names and meanings of `PartitionReport`."""

    blocks: Mapping[str, int]
    n: int
    groups: int
    figures: Mapping[str, Mapping[str, Estimate]]
    shares: Mapping[str, Mapping[str, Estimate]]
    tests: Mapping[str, Any]
    settings: Mapping[str, Any]

    @property
    def routes(self) -> tuple[str, ...]: ...

    @property
    def main(self) -> str: ...

    def scores(self) -> Mapping[str, Estimate]: ...


def summary(report: Evaluation) -> str:
    """Lines of text."""
    lines = [_heading(report), *_score_lines(report), *_beside_lines(report), *_test_lines(report)]
    if NEIGHBOURS in report.routes:
        lines += [*_disagreements(report), *limits(report)]
    if POSTERIOR in report.routes:
        lines.append(_POSTERIOR_LIMITS)
    return "\n".join(lines)


def _heading(report: Evaluation) -> str:
    widths = ", ".join(f"{name} ({width})" for name, width in report.blocks.items())
    if EXACT in report.routes:
        return f"Exact law of {report.n} outcomes; blocks {widths}."
    settings = report.settings
    if POSTERIOR in report.routes:
        return (
            f"{report.n} rows in {report.groups} groups, taken as the population; blocks (columns) {widths}. Exact "
            f"log-marginals, {settings['draws']} draws. Nats; ± is a standard error, brackets are 95 % intervals."
        )
    return (
        f"{report.n} rows in {report.groups} groups; blocks (columns) {widths}. Classifier: {settings['family']}, "
        f"{settings['folds']} folds. Neighbours: k = {settings['k']}, {settings['resamples']} half-samples. Nats; "
        "± is a standard error, brackets are 95 % intervals."
    )


def shown(figure: Estimate) -> str:
    """A figure with its interval and error, or why there is none."""
    if not isfinite(figure.value):
        return f"none ({' '.join(figure.notes)})"
    value, low, high = (f"{number:z.3f}" for number in (figure.value, figure.low, figure.high))
    if figure.low == figure.high:
        return value
    error = f" ± {figure.standard_error:.3f}" if isfinite(figure.standard_error) else ""
    return f"{value}{error}" + (f" [{low}, {high}]" if isfinite(figure.low) else "")


def _score_lines(report: Evaluation) -> list[str]:
    found = report.scores()
    lines = [
        f"Score unique (0 to 1, by block alone and nothing else): {shown(found['unique'])}; of Y "
        f"{shown(found['unique_y_raw'])}, of D {shown(found['unique_d_raw'])} before clipping at 0."
    ]
    if "unique_without_z_dy" in found:
        lines.append(f"Score unique as if z_dy did not exist: {shown(found['unique_without_z_dy'])}.")
    for route in report.routes:
        nats, bits = report.shares[route]["seed"], report.shares[route]["seed_bits"]
        in_bits = f" in nats, {shown(bits)} in bits" if isfinite(nats.value) else ""
        lines.append(f"Score seed ({route}), the {OLD_SUM}: {shown(nats)}{in_bits}.")
    lines.append(f"No partition of these labels exceeds {found['seed_ceiling'].value:.3f} there in nats. {SEED_LIMITS}")
    return lines


def _beside_lines(report: Evaluation) -> list[str]:
    found, quantities = report.scores(), report.figures[report.main]
    co_information = quantities["co-information(z_dy;Y;D)"]
    kind = " nats; neither redundancy nor synergy is shown"
    if not isfinite(co_information.value):
        kind = ""
    elif co_information.low > NOTHING:
        kind = " nats; redundancy prevails"
    elif co_information.high < -NOTHING:
        kind = " nats; synergy prevails"
    return [
        f"z_y tells {shown(found['leakage_of_d_in_z_y'])} of what there is to know about D given Y (leakage).",
        f"z_d tells {shown(found['leakage_of_y_in_z_d'])} of what there is to know about Y given D (leakage).",
        f"z_x tells {shown(found['residual_in_z_x'])} of what there is to know about Y and D.",
        f"All blocks together tell {shown(found['sufficiency'])} of Y and D.",
        f"Co-information of z_dy with Y and D (positive: redundancy): {shown(co_information)}{kind}.",
    ]


def _test_lines(report: Evaluation) -> list[str]:
    lines = []
    count = sum(isfinite(test.p_value) for test in report.tests.values())
    for name, test in report.tests.items():
        if not isfinite(test.p_value):
            lines.append(f"{name} = 0 could not be tested: {test.exchanged}")
            continue
        finding = "it is there" if test.p_holm < _SIGNIFICANT else "not shown, which does not mean absent"
        lines.append(
            f"{name} = 0: p = {test.p_value:.3g}, {test.p_holm:.3g} after Holm over {count} test{'s' * (count > 1)} "
            f"(permuting {test.exchanged}): {finding}."
        )
    return lines


def _disagreements(report: Evaluation) -> list[str]:
    """Where the two routes differ by more than their errors, and which of them to believe."""
    lines = []
    for name in _COMPARED:
        near, usable = report.figures[NEIGHBOURS][name], report.figures[CLASSIFIER][name]
        gap = near.value - usable.value
        error = hypot(near.standard_error, usable.standard_error)
        if not isfinite(gap) or abs(gap) <= max(_MIN_SHOWN, _SIGNIFICANT_ERRORS * error):
            continue
        pair = f"{name}: neighbours {shown(near)}, classifier {shown(usable)}"
        if gap < 0.0:
            lines.append(f"{pair}. The classifier's is a lower bound: the neighbour estimate is too low by {-gap:.3f}.")
        else:
            lines.append(
                f"{pair}. Either {gap:.3f} nats are there that this family cannot use, or neighbours are biased."
            )
    return lines


def crossings(report: Evaluation) -> list[str]:
    """Of every route, how many blocks have bounds that cross, and one of them."""
    lines = []
    for route in report.routes:
        notes = {
            name.removeprefix("unique_low"): note
            for name, figure in report.figures[route].items() if name.startswith("unique_low(")
            for note in figure.notes if note.startswith(CROSSED)
        }  # fmt: skip
        if notes:
            first = next(iter(notes))
            lines.append(f"Bounds ({route}) cross for {len(notes)} blocks, such as {first}. {notes[first]}")
    return lines


def limits(report: Evaluation) -> list[str]:
    notes = dict.fromkeys(note for one in report.shares.get(CLASSIFIER, {}).values() for note in one.notes)
    return [
        *crossings(report),
        *(f"Not shown: {note}" for note in notes if note.startswith(UNTAUGHT)),
        "Not shown: the bias of nearest-neighbour quantities. It is larger for wide blocks than for narrow ones, which "
        "raises the score unique. Use the classifier's.",
        "Not shown: what another family could extract. Where an encoder is a deterministic function, Shannon "
        "information is all or nothing, and leakage here means what this family can read.",
        "Not shown: the chance in the training sets of the classifiers. Where a block tells next to nothing, errors by "
        "the classifier can be 40 % too small: believe the permutation tests there.",
        "Not shown: anything about other trainings of this model: errors are over rows, for one trained model. Models "
        "are compared by `compare`, not by whether intervals overlap.",
    ]
