"""Made-up runs of the benchmark, analysed."""

import pytest

from tests.analysis.runs import analysed


@pytest.fixture
def judge(made_up, verdicts):
    """A function: an analysis and what `made_up` takes -> its results, and the verdicts
    of their claims.
    """

    def run(analysis, *given, **words):
        results = analysed(analysis, made_up(*given, **words))
        return results, verdicts(results)

    return run
