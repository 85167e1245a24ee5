"""The toy sweep, whose driver makes its trials itself, without Ray: `python -m inline_sweep` is a real process that
records and closes like any driver, and starts in seconds on a busy machine.

INLINE: the module of another sweep to run so. TOY_HOST: what its machine is called.
"""

import contextlib
import importlib
import itertools
import os
import platform

import toy_sweep
from ray.tune.search import Searcher

from infoscope.tracking import main
from infoscope.tracking.scheduling import cluster
from infoscope.tracking.scheduling.dispatch import run_packs
from infoscope.tracking.scheduling.invocation import Invocation
from infoscope.tracking.scheduling.worker import work


def fit(self, source, watch):
    def run(assignment, tell):
        work(self.sweep.trial, assignment, tell, data=self.sweep.data)

    for number in itertools.count():
        config = source["search_alg"].suggest(str(number))
        if config is None or config == Searcher.FINISHED:
            return
        run_packs(config["handout"], run, watch.result)
        watch.end(config["packs"])


if __name__ == "__main__":
    Invocation._fit = fit
    cluster.running = contextlib.nullcontext
    cluster.resources = lambda *asked: (1, 0)
    cluster.nodes = lambda: 1
    if "TOY_HOST" in os.environ:
        platform.node = lambda: os.environ["TOY_HOST"]
    main(importlib.import_module(os.environ["INLINE"]).SWEEP if "INLINE" in os.environ else toy_sweep.SWEEP)
