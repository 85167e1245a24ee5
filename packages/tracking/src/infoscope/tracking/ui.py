"""The address of the MLflow UI."""

from __future__ import annotations

from infoscope.tracking.checks import without_password
from infoscope.tracking.store import tracking_uri

LOCAL = "http://127.0.0.1:5000"  # of `make ui` with its default port


def address() -> str:
    """The address of the UI: the tracking server, or that of `make ui`."""
    uri = tracking_uri()
    return without_password(uri).rstrip("/") if uri.startswith(("http://", "https://")) else LOCAL


def shown_at(page: str) -> str:
    """The complete address of a page, and what must run to see it."""
    return f"{address()}/{page}" + (" (while `make ui` runs)" if address() == LOCAL else "")
