"""Figures need no screen."""

import os
import subprocess
import sys


def test_figures_go_to_files_whatever_screen_is_asked_for():
    program = "import analysis.common.figures, matplotlib; print(matplotlib.get_backend())"
    environment = os.environ | {"MPLBACKEND": "TkAgg"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip().lower() == "agg"
