"""The files of infra/, by the programs that validate them, without a cluster, a daemon
or a network: each accepts the file and refuses a broken one.
"""

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.infra.documents import INFRA, REPOSITORY, objects

SCRIPTS = [
    *sorted(INFRA.rglob("*.sh")),
    INFRA / "slurm" / "sweep.sbatch",
    REPOSITORY / ".ci" / "run",
]


def run(program, *arguments, text=None):
    """(exit status, output) of a program that is installed beside Python; skipped where
    it is not.
    """
    path = Path(sys.executable).with_name(program)
    if not path.exists():
        pytest.skip(f"{program} is not installed")
    done = subprocess.run(
        [path, *arguments], input=text, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def test_yaml_is_well_formed_and_even():
    code, output = run("yamllint", "--strict", "-c", INFRA / ".yamllint.yaml", INFRA)
    assert code == 0, output
    assert (
        run("yamllint", "-c", INFRA / ".yamllint.yaml", "-", text="a: 1\na: 2\n")[0]
        == 1
    )


def test_shell_scripts():
    code, output = run("shellcheck", *SCRIPTS)
    assert code == 0, output
    assert run("shellcheck", "-", text="#!/bin/sh\nrm -rf $1/*\n")[0] == 1


def test_dockerfiles():
    code, output = run("hadolint", *sorted(INFRA.rglob("*Dockerfile")))
    assert code == 0, output
    assert run("hadolint", "-", text="FROM python:latest\nRUN cd /tmp\n")[0] == 1


def test_compose_file(tmp_path):
    path = INFRA / "mlflow" / "compose.yaml"
    code, output = run(
        "check-jsonschema", "--builtin-schema", "vendor.compose-spec", path
    )
    assert code == 0, output
    broken = tmp_path / "compose.yaml"
    broken.write_text(path.read_text().replace("depends_on:", "depend_on:"))
    assert (
        run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", broken)[0]
        == 1
    )


def test_cluster_file_of_ray():
    """Ray's own check, which `ray up` does before it asks for machines."""
    from jsonschema import ValidationError
    from ray.autoscaler._private.util import prepare_config, validate_config

    described = yaml.safe_load((INFRA / "ray" / "cluster.yaml").read_text())
    validate_config(prepare_config(copy.deepcopy(described)))
    for broken in (
        described | {"max_wrokers": 3},
        described | {"head_node_type": "nowhere"},
    ):
        with pytest.raises((ValidationError, ValueError)):
            validate_config(prepare_config(copy.deepcopy(broken)))
    kinds = described["available_node_types"]
    assert kinds["head"]["max_workers"] == 0
    assert "InstanceMarketOptions" not in kinds["head"]["node_config"]
    # else a sweep would find no GPU and train on processors
    assert kinds["gpus"]["min_workers"] >= 1


def test_kubernetes_objects():
    validator = pytest.importorskip("kubernetes_validate")
    everything = list(objects())
    assert len([one for one in everything if one["kind"] == "Pod"]) == 5
    assert len(everything) == 14
    for one in everything:
        validator.validate(one, validator.latest_version(), strict=True)
    broken = copy.deepcopy(next(one for one in everything if one["kind"] == "Pod"))
    broken["spec"]["containers"][0]["imagee"] = "x"
    with pytest.raises(validator.ValidationError):
        validator.validate(broken, validator.latest_version(), strict=True)
