"""What the installation prints, with stand-ins for Python and uv."""

import subprocess

import pytest

from tests.infra.documents import INFRA

PYTHON = """case $2 in
venv) mkdir -p $3/bin; cp $0 $3/bin/python;;
pip) [ "$4" = uv ] || [ -n "${PIP_WORKS:-}" ] || { echo "no matching distribution" >&2; exit 1; };;
esac"""
UV = """case " $* " in *" --quiet "*) ;; *) i=0; while [ $((i += 1)) -lt 160 ]; do echo " + package-$i==1"; done;; esac
[ -n "${UV_WORKS:-}" ] || { echo "no solution found" >&2; exit 1; }"""


@pytest.mark.parametrize(
    "works, status, words",
    [
        ("UV_WORKS", 0, ()),
        ("PIP_WORKS", 0, ("trying pip",)),
        ("", 2, ("no solution found", "no matching distribution")),
    ],
)
def test_the_installation_is_short_and_shows_errors(tmp_path, works, status, words):
    for name, text in {"python3": PYTHON, "uv": UV}.items():
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", works or "NONE": "1"}
    done = subprocess.run(
        ["sh", str(INFRA / "setup.sh"), "venv"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    said = done.stdout + done.stderr
    assert done.returncode == status
    assert len(said.splitlines()) <= 10
    for word in words:
        assert word in said
