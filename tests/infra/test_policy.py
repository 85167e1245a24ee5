"""What no validator knows: nothing in infra/ lets anyone in, and everything it names is
there, in the right version.
"""

import re
import shutil
import stat
import subprocess
import tomllib

import pytest
import yaml

from tests.infra.documents import INFRA, REPOSITORY, clusters, objects, templates

CONSTRAINTS = dict(
    line.split("==") for line in (REPOSITORY / "constraints.txt").read_text().split()
)
GUIDE = REPOSITORY / "docs" / "clusters.md"
TEXTS = [
    path
    for path in sorted(INFRA.rglob("*"))
    if path.is_file() and path.suffix not in (".py", ".pyc")
]
TEXTS = [path for path in TEXTS if path.name != ".env"]
SECRET = re.compile("PASSWORD|SECRET|TOKEN|ACCESS_KEY", re.IGNORECASE)
COMPOSE = yaml.safe_load((INFRA / "mlflow" / "compose.yaml").read_text())
DOCKERFILES = sorted((INFRA / "docker").glob("*Dockerfile"))
IMAGE = re.compile(r"^\s*(?:- )?image:\s*(\S+)", re.MULTILINE)


def test_compose_has_no_secret_of_its_own():
    """A secret is given or the server does not start."""
    secrets = []
    for service in COMPOSE["services"].values():
        secrets += [
            value
            for name, value in service["environment"].items()
            if SECRET.search(name)
        ]
    assert len(secrets) == 12
    for value in secrets:
        assert re.fullmatch(r"\$\{[A-Z_0-9]+:\?[^}]+\}", value)


def test_compose_is_reached_from_this_machine_only():
    """And its database and objects from nowhere; in a container 0.0.0.0 is the
    container.
    """
    services = COMPOSE["services"]
    published = {}
    for name, service in services.items():
        if "ports" in service:
            published[name] = service["ports"]
    assert published == {
        "mlflow": ["${BIND_ADDRESS:-127.0.0.1}:${MLFLOW_PORT:-5000}:5000"]
    }
    assert COMPOSE["networks"]["storage"]["internal"] is True
    for name in ("database", "objects", "bucket", "accounts"):
        assert services[name]["networks"] == ["storage"]
    for service in services.values():
        assert not {"network_mode", "privileged"} & set(service)


def test_the_tracking_server_asks_for_a_login_and_starts_nothing_else():
    for text in (
        (INFRA / "docker" / "mlflow.Dockerfile").read_text(),
        (INFRA / "kubernetes/mlflow.yaml").read_text(),
    ):
        assert re.search(r'--app-name"?, "?basic-auth', text)
        # with several, every request waits 40 ms
        assert re.search(r'--workers"?, "?1', text)
        # SQLAlchemy 2.1 would look for another driver
        assert "postgresql+psycopg2:///mlflow" in text
    assert (
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false"
        in (INFRA / "docker" / "mlflow.Dockerfile").read_text()
    )
    assert (
        COMPOSE["services"]["mlflow"]["environment"][
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION"
        ]
        == "false"
    )


def test_kubernetes_takes_secrets_from_secrets():
    """And what a worker is given is another account than the one by which the server
    makes its administrator.
    """
    of_server = COMPOSE["services"]["mlflow"]["environment"]
    assert "ADMIN" in of_server["MLFLOW_AUTH_ADMIN_PASSWORD"]
    assert "MLFLOW_TRACKING_PASSWORD" not in str(of_server)
    assert "Secret" not in [item["kind"] for item in objects()]
    seen = 0
    for _, _, spec in templates():
        for container in spec["containers"]:
            secrets = []
            for entry in container["env"]:
                if SECRET.search(entry["name"]):
                    secrets.append(entry)
            keys = [entry["valueFrom"]["secretKeyRef"]["key"] for entry in secrets]
            for entry in secrets:
                assert "value" not in entry
            assert any("ADMIN" in key for key in keys) == (
                container["name"] in ("mlflow", "accounts")
            )
            seen += len(secrets)
            for entry in container["env"]:
                assert entry["name"] != "RAY_AUTH_MODE" or entry["value"] == "token"
    assert seen == 13


@pytest.mark.parametrize("item, labels, spec", list(templates()))
def test_kubernetes_pods_have_no_privileges_and_a_policy(item, labels, spec):
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert not spec.get("hostNetwork")
    locked = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    if item["kind"] != "Pod":  # of KubeRay, in which trials write what they please
        locked["readOnlyRootFilesystem"] = True
    for container in spec["containers"]:
        assert container["securityContext"] == locked
        assert set(container["resources"]) == {"requests", "limits"}
        for port in container.get("ports", []):
            assert "hostPort" not in port
        if item["kind"] not in ("Pod", "Job"):  # KubeRay adds its own
            assert {"readinessProbe", "livenessProbe"} <= set(container)
    rules = []
    for rule in objects():
        if rule["kind"] == "NetworkPolicy":
            rules.append(rule["spec"])
    assert any(
        rule["podSelector"]["matchLabels"].items() <= labels.items() for rule in rules
    )


@pytest.mark.parametrize("spec", list(clusters()))
def test_drivers_have_names_of_their_own_and_a_disk_that_outlives_them(spec):
    """By `runs`, not by a host name that several pods might have, a new driver knows
    what the last one left open.
    """
    assert spec["authOptions"] == {"mode": "token", "secretName": "infoscope-ray"}
    assert spec["rayVersion"] == CONSTRAINTS["ray"]
    assert spec["headGroupSpec"]["serviceType"] == "ClusterIP"
    head = spec["headGroupSpec"]["template"]["spec"]
    assert "hostname" not in head
    assert "claimName" in str(head["volumes"])
    mounts = {
        mount["name"]: mount["mountPath"]
        for mount in head["containers"][0]["volumeMounts"]
    }
    assert mounts["runs"] == "/opt/infoscope/runs"


