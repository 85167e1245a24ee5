"""Which settings suit a model of data with domains? The trials of a search, those that
were stopped early included.
"""

from collections.abc import Sequence
from types import SimpleNamespace

import pandas as pd

from analysis.common.published import ERROR
from analysis.common.runs import data_sets
from analysis.common.search import best_trials, ranked, score_of_best, trials_of
from analysis.common.tables import Analysis, Result
from analysis.partition.domain_partition import ACCURACIES
from sweeps.partition.settings import CONFIG, CRITERION

JUDGED = f"progress/{CRITERION}"  # what the search decided by
SAME = (
    "version",
    "model",
    "selection",
    "data",
    "base",
    "size",
    "sample",
    "steps",
    "held_out",
    "seed",
)
MEASURED = {
    name: ACCURACIES[name]
    for name in ("in_domain_accuracy/average", "out_of_domain_accuracy/average")
}
CRITERIA = {
    "training-domain-validation": "validation accuracy",
    "oracle": "held-out accuracy",
}
# the accuracies of the same domains on other items, whose error the judgement's is like
SAME_DOMAINS = dict(zip(CRITERIA, MEASURED))
TITLES = {  # of settings
    "alpha_y": "weight of the class",
    "alpha_d": "weight of the domain",
    "l1.z_dy": "L1 weight of z_dy",
    "adversary.weight": "weight of the adversary",
    "weight": "weight of the penalty",
    "optimisation.learning_rate": "learning rate",
}
RULES = {
    "training-domain-validation": "the accuracy on unseen items of the training domains",
    "oracle": "the accuracy in the held-out domain itself, which is no fair score of generalisation",
}


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """The best trials, in their order."""
    newest = runs.loc[runs["start"].idxmax()]
    trials = ranked(
        trials_of(ANALYSIS.experiment, arguments.profile, newest, SAME), JUDGED
    )
    settings = {}
    for name in trials:
        if name.startswith(CONFIG) and trials[name].nunique() > 1:
            setting = name.removeprefix(CONFIG)
            settings[name] = TITLES.get(setting, setting)
    best = trials.iloc[0]
    values = ", ".join(f"{title} {best[name]:.3g}" for name, title in settings.items())
    criterion = CRITERIA[newest["selection"]]
    error = SAME_DOMAINS[newest["selection"]] + ERROR
    score = score_of_best(trials, JUDGED, error, criterion)
    data = data_sets(trials)
    notes = [
        f"Judged by {RULES[newest['selection']]} ({newest['selection']}). Accuracies "
        "are means over domains, of other "
        "items than those of the judgement; ± is over items, and taken for that of the "
        "judgement too. `make "
        "table-domain-partition` has those of the worst "
        "domain and class.",
        f"Profile {newest['profile']}: {newest['steps']:,} steps. Data {data}; seed "
        f"{newest['seed']}.",
    ]
    return [
        best_trials(
            trials,
            settings,
            JUDGED,
            criterion,
            MEASURED,
            f"Of {len(trials)} trials of {newest['model']}, each of one training, the "
            f"best has {values} ({score}).",
            notes,
        )
    ]


ANALYSIS = Analysis("tune-domain", analyse)
