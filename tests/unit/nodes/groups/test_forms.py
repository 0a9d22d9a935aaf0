"""The internal form of the groups of others, from their objects."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.core import Pod
from api.foreign_groups import CoschedulingPodGroup, NativePodGroup, VolcanoPodGroup
from api.groups import PodGroup, goes_whole, has_run
from nodes.groups.forms import HIGHEST, ObjectName, by_its_pods, implied, object_name
from nodes.groups.registry import OBJECTS, ForeignGroup
from nodes.state.tables import Tables
from tests.kit.objects import gang, pod

META = {"name": "a", "namespace": "default", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
GANG = {"schedulingPolicy": {"gang": {"minCount": 3}}}


def read(kind: type[ForeignGroup], spec: dict[str, Any] | None = None, **status: Any) -> ForeignGroup:
    body = {"metadata": META, **({"spec": spec} if spec is not None else {}), "status": status}
    return msgspec.convert(body, kind)


def form(kind: type[ForeignGroup], spec: dict[str, Any] | None = None, **status: Any) -> PodGroup:
    return OBJECTS[kind].form(read(kind, spec, **status))


def minimum(group: PodGroup) -> int:
    gang = group.spec.scheduling_policy.gang
    return gang.min_count if gang is not None else 0


@pytest.mark.parametrize(
    ("kind", "source", "version"),
    [
        (CoschedulingPodGroup, "podgroups.scheduling.x-k8s.io", "scheduling.x-k8s.io/v1alpha1"),
        (VolcanoPodGroup, "podgroups.scheduling.volcano.sh", "scheduling.volcano.sh/v1beta1"),
    ],
)
def test_min_member_makes_a_gang(kind: type[ForeignGroup], source: str, version: str) -> None:
    found = form(kind, {"minMember": 3, "minResources": {"cpu": "3"}, "queue": "default"})
    assert (found.metadata.name, found.metadata.uid, minimum(found)) == (f"{source}:a", "u", 3)
    assert goes_whole(found)
    assert by_its_pods(found)
    assert object_name(found) == ObjectName(version, "PodGroup", "a", "u")


@pytest.mark.parametrize("kind", [CoschedulingPodGroup, VolcanoPodGroup])
@pytest.mark.parametrize("spec", [None, {}, {"minMember": 0}, {"minMember": -5}])
def test_without_min_member_it_is_no_gang(kind: type[ForeignGroup], spec: dict[str, Any] | None) -> None:
    found = form(kind, spec)
    assert (minimum(found), goes_whole(found)) == (0, True)


@pytest.mark.parametrize(
    ("kind", "phase", "ran"),
    [
        (CoschedulingPodGroup, "Scheduling", False),
        (CoschedulingPodGroup, "Running", True),
        (VolcanoPodGroup, "Inqueue", False),
        (VolcanoPodGroup, "Unknown", False),
        (VolcanoPodGroup, "Running", True),
    ],
)
def test_the_phase_says_whether_it_has_run(kind: type[ForeignGroup], phase: str, ran: bool) -> None:
    assert has_run(form(kind, {"minMember": 2}, phase=phase)) is ran


def test_the_class_of_a_volcano_group_is_no_priority() -> None:
    found = form(VolcanoPodGroup, {"minMember": 2, "priorityClassName": "high"})
    assert (found.spec.priority, found.spec.priority_class_name) == (HIGHEST, "high")


@pytest.mark.parametrize(
    ("spec", "whole", "priority"),
    [
        ({}, True, HIGHEST),
        ({"priority": 7}, True, 7),
        ({"priorityClassName": "high"}, True, None),
        ({"disruptionMode": {"all": {}}, "priority": 7}, True, 7),
        ({"disruptionMode": {"single": {}}, "priority": 7}, False, 7),
        ({"disruptionMode": {"single": {}}}, False, HIGHEST),
        ({"disruptionMode": {"single": {}}, "priorityClassName": "high"}, False, None),
    ],
)
def test_a_native_group_says_how_it_goes(spec: dict[str, Any], whole: bool, priority: int | None) -> None:
    found = form(NativePodGroup, GANG | spec)
    assert (goes_whole(found), found.spec.priority, minimum(found)) == (whole, priority, 3)
    assert found.metadata.name == "podgroups.scheduling.k8s.io:a"


def test_a_basic_native_group_goes_whole_unless_it_says_otherwise() -> None:
    basic: dict[str, Any] = {"schedulingPolicy": {"basic": {}}}
    assert goes_whole(form(NativePodGroup, basic))
    assert not goes_whole(form(NativePodGroup, basic | {"disruptionMode": {"single": {}}}))


# ---- in the tables

KEY = ("default", "podgroups.scheduling.x-k8s.io:a")


def member(name: str) -> Pod:
    return pod(name, labels={"scheduling.x-k8s.io/pod-group": "a"}, node="n")


@pytest.mark.parametrize("pods_first", [True, False])
def test_its_object_and_its_pods_come_and_go_in_any_order(pods_first: bool) -> None:
    tables = Tables()
    its_object = read(CoschedulingPodGroup, {"minMember": 2})
    if pods_first:
        tables.upsert_pod(member("p"))
    tables.upsert_foreign_group(its_object)
    tables.upsert_pod(member("p"))
    assert tables.groups.find(*KEY) == OBJECTS[CoschedulingPodGroup].form(its_object)
    tables.delete_foreign_group(CoschedulingPodGroup, "default", "a")
    assert tables.groups.find(*KEY) == implied(*KEY)
    tables.delete_pod("default", "p")
    assert tables.groups.find(*KEY) is None
    tables.delete_foreign_group(CoschedulingPodGroup, "default", "a")
    assert tables.groups.find(*KEY) is None


def test_a_group_of_the_same_name_is_another_one() -> None:
    tables = Tables()
    tables.upsert_group(gang("a"))
    tables.upsert_foreign_group(read(CoschedulingPodGroup, {"minMember": 2}))
    tables.upsert_foreign_group(read(VolcanoPodGroup, {"minMember": 2}))
    tables.delete_foreign_group(VolcanoPodGroup, "default", "a")
    assert tables.groups.find("default", "a") == gang("a")
    assert tables.groups.find(*KEY) is not None


def test_a_change_of_min_member_touches_the_group() -> None:
    tables = Tables()
    tables.upsert_foreign_group(read(CoschedulingPodGroup, {"minMember": 2}))
    before = tables.touched(KEY)
    tables.upsert_foreign_group(read(CoschedulingPodGroup, {"minMember": 2}))
    assert tables.touched(KEY) == before
    tables.upsert_foreign_group(read(CoschedulingPodGroup, {"minMember": 3}))
    assert tables.touched(KEY) > before
