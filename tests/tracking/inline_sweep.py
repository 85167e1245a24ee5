"""The toy sweep, whose driver makes its trials itself, without Ray: `python -m inline_sweep` is a real process that
claims, records and closes like any driver, and starts in seconds on a busy machine.

INLINE: the module of another sweep to run so. TOY_HOST: what its machine is called. TOY_MEET: a folder; before a
claim, it waits there for as many drivers as TOY_DRIVERS says.
"""

import contextlib
import itertools
import os
import platform
import runpy
import time
from pathlib import Path

import toy_sweep
from ray.tune.search import Searcher

from infoscope.tracking import main
from infoscope.tracking.scheduling import cluster, driver
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


def meet(claim):
    def claimed(*arguments):
        folder = Path(os.environ["TOY_MEET"])
        (folder / str(os.getpid())).touch()
        deadline = time.monotonic() + 240
        while len(list(folder.iterdir())) < int(os.environ["TOY_DRIVERS"]) and time.monotonic() < deadline:
            time.sleep(0.01)
        return claim(*arguments)

    return claimed


if __name__ == "__main__":
    Invocation._fit = fit
    cluster.running = contextlib.nullcontext
    cluster.resources = lambda *asked: (1, 0)
    cluster.nodes = lambda: 1
    if "TOY_HOST" in os.environ:
        platform.node = lambda: os.environ["TOY_HOST"]
    if "TOY_MEET" in os.environ:
        driver.claim = meet(driver.claim)
    if "INLINE" in os.environ:
        runpy.run_module(os.environ["INLINE"], run_name="__main__", alter_sys=True)
    else:
        main(toy_sweep.SWEEP)
