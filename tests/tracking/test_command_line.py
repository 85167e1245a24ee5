"""Commands end quietly, with their work done, when nobody reads their output any more,
as before `| head`.
"""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import pathlib, sys
from infoscope.command_line import command, run_command

def main(given):
    for number in range(30_000):
        print(number)
    print("progress", file=sys.stderr, flush=True)
    pathlib.Path("done").touch()

sys.exit(run_command(command("count", main, [], ""), []))
"""


@pytest.mark.parametrize("both", [False, True])
def test_a_command_whose_reader_leaves_does_its_work(tmp_path, both):
    reader, writer = os.pipe()
    os.close(reader)
    errors = writer if both else subprocess.PIPE
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        stdout=writer,
        stderr=errors,
        cwd=tmp_path,
        timeout=120,
    )
    os.close(writer)
    assert done.returncode == 0
    assert (tmp_path / "done").exists()
    assert both or done.stderr == b"progress\n"
