"""Commands count promised room in a dump as the live planner counts it in its account."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from api.core import Pod
from api.plans import PreemptionPlan
from controllers.gangs.keys import lone_pod
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.account import asks_with, subtract
from controllers.gangs.promised.promises import Promises
from nodes.answers.asking import as_seen_by
from nodes.answers.picture import NodesPicture
from nodes.search.preemptors.preemptor import DecisionError, Preemptor, group_preemptor, pod_preemptor
from nodes.state.snapshot import Snapshot
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.examples import examples
from tests.kit.objects import gang, make, node, pod, tables

NODES = ("n0", "n1", "n2")
PRIORITIES = (1, 5, 10)
PHASES = ("Planned", "Confirmed", "Evicting", "Ready", "Bound", "Aborted", "Unschedulable")


def world(random: Random) -> tuple[Tables, list[PreemptionPlan], int]:
    """Nodes, running pods, gangs with a member or two, and plans for some of them. Also how many gangs there are."""
    things: list[Any] = [node(name, cpu="8") for name in NODES]
    running = [
        pod(
            f"r{each}",
            node=random.choice(NODES),
            requests={"cpu": str(random.randint(1, 3))},
            priority=random.choice(PRIORITIES),
            deleting=random.random() < 0.3,
        )
        for each in range(random.randint(0, 6))
    ]
    gangs, plans, members = random.randint(1, 3), list[PreemptionPlan](), []
    for number in range(gangs):
        priority, its = random.choice(PRIORITIES), f"g{number}"
        own = [
            pod(
                f"{its}-{each}",
                group=its,
                requests={"cpu": str(random.randint(1, 3))},
                priority=priority,
                node=random.choice(["", "", "", *NODES]),
                nominated=random.choice(["", "", *NODES]),
            )
            for each in range(random.randint(1, 3))
        ]
        things.append(gang(its, minimum=1, priority=priority))
        members += own
        for age in range(random.randint(0, 2)):
            victims = random.sample(running, random.randint(0, len(running)))
            plans.append(_plan(random, its, priority, [each.metadata.uid for each in own], victims, age))
    return tables(*things, *running, *members), plans, gangs


def _plan(
    random: Random, group: str, priority: int, members: list[str], victims: list[Pod], age: int
) -> PreemptionPlan:
    spec = {
        "preemptor": {
            "kind": "PodGroup", "apiVersion": "reprieve.dev/v1alpha1", "namespace": "default",
            "name": group, "uid": f"uid-default-{group}", "priority": priority,
        },
        "outcome": "Preempts", "reason": "x", "domain": None, "priorityCutoff": 1,
        "placements": [
            {
                "pod": uid, "uid": uid, "node": random.choice(NODES),
                "beyondMinCount": random.random() < 0.2, "anyNode": random.random() < 0.2,
            }
            for uid in members
        ],
        "victims": [
            {
                "kind": "Pod", "namespace": "default", "name": each.metadata.name, "uid": each.metadata.uid,
                "priority": 0, "violatesPodDisruptionBudget": False,
                "pods": [{"namespace": "default", "name": each.metadata.name, "uid": each.metadata.uid, "node": ""}],
            }
            for each in victims
        ],
        "podDisruptionBudgetViolations": 0, "domains": [], "notModelled": [],
    }  # fmt: skip
    when = f"2026-01-01T00:00:0{age}Z"
    status = {"phase": random.choice(PHASES), "lastDecisionTime": when} if random.random() < 0.9 else None
    meta = {
        "namespace": "default",
        "name": f"{group}-{age}",
        "uid": f"{group}-{age}",
        "creationTimestamp": when,
    }
    return make(PreemptionPlan, {"metadata": meta, "spec": spec, "status": status})


def preemptors(snapshot: Snapshot, gangs: int) -> list[Preemptor]:
    found = []
    for number in range(gangs):
        found.append(group_preemptor(snapshot, "default", f"g{number}"))
        try:
            found.append(pod_preemptor(snapshot, "default", "alone"))
        except DecisionError:
            continue
    return found


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 2**32))
def test_both_see_the_same_room(seed: int) -> None:
    random = Random(seed)
    known, plans, gangs = world(random)
    known.upsert_pod(pod("alone", priority=random.choice(PRIORITIES), nominated=random.choice(["", *NODES])))
    roster = Roster(known)
    promises = Promises(known, roster, ManualClock())
    for each in plans:
        promises.stored.upsert(each)
    picture = NodesPicture.of(known).with_plans(plans)
    for asking in preemptors(picture.snapshot, gangs):
        key = (asking.namespace, asking.name)
        if asking.kind == "Pod":
            key = (asking.namespace, f"pod/{asking.name}/{asking.uid}")
            assert lone_pod(key) is not None
        asks = asks_with(asking.priority, roster.members(key))
        live = subtract(known.snapshot(), promises.reservations, key, asks)
        ours = as_seen_by(picture.snapshot, asking)
        assert np.array_equal(live.used, ours.used)
        assert np.array_equal(live.leaving, ours.leaving)
        assert np.array_equal(live.pod_flags, ours.pod_flags)
        assert live.promised == ours.promised
