"""What `pip install infoscope` brings is of use without torch, Ray and MLflow, and says
what brings them.
"""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "ray", "mlflow", "optuna", "transformers", "matplotlib", "PIL"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import numpy as np

from infoscope import examples
from infoscope.estimators import discrete, estimate, knn, methods
from infoscope.metrics import partition, pid, representation
from infoscope.metrics.v_information import pvi

generator = np.random.default_rng(0)
x = generator.normal(size=(300, 3))
y, label = x[:, 0] + generator.normal(size=300), (x[:, 1] > 0).astype(int)
"""
USED = """
assert len(examples.genes())
assert estimate(x, y).grade and estimate(x, y, "ksg").n == estimate(x, y, "gcmi").n == 300
assert estimate(x, label, "classifier").value > 0.1
assert {"reading", "ksg", "gcmi", "shrinkage", "classifier"} <= {one.name for one in methods()}
assert knn.conditional_mutual_information(x[:, :1], y, x[:, 1:2]).n == 300
blocks = {"z_y": x[:, :2], "z_d": x[:, 2:]}
assert str(partition.evaluate(blocks, label, (y > 0).astype(int)))
assert str(representation.report(blocks, {"label": label}))
"""
ASKED = """
for what in (lambda: estimate(x, y, "smile-5"), lambda: __import__("infoscope.estimators").estimators.make_critic):
    try:
        what()
    except (ValueError, ImportError) as error:
        print(error)
"""


def without_torch(program):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + program],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_answers_without_torch():
    without_torch(USED)


def test_what_needs_torch_says_which_extra_brings_it():
    first, second = without_torch(ASKED).splitlines()
    assert first.endswith(
        "needs torch, which is not installed: pip install 'infoscope[torch]'."
    )
    assert second.endswith(
        "make_critic needs torch, which is not installed: pip install "
        "'infoscope[torch]'"
    )


def test_the_wheel_has_every_module(tmp_path):
    """Built from a copy without git."""
    shutil.copytree(
        REPOSITORY / "packages",
        tmp_path / "packages",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(REPOSITORY / name, tmp_path)
    builder = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        str(tmp_path),
    ]
    done = subprocess.run(builder, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    packed = set()
    for name in zipfile.ZipFile(wheel).namelist():
        if name.startswith("infoscope/"):
            packed.add(name)
    files = tmp_path.glob("packages/*/src/infoscope/**/*.*")
    assert packed == {
        "infoscope/" + str(file).partition("/src/infoscope/")[2] for file in files
    }


def test_only_extras_bring_torch():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    for text in project["dependencies"]:
        assert not text.startswith(("torch", "ray", "mlflow"))
