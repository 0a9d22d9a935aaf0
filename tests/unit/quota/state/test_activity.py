"""Why queues are not active, in Kueue's words, and which checks a Workload needs."""

from __future__ import annotations

import msgspec
import pytest

from api.checks import AdmissionCheck, AdmissionCheckSpec, AdmissionCheckStatus
from api.kueue import (
    AdmissionChecksStrategy,
    AdmissionCheckStrategyRule,
    ClusterQueue,
    ClusterQueueSpec,
    LocalQueueSpec,
)
from api.meta import Condition, ObjectMeta
from api.multikueue import CONTROLLER_NAME
from api.podsets import PodSetAssignment
from api.workloads import Admission
from quota.state.activity import Activity, is_check_active, local_queue_activity, required_checks
from quota.state.state import QuotaState, Thing
from tests.kit.quota.objects import cluster_queue, cohort, cpu, flavor, held, local_queue, workload

PREFIX = "Can't admit new workloads: "
ON = Condition("Active", "True")


def check(name: str, active: str | None = "True", controller: str = "example.com/c") -> AdmissionCheck:
    conditions = None if active is None else [Condition("Other", "True"), Condition("Active", active)]
    return AdmissionCheck(
        metadata=ObjectMeta(name=name),
        spec=AdmissionCheckSpec(controller),
        status=AdmissionCheckStatus(conditions),
    )


def with_checks(queue: ClusterQueue, *rules: tuple[str, list[str] | None]) -> ClusterQueue:
    named = [AdmissionCheckStrategyRule(name, flavors) for name, flavors in rules]
    queue.spec.admission_checks_strategy = AdmissionChecksStrategy(named)
    return queue


