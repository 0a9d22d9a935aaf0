"""Places on nodes are promised with a plan, in every process alike, until it is clear that the pods do not come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from api.meta import ObjectMeta
from api.plans import (
    Placement,
    PreemptionPlan,
    PreemptionPlanSpec,
    PreemptionPlanStatus,
    Preemptor,
    PreemptorQuota,
    Victim,
    VictimQuota,
)
from api.workloads import ReclaimablePod
from controllers.quota.plans.stored_plans import StoredPlans
from controllers.quota.scheduling.promised_places import PromisedPlaces
from quota.state.state import QuotaState
from runtime.exchange.placements import Answer, Asking, Owner, Place
from tests.kit.quota.objects import at, cluster_queue, completed, cpu, held, owned, set_condition, workload

HERO = owned(workload("hero", "q", 2, priority=10, uid="uid-hero"))
VICTIM = held(owned(workload("victim", "q", 2, uid="uid-victim")), 1)


def plan(
    phase: str = "Evicting", *, name: str = "plan", uid: str = "uid-hero", places: int = 1, node: str = "n0"
) -> PreemptionPlan:
    spec = PreemptionPlanSpec(
        preemptor=Preemptor(
            "Workload", "kueue.x-k8s.io/v1beta2", "ns", "hero", uid, 10, PreemptorQuota("q", "/q", 1, 0, [])
        ),
        outcome="Preempts",
        reason="",
        placements=[Placement(f"main-{number}", node) for number in range(places)],
        victims=[
            Victim(
                "Workload",
                "",
                "",
                "uid-victim",
                0,
                False,
                [],
                VictimQuota("InClusterQueue", "q", "/q", at(1)),
            )
        ],
    )
    status: Any = {"phase": phase}
    return PreemptionPlan(
        metadata=ObjectMeta(name=name, namespace="ns", uid=f"{name}-{uid}", creation_timestamp=at(5)),
        spec=spec,
        status=msgspec.convert(status, PreemptionPlanStatus),
    )


class Stage:
    """One process."""

    def __init__(self) -> None:
        self.held: dict[str, tuple[tuple[Place, ...], tuple[Owner, ...]]] = {}
        self.state = QuotaState()
        for each in completed([cluster_queue("q", cpu(4)), VICTIM]):
            self.state.apply(each)
        self.stored = StoredPlans(lambda key: self.places.changed(key))
        self.places = PromisedPlaces(self, self.stored, self.state)

    def workload(self, *items: Any) -> None:
        for each in items:
            self.state.apply(each)
            self.places.changed(f"ns/{each.metadata.name}")

    # ---- the nodes plane

    changes, is_ready = 0, True

    async def find(self, asking: Asking, victims: Sequence[Owner]) -> Answer:
        raise AssertionError

    def told(self, listener: object) -> Any:
        raise AssertionError

    def hold(self, asking: Asking, places: Sequence[Place], victims: Sequence[Owner]) -> bool:
        assert asking.owner.name == asking.name
        if not self.is_ready:
            return False
        assert asking.uid not in self.held
        self.held[asking.uid] = tuple(places), tuple(victims)
        return True

    def release(self, namespace: str, name: str, uid: str) -> None:
        assert (namespace, name) == ("ns", "hero")
        del self.held[uid]


PROMISED = {"uid-hero": ((Place("main-0", "n0"),), (Owner("Job", "ns", "victim", "uid-victim"),))}


def test_places_are_promised_in_any_order_of_events() -> None:
    for first in (True, False):
        stage = Stage()
        if first:
            stage.workload(HERO)
        stage.stored.upsert(plan())
        assert stage.held == (PROMISED if first else {})
        stage.workload(HERO)
        stage.workload(HERO)
        assert stage.held == PROMISED


def test_they_stay_promised_while_the_workload_has_its_quota() -> None:
    stage = Stage()
    stage.workload(HERO)
    stage.stored.upsert(plan())
    stage.workload(held(HERO, 2))
    stage.stored.upsert(plan("QuotaReserved"))
    stage.stored.delete("ns", "plan")
    assert stage.held == PROMISED
    stage.workload(set_condition(held(HERO, 2), "QuotaReserved", "False", "Pending", 3))
    assert stage.held == {}


def test_they_are_free_when_it_is_clear_that_no_pods_come() -> None:
    for end in ("Aborted", "Expired"):
        stage = Stage()
        stage.workload(HERO)
        stage.stored.upsert(plan())
        stage.stored.upsert(plan(end))
        assert stage.held == {}
    stage = Stage()
    stage.workload(HERO)
    stage.stored.upsert(plan())
    stage.stored.delete("ns", "plan")
    assert stage.held == {}


def test_they_are_free_when_the_workload_is_gone_or_finished() -> None:
    stage = Stage()
    stage.workload(HERO)
    stage.stored.upsert(plan())
    stage.workload(held(HERO, 2))
    stage.stored.upsert(plan("QuotaReserved"))
    stage.workload(set_condition(held(HERO, 2), "Finished", "True", "JobFinished", 3))
    assert stage.held == {}
    stage = Stage()
    stage.workload(HERO)
    stage.stored.upsert(plan())
    stage.stored.upsert(plan("QuotaReserved"))
    stage.state.delete("Workload", "ns/hero")
    stage.places.changed("ns/hero")
    assert stage.held == {}


def test_another_workload_of_the_same_name_has_no_promise() -> None:
    stage = Stage()
    stage.workload(HERO)
    stage.stored.upsert(plan(uid="uid-other"))
    assert stage.held == {}
    stage.stored.upsert(plan(name="mine"))
    assert stage.held == PROMISED


def test_a_plan_without_places_promises_nothing() -> None:
    stage = Stage()
    stage.workload(HERO)
    stage.stored.upsert(plan(places=0))
    assert stage.held == {}


def test_they_are_promised_once_nodes_and_pods_are_known() -> None:
    stage = Stage()
    stage.is_ready = False
    stage.workload(HERO)
    stage.stored.upsert(plan())
    assert stage.held == {}
    stage.is_ready = True
    stage.places.again()
    assert stage.held == PROMISED
    stage.places.again()


def test_what_is_over_is_not_promised_later() -> None:
    stage = Stage()
    stage.is_ready = False
    stage.workload(HERO)
    stage.stored.upsert(plan())
    stage.stored.upsert(plan("Expired"))
    stage.is_ready = True
    stage.places.again()
    assert stage.held == {}


def test_the_end_of_the_plan_may_come_before_the_quota() -> None:
    stage = Stage()
    stage.workload(HERO)
    stage.stored.upsert(plan())
    stage.stored.upsert(plan("QuotaReserved"))
    assert stage.held == PROMISED
    stage.workload(held(HERO, 2))
    assert stage.held == PROMISED
    stage.workload(set_condition(held(HERO, 2), "QuotaReserved", "False", "Pending", 3))
    assert stage.held == {}


def test_the_next_plan_has_other_places() -> None:
    stage = Stage()
    stage.workload(HERO)
    stage.stored.upsert(plan())
    stage.stored.upsert(plan(name="next", node="n1"))
    stage.stored.upsert(plan("Aborted"))
    assert [place.node for places, _ in stage.held.values() for place in places] == ["n1"]


def test_pods_that_are_not_needed_any_longer_will_not_come() -> None:
    stage = Stage()
    stage.workload(HERO)
    stage.stored.upsert(plan())
    has_quota = held(HERO, 2)
    stage.workload(has_quota)
    stage.stored.upsert(plan("QuotaReserved"))
    assert stage.held == PROMISED
    less = replace(has_quota, status=replace(has_quota.status, reclaimable_pods=[ReclaimablePod("main", 1)]))
    stage.workload(less)
    assert stage.held == {}
