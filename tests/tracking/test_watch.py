"""What the screen shows while cells are computed: the cells of a pack are done in part,
all at once.
"""

import pytest

from infoscope.tracking.cell_folder import COMPLETE
from infoscope.tracking.trial import Bundle, Ended
from infoscope.tracking.watch import Summary, Watch


class Screen:
    """Keeps the last progress."""

    def progress(self, done, cells, text):
        self.shown = done, cells, text


@pytest.fixture
def screen():
    return Screen()


@pytest.fixture
def watch(screen):
    return Watch(Summary("toy", "laptop", 12, 2), screen, lambda ended: True)


@pytest.fixture
def bundle():
    pack = {f"key-{number}": None for number in range(4)}
    return Bundle([pack], {key: key for key in pack})


def test_a_fraction_is_of_all_cells_of_the_pack(watch, screen, bundle):
    watch.report("first", bundle, {"fraction": 0.5, "cells": 4})
    watch.report("second", bundle, {"fraction": 0.25, "cells": 1})
    assert screen.shown == (2.25, 10, "0 of 10 cells done")


def test_cells_that_ended_are_counted_once(watch, screen, bundle):
    ended = [Ended(key, COMPLETE, "") for key in bundle.cells]
    watch.report("first", bundle, {"fraction": 0.5, "cells": 4})
    watch.report("first", bundle, {"fraction": 1.0, "ended": ended})
    watch.close("first", bundle)
    assert screen.shown == (4, 10, "4 of 10 cells done")
