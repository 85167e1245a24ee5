"""The address of the MLflow UI."""

from __future__ import annotations

from infoscope.tracking.checks import without_password
from infoscope.tracking.store import tracking_uri

LOCAL = "http://127.0.0.1:5000"  # of `make ui` with its default port


def address() -> str:
    """The address of the UI: the tracking server, or the default address of `make ui`."""
    uri = tracking_uri()
    if uri.startswith(("http://", "https://")):
        return without_password(uri).rstrip("/")
    return LOCAL


def shown_at(page: str) -> str:
    """The complete address of a page, and what must run to see it."""
    place = f"{address()}/{page}"
    if address() == LOCAL:
        place += " (while `make ui` runs)"
    return place
