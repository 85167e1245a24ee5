"""Made-up runs of the benchmark, analysed."""

import pytest


@pytest.fixture
def judge(made_up, verdicts):
    """A function: an analysis and what `made_up` takes -> its results, and the verdicts of their claims."""

    def run(analysis, *given, **words):
        results = analysis.analyse(made_up(*given, **words), analysis.arguments([]))
        return results, verdicts(results)

    return run
