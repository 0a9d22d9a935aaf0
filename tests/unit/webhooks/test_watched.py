"""What views of the cluster say to the rules."""

from __future__ import annotations

from api.checks import AdmissionCheck, AdmissionCheckSpec
from api.core import Namespace, PriorityClass
from api.foreign_groups import NativePodGroup, NativeSpec
from api.groups import PodGroup, PodGroupSchedulingPolicy, PodGroupSpec
from api.kueue import (
    AdmissionChecksStrategy,
    AdmissionCheckStrategyRule,
    ClusterQueue,
    ClusterQueueSpec,
    LocalQueue,
    LocalQueueSpec,
)
from api.meta import ObjectMeta
from kube.errors import ApiError
from tests.kit.objects import priority_class
from tests.kit.views import listed
from tests.unit.webhooks.support import followed, learn
from webhooks.facts import UNKNOWN

GROUP = PodGroup(
    metadata=ObjectMeta(name="gang", namespace="default"),
    spec=PodGroupSpec(scheduling_policy=PodGroupSchedulingPolicy()),
)

NATIVE = NativePodGroup(
    metadata=ObjectMeta(name="gang", namespace="default"),
    spec=NativeSpec(scheduling_policy=PodGroupSchedulingPolicy()),
)


async def test_before_the_first_list_nothing_is_known() -> None:
    facts, views = followed()
    learn(views, priority_class("high", 10, default=True))
    assert facts.priority_class("high") is UNKNOWN
    assert facts.default_priority_class() is UNKNOWN
    assert facts.pod_group("default", "gang") is UNKNOWN
    assert facts.fault() == "priorityclasses: not listed yet"
    always = facts.priority_class("system-node-critical")
    assert isinstance(always, PriorityClass)
    assert always.value == 2000001000


async def test_what_is_listed_is_known() -> None:
    facts, views = followed()
    listed(views)
    assert facts.fault() is None
    assert facts.priority_class("high") is None
    assert facts.default_priority_class() is None
    assert facts.pod_group("default", "gang") is None
    high = priority_class("high", 10, default=True)
    low = priority_class("low", 5, default=True)
    learn(views, high, low, priority_class("other", 1), GROUP)
    assert facts.priority_class("high") == high
    assert facts.default_priority_class() == low  # upstream's choice where there are several
    assert facts.pod_group("default", "gang") == GROUP
    assert facts.pod_group("other", "gang") is None


async def test_without_the_crd_of_groups_other_kinds_are_judged() -> None:
    facts, views = followed()
    classes, groups, _ = views
    classes.replaced(set(), "1")
    assert facts.fault() == "podgroups: not listed yet"
    groups._reflector.refusal = ApiError(404, "NotFound", "the server could not find the requested resource")
    assert facts.fault() is None
    assert facts.pod_group("default", "gang") is UNKNOWN


async def test_nobody_waits_for_groups_of_kubernetes() -> None:
    facts, views = followed()
    classes, groups, natives = views
    for each in (classes, groups):
        each.replaced(set(), "1")
    assert (facts.fault(), facts.native_group("default", "gang")) == (None, UNKNOWN)
    natives.refused(1)
    assert facts.native_group("default", "gang") is None
    learn(views, NATIVE)
    assert facts.native_group("default", "gang") == NATIVE


QUEUE = LocalQueue(
    metadata=ObjectMeta(name="default", namespace="team"), spec=LocalQueueSpec(cluster_queue="cq")
)


async def test_where_workloads_go_is_known_once_queues_and_checks_are() -> None:
    facts, views = followed()
    listed(views)
    assert facts.dispatches("team", "default") is UNKNOWN
    facts, views = followed(queues=True)
    for each in views:
        assert facts.dispatches("team", "default") is UNKNOWN
        each.replaced(set(), "1")
    assert facts.dispatches("team", "default") is False
    rules = AdmissionChecksStrategy([AdmissionCheckStrategyRule("mk")])
    spec = ClusterQueueSpec(admission_checks_strategy=rules)
    learn(views, QUEUE, ClusterQueue(metadata=ObjectMeta(name="cq"), spec=spec))
    assert facts.dispatches("team", "default") is False
    check = AdmissionCheckSpec("kueue.x-k8s.io/multikueue")
    learn(views, AdmissionCheck(metadata=ObjectMeta(name="mk"), spec=check))
    assert facts.dispatches("team", "default") is True
    assert facts.dispatches("team", "other") is False


async def test_queues_and_namespaces_are_known_only_where_they_are_watched() -> None:
    facts, views = followed()
    listed(views)
    assert facts.local_queue("team", "default") is UNKNOWN
    assert facts.namespace_labels("team") is UNKNOWN

    facts, views = followed(queues=True)
    assert facts.local_queue("team", "default") is UNKNOWN
    assert facts.namespace_labels("team") is UNKNOWN
    listed(views)
    assert facts.fault() is None
    assert facts.local_queue("team", "default") is None
    assert facts.namespace_labels("team") is None
    learn(views, QUEUE, Namespace(metadata=ObjectMeta(name="team", labels={"a": "b"})))
    assert facts.local_queue("team", "default") == QUEUE
    assert facts.namespace_labels("team") == {"a": "b"}


async def test_nobody_waits_for_namespaces_that_only_the_selector_needs() -> None:
    """A role that does not allow to read them must not keep PodGroups from being written."""
    facts, views = followed(namespaces=True)
    *needed, namespaces = views
    for each in needed:
        each.replaced(set(), "1")
    assert facts.fault() is None
    assert facts.namespace_labels("team") is UNKNOWN
    namespaces.replaced(set(), "1")
    learn(views, Namespace(metadata=ObjectMeta(name="team", labels={"a": "b"})))
    assert facts.namespace_labels("team") == {"a": "b"}
