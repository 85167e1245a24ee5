"""What every made-up run has, and the results of an analysis of such runs."""

import pandas as pd

RUN = {
    "run_id": "0" * 32,
    "version": "1",
    "profile": "laptop",
    "outcome": "complete",
    "start": pd.Timestamp("2026-01-01"),
    "seconds": 60.0,
    "tags": {"infoscope.code": "abc", "infoscope.data": "made up"},
}


def analysed(analysis, runs, *words):
    """The results, as the command with these words has them."""
    return analysis.analyse(runs, analysis.arguments(list(words)))


def named(results):
    """The results by their names."""
    return {result.name: result for result in results}
