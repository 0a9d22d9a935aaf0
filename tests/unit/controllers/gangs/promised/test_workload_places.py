"""What the quota plane hears when it asks whether the pods of a Workload would find places."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from api.core import Pod
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.promised.workload_claims import WorkloadClaims
from controllers.gangs.promised.workload_places import WorkloadPlaces
from nodes.search.decision import Limits
from nodes.state.tables import Tables
from runtime.exchange.placements import Asking, NoPlace, Owner, Place, Placed, PodsOfSet
from runtime.work.search_thread import SearchThread
from tests.kit.clock import ManualClock
from tests.kit.objects import node, pod, priority_class

FULL = {"cpu": "4"}
REFUSED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}


class Stage:
    """One node, and room on it for one pod."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.tables.upsert_node(node("n0"))
        self.tables.upsert_priority_class(priority_class("one", 1))
        self.tables.upsert_priority_class(priority_class("never", 1, policy="Never"))
        self.reservations = Reservations(ManualClock())
        self.claims = WorkloadClaims(Roster(self.tables), self.reservations)
        self.executor = ThreadPoolExecutor(1)
        self.places = WorkloadPlaces(
            self.tables,
            self.reservations,
            SearchThread(Limits(budget=10_000), self.executor),
            lambda snapshot, _: snapshot,
            self.claims,
            lambda: None,
            lambda: True,
        )

    def put(self, each: Pod) -> None:
        self.tables.upsert_pod(each)
        self.claims.pod_changed(each.metadata.uid, each)

    def find(self, name: str, victims: Sequence[Owner] = (), **template: Any) -> Placed | NoPlace:
        return asyncio.run(self.places.find(asking(name, **template), victims))


def asking(name: str, **template: Any) -> Asking:
    owner = Owner("Job", "default", name, f"uid-{name}")
    pods = PodsOfSet("main", 1, pod("main", requests=FULL, **template))
    return Asking("kueue.x-k8s.io/v1beta2", "default", f"job-{name}", f"uid-w-{name}", owner, (pods,))


def of_job(**fields: Any) -> Pod:
    return pod("first-0", controller="first", requests=FULL, **fields)


@pytest.fixture
def stage() -> Any:
    stage = Stage()
    yield stage
    stage.executor.shutdown()


def test_room_stays_promised_until_the_pod_is_bound(stage: Stage) -> None:
    """Between the pod's creation and its binding nobody may count on its room: they would evict in vain."""
    assert stage.places.hold(asking("first"), [Place("main-0", "n0")], [])
    assert isinstance(stage.find("second"), NoPlace)
    stage.put(of_job())
    assert isinstance(stage.find("second"), NoPlace)
    assert isinstance(stage.find("second", priorityClassName="one"), Placed)
    stage.put(of_job(node="n0"))
    assert isinstance(stage.find("second"), NoPlace)


def test_a_pod_that_the_scheduler_refused_keeps_no_room(stage: Stage) -> None:
    assert stage.places.hold(asking("first"), [Place("main-0", "n0")], [])
    stage.put(of_job())
    stage.put(of_job(conditions=[REFUSED]))
    assert isinstance(stage.find("second"), Placed)
    stage.put(of_job(conditions=[REFUSED], deleting=True))
    assert isinstance(stage.find("second"), Placed)


def test_a_promise_that_is_released_keeps_no_room(stage: Stage) -> None:
    assert stage.places.hold(asking("first"), [Place("main-0", "n0")], [])
    stage.put(of_job())
    stage.places.release("default", "job-first", "uid-w-first")
    assert isinstance(stage.find("second"), Placed)


HIGH: dict[str, Any] = {"priority": 2_000_000_000}
"""A number that no class gives. The API server stores it in the template of a Job, and refuses each pod of it."""


@pytest.mark.parametrize(
    ("template", "priority"), [(HIGH, 0), ({"priorityClassName": "one", **HIGH}, 1)], ids=["none", "one"]
)
def test_a_template_has_no_more_priority_than_its_class_gives(
    stage: Stage, template: dict[str, Any], priority: int
) -> None:
    other = pod("other", node="n0", requests=FULL, priority=priority)
    stage.put(other)
    assert isinstance(stage.find("first", **template), NoPlace)
    stage.tables.delete_pod("default", "other")
    assert stage.places.hold(asking("first", **template), [Place("main-0", "n0")], [])
    for value, passes in ((priority, False), (priority + 1, True)):
        stage.tables.upsert_priority_class(priority_class("second", value))
        assert isinstance(stage.find("second", priorityClassName="second"), Placed) is passes


@pytest.mark.parametrize(("name", "evicts"), [("one", True), ("never", False)])
def test_a_template_preempts_only_if_its_class_does(stage: Stage, name: str, evicts: bool) -> None:
    stage.put(pod("other", node="n0", requests=FULL, priority=0))
    answer = stage.find("first", priorityClassName=name, preemptionPolicy="PreemptLowerPriority")
    assert isinstance(answer, Placed) is evicts


@pytest.mark.parametrize(("namespace", "counts"), [("default", True), ("foreign", False)])
def test_pods_of_another_namespace_are_no_owners(stage: Stage, namespace: str, counts: bool) -> None:
    """Whoever makes a Workload writes the UID of its owner. It may be that of a Job of somebody else."""
    victim = Owner("Job", "default", "mine", "uid-theirs")
    stage.put(pod("theirs-0", namespace=namespace, node="n0", requests=FULL, controller="theirs"))
    assert isinstance(stage.find("first", [victim]), Placed) is counts
    assert stage.places.hold(asking("first"), [Place("main-0", "n0")], [victim])
    assert stage.reservations.awaits(f"uid-{namespace}-theirs-0") is counts
