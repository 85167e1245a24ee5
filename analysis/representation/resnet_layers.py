"""What does training put into the layers of a residual network?

How often the network is right, and what every layer tells about the digit, trained and with first weights.
"""

from collections.abc import Sequence
from types import SimpleNamespace

import pandas as pd

from analysis.common.models import candidates
from analysis.common.runs import latest
from analysis.common.tables import ERROR, Analysis, Result, plus_minus, summarise
from analysis.representation.representations import effort_of, measured, results

EXPERIMENT = "resnet-layers"


def analyse(frame: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """Accuracies and what layers carry. ValueError when no model can be evaluated."""
    frame, notes = latest(frame, ())
    found = [(EXPERIMENT, one) for one in candidates(frame)]
    reports, failures = measured(found, effort_of(arguments.profile), None, again=False)
    if not reports:
        raise ValueError(f"no model could be evaluated: {' '.join(failures)}")
    figures = summarise(frame, ["model", "steps"], ["accuracy"])
    error = figures[f"accuracy{ERROR}"].where(
        figures["runs"] > 1, frame.groupby("model", sort=False)["accuracy_error"].first().to_numpy()
    )
    text = figures[["model", "steps", "runs"]].assign(
        accuracy=[plus_minus(*one) for one in zip(figures["accuracy"], error)]
    )
    scores = ", ".join(f"{row.model} {row.accuracy}" for row in text.itertuples())
    caption = (
        f"Accuracy on unseen images: {scores}.\n"
        "Accuracy on unseen images. ±: one standard error over trainings (seeds), of a single training over its images."
    )
    return [Result("accuracy", figures, text, caption), *results(reports, [*notes, *failures])]


ANALYSIS = Analysis(EXPERIMENT, analyse)
