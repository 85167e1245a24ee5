"""Columns of the tables of the neural benchmark with their titles, and the limits of
claims.
"""

GROUP = ["domain", "pool"]
ORACLE = [
    "oracle_critic_mean_bits",
    "oracle_critic_mse_bits2",
    "oracle_critic_mse_bits2_error",
]
# figures that do not vary over seeds
CONSTANT = (*ORACLE, "decodable_bits", "decodable_bits_error")
LARGE_BITS = 10.0  # the largest true MI of the paper
NOMINAL = "nominal"  # the truth that the paper scores against
TRUTHS = {NOMINAL: "true_bits", "decodable": "decodable_bits"}
# the error against each truth
SCORES = {NOMINAL: "mse_bits2", "decodable": "decodable_mse_bits2"}
# reports NWJ's formula at the log density ratio: 1/e nat (0.53 bits) too low even there
OFF_BY_DEFINITION = "js"
MINE, RELEASED_MINE = "mine", "mine-one-step"  # as published; as in the released code
# relative error up to which an estimate is called reliable; the paper gives no number
REASONABLE = 0.25
# why a claim against the decodable truth is undecided
NOT_DECODED = "no labels were decoded."
TITLES = {
    "mean_bits": "mean (bits)",
    "second_half_mean_bits": "mean, 2nd half",
    "bias_bits": "bias (bits)",
    "variance_bits2": "variance (bits²)",
    "mse_bits2": "MSE (bits²)",
    "second_half_mse_bits2": "MSE, 2nd half",
    "published_mean_bits": "paper",
    "oracle_critic_mean_bits": "oracle critic, mean",
    "oracle_critic_mse_bits2": "oracle critic",
    "decodable_bits": "decodable MI (bits)",
    "decodable_mse_bits2": "MSE, decodable",
    "accuracy": "decoding accuracy",
}


FIELD_TITLES = {"pool": "data", "true_bits": "true MI (bits)", "bound": "estimator"}


def titled(*columns: str, **others: str) -> dict[str, str]:
    """The titles of columns, `others` in place of the usual ones."""
    return {column: others.get(column) or TITLES[column] for column in columns}
