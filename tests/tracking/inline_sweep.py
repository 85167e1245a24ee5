"""The toy sweep, whose driver makes its trials itself, without Ray: `python -m
inline_sweep` is a real process that records and closes like any driver, and starts in
seconds on a busy machine.

INLINE: the module of another sweep to run so.
"""

import contextlib
import importlib
import os

import toy_sweep

from infoscope.tracking import cluster, main
from infoscope.tracking.driver import _Run
from infoscope.tracking.trial import run_bundle


def fit(self, cpus, gpus, share):
    job = self._job("cpu")
    for number, bundle in enumerate(self._bundles("cpu", 1)):
        trial = str(number)
        run_bundle(
            bundle,
            job,
            lambda result, trial=trial, bundle=bundle: self.watch.report(
                trial, bundle, result
            ),
        )
        self.watch.close(trial, bundle)


if __name__ == "__main__":
    _Run._fit = fit
    cluster.running = contextlib.nullcontext
    cluster.resources = lambda *asked: (1, 0)
    cluster.nodes = lambda: 1
    main(
        importlib.import_module(os.environ["INLINE"]).SWEEP
        if "INLINE" in os.environ
        else toy_sweep.SWEEP
    )
