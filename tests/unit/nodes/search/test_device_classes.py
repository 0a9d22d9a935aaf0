"""Extended resources that a DeviceClass backs are named where devices may provide them."""

from __future__ import annotations

from typing import Any

import pytest

from api.devices import DeviceClass
from nodes.search.decision import decide_group
from nodes.state.pods.pod_facts import Change
from nodes.state.tables import Tables
from tests.kit.objects import GANG, gang, make, node, pod, tables

GPU = "example.com/gpu"
NAMED = f"{GPU} (DRA extended resource)"


def device_class(name: str, resource: str | None) -> DeviceClass:
    return make(DeviceClass, {"metadata": {"name": name}, "spec": {"extendedResourceName": resource}})


def cluster(**resources: Any) -> Tables:
    found = tables(node("n1", **resources), gang(minimum=1), pod("m", group=GANG, requests={GPU: "1"}))
    found.upsert_device_class(device_class("gpus", GPU))
    return found


def decided(found: Tables) -> tuple[str, list[str]]:
    spec = decide_group(found.snapshot(), "default", GANG)
    return spec.outcome, list(spec.not_modelled)


def test_devices_may_be_where_nodes_do_not_count_the_resource() -> None:
    found = cluster()
    assert decided(found) == ("Unschedulable", [NAMED])
    assert found.upsert_device_class(device_class("gpus", None)) == Change.DECISION
    assert decided(found) == ("Unschedulable", [])


def test_where_a_node_counts_it_the_scheduler_counts_too() -> None:
    assert decided(cluster(**{"example.com__gpu": "1"})) == ("Fits", [])


def test_a_resource_named_after_a_class_is_named_without_one() -> None:
    found = cluster()
    name = "deviceclass.resource.kubernetes.io/gpus"
    found.upsert_pod(pod("m", group=GANG, requests={name: "1"}))
    assert decided(found) == ("Unschedulable", [f"{name} (DRA extended resource)"])


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