def test_kubernetes_services_stay_inside():
    kinds = [item["kind"] for item in objects()]
    assert len(list(clusters())) == 2
    assert len(list(templates())) == 8
    assert kinds.count("Service") == 2
    for item in objects():
        if item["kind"] == "Service":
            assert item["spec"]["type"] == "ClusterIP"
        if item["kind"] == "NetworkPolicy":
            assert item["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_ray_needs_its_token_everywhere():
    commands = yaml.safe_load((INFRA / "ray" / "cluster.yaml").read_text())
    for kind in ("head", "worker"):
        (start,) = [
            line
            for line in commands[f"{kind}_start_ray_commands"]
            if "ray start" in line
        ]
        assert start.startswith("RAY_AUTH_MODE=token ray start")
    assert "--dashboard-host=127.0.0.1" in commands["head_start_ray_commands"][1]
    script = (INFRA / "slurm" / "sweep.sbatch").read_text()
    for part in ("RAY_AUTH_MODE=token", "umask 077", "--include-dashboard=false"):
        assert part in script


def test_images_have_versions_and_no_host():
    images = set()
    for path in TEXTS:
        for image in IMAGE.findall(path.read_text()):
            images.add(image)
    package = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert {
        f"infoscope:{package['version']}",
        f"infoscope-mlflow:{CONSTRAINTS['mlflow']}",
    } <= images
    for image in images:
        assert re.fullmatch(r"[a-z-]+(/[a-z-]+)?:v?\d[\d.]*", image)
    assert package["requires-python"] == ">=3.11"
    for path in DOCKERFILES:
        text = path.read_text()
        assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {
            "python:${PYTHON}-slim"
        }
        assert re.search(r"^ARG PYTHON=(.*)", text, re.MULTILINE)[1] == "3.11"


def test_versions_are_those_of_the_constraints():
    for path in (INFRA / "docker").glob("*requirements.txt"):
        for name, version in re.findall(
            r"^([a-z0-9-]+)(?:\[.*\])?==(.*)", path.read_text(), re.MULTILINE
        ):
            assert CONSTRAINTS[name] == version, f"{name} in {path.name}"


def test_every_task_and_file_that_is_named_exists():
    targets = set(
        re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    )
    targets |= {
        f"sweep-{path.stem.replace('_', '-')}"
        for path in REPOSITORY.glob("sweeps/*/*.py")
    }
    tasks = []
    for path in [*TEXTS, GUIDE]:
        text = path.read_text()
        tasks += re.findall(
            r"\bmake ((?:sweep|table|infra|setup|report|ui|check)[a-z-]*)", text
        )
        for file in re.findall(r"\b(?:infra|docs|packages)/[\w./-]*\w", text):
            assert (REPOSITORY / file).exists() or file.endswith(".env"), (
                f"{file} in {path.name}"
            )
        assert not re.search(r"/(home|Users)/(?!ray|mlflow)", text), path
    assert len(tasks) >= 8
    assert {task.replace("table-", "sweep-") for task in tasks} <= targets | {"sweep-"}


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_an_image_contains_only_the_files_it_copies(path):
    """BuildKit reads NAME.dockerignore beside the Dockerfile: everything is left out
    but what is named there.
    """
    rules = path.with_name(f"{path.name}.dockerignore").read_text().split("\n")
    assert "*" in rules
    let_in = []
    for rule in rules:
        if rule.startswith("!"):
            let_in.append(rule[1:])
    assert not {"runs", ".git", ".env", "tests"} & set(let_in)
    copied = []
    for words in re.findall(r"^COPY (.*) \S+", path.read_text(), re.MULTILINE):
        copied += words.split()
    assert copied
    for source in copied:
        assert (REPOSITORY / source).exists()
        assert any(
            name == source or name.startswith(f"{source}/") for name in let_in
        ), source


def settings(path):
    """The secrets and other variables of a file."""
    lines = re.findall(r"^([^#=\n]+)=(.*)$", path.read_text(), re.MULTILINE)
    secrets = []
    for name, value in lines:
        if SECRET.search(name) and name != "MLFLOW_TRACKING_USERNAME":
            secrets.append(value)
    return secrets, [name for name, _ in lines]


def test_secrets_are_made_here_and_never_committed(tmp_path):
    for name in ("secrets.sh", ".env.example"):
        shutil.copy(INFRA / "mlflow" / name, tmp_path)
    command = ["sh", tmp_path / "secrets.sh"]
    subprocess.run(command, capture_output=True, check=True)
    written = tmp_path / ".env"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    secrets, names = settings(written)
    empty, expected = settings(tmp_path / ".env.example")
    assert names == expected
    assert set(empty) == {""}
    assert len(set(secrets)) == len(secrets) == 6
    for secret in secrets:
        assert re.fullmatch("[0-9a-f]{48}", secret)
    before = written.read_text()
    assert subprocess.run(command, capture_output=True).returncode != 0
    assert written.read_text() == before  # what a server runs with is not overwritten
    asked = re.findall(
        r"\$\{([A-Z_0-9]+):\?", (INFRA / "mlflow" / "compose.yaml").read_text()
    )
    assert set(asked) <= set(names)
    assert ".env" in (REPOSITORY / ".gitignore").read_text().split()
