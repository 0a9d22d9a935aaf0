"""A group's priority and preemption policy, in the order in which they are looked up."""

from __future__ import annotations

from typing import Literal

import pytest

from api.core import PriorityClass
from api.groups import GangSchedulingPolicy, PodGroup, PodGroupSchedulingPolicy, PodGroupSpec
from api.meta import ObjectMeta
from api.priority import UnknownPriorityClass, group_priority, preemption_policy

Policy = Literal["PreemptLowerPriority", "Never"]


def group(name: str | None = None, priority: int | None = None, policy: Policy | None = None) -> PodGroup:
    spec = PodGroupSpec(
        scheduling_policy=PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(2)),
        priority_class_name=name,
        priority=priority,
        preemption_policy=policy,
    )
    return PodGroup(metadata=ObjectMeta(name="g", namespace="ns"), spec=spec)


def classes(*given: tuple[str, int, bool, Policy | None]) -> dict[str, PriorityClass]:
    return {
        name: PriorityClass(ObjectMeta(name=name), value, global_default, policy)
        for name, value, global_default, policy in given
    }


CLASSES = classes(
    ("high", 1000, False, "Never"),
    ("usual", 50, True, "Never"),
    ("other-usual", 70, True, "PreemptLowerPriority"),
    ("plain", 5, False, None),
)


@pytest.mark.parametrize(
    ("given_group", "priority", "policy"),
    [
        (group("high", 7), 7, "Never"),
        (group("high"), 1000, "Never"),
        (group("high", policy="PreemptLowerPriority"), 1000, "PreemptLowerPriority"),
        (group(), 50, "Never"),  # of two global defaults the lower
        (group(priority=-3), -3, "PreemptLowerPriority"),
        (group(priority=0), 0, "PreemptLowerPriority"),
        (group("plain"), 5, "PreemptLowerPriority"),
        (group("system-cluster-critical"), 2_000_000_000, "PreemptLowerPriority"),
        (group("system-node-critical"), 2_000_001_000, "PreemptLowerPriority"),
        (group("gone", 7), 7, "PreemptLowerPriority"),
        (group("", 7), 7, "PreemptLowerPriority"),
        (group(""), 50, "Never"),
    ],
)
def test_lookup(given_group: PodGroup, priority: int, policy: Policy) -> None:
    assert group_priority(given_group, CLASSES) == priority
    assert preemption_policy(given_group, CLASSES) == policy


def test_without_any_class() -> None:
    assert group_priority(group(), {}) == 0
    assert preemption_policy(group(), {}) == "PreemptLowerPriority"


def test_unknown_classes_are_named() -> None:
    with pytest.raises(UnknownPriorityClass, match=r"ns/g.*'gone'"):
        group_priority(group("gone"), CLASSES)
    with pytest.raises(UnknownPriorityClass, match=r"ns/g.*'gone'"):
        preemption_policy(group("gone"), CLASSES)
