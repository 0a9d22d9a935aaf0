"""What the quota plane hears when it asks whether the pods of a Workload would find places."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from api.core import Pod
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.promised.workload_claims import WorkloadClaims
from controllers.gangs.promised.workload_places import WorkloadPlaces
from controllers.gangs.searching import SearchThread
from nodes.search.decision import Limits
from nodes.state.tables import Tables
from runtime.exchange.placements import Asking, NoPlace, Owner, Place, Placed, PodsOfSet
from tests.kit.clock import ManualClock
from tests.kit.objects import node, pod

FULL = {"cpu": "4"}
REFUSED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}


class Stage:
    """One node, and room on it for one pod."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.tables.upsert_node(node("n0"))
        reservations = Reservations(ManualClock())
        self.claims = WorkloadClaims(Roster(self.tables), reservations)
        self.executor = ThreadPoolExecutor(1)
        self.places = WorkloadPlaces(
            self.tables,
            reservations,
            SearchThread(self.executor, Limits(budget=10_000)),
            lambda snapshot, _: snapshot,
            self.claims,
            lambda: None,
            lambda: True,
        )

    def put(self, each: Pod) -> None:
        self.tables.upsert_pod(each)
        self.claims.pod_changed(each.metadata.uid, each)

    def find(self, name: str, priority: int = 0) -> Placed | NoPlace:
        return asyncio.run(self.places.find(asking(name, priority), []))


def asking(name: str, priority: int = 0) -> Asking:
    owner = Owner("Job", "default", name, f"uid-{name}")
    pods = PodsOfSet("main", 1, pod("main", requests=FULL, priority=priority))
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
    assert isinstance(stage.find("second", priority=1), Placed)
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
