"""`python -m infoscope.tracking ui --port 5000`, `... export RUN`, `... sync`, `... status`"""

from __future__ import annotations

import argparse

from infoscope.tracking.cli import exported, show_status, sync_records, ui

parser = argparse.ArgumentParser(prog="python -m infoscope.tracking")
commands = parser.add_subparsers(required=True)
page = commands.add_parser("ui", help="the MLflow UI on the runs of this working tree")
page.add_argument("--port", type=int, default=5000)
page.set_defaults(call=lambda given: ui(given.port))
program = commands.add_parser("export", help="a logged model as a program that is served without infoscope")
program.add_argument("run", metavar="RUN", help="the id of the run that logged the model")
program.add_argument("--model", metavar="NAME", help="which of its models, where it has several")
program.set_defaults(call=lambda given: exported(given.run, given.model))
names = {"nargs": "*", "metavar": "SWEEP", "help": "all that have been run, if none is named"}
leftovers = commands.add_parser("sync", help="send what dead processes left behind, close their runs")
leftovers.add_argument("sweeps", **names)
leftovers.add_argument("--records", metavar="FOLDER", help="records that a worker left on its own disk")
leftovers.set_defaults(call=lambda given: sync_records(given.sweeps, given.records))
progress = commands.add_parser("status", help="how many cells of each sweep are done, and how many are not")
progress.add_argument("sweeps", **names)
progress.add_argument("--profile", default="laptop")
progress.add_argument("--set", default="", metavar="'NAME=VALUE ...'", help="settings of the profile, replaced")
progress.set_defaults(call=lambda given: show_status(given.sweeps, given.profile, given.set))
arguments = parser.parse_args()
arguments.call(arguments)
