"""Members of PodGroups get the scheduling gate when they are created."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from api.foreign_groups import NativePodGroup
from api.groups import POD_GROUP_LABEL, SCHEDULING_GATE, PodGroup
from api.integration import ADMISSION_GATE, QUEUE_NAME_LABEL, WORKLOAD_ANNOTATION
from api.meta import LabelSelector
from api.validation import convert
from tests.kit.manifests import pod_group
from webhooks.facts import NO_FACTS, Facts, KnownFacts
from webhooks.rules import Object, Operation, Request, default
from webhooks.settings import QueueSettings, Settings

OURS = {"name": SCHEDULING_GATE}
OTHER = {"name": "example.com/wait"}
BASIC = KnownFacts(groups=[convert(pod_group(schedulingPolicy={"basic": {}}), PodGroup)])
GANG = KnownFacts(groups=[convert(pod_group(), PodGroup)])


def pod(group: Any = "gang", **spec: Any) -> Object:
    metadata = {"name": "p", "namespace": "default", "labels": {POD_GROUP_LABEL: group}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [], **spec}}


def defaulted(
    new: Object,
    facts: Facts = GANG,
    operation: Operation = "CREATE",
    subresource: str = "",
    settings: Settings | None = None,
) -> Object:
    old = new if operation == "UPDATE" else None
    before = copy.deepcopy(new)
    made = default(
        Request(
            kind="Pod",
            operation=operation,
            new=new,
            old=old,
            subresource=subresource,
            facts=facts,
            settings=settings or Settings(),
        )
    )
    assert new == before, "the request is not changed"
    return made


@pytest.mark.parametrize("facts", [GANG, NO_FACTS, KnownFacts()])
@pytest.mark.parametrize("gates", [None, [], [OTHER]])
def test_a_member_gets_the_gate_after_its_others(facts: Facts, gates: Any) -> None:
    """Also if its group does not exist yet, or is not known: the controller removes the gate then."""
    new = pod() if gates is None else pod(schedulingGates=gates)
    assert defaulted(new, facts) == pod(schedulingGates=[*(gates or []), OURS])


@pytest.mark.parametrize(
    "new",
    [
        pod(schedulingGates=[OURS]),
        pod(schedulingGates=[OTHER, OURS]),
        pod(nodeName="n0"),
        pod(schedulingGroup={"podGroupName": "native"}),  # the scheduler brings its pods together
        pod(""),
        pod(None),
        {"metadata": {"name": "p", "labels": None}, "spec": {}},
        {"metadata": {"name": "p", "labels": {POD_GROUP_LABEL: "gang"}}, "spec": None},
    ],
)
def test_other_pods_stay_as_they_are(new: Object) -> None:
    assert defaulted(new) is new


def native_object(policy: dict[str, Any]) -> NativePodGroup:
    body: dict[str, Any] = {
        "metadata": {"name": "native", "namespace": "default"},
        "spec": {"schedulingPolicy": policy},
    }
    made: NativePodGroup = convert(body, NativePodGroup)
    return made


def native_group(policy: dict[str, Any]) -> KnownFacts:
    return KnownFacts(natives=[native_object(policy)])


NATIVE_GANG, NATIVE_BASIC = native_group({"gang": {"minCount": 2}}), native_group({"basic": {}})


@pytest.mark.parametrize(
    ("facts", "gated"),
    [(NATIVE_GANG, True), (NO_FACTS, True), (KnownFacts(), True), (NATIVE_BASIC, False), (GANG, True)],
)
@pytest.mark.parametrize("label", ["", "gang"])
def test_a_pod_of_a_native_gang_gets_the_gate_if_such_gangs_are_planned_for(
    facts: Facts, gated: bool, label: str
) -> None:
    """Also if it has our label: it belongs to the native group. One that does not exist yet may come."""
    new = pod(label, schedulingGroup={"podGroupName": "native"})
    expected = (
        pod(label, schedulingGroup={"podGroupName": "native"}, schedulingGates=[OURS]) if gated else new
    )
    assert defaulted(new, facts, settings=Settings(gates_native=True)) == expected
    assert defaulted(new, facts, settings=Settings(gates_native=True, gates_members=False)) is new


def test_a_pod_of_a_group_that_is_no_gang_stays_as_it_is() -> None:
    new = pod()
    assert defaulted(new, BASIC) is new


def test_a_pod_that_is_there_cannot_get_a_gate() -> None:
    new = pod()
    assert defaulted(new, operation="UPDATE") is new
    assert defaulted(new, subresource="status") is new


def test_no_pod_gets_a_gate_with_the_setting_off() -> None:
    new = pod()
    assert defaulted(new, settings=Settings(gates_members=False)) is new


QUEUED_GROUP = pod_group()
QUEUED_GROUP["metadata"]["labels"] = {QUEUE_NAME_LABEL: "q"}
QUEUED = KnownFacts(groups=[convert(QUEUED_GROUP, PodGroup)])
IN_QUEUES = Settings(queues=QueueSettings())
ADMISSION = {"name": ADMISSION_GATE}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}


@pytest.mark.parametrize("facts", [QUEUED, NO_FACTS, KnownFacts()])
def test_a_member_of_a_group_that_may_be_in_a_queue_waits_for_quota(facts: Facts) -> None:
    assert defaulted(pod(), facts, settings=IN_QUEUES) == pod(schedulingGates=[OURS, ADMISSION])
    without = Settings(gates_members=False, queues=QueueSettings())
    assert defaulted(pod(), facts, settings=without) == pod(schedulingGates=[ADMISSION])


@pytest.mark.parametrize(
    ("facts", "queues"),
    [
        (GANG, QueueSettings()),
        (QUEUED, None),
        (QUEUED, QueueSettings(frameworks=frozenset({"batch/job"}))),
    ],
)
def test_other_members_do_not_wait_for_quota(facts: Facts, queues: QueueSettings | None) -> None:
    assert defaulted(pod(), facts, settings=Settings(queues=queues)) == pod(schedulingGates=[OURS])


@pytest.mark.parametrize("policy", [{"gang": {"minCount": 2}}, {"basic": {}}])
def test_a_member_waits_for_quota_whichever_group_it_is_scheduled_with(policy: dict[str, Any]) -> None:
    groups = [convert(QUEUED_GROUP, PodGroup)]
    facts = KnownFacts(groups=groups, natives=[native_object(policy)])
    new = pod(schedulingGroup={"podGroupName": "native"})
    gates = defaulted(new, facts, settings=IN_QUEUES)["spec"]["schedulingGates"]
    assert ADMISSION in gates


def test_the_pods_of_a_job_that_was_started_have_its_quota() -> None:
    new = pod()
    new["metadata"] |= {"annotations": {WORKLOAD_ANNOTATION: "w"}, "ownerReferences": [JOB]}
    made = defaulted(new, QUEUED, settings=IN_QUEUES)
    assert made["spec"]["schedulingGates"] == [OURS]
    for owner in (
        {**JOB, "controller": False},
        {**JOB, "kind": "Other"},
        {**JOB, "apiVersion": "example.com/v1"},
    ):
        new["metadata"]["ownerReferences"] = [owner]
        assert ADMISSION in defaulted(new, QUEUED, settings=IN_QUEUES)["spec"]["schedulingGates"]


@pytest.mark.parametrize(
    ("facts", "gated"),
    [
        (KnownFacts(namespaces={"default": {"canary": "yes"}}), True),
        (KnownFacts(namespaces={"default": {"canary": "no"}}), False),
        (KnownFacts(), False),
        (NO_FACTS, False),
    ],
)
@pytest.mark.parametrize("new", [pod(), pod(None, schedulingGroup={"podGroupName": "g"})])
def test_no_gate_is_added_in_an_observed_namespace(facts: Facts, gated: bool, new: Object) -> None:
    """A namespace whose labels are not known counts as observed."""
    canary = Settings(enforced=LabelSelector({"canary": "yes"}), gates_native=True)
    gates = defaulted(new, facts, settings=canary)["spec"].get("schedulingGates", [])
    assert gates == ([OURS] if gated else [])
