"""The Kubernetes objects of infra/kubernetes, with the pods that KubeRay would make of
its own kinds.
"""

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


def documents():
    for path in KUBERNETES:
        yield from yaml.safe_load_all(path.read_text())


def clusters():
    """The specification of every cluster of Ray, that of a job or of its own."""
    for document in documents():
        if document["kind"] in CLUSTER_FIELDS:
            yield document["spec"].get("rayClusterSpec", document["spec"])


def pods(document):
    """The pod templates of a RayCluster or RayJob, as pods, with what KubeRay's schema
    would check around them.
    """
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
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": group["template"]["spec"],
        }


def objects():
    for document in documents():
        yield from (
            pods(document)
            if document["kind"] in ("RayCluster", "RayJob")
            else [document]
        )


def templates():
    """(object, its labels, the specification of its pods) of every object that runs
    pods.
    """
    for item in objects():
        if item["kind"] == "Pod":
            yield item, item["metadata"].get("labels", {}), item["spec"]
        elif "template" in item["spec"]:
            yield (
                item,
                item["spec"]["template"]["metadata"]["labels"],
                item["spec"]["template"]["spec"],
            )
