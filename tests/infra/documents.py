"""The Kubernetes objects of infra/kubernetes, with the pods that KubeRay would make of its own kinds."""

from pathlib import Path

import yaml

REPOSITORY = Path(__file__).parents[2]
INFRA = REPOSITORY / "infra"
KUBERNETES = sorted((INFRA / "kubernetes").glob("*.yaml"))
CLUSTER_FIELDS = {  # of KubeRay 1.6, as far as they are used here
    "RayCluster": {
        "rayVersion", "authOptions", "enableInTreeAutoscaling", "autoscalerOptions", "headGroupSpec", "workerGroupSpecs"
    },
    "RayJob": {
        "entrypoint", "submissionMode", "shutdownAfterJobFinishes", "ttlSecondsAfterFinished", "backoffLimit",
        "rayClusterSpec",
    },
    "head": {"serviceType", "rayStartParams", "template"},
    "worker": {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"},
}  # fmt: skip


def pods(document):
    """The pod templates of a RayCluster or RayJob, as pods, with what KubeRay's schema would check around them."""
    spec = document["spec"]
    assert set(spec) <= CLUSTER_FIELDS[document["kind"]]
    spec = spec.get("rayClusterSpec", spec)
    assert set(spec) <= CLUSTER_FIELDS["RayCluster"]
    assert set(spec["headGroupSpec"]) == CLUSTER_FIELDS["head"]
    groups = spec["workerGroupSpecs"]
    for group in groups:
        assert set(group) == CLUSTER_FIELDS["worker"]
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    for number, group in enumerate([spec["headGroupSpec"], *groups]):
        metadata = group["template"].get("metadata", {}) | {"name": f"pod-{number}"}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": group["template"]["spec"]}


def objects():
    for path in KUBERNETES:
        for document in yaml.safe_load_all(path.read_text()):
            yield from pods(document) if document["kind"] in ("RayCluster", "RayJob") else [document]
