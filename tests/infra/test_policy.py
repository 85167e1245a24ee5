"""What no validator knows: nothing in infra/ lets anyone in, and everything it names is there, in the right version."""

import re
import shutil
import stat
import subprocess
import tomllib

import pytest
import yaml

from tests.infra.documents import INFRA, KUBERNETES, REPOSITORY, objects

CONSTRAINTS = dict(line.split("==") for line in (REPOSITORY / "constraints.txt").read_text().split())
GUIDE = REPOSITORY / "docs" / "clusters.md"
TEXTS = [path for path in sorted(INFRA.rglob("*")) if path.is_file() and path.suffix not in (".py", ".pyc")]
TEXTS = [path for path in TEXTS if path.name != ".env"]
SECRET = re.compile("PASSWORD|SECRET|TOKEN|ACCESS_KEY", re.IGNORECASE)
COMPOSE = yaml.safe_load((INFRA / "mlflow" / "compose.yaml").read_text())
IMAGE = re.compile(r"^\s*(?:- )?image:\s*(\S+)", re.MULTILINE)


def test_compose_has_no_secret_of_its_own():
    """A secret is given or the server does not start."""
    secrets = [
        (name, value)
        for service in COMPOSE["services"].values()
        for name, value in service["environment"].items()
        if SECRET.search(name)
    ]
    assert len(secrets) == 12
    for name, value in secrets:
        assert re.fullmatch(r"\$\{[A-Z_0-9]+:\?[^}]+\}", value), name


def test_compose_is_reached_from_this_machine_only():
    """And its database and objects from nowhere; in a container 0.0.0.0 is the container."""
    published = {name: service["ports"] for name, service in COMPOSE["services"].items() if "ports" in service}
    assert published == {"mlflow": ["${BIND_ADDRESS:-127.0.0.1}:${MLFLOW_PORT:-5000}:5000"]}
    assert COMPOSE["networks"]["storage"]["internal"] is True
    for name in ("database", "objects", "bucket", "accounts"):
        assert COMPOSE["services"][name]["networks"] == ["storage"]
    for service in COMPOSE["services"].values():
        assert "network_mode" not in service and not service.get("privileged")


