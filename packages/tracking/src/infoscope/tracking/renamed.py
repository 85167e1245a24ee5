"""The names that metrics had in older stores and files of runs, with those that they
have now.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")

# experiment -> (the older name as a regular expression, with or without _error; the
# present name). "": of all
RENAMED = {
    "": [(r"at (\S+) bits/(.+)", r"\2 at \1 bits")],
    "dataset-difficulty": [
        (r"(Curves/)?H_yb", r"\1null_entropy_bits"),
        (r"(Curves/)?H_yxb", r"\1conditional_entropy_bits"),
        (r"best_bits", "best_v_information_bits"),
        (r"floored", "floored_items"),
    ],
    "domain-partition": [
        (r"(in|out_of)_domain/(.+)", r"\1_domain_accuracy/\2"),
        (r"criterion", "selection_accuracy"),
    ],
    "independence": [(r"information", "true_nats")],
    "known-laws": [
        (r"truth", "true_nats"),
        (r"bias", "bias_nats"),
        (r"squared_error", "mse_nats2"),
        (r"absolute_error", "mean_absolute_error_nats"),
        (r"width", "mean_width_nats"),
        (r"covered", "covering_intervals"),
    ],
    "reading": [
        (r"covered(/.+)?", r"coverage\1"),
        (r"grade_a", "grade_a_share"),
        (r"grade_a_wrong", "grade_a_missing_share"),
        (r"grade_a_width", "grade_a_median_width_nats"),
        (r"rmse", "rmse_nats"),
        (r"rmse_of_baseline", "baseline_rmse_nats"),
    ],
    "screening": [
        (r"dependent", "dependent_columns"),
        (r"found", "true_discoveries"),
        (r"false", "false_discoveries"),
        (r"held", "covering_intervals"),
        (r"spare_found", "redundant_found"),
        (r"spare_kept", "redundant_chosen"),
        (r"took_seconds", "screen_seconds"),
    ],
    "simulations": [(r"truth", "mean_true_nats")],
    "toy-model": [
        (r"(exact|sampled)/joint", r"\1/information_nats"),
        (r"(exact|sampled)/(mig|\w+_(?:low|high))", r"\1/\2_nats"),
        (r"largest_without_spread", "largest_difference_without_spread_nats"),
    ],
    "usable-leakage": [
        (r"reconstruction", "reconstruction_mse"),
        (r"adversary_log_loss", "adversary_log_loss_nats"),
    ],
}
RENAMED["tune-domain"] = RENAMED["domain-partition"]
RENAMED |= dict.fromkeys(
    ("vae-zoo", "tune-vae", "entanglement-attacks"),
    [(r"(evaluation \d+/)?(latent_information|total_correlation)", r"\1\2_nats")],
)


@functools.cache
def present_name(experiment: str, name: str) -> str:
    """The present name of a metric that an experiment has recorded, perhaps under an
    older one.

    >>> present_name("critic-capacity", "at 2 bits/mse_bits2_error")
    'mse_bits2_error at 2 bits'
    """
    for older, present in (*RENAMED[""], *RENAMED.get(experiment, ())):
        for error in ("", "_error"):
            match = re.fullmatch(older + error, name)
            if match:
                return match.expand(present) + error
    return name


def present_names(experiment: str, values: Mapping[str, Value]) -> dict[str, Value]:
    """Values by the present names of their metrics."""
    return {present_name(experiment, name): value for name, value in values.items()}
