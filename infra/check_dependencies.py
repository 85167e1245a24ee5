"""Asks a vulnerability service about every pinned package: check_dependencies.py UV CONSTRAINTS.

Runs pip-audit, in an environment of its own that uv makes, with the service of PyPI and, where that has nothing to say,
the Open Source Vulnerabilities database. Exits with 0 when no package has a known vulnerability, with 1 when one has,
with 2 when some package could not be asked about: then nothing is known of it.
"""

from __future__ import annotations

import json
import subprocess
import sys

TOOL = "pip-audit==2.10.1"
SERVICES = ("pypi", "osv")


def answers(uv: str, constraints: str, service: str) -> list[dict]:
    """The answer of a service on each package; empty where it does not answer."""
    options = ["--no-deps", "--disable-pip", "--progress-spinner=off", "--format=json"]
    command = [uv, "tool", "run", "--from", TOOL, "pip-audit", *options, f"--vulnerability-service={service}"]
    done = subprocess.run([*command, "--requirement", constraints], capture_output=True, text=True)
    try:
        return json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        told = done.stderr.strip().splitlines() or ["no answer"]
        print(f"{service}: {told[-1][:300]}", file=sys.stderr)
        return []


def main(uv: str, constraints: str) -> int:
    with open(constraints, encoding="utf-8") as file:
        pinned = dict(line.strip().split("==", 1) for line in file if "==" in line)
    found: dict[str, list[dict]] = {}
    for service in SERVICES:
        if len(found) < len(pinned):
            of_service = answers(uv, constraints, service)
            found |= {one["name"]: one["vulns"] for one in of_service if "skip_reason" not in one}
    for name, vulnerabilities in sorted(found.items()):
        for one in vulnerabilities:
            fixed = ", ".join(one["fix_versions"]) or "no version yet"
            print(f"{name} {pinned.get(name, '')}: {one['id']}, fixed in {fixed}")
    unknown = len(set(pinned) - set(found))
    print(f"{len(found)} of {len(pinned)} packages asked about, {sum(map(bool, found.values()))} with vulnerabilities")
    if unknown:
        print(f"error: no service could be asked about {unknown} packages; is the network there?", file=sys.stderr)
    return 1 if any(found.values()) else 2 if unknown else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