def test_the_tracking_server_asks_for_a_login_and_starts_nothing_else():
    for text in ((INFRA / "docker" / "mlflow.Dockerfile").read_text(), (INFRA / "kubernetes/mlflow.yaml").read_text()):
        assert re.search(r'--app-name"?, "?basic-auth', text)
        assert re.search(r'--workers"?, "?1', text)  # with several, every request waits 40 ms
        assert "postgresql+psycopg2:///mlflow" in text  # SQLAlchemy 2.1 would look for another driver
    assert "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false" in (INFRA / "docker" / "mlflow.Dockerfile").read_text()
    assert COMPOSE["services"]["mlflow"]["environment"]["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] == "false"


def containers():
    for one in objects():
        spec = one["spec"]["template"]["spec"] if one["kind"] in ("Deployment", "StatefulSet", "Job") else one["spec"]
        for container in spec.get("containers", []):
            yield one, spec, container


def test_kubernetes_takes_secrets_from_secrets():
    assert not [one for one in objects() if one["kind"] == "Secret"]
    seen = 0
    for _, _, container in containers():
        for entry in container["env"]:
            if SECRET.search(entry["name"]):
                seen += 1
                assert set(entry) == {"name", "valueFrom"} and "secretKeyRef" in entry["valueFrom"], entry["name"]
            if entry["name"] == "RAY_AUTH_MODE":
                assert entry["value"] == "token"
    assert seen == 13


def test_kubernetes_pods_have_no_privileges():
    pods = list(containers())
    assert len(pods) == 8
    for one, spec, container in pods:
        name = f"{one['metadata'].get('name')}/{container['name']}"
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        locked = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        if one["kind"] != "Pod":  # of KubeRay, in which trials write what they please
            locked |= {"readOnlyRootFilesystem": True}
        assert container["securityContext"] == locked, name
        assert set(container["resources"]) == {"requests", "limits"}, name
        assert not spec.get("hostNetwork") and not any("hostPort" in port for port in container.get("ports", []))
        if one["kind"] not in ("Pod", "Job"):  # KubeRay adds its own
            assert {"readinessProbe", "livenessProbe"} <= set(container), name


def test_trials_log_in_as_somebody_who_administers_nothing():
    """What a worker is given is another account than the one by which the server makes its administrator."""
    of_server = COMPOSE["services"]["mlflow"]["environment"]
    assert "ADMIN" in of_server["MLFLOW_AUTH_ADMIN_PASSWORD"] and "MLFLOW_TRACKING_PASSWORD" not in str(of_server)
    for _, _, container in containers():
        keys = {
            entry["name"]: entry["valueFrom"]["secretKeyRef"]["key"]
            for entry in container["env"]
            if "secretKeyRef" in entry.get("valueFrom", {})
        }
        administers = [name for name, key in keys.items() if "ADMIN" in key]
        assert bool(administers) == (container["name"] in ("mlflow", "accounts"))


def test_drivers_have_names_of_their_own_and_a_disk_that_outlives_them():
    """By `runs`, not by a host name that several pods might have, a new driver knows what the last one left open."""
    heads = 0
    for path in KUBERNETES:
        for document in yaml.safe_load_all(path.read_text()):
            if document["kind"] in ("RayCluster", "RayJob"):
                spec = document["spec"].get("rayClusterSpec", document["spec"])
                head = spec["headGroupSpec"]["template"]["spec"]
                assert "hostname" not in head and "claimName" in str(head["volumes"])
                mounts = {mount["name"]: mount["mountPath"] for mount in head["containers"][0]["volumeMounts"]}
                assert mounts["runs"] == "/opt/infoscope/runs"
                heads += 1
    assert heads == 2


def test_kubernetes_services_stay_inside_and_every_pod_has_a_policy():
    services = [one["spec"]["type"] for one in objects() if one["kind"] == "Service"]
    assert services == ["ClusterIP"] * 2
    for path in KUBERNETES:
        for document in yaml.safe_load_all(path.read_text()):
            if document["kind"] in ("RayCluster", "RayJob"):
                spec = document["spec"].get("rayClusterSpec", document["spec"])
                assert spec["headGroupSpec"]["serviceType"] == "ClusterIP"
                assert spec["authOptions"] == {"mode": "token", "secretName": "infoscope-ray"}
    rules = [one["spec"] for one in objects() if one["kind"] == "NetworkPolicy"]
    assert all(rule["policyTypes"] == ["Ingress", "Egress"] for rule in rules)
    policies = [rule["podSelector"]["matchLabels"] for rule in rules]
    for one, _, _ in containers():
        labels = one["metadata"]["labels"] if one["kind"] == "Pod" else one["spec"]["template"]["metadata"]["labels"]
        assert any(wanted.items() <= labels.items() for wanted in policies), one["metadata"]


def test_ray_needs_its_token_everywhere():
    commands = yaml.safe_load((INFRA / "ray" / "cluster.yaml").read_text())
    for kind in ("head", "worker"):
        (start,) = [line for line in commands[f"{kind}_start_ray_commands"] if "ray start" in line]
        assert start.startswith("RAY_AUTH_MODE=token ray start")
    assert "--dashboard-host=127.0.0.1" in commands["head_start_ray_commands"][1]
    script = (INFRA / "slurm" / "sweep.sbatch").read_text()
    assert "RAY_AUTH_MODE=token" in script and "umask 077" in script and "--include-dashboard=false" in script


def test_nothing_is_ended_by_name():
    for path in [*TEXTS, REPOSITORY / "Makefile"]:
        assert not re.search(r"\b(pkill|killall)\b", path.read_text()), path


def test_images_have_versions_and_no_host():
    images = {image for path in TEXTS for image in IMAGE.findall(path.read_text())}
    package = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    ours = {f"infoscope:{package['version']}", f"infoscope-mlflow:{CONSTRAINTS['mlflow']}"}
    assert ours <= images
    for image in images:
        name, _, tag = image.partition(":")
        assert re.fullmatch(r"[a-z-]+(/[a-z-]+)?", name) and re.fullmatch(r"v?\d[\d.]*", tag), image
    for path in TEXTS:
        for first in re.findall(r"^FROM (\S+)", path.read_text(), re.MULTILINE):
            assert first == "python:${PYTHON}-slim"
            assert re.search(r"^ARG PYTHON=(.*)", path.read_text(), re.MULTILINE)[1] == "3.11"
            assert package["requires-python"] == ">=3.11"


def test_versions_are_those_of_the_constraints():
    for path in (INFRA / "docker").glob("*requirements.txt"):
        for name, version in re.findall(r"^([a-z0-9-]+)(?:\[.*\])?==(.*)", path.read_text(), re.MULTILINE):
            assert CONSTRAINTS[name] == version, f"{name} in {path.name}"
    for path in KUBERNETES:
        for version in re.findall(r"rayVersion: (.*)", path.read_text()):
            assert version == CONSTRAINTS["ray"]


def test_every_task_and_file_that_is_named_exists():
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    named = 0
    for path in [*TEXTS, GUIDE]:
        text = path.read_text()
        for task in re.findall(r"\bmake ((?:sweep|table|infra|setup|report|ui|check)[a-z-]*)", text):
            sweep = task.removeprefix("sweep-").removeprefix("table-").replace("-", "_")
            assert task in targets or task == "sweep-" or list(REPOSITORY.glob(f"sweeps/*/{sweep}.py")), task
            named += 1
        for file in re.findall(r"\b(?:infra|docs|packages)/[\w./-]*\w", text):
            assert (REPOSITORY / file).exists() or file.endswith(".env"), f"{file} in {path.name}"
        assert not re.search(r"/(home|Users)/(?!ray|mlflow)", text), path
    assert named >= 8


def test_an_image_contains_only_the_files_it_copies():
    """BuildKit reads NAME.dockerignore beside the Dockerfile: everything is left out but what is named there."""
    for path in (INFRA / "docker").glob("*Dockerfile"):
        rules = (path.parent / f"{path.name}.dockerignore").read_text().split("\n")
        assert "*" in rules
        let_in = [rule[1:] for rule in rules if rule.startswith("!")]
        copied = [
            source
            for words in re.findall(r"^COPY (.*)", path.read_text(), re.MULTILINE)
            for source in words.split()[:-1]
        ]
        assert copied and all((REPOSITORY / source).exists() for source in copied)
        for source in copied:
            assert any(name == source or name.startswith(f"{source}/") for name in let_in), source
        assert not [name for name in let_in if name in ("runs", ".git", ".env", "tests")]


@pytest.fixture
def secrets(tmp_path):
    """() -> exit status of the script that writes secrets, in a copy of its folder."""
    for name in ("secrets.sh", ".env.example"):
        shutil.copy(INFRA / "mlflow" / name, tmp_path)
    return lambda: subprocess.run(["sh", tmp_path / "secrets.sh"], capture_output=True, text=True).returncode


def settings(path):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_secrets_are_made_here_and_never_committed(secrets, tmp_path):
    assert secrets() == 0
    written = tmp_path / ".env"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    example, made = settings(tmp_path / ".env.example"), settings(written)
    assert list(made) == list(example)
    drawn = [value for name, value in made.items() if SECRET.search(name) and name != "MLFLOW_TRACKING_USERNAME"]
    assert len(drawn) == 6 and len(set(drawn)) == 6 and all(re.fullmatch("[0-9a-f]{48}", value) for value in drawn)
    assert not any(value for name, value in example.items() if SECRET.search(name))
    before = written.read_text()
    assert secrets() != 0 and written.read_text() == before  # what a server runs with is not overwritten
    asked = set(re.findall(r"\$\{([A-Z_0-9]+):\?", (INFRA / "mlflow" / "compose.yaml").read_text()))
    assert asked <= set(made)
    assert ".env" in (REPOSITORY / ".gitignore").read_text().split()
