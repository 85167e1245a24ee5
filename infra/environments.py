"""What `pip install infoscope` brings: wheels of packages/ in a fresh environment for each Python and extra.

Measures its size, the import, and README's Python of 1,000 pairs; puts the rows into docs/results/environments.md.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

from infoscope.checks import one_of
from infoscope.command_line import command, option

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "results" / "environments.md"
PYTHONS = ("3.11", "3.12", "3.13")
OF_TORCH = "from infoscope.estimators import fit_critic\nfrom infoscope.models import VAE\n"
OF_SWEEPS = "from infoscope.tracking import Sweep, runs\n"
OF_PLOTS = "import matplotlib.pyplot\n"
EXTRAS = {  # with what each is there for
    "core": "",
    "torch": OF_TORCH,
    "sweeps": OF_SWEEPS,
    "plots": OF_PLOTS,
    "all": OF_TORCH + OF_SWEEPS + OF_PLOTS,
}
PARTS = ("infoscope", "core", "data", "estimators", "metrics", "models", "tracking")
WITHOUT = ("torch", "ray", "mlflow")  # what an estimate on arrays must not load
STARTS = 4  # fresh processes; the first compiles, the best of the others is printed
BLOCK = 512  # bytes, in which the system counts what a file takes
REASON = 300  # characters of what a program said last
MEASURED = """
import json, sys, time
began = time.perf_counter()
from infoscope.estimators import estimate
imported = time.perf_counter() - began
import numpy
generator = numpy.random.default_rng(0)
x = generator.normal(size=(1000, 2))
y = x[:, 0] + generator.normal(size=1000)
began = time.perf_counter()
exec(sys.argv[1])
answered = time.perf_counter() - began
loaded = [name for name in sys.argv[3].split() if name in sys.modules]
exec(sys.argv[2])
print(json.dumps([imported, answered, loaded]))
"""


class NotDone(Exception):
    """What could not be made, and why."""


def run(*words: str | Path, folder: Path | None = None) -> str:
    """What a command prints. NotDone with the last that it said."""
    try:
        done = subprocess.run(
            list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder
        )
    except OSError as error:
        raise NotDone(str(error)) from None
    if done.returncode:
        raise NotDone(" ".join(done.stdout.split())[-REASON:] or f"exit status {done.returncode}")
    return done.stdout


def interpreter(version: str) -> str | None:
    """A Python of a version such as 3.12 that can make environments: on the PATH, or of pyenv; None where none is."""
    this = sys.executable if sys.version.startswith(f"{version}.") else None
    others = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for found in (this, shutil.which(f"python{version}"), *others):
        if found and subprocess.run([found, "-c", "import venv"], capture_output=True).returncode == 0:
            return str(found)
    return None


def installer() -> str | None:
    """The path of uv: beside this Python, or on the PATH."""
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")


def install(python: Path, *words: str | Path) -> None:
    """Installs what words of pip ask for into an environment without pip; compiled, as pip does."""
    uv = installer()
    tool = [uv, "pip", "install", "--compile-bytecode"] if uv else [sys.executable, "-m", "pip", "install"]
    run(*tool, "--python", python, *words)


def constrained(folder: Path) -> Path:
    """A file of constraints: the versions of constraints.txt, and a wheel of each of our packages.

    Wheels are built from a copy: what an earlier build left in a folder would end up in them.
    """
    left_behind = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    for name in PARTS:
        shutil.copytree(REPOSITORY / "packages" / name, folder / name, ignore=left_behind)
    to = folder / "wheels"
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", to, *(folder / name for name in PARTS))
    ours = [f"{file.name.split('-')[0]} @ {file.as_uri()}" for file in to.iterdir()]
    builds = re.findall(r"^\w+===.+$", (REPOSITORY / "requirements.txt").read_text(), re.MULTILINE)
    file = folder / "constraints.txt"
    file.write_text("\n".join([(REPOSITORY / "constraints.txt").read_text(), *builds, *ours]))
    return file


def measured(version: str, extra: str, constraints: Path) -> list[str]:
    """A row of the table, its cells in words."""
    found = interpreter(version)
    if found is None:
        raise NotDone("no such Python here")
    shown = re.findall(r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.DOTALL)
    with tempfile.TemporaryDirectory(prefix="infoscope-") as folder:
        place = Path(folder)
        run(found, "-m", "venv", "--without-pip", place / "environment")
        python = place / "environment" / "bin" / "python"
        began = time.monotonic()
        wanted = "infoscope" if extra == "core" else f"infoscope[{extra}]"
        install(python, "-c", constraints, wanted)
        took = time.monotonic() - began
        words = ("-c", MEASURED, "".join(shown), EXTRAS[extra], " ".join(WITHOUT))
        said = [json.loads(run(python, *words, folder=place).splitlines()[-1]) for _ in range(STARTS)]
        (first_import, first_answer, loaded), *others = said
        files = list(place.glob("environment/lib/python*/site-packages/**/*"))
        bare = [file for file in files if file.suffix != ".pyc"]
        size, compiled = (sum(file.lstat().st_blocks for file in some) * BLOCK / 1e6 for some in (bare, files))
    best = [min(one[which] for one in others) for which in range(2)]
    return [
        version,
        extra,
        f"{took:.0f} s",
        f"{size:,.0f} MB; {compiled:,.0f} MB",
        f"{first_import:.2f} s",
        f"{best[0]:.2f} s",
        f"{first_answer:.1f} s; {best[1]:.1f} s",
        ", ".join(loaded) or "none",
    ]


def put(row: Sequence[str]) -> None:
    """A row into the table of the page, in place of the one of this Python and extra."""
    lines = PAGE.read_text().splitlines()
    table = [place for place, line in enumerate(lines) if line.startswith("|")]
    rows = {tuple(line.strip("| ").split(" | ")[:2]): line for line in lines[table[0] + 2 : table[-1] + 1]}
    rows[tuple(row[:2])] = f"| {' | '.join(row)} |"
    order = [(version, extra) for version in PYTHONS for extra in EXTRAS]
    lines[table[0] + 2 : table[-1] + 1] = [rows[key] for key in order if key in rows]
    PAGE.write_text("\n".join(lines) + "\n")


def main(given: SimpleNamespace) -> None:
    """Builds, measures, prints and writes."""
    pythons, extras = given.pythons.split(","), given.extras.split(",")
    for name, asked, known in (("pythons", pythons, PYTHONS), ("extras", extras, EXTRAS)):
        for one in asked:
            one_of(name, one, known)
    with tempfile.TemporaryDirectory(prefix="infoscope-") as folder:
        constraints = constrained(Path(folder))
        for version in pythons:
            for extra in extras:
                try:
                    row = measured(version, extra, constraints)
                except NotDone as error:
                    row = [version, extra, f"not done: {error}", *[""] * 5]
                print(f"| {' | '.join(row)} |", flush=True)
                put(row)


OPTIONS = [
    option(name, default=",".join(known), help=f"(default: {','.join(known)})")
    for name, known in (("pythons", PYTHONS), ("extras", EXTRAS))
]
COMMAND = command("environments", main, OPTIONS, __doc__)
