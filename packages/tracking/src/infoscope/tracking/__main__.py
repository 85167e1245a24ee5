"""`python -m infoscope.tracking ui --port 5000`"""

from __future__ import annotations

import argparse

from infoscope.tracking.command import ui

parser = argparse.ArgumentParser(prog="python -m infoscope.tracking")
commands = parser.add_subparsers(required=True)
page = commands.add_parser("ui", help="the MLflow UI on the runs of this working tree")
page.add_argument("--port", type=int, default=5000)
page.set_defaults(run=ui)
arguments = parser.parse_args()
arguments.run(arguments.port)
