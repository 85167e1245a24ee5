"""The words of the neural benchmark: fields and figures by their columns, and the limits that claims are judged by."""

GROUP = ["domain", "pool"]
ORACLE = ["oracle_critic_mean_bits", "oracle_critic_mse_bits2", "oracle_critic_mse_bits2_error"]  # of the oracle critic
CONSTANT = (*ORACLE, "decodable_bits", "decodable_bits_error")  # figures that do not vary over seeds
TRUTHS = {"nominal": "true_bits", "decodable": "decodable_bits"}
SCORES = {"nominal": "mse_bits2", "decodable": "decodable_mse_bits2"}  # the error against each truth
OFF_BY_DEFINITION = "js"  # reports NWJ's formula at the log density ratio, which is 1/e nat (0.53 bits) low even there
REASONABLE = 0.25  # the relative error up to which an estimate is called reliable here; the paper gives no number
NOT_DECODED = "no labels were decoded."  # why a claim against the decodable truth is undecided
TITLES = {  # in the tables
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


def titled(*columns: str, **others: str) -> dict[str, str]:
    """The titles of columns, `others` in place of the usual ones."""
    return {column: others.get(column) or TITLES[column] for column in columns}
