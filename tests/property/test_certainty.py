"""No answer says yes of what uses something that is not modelled and could matter; a no stays a no."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.answers.certainty import (
    NODE_FEATURES,
    QUOTA_FEATURES,
    Feature,
    node_faults,
    quota_faults,
    refusal_faults,
)
from tests.kit.examples import examples
from tests.kit.plans.clusters import clusters
from tests.kit.quota.objects import cluster_queue, completed, cpu, workload
from tests.property.quota_worlds import heads, worlds

Object = dict[str, Any]


def plain(objects: list[Any]) -> list[Object]:
    """As files have them, with flavors and LocalQueues."""
    found = []
    for each in completed(objects):
        body = {name: value for name, value in msgspec.to_builtins(each).items() if value is not None}
        found.append({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": type(each).__name__, **body})
    return found


@settings(max_examples=examples(60))
@given(clusters(pods=4), st.sampled_from(NODE_FEATURES))
def test_no_answer_about_nodes_is_too_certain(objects: list[Object], feature: Feature) -> None:
    assert list(node_faults(objects, feature, "d/hero")) == []


@settings(max_examples=examples(30))
@given(clusters(pods=4))
def test_no_refusal_is_too_certain(objects: list[Object]) -> None:
    assert list(refusal_faults(objects, "d/hero")) == []


@settings(max_examples=examples(60))
@given(worlds(), st.sampled_from(QUOTA_FEATURES))
def test_no_answer_about_quota_is_too_certain(objects: list[Any], feature: Feature) -> None:
    for each in heads(objects)[:1]:
        name = f"{each.metadata.namespace}/{each.metadata.name}"
        assert list(quota_faults(plain(objects), feature, name, each.spec.queue_name)) == []


# ---- these tests see each renderer

NODE = {
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "n"}},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}},
}
GANG = {
    "kind": "PodGroup",
    "metadata": {"name": "hero", "namespace": "d", "uid": "u-hero"},
    "spec": {"priority": 5, "schedulingPolicy": {"gang": {"minCount": 1}}},
}
LABELS = {"reprieve.dev/pod-group": "hero"}
CONTAINERS = [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]
MEMBER = {
    "kind": "Pod",
    "metadata": {"name": "m", "namespace": "d", "uid": "u-m", "labels": LABELS},
    "spec": {"priority": 5, "containers": CONTAINERS},
}
GANGS: list[Object] = [NODE, GANG, MEMBER]
QUEUES = [cluster_queue("a", cpu(4)), workload("w", "a", 2)]
SILENT: dict[str, Any] = {
    "doubted": lambda says, names: says,
    "doubts": lambda *_: (),
    "verdict": lambda spec: spec.outcome,
    "plain": msgspec.to_builtins,
}
"""What each of these would be if nothing were named."""
NODE_PLACES = (
    "answers.plan.plain",
    "answers.plan.verdict",
    "answers.what_if.trying.doubted",
    "cli.plan.render.doubts",
    "cli.plan.render.verdict",
    "nodes.answers.consequences.doubts",
    "nodes.answers.fates.verdict",
    "nodes.answers.group_waits.verdict",
    "nodes.answers.plan_words.doubts",
)
QUOTA_PLACES = (
    "answers.quota_decision.doubts",
    "cli.queue.render.doubted",
    "cli.quota.render.doubted",
    "quota.answers.fates.doubted",
    "quota.answers.overview.doubts",
    "quota.answers.waits.doubted",
    "quota.answers.waits.doubts",
)


@pytest.mark.parametrize("place", NODE_PLACES)
def test_a_renderer_that_is_silent_about_nodes_is_found(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(node_faults(GANGS, NODE_FEATURES[0], "d/hero")) == []
    monkeypatch.setattr(place, SILENT[place.rpartition(".")[2]])
    assert list(node_faults(GANGS, NODE_FEATURES[0], "d/hero"))


@pytest.mark.parametrize("place", QUOTA_PLACES)
def test_a_renderer_that_is_silent_about_quota_is_found(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(quota_faults(plain(QUEUES), QUOTA_FEATURES[0], "ns/w", "a")) == []
    monkeypatch.setattr(place, SILENT[place.rpartition(".")[2]])
    assert list(quota_faults(plain(QUEUES), QUOTA_FEATURES[0], "ns/w", "a"))
