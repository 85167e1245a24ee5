"""Names that MLflow accepts."""

from mlflow.utils.validation import _validate_metric_name

from infoscope.tracking.checks import safe_metric_names

HOSTILE_PARTS = [
    ("a//b", "q"), ("a__b", "q"), (".", "q"), ("..", "q"), ("", "q"), ("n" * 300, "q"), ("n" * 301, "q"),
    ("\x1b[2J", "q"), ("\udc80", "q"), (" x ", "q"), ("dose", "site", "q"),
]  # fmt: skip


def test_metrics_of_hostile_names_are_accepted_by_mlflow_and_stay_apart():
    safe = safe_metric_names(HOSTILE_PARTS)
    assert len(set(safe.values())) == len(HOSTILE_PARTS)
    for name in safe.values():
        _validate_metric_name(name)
    assert safe["dose", "site", "q"] == "dose/site/q"