def terminating(queue: ClusterQueue) -> ClusterQueue:
    meta = msgspec.structs.replace(queue.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(queue, metadata=meta)


def activity(queue: ClusterQueue, *things: AdmissionCheck, partial: bool = False) -> Activity:
    state = QuotaState(partial=partial)
    given: list[Thing] = [queue, flavor("default"), cohort("loop", "loop"), *things]
    for thing in given:
        state.apply(thing)
    return state.queues[queue.metadata.name].activity


def test_a_queue_that_lacks_nothing_is_ready() -> None:
    ready = activity(with_checks(cluster_queue("q", cpu(1)), ("a", None)), check("a"))
    assert (ready.is_active, ready.reason, ready.message) == (True, "Ready", "Can admit new workloads")


@pytest.mark.parametrize(
    ("queue", "reason", "message", "problem"),
    [
        (cluster_queue("q", cpu(1), stop="Hold"), "Stopped", "is stopped", "spec.stopPolicy: is Hold"),
        (
            cluster_queue("q", cpu(1), stop="HoldAndDrain"),
            "Stopped",
            "is stopped",
            "spec.stopPolicy: is HoldAndDrain",
        ),
        (
            cluster_queue(
                "q", {"b": cpu(1)["default"], "default": cpu(1)["default"], "a": cpu(1)["default"]}
            ),
            "FlavorNotFound",
            "references missing ResourceFlavor(s): b,a",
            "spec.resourceGroups[0].flavors[0].name: there is no ResourceFlavor b",
        ),
        (
            with_checks(cluster_queue("q", cpu(1)), ("on", None), ("z", None), ("a", ["default"])),
            "AdmissionCheckNotFound",
            "references missing AdmissionCheck(s): a,z",
            "spec.admissionChecksStrategy.admissionChecks[1].name: there is no AdmissionCheck z",
        ),
        (
            with_checks(cluster_queue("q", cpu(1)), ("off", None), ("on", None), ("new", None)),
            "AdmissionCheckInactive",
            "references inactive AdmissionCheck(s): new,off",
            "spec.admissionChecksStrategy.admissionChecks[0].name: AdmissionCheck off is not active",
        ),
        (
            cluster_queue("q", cpu(1), "loop"),
            "CohortCycleDetected",
            "the cohorts form a cycle: loop -> loop",
            "spec.cohortName: the cohorts form a cycle: loop -> loop",
        ),
    ],
)
def test_why_a_queue_is_not_active(queue: ClusterQueue, reason: str, message: str, problem: str) -> None:
    found = activity(queue, check("on"), check("off", "False"), check("new", None))
    assert found == Activity(reason, f"{PREFIX}{message}.", problem)
    assert not found.is_active


def test_all_reasons_are_in_the_message_and_the_first_is_the_reason() -> None:
    queue = with_checks(
        cluster_queue("q", {"b": cpu(1)["default"]}, stop="Hold"), ("off", None), ("no", None)
    )
    found = activity(queue, check("off", "Unknown"))
    assert (found.reason, found.problem) == ("Stopped", "spec.stopPolicy: is Hold")
    assert found.message == (
        f"{PREFIX}is stopped, references missing ResourceFlavor(s): b, references missing AdmissionCheck(s): no, "
        "references inactive AdmissionCheck(s): off."
    )


def test_a_cycle_of_cohorts_is_the_first_problem_to_solve() -> None:
    """It comes last in the message."""
    found = activity(cluster_queue("q", cpu(1), "loop", stop="Hold"))
    assert found.reason == "Stopped"
    assert found.message == f"{PREFIX}is stopped, the cohorts form a cycle: loop -> loop."
    assert found.problem == "spec.cohortName: the cohorts form a cycle: loop -> loop"


def test_a_queue_that_is_being_deleted_says_nothing_else() -> None:
    found = activity(terminating(cluster_queue("q", cpu(1), "loop", stop="Hold")))
    assert (found.reason, found.message) == (
        "Terminating",
        "Can't admit new workloads; clusterQueue is terminating",
    )


def test_a_deletion_is_seen_and_usage_goes_on_to_count() -> None:
    state = QuotaState()
    for thing in (cluster_queue("q", cpu(3)), flavor("default"), held(workload("w", "q", 2), 5)):
        state.apply(thing)
    assert state.snapshot().closed == ()
    state.apply(terminating(cluster_queue("q", cpu(3))))
    after = state.snapshot()
    assert after.closed == (0,)
    assert after.ledger.usage(0, after.layout.frs["default", "cpu"]) == 2000


def test_checks_come_and_go() -> None:
    state = QuotaState()
    for thing in (with_checks(cluster_queue("q", cpu(1)), ("a", None)), flavor("default")):
        state.apply(thing)
    reasons = [state.queues["q"].activity.reason]
    for change in (check("a", None), check("a"), check("a", "False"), check("a")):
        state.apply(change)
        reasons.append(state.queues["q"].activity.reason)
    state.delete("AdmissionCheck", "a")
    reasons.append(state.queues["q"].activity.reason)
    missing, inactive = "AdmissionCheckNotFound", "AdmissionCheckInactive"
    assert reasons == [missing, inactive, "Ready", inactive, "Ready", missing]


def test_files_without_any_check_leave_checks_out() -> None:
    queue = with_checks(cluster_queue("q", cpu(1)), ("a", None), ("b", None))
    assert activity(queue, partial=True).is_active
    assert activity(queue, check("a"), partial=True).reason == "AdmissionCheckNotFound"
    assert activity(queue, check("a"), check("b"), partial=True).is_active


def test_a_flavor_with_a_topology_needs_one_where_there_are_none() -> None:
    tas = flavor("default")
    tas.spec.topology_name = "racks"
    for partial in (False, True):
        state = QuotaState(partial=partial)
        for thing in (cluster_queue("q", cpu(1)), tas):
            state.apply(thing)
        found = state.queues["q"].activity
        assert found.is_active == partial
    state = QuotaState()
    for thing in (cluster_queue("q", cpu(1)), tas):
        state.apply(thing)
    found = state.queues["q"].activity
    assert found.reason == "TopologyNotFound"
    assert found.message == f'{PREFIX}there is no Topology "racks" for TAS flavor "default".'


MANAGERS = (check("east", controller=CONTROLLER_NAME), check("all", controller=CONTROLLER_NAME))
NODES = check("nodes", controller="kueue.x-k8s.io/provisioning-request")


@pytest.mark.parametrize(
    ("rules", "reason", "message", "problem"),
    [
        (
            [("east", None), ("other", None), ("all", None)],
            "MultipleMultiKueueAdmissionChecks",
            "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: all,east",
            "admissionChecks[0].name: only one check may be that of a manager of several clusters",
        ),
        (
            [("other", ["default"]), ("east", ["default"])],
            "MultiKueueAdmissionCheckAppliedPerFlavor",
            "Cannot specify MultiKueue AdmissionCheck per flavor, found: east",
            "admissionChecks[1].onFlavors: must not be set for a manager of several clusters",
        ),
        (
            [("east", None), ("nodes", None)],
            "MultiKueueWithProvisioningRequest",
            "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: east, nodes",
            "admissionChecks[1].name: adds nodes here, and the pods run in other clusters",
        ),
    ],
)
def test_checks_that_do_not_go_with_other_clusters(
    rules: list[tuple[str, list[str] | None]], reason: str, message: str, problem: str
) -> None:
    found = activity(with_checks(cluster_queue("q", cpu(1)), *rules), *MANAGERS, NODES, check("other"))
    assert found == Activity(reason, f"{PREFIX}{message}.", f"spec.admissionChecksStrategy.{problem}")


def test_all_that_is_wrong_with_managers_is_said_after_what_is_wrong_with_any_check() -> None:
    """The order is Kueue's."""
    off = check("off", "False")
    rules: list[tuple[str, list[str] | None]] = [
        (name, ["default"] if name == "all" else None) for name in ("nodes", "all", "east", "off", "gone")
    ]
    found = activity(with_checks(cluster_queue("q", cpu(1)), *rules), *MANAGERS, NODES, off)
    assert found.reason == "AdmissionCheckNotFound"
    said = found.message.removeprefix(PREFIX).removesuffix(".")
    assert said == (
        "references missing AdmissionCheck(s): gone, references inactive AdmissionCheck(s): off, "
        "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: all,east, "
        "Cannot specify MultiKueue AdmissionCheck per flavor, found: all, "
        "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: all,east, nodes"
    )


def test_a_queue_that_sends_its_workloads_elsewhere_needs_no_topology_here() -> None:
    tas = flavor("default")
    tas.spec.topology_name = "racks"
    state = QuotaState()
    for thing in (with_checks(cluster_queue("q", cpu(1)), ("east", None)), tas, check("east")):
        state.apply(thing)
    assert (state.queues["q"].activity.reason, state.queues["q"].dispatches) == ("TopologyNotFound", False)
    before = state.structure
    state.apply(MANAGERS[0])
    assert (state.queues["q"].activity.reason, state.queues["q"].dispatches) == ("Ready", True)
    assert state.structure > before, "whoever follows the queues looks again"
    state.delete("AdmissionCheck", "east")
    assert not state.queues["q"].dispatches


@pytest.mark.parametrize(
    ("conditions", "active"),
    [
        (None, False),
        ([], False),
        ([Condition("Active", "False")], False),
        ([Condition("X", "True"), ON], True),
    ],
)
def test_a_check_is_active_if_its_controller_says_so(
    conditions: list[Condition] | None, active: bool
) -> None:
    made = AdmissionCheck(metadata=ObjectMeta(name="a"), status=AdmissionCheckStatus(conditions))
    assert is_check_active(made) == active
    assert not is_check_active(AdmissionCheck(metadata=ObjectMeta(name="a")))


READY = Activity("Ready", "", "")
BROKEN = Activity("Stopped", "", "spec.stopPolicy: is Hold")


@pytest.mark.parametrize(
    ("stop", "queue", "reason", "message"),
    [
        ("None", READY, "Ready", "Can submit new workloads to localQueue"),
        ("Hold", None, "Stopped", "LocalQueue is stopped"),
        ("HoldAndDrain", READY, "Stopped", "LocalQueue is stopped"),
        ("None", None, "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue"),
        ("None", BROKEN, "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue"),
    ],
)
def test_local_queues(stop: str, queue: Activity | None, reason: str, message: str) -> None:
    local = local_queue("l", "q")
    local.spec = msgspec.convert({"clusterQueue": "q", "stopPolicy": stop}, LocalQueueSpec)
    found = local_queue_activity(local, queue)
    assert (found.reason, found.message, found.is_active) == (reason, message, reason == "Ready")


def admission(*flavors: str) -> Admission:
    return Admission("q", [PodSetAssignment(flavors={"cpu": name}) for name in flavors])


@pytest.mark.parametrize(
    ("assigned", "needed"),
    [
        (None, ["all", "every"]),
        (admission("a"), ["all", "every", "on-a"]),
        (admission("b"), ["all", "every"]),
        (admission("b", "a"), ["all", "every", "on-a"]),
        (admission("elsewhere"), ["all"]),
        (Admission("q"), ["all"]),
        (Admission("q", [PodSetAssignment()]), ["all"]),
    ],
)
def test_the_checks_that_a_workload_needs(assigned: Admission | None, needed: list[str]) -> None:
    quotas = {"a": cpu(1)["default"], "b": cpu(1)["default"]}
    rules = ("on-a", ["a"]), ("every", ["a", "b"]), ("all", None)
    spec = with_checks(cluster_queue("q", quotas), *rules).spec
    assert required_checks(spec, assigned) == needed


def test_a_queue_without_checks_needs_none() -> None:
    assert (
        required_checks(ClusterQueueSpec(), None) == required_checks(ClusterQueueSpec(), admission("a")) == []
    )
