"""Measures what `pip install infoscope` brings for each Python and extra: size, import time, README's example.

Wheels of packages/ are installed by uv into fresh environments. Prints the rows of docs/results/environments.md.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

from infoscope.checks import one_of
from infoscope.command_line import command, option

REPOSITORY = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
TORCH = "from infoscope.estimators import fit_critic\nfrom infoscope.models import VAE\n"
SWEEPS = "from infoscope.tracking import Sweep, runs\n"
PLOTS = "import matplotlib.pyplot\n"
EXTRAS = {"core": "", "torch": TORCH, "sweeps": SWEEPS, "plots": PLOTS, "all": TORCH + SWEEPS + PLOTS}  # and their use
PACKAGES = ("infoscope", "core", "data", "estimators", "metrics", "models", "tracking")
HEAVY = "torch ray mlflow"  # libraries that an estimate on arrays must not load
STARTS = 4  # processes; the first one compiles, the best of the others is printed
EXAMPLE = """
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


class CommandFailed(Exception):
    """A command that failed, with the end of its output."""


def run(*words: str | Path, folder: Path | None = None) -> str:
    """The output of a command. Raises CommandFailed."""
    try:
        done = subprocess.run(
            list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder
        )
    except OSError as error:
        raise CommandFailed(str(error)) from None
    if done.returncode:
        raise CommandFailed(" ".join(done.stdout.split())[-300:] or f"exit status {done.returncode}")
    return done.stdout


def uv(*words: str | Path) -> None:
    """Runs uv, of this environment or of the PATH. Raises CommandFailed."""
    own = Path(sys.executable).with_name("uv")
    run(own if own.exists() else "uv", *words)


def write_constraints(folder: Path) -> Path:
    """A file with the versions of constraints.txt and the wheels of packages/, built from a clean copy."""
    build_files = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    for name in PACKAGES:
        shutil.copytree(REPOSITORY / "packages" / name, folder / name, ignore=build_files)
    wheels = folder / "wheels"
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", wheels, *(folder / name for name in PACKAGES))
    ours = [f"{file.name.split('-')[0]} @ {file.as_uri()}" for file in wheels.iterdir()]
    builds = re.findall(r"^\w+===.+$", (REPOSITORY / "requirements.txt").read_text(), re.MULTILINE)
    file = folder / "constraints.txt"
    file.write_text("\n".join([(REPOSITORY / "constraints.txt").read_text(), *builds, *ours]))
    return file


def measure(version: str, extra: str, constraints: Path) -> list[str]:
    """A row of the table: the cells as text. Raises CommandFailed."""
    (readme, *_) = re.findall(r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.DOTALL)
    with tempfile.TemporaryDirectory(prefix="infoscope-") as folder:
        environment = Path(folder) / "environment"
        uv("venv", "--python", version, environment)
        python, began = environment / "bin" / "python", time.monotonic()
        wanted = "infoscope" if extra == "core" else f"infoscope[{extra}]"
        uv("pip", "install", "--compile-bytecode", "--python", python, "-c", constraints, wanted)
        installation = time.monotonic() - began
        example = (python, "-c", EXAMPLE, readme, EXTRAS[extra], HEAVY)
        starts = [json.loads(run(*example, folder=Path(folder)).splitlines()[-1]) for _ in range(STARTS)]
        sizes = [(file.suffix, file.lstat().st_blocks * 512 / 1e6) for file in environment.glob("lib/python*/**/*")]
    (first_import, first_answer, loaded), *others = starts
    bare = sum(size for suffix, size in sizes if suffix != ".pyc")
    return [
        version,
        extra,
        f"{installation:.0f} s",
        f"{bare:,.0f} MB; {sum(size for _, size in sizes):,.0f} MB",
        f"{first_import:.2f} s",
        f"{min(imported for imported, *_ in others):.2f} s",
        f"{first_answer:.1f} s; {min(answered for _, answered, _ in others):.1f} s",
        ", ".join(loaded) or "none",
    ]


def main(given: SimpleNamespace) -> None:
    """Measures and prints."""
    pythons = [one_of("--pythons", version, PYTHONS) for version in given.pythons.split(",")]
    extras = [one_of("--extras", extra, EXTRAS) for extra in given.extras.split(",")]
    with tempfile.TemporaryDirectory(prefix="infoscope-") as folder:
        constraints = write_constraints(Path(folder))
        for version in pythons:
            for extra in extras:
                try:
                    row = measure(version, extra, constraints)
                except CommandFailed as error:
                    row = [version, extra, f"failed: {error}", *[""] * 5]
                print(f"| {' | '.join(row)} |", flush=True)


OPTIONS = [
    option(name, default=",".join(known), help=f"(default: {','.join(known)})")
    for name, known in (("pythons", PYTHONS), ("extras", EXTRAS))
]
COMMAND = command("environments", main, OPTIONS, __doc__)
