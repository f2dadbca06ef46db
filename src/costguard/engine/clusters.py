"""Clusters that people launch themselves: their members bear a tag, and one of them rests while the others work.

The head of a Ray cluster computes nothing and ends the whole job when it stops. A cluster of one machine is a machine
like any other.
"""

from costguard.domain.resource import Resource, State
from costguard.domain.snapshot import Snapshot

# The launchers' own tags, and what ends the bill of a whole cluster.
_LAUNCHED = (
    ("skypilot-cluster-name", "stop or end the whole cluster with SkyPilot"),
    ("ray-cluster-name", "stop or end the whole cluster with Ray"),
)
# The tag of every node of a cluster that somebody runs on plain machines; the cluster's name is a part of the key.
_KUBERNETES = "kubernetes.io/cluster/"
_UP = frozenset({State.RUNNING, State.PENDING})


def cluster_of(resource: Resource, snapshot: Snapshot) -> tuple[str, str] | None:
    """The cluster that needs this machine, and what to do in place of stopping it; None when none does."""
    tags = resource.tags or {}
    node = next((key for key in sorted(tags) if key.lower().startswith(_KUBERNETES)), None)
    if node is not None:
        return node, "scale its node group down, or drain the node and let the autoscaler remove it"
    for key, instead in _LAUNCHED:
        if key in tags and _has_others(resource, key, snapshot):
            return f"{key}={tags[key]}", instead
    return None


def _has_others(resource: Resource, key: str, snapshot: Snapshot) -> bool:
    """Whether another machine of the cluster is up."""
    ref, value = resource.ref, (resource.tags or {})[key]
    place = ref.account, ref.region
    return any(
        other.ref != ref and (other.ref.account, other.ref.region) == place and other.state in _UP
        for other in snapshot.resources.values()
        if other.tags is not None and other.tags.get(key) == value
    )
