"""Extended resources that a DeviceClass backs are named where devices may provide them."""

from __future__ import annotations

from typing import Any

import pytest

from api.devices import DeviceClass
from api.plans import PreemptionPlanSpec
from nodes.search.decision import decide_group
from nodes.search.unmodelled import why_blocked
from nodes.state.pods.pod_facts import Change
from nodes.state.tables import Tables
from tests.kit.objects import GANG, gang, make, node, pod, tables

GPU = "example.com/gpu"
NAMED = f"{GPU} (DRA extended resource)"
RESOURCES: Any = {"example.com__gpu": "1"}
COUNTING = node("n2", **RESOURCES)


def device_class(name: str, resource: str | None) -> DeviceClass:
    return make(DeviceClass, {"metadata": {"name": name}, "spec": {"extendedResourceName": resource}})


def cluster(**resources: Any) -> Tables:
    found = tables(node("n1", **resources), gang(minimum=1), pod("m", group=GANG, requests={GPU: "1"}))
    found.upsert_device_class(device_class("gpus", GPU))
    return found


def plan(found: Tables) -> PreemptionPlanSpec:
    return decide_group(found.snapshot(), "default", GANG)


def decided(found: Tables) -> tuple[str, list[str]]:
    spec = plan(found)
    return spec.outcome, list(spec.not_modelled)


def test_devices_may_be_where_nodes_do_not_count_the_resource() -> None:
    """KEP-5004: the scheduler leaves such nodes to its DynamicResources."""
    found = cluster()
    assert decided(found) == ("Fits", [NAMED])
    assert [(each.node, each.any_node) for each in plan(found).placements] == [("n1", True)]
    assert found.upsert_device_class(device_class("gpus", None)) == Change.DECISION
    assert decided(found) == ("Unschedulable", [])


def test_where_a_node_counts_it_the_scheduler_counts_too() -> None:
    found = cluster(**{"example.com__gpu": "1"})
    assert decided(found) == ("Fits", [])
    assert not plan(found).placements[0].any_node


def test_nodes_that_count_it_come_first() -> None:
    found = cluster()
    found.upsert_node(COUNTING)
    assert decided(found) == ("Fits", [])
    found.upsert_pod(pod("x", node="n2", requests={GPU: "1"}, priority=1000))
    assert decided(found) == ("Fits", [NAMED])
    assert [each.node for each in plan(found).placements] == ["n1"]


def test_who_is_evicted_where_nodes_count_it_is_evicted_whatever_devices_others_have() -> None:
    found = cluster()
    found.upsert_node(COUNTING)
    found.upsert_pod(pod("low", node="n2", requests={GPU: "1"}, priority=-1))
    assert decided(found) == ("Preempts", [])


def test_nobody_is_evicted_for_devices_that_may_not_be_there() -> None:
    found = cluster()
    found.upsert_pod(pod("m", group=GANG, requests={GPU: "1", "cpu": "3"}))
    found.upsert_pod(pod("low", node="n1", requests={"cpu": "3"}, priority=-1))
    assert decided(found) == ("Preempts", [NAMED])
    assert why_blocked(plan(found)) == f"not modelled: {NAMED}"


def test_devices_do_not_matter_where_something_else_is_short() -> None:
    """The reason says what is short, and nothing of the resource that devices may provide."""
    found = cluster()
    found.upsert_pod(pod("m", group=GANG, requests={GPU: "1", "cpu": "300"}))
    assert decided(found) == ("Unschedulable", [])
    assert "Insufficient cpu" in plan(found).reason
    assert GPU not in plan(found).reason


def test_a_node_that_counts_it_and_has_too_little_is_short_of_it() -> None:
    found = cluster(**{"example.com__gpu": "1"})
    found.upsert_pod(pod("m", group=GANG, requests={GPU: "2"}))
    assert decided(found) == ("Unschedulable", [])
    assert f"Insufficient {GPU}" in plan(found).reason


@pytest.mark.parametrize("claims", [True, False])
def test_a_pod_with_claims_may_be_put_on_any_node(claims: bool) -> None:
    fields: Any = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]} if claims else {}
    spec = plan(tables(node("n1"), gang(minimum=1), pod("m", group=GANG, **fields)))
    assert [each.any_node for each in spec.placements] == [claims]


def test_a_resource_named_after_a_class_is_named_without_one() -> None:
    found = cluster()
    name = "deviceclass.resource.kubernetes.io/gpus"
    found.upsert_pod(pod("m", group=GANG, requests={name: "1"}))
    assert decided(found) == ("Fits", [f"{name} (DRA extended resource)"])


@pytest.mark.parametrize(
    ("resource", "change"), [(GPU, Change.NOTHING), ("example.com/other", Change.DECISION)]
)
def test_only_the_name_of_the_resource_counts(resource: str, change: Change) -> None:
    assert cluster().upsert_device_class(device_class("gpus", resource)) == change


def test_a_class_that_is_gone_backs_nothing() -> None:
    found = cluster()
    assert found.delete_device_class("gpus") == Change.DECISION
    assert found.delete_device_class("gpus") == Change.NOTHING
    assert decided(found) == ("Unschedulable", [])
