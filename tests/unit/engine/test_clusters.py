"""Clusters that people launch themselves."""

from dataclasses import replace

import pytest

from costguard.domain.resource import Resource, State
from costguard.engine.clusters import cluster_of
from costguard.testing.builders import make_resource, make_snapshot

RAY = {"ray-cluster-name": "tune", "ray-node-type": "head"}


def other(**fields: object) -> Resource:
    box = make_resource(tags={"ray-cluster-name": "tune", "ray-node-type": "worker"})
    place = {name: fields.pop(name) for name in ("account", "region") if name in fields}
    return replace(box, ref=replace(box.ref, id="i-worker", **place), **fields)  # type: ignore[arg-type]


def name_of(box: Resource, *others: Resource) -> str | None:
    found = cluster_of(box, make_snapshot(box, *others))
    return None if found is None else found[0]


def test_the_head_of_a_cluster_whose_workers_are_up_is_a_member() -> None:
    """C29: it computes nothing, and all their work ends with it."""
    head = make_resource(tags=RAY)
    assert name_of(head, other()) == "ray-cluster-name=tune"
    assert name_of(other(), head) == "ray-cluster-name=tune"
    sky = replace(head, tags=RAY | {"skypilot-cluster-name": "tune"})
    assert name_of(sky, replace(other(), tags=sky.tags)) == "skypilot-cluster-name=tune"


@pytest.mark.parametrize(
    "fields",
    [
        {"state": State.STOPPED}, {"state": State.GONE}, {"tags": {"ray-cluster-name": "other"}}, {"tags": {}},
        {"tags": None}, {"account": "another"}, {"region": "elsewhere"},
    ],
)  # fmt: skip
def test_a_cluster_of_one_machine_is_a_machine(fields: dict[str, object]) -> None:
    assert name_of(make_resource(tags=RAY), other(**fields)) is None


def test_a_node_of_kubernetes_says_so_in_the_key_of_its_tag() -> None:
    """C04: on every cloud, whoever made the cluster."""
    assert name_of(make_resource(tags={"kubernetes.io/cluster/train": "owned"})) == "kubernetes.io/cluster/train"
    assert name_of(make_resource(tags={"a": "kubernetes.io/cluster/train"})) is None
    assert name_of(make_resource(tags=None)) is None
