"""The progress of a sweep in one line."""

import io

from infoscope.tracking import screen
from infoscope.tracking.screen import Screen


def test_the_remaining_time_is_that_at_the_pace_since_the_first_report(monkeypatch):
    """The start of the workers, 100 s here, does not count."""
    clock = [0.0]
    monkeypatch.setattr(screen.time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    with Screen(stream) as shown:
        for now, done in ((100.0, 0.1), (140.0, 2.1), (150.0, 2.6), (180.0, 4.1)):
            clock[0] = now
            shown.progress(done, 10, "cells")
    first, second, third = stream.getvalue().splitlines()
    assert first.strip() == "1 %  cells"
    assert second.strip() == "21 %  cells, about 3 min left"
    assert third.strip() == "41 %  cells, about 2 min left"
