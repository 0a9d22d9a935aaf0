"""What a look at an active plan costs after one event: 1,000 members and 1,000 victims on 125 nodes.

Nobody has evicted yet, so everything about members, victims, room and proofs counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from api.clock import SYSTEM_CLOCK
from api.core import Node, Pod
from api.groups import PodGroup
from api.plans import Placement, PreemptionPlanSpec, Preemptor, Victim, VictimPod
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.looking.look import Looks
from controllers.gangs.looking.steered_look import SteeredLook
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.scheduler_marks import SchedulerMarks
from controllers.gangs.mirror.waiting import WaitingPods
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.scheduler.attempts import Estimate
from controllers.gangs.scheduler.configuration import SchedulerConfiguration
from hack.controlplane import objects
from nodes.state.tables import Tables

__all__ = ["NODES", "PODS", "measure"]

T = TypeVar("T")

NODES, PODS_ON_NODE = 125, 8
PODS: Final = NODES * PODS_ON_NODE
EVENTS: Final = 300
PRIORITY: Final = 100


@dataclass(slots=True)
class World:
    """A mirror with one plan."""

    tables: Tables
    reservations: Reservations
    evidence: Evidence
    looks: Looks
    plan: ActivePlan

    def member_changes(self, number: int) -> None:
        """A member gets another label."""
        self.tables.upsert_pod(_member(number, {"x": "y"}))

    def victim_goes(self, number: int) -> None:
        """A victim is deleted. That changes the room on its node."""
        self.tables.delete_pod("default", f"v{number}")
        self.reservations.put_victim(self.plan.group, f"uid-v{number}", None)

    def scheduler_shows(self, number: int) -> None:
        """The scheduler offers a member ten nodes."""
        self.evidence.filter_called(_member(number, {}), [f"n{each}" for each in range(10)])

    def nothing(self, number: int) -> None:
        """The plan is looked at for another reason."""


def measure() -> dict[str, list[float]]:
    """Seconds of CPU of each look, by what has happened before it."""
    world = _world()
    found = {"the plan is made": [_look(world)]}
    events: dict[str, Callable[[int], None]] = {
        "nothing": world.nothing,
        "a scheduler shows something of a member": world.scheduler_shows,
        "a member changes": world.member_changes,
        "a victim goes": world.victim_goes,
    }
    for name, happens in events.items():
        found[name] = []
        for number in range(EVENTS):
            happens(number)
            found[name].append(_look(world))
    return found


def _look(world: World) -> float:
    began = time.thread_time()
    world.looks.look(world.plan, trusted=True)
    return time.thread_time() - began


def _world() -> World:
    tables = Tables()
    roster, reservations = Roster(tables), Reservations(SYSTEM_CLOCK)
    evidence = Evidence(
        roster, SchedulerConfiguration(), SYSTEM_CLOCK, lambda _group, _uid: None, offer_seconds=60.0
    )
    steered = SteeredLook(
        roster, WaitingPods(SYSTEM_CLOCK), SchedulerMarks(SYSTEM_CLOCK), lambda *_: Estimate(0.0, True)
    )
    looks = Looks(roster, reservations, evidence, GatedPods(SYSTEM_CLOCK), steered)
    for number in range(NODES):
        tables.upsert_node(_made(objects.node(f"n{number}", cpu=str(PODS_ON_NODE)), Node))
    tables.upsert_group(_made(objects.pod_group("gang", min_count=PODS, priority=PRIORITY), PodGroup))
    for number in range(PODS):
        victim = objects.pod(f"v{number}", cpu="1", node_name=_node(number))
        tables.upsert_pod(_made(victim, Pod))
        tables.upsert_pod(_member(number, {}))
    spec = _spec()
    plan = ActivePlan(name="plan", spec=spec, members=roster.planned(spec), deadline=float("inf"))
    reservations.open(plan.group, PRIORITY, plan.victims)
    for member in plan.members.values():
        reservations.put_claim(plan.group, member.uid, Claim(member.node, member.requests))
    for uid in plan.victims:
        reservations.put_victim(plan.group, uid, roster.evictable(uid))
    return World(tables, reservations, evidence, looks, plan)


def _spec() -> PreemptionPlanSpec:
    pods = [VictimPod("default", f"v{number}", f"uid-v{number}", _node(number)) for number in range(PODS)]
    return PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", "default", "gang", "uid-gang", PRIORITY),
        outcome="Preempts",
        reason="",
        placements=[Placement(f"m{number}", _node(number), f"uid-m{number}") for number in range(PODS)],
        victims=[Victim("Pod", "default", pod.name, pod.uid, 0, False, [pod]) for pod in pods],
    )


def _node(number: int) -> str:
    return f"n{number // PODS_ON_NODE}"


def _member(number: int, labels: Mapping[str, str]) -> Pod:
    body = objects.pod(f"m{number}", cpu="1", group="gang", labels=labels)
    body["spec"]["priority"] = PRIORITY
    return _made(body, Pod)


def _made(body: dict[str, Any], of: type[T]) -> T:
    meta = {"namespace": "default", **body["metadata"]}
    stored = {**body, "metadata": {**meta, "uid": f"uid-{meta['name']}"}}
    return msgspec.json.decode(msgspec.json.encode(stored), type=of)
