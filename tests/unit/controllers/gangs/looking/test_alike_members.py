"""What a scheduler shows of one member is as true of those that are like it."""

from __future__ import annotations

from typing import Any, Final

import pytest

from api.core import Pod
from api.plans import Placement, PreemptionPlanSpec, Preemptor, Victim, VictimPod
from controllers.gangs.lifecycle.life import ActivePlan, PlannedPod
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.probes import NUMBERS, Probes
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.scheduler.configuration import SchedulerConfiguration
from controllers.gangs.scheduler.proofs import Doubt, Proof
from tests.kit.clock import ManualClock
from tests.kit.objects import gang, node, pod, tables

NAMES: Final = ("m0", "m1", "m2")
REFUSED: Final = (
    "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: "
    "3 No preemption victims found for incoming pod."
)
UNKNOWN: Final = (Proof.UNKNOWN, None)
CONFIRMED: Final = (Proof.CONFIRMED, None)
CONTRADICTED: Final = (Proof.CONTRADICTED, None)


def uid(name: str) -> str:
    return f"uid-default-{name}"


def the_plan(alike: tuple[tuple[str, ...], ...]) -> ActivePlan:
    """Member number K goes to node number K, where the pod vK is evicted."""
    spec = PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", "default", "gang", "uid-gang", 100),
        outcome="Preempts",
        reason="",
        placements=[Placement(name, f"n{number}", uid(name)) for number, name in enumerate(NAMES)],
        victims=[
            Victim("Pod", "default", each, uid(each), 1, False, [VictimPod("default", each, uid(each), on)])
            for each, on in (("v0", "n0"), ("v1", "n1"), ("v2", "n2"))
        ],
    )
    members = {
        uid(name): PlannedPod(uid(name), name, f"n{number}", {"cpu": 1000})
        for number, name in enumerate(NAMES)
    }
    return ActivePlan(name="plan", spec=spec, members=members, deadline=300.0, alike=alike)


class World:
    """A gang of three on three full nodes."""

    def __init__(self, *, alike: bool = True, **others: Any) -> None:
        """`others`: what m1 and m2 have of their own."""
        self.clock = ManualClock()
        nodes = [node(f"n{number}") for number in range(3)]
        victims = [pod(f"v{number}", node=f"n{number}", priority=1) for number in range(3)]
        self.tables = tables(*nodes, gang(minimum=3), *victims)
        self.roster, self.pods = Roster(self.tables), dict[str, Pod]()
        self.evidence = Evidence(self.roster, SchedulerConfiguration(), self.clock, lambda _group, _uid: None)
        for name in NAMES:
            self.put(name, **(others if name != "m0" else {}))
        self.plan = the_plan((tuple(map(uid, NAMES)),) if alike else ())
        self.passes(2)

    def put(self, name: str, message: str = "", **fields: Any) -> None:
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        made = pod(name, group="gang", conditions=[said] if message else None, **fields)
        self.pods[name] = made
        self.tables.upsert_pod(made)
        self.evidence.pod_changed(uid(name), made)

    def passes(self, seconds: int) -> None:
        for _ in range(seconds):
            self.clock.advance(1.0)
            self.evidence.tick(trusted=True)

    def tries(self, name: str, *nodes: str) -> None:
        """A whole attempt on the member: no node is free, and these are candidates."""
        self.evidence.filter_called(self.pods[name], [])
        self.evidence.preempt_called(self.pods[name], {on: frozenset({uid(f"v{on[1]}")}) for on in nodes})

    def proofs(self) -> dict[str, tuple[Proof, Doubt | None]]:
        found = self.evidence.proofs(self.plan)
        return {
            name: (found[uid(name)].proof, found[uid(name)].doubt) for name in NAMES if uid(name) in found
        }


def test_what_is_shown_of_one_member_confirms_those_that_are_like_it() -> None:
    world = World()
    assert world.proofs() == dict.fromkeys(NAMES, UNKNOWN)
    world.tries("m0", "n0", "n1")
    assert world.proofs() == {"m0": CONFIRMED, "m1": CONFIRMED, "m2": CONTRADICTED}
    seen = world.evidence.proofs(world.plan)[uid("m1")]
    assert (seen.seen, seen.attempted) == ("the scheduler offered n1 to a pod like it", None)


@pytest.mark.parametrize(
    "others",
    [
        {"labels": {"role": "follower"}},
        {"priority": 5},
        {"schedulerName": "another"},
        {"preemptionPolicy": "Never"},
        {"nodeSelector": {"disk": "ssd"}},
        {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_members_that_differ_speak_for_themselves(others: dict[str, Any]) -> None:
    """Whatever the plan says of them: they may have changed since."""
    world = World(**others)
    world.tries("m0", "n0", "n1", "n2")
    assert world.proofs() == {"m0": CONFIRMED, "m1": UNKNOWN, "m2": UNKNOWN}
    probes = Probes(GatedPods(world.clock), world.roster)
    assert probes.by_kind([tuple(map(uid, NAMES))]) == ((uid("m1"), uid("m2")),)


@pytest.mark.parametrize("label", sorted(NUMBERS))
def test_a_number_is_no_difference(label: str) -> None:
    world = World()
    for number, name in enumerate(NAMES):
        world.put(name, labels={label: str(number), "app": "training"})
    world.tries("m0", "n0", "n1", "n2")
    assert world.proofs() == dict.fromkeys(NAMES, CONFIRMED)


def test_without_the_search_saying_so_nobody_is_alike() -> None:
    """As of a plan that a former process made."""
    world = World(alike=False)
    world.tries("m0", "n0", "n1", "n2")
    assert world.proofs() == {"m0": CONFIRMED, "m1": UNKNOWN, "m2": UNKNOWN}


def test_a_refusal_counts_for_members_that_nobody_has_tried() -> None:
    """It counts more than what was shown of another member: then they are not alike for the scheduler."""
    world = World()
    world.tries("m0", "n0", "n2")
    world.tries("m1", "n0", "n1")
    assert world.proofs() == {"m0": CONFIRMED, "m1": CONFIRMED, "m2": CONTRADICTED}
    world.tries("m2", "n2")
    assert world.proofs() == {"m0": CONFIRMED, "m1": CONFIRMED, "m2": CONFIRMED}, "its own attempt says more"


def test_no_word_on_others_stands_against_the_members_own_refusal() -> None:
    world = World()
    world.tries("m0", "n0", "n1", "n2")
    world.tries("m1", "n0", "n2")
    assert world.proofs() == {"m0": CONFIRMED, "m1": CONTRADICTED, "m2": CONFIRMED}


def test_a_doubt_is_shared_as_well() -> None:
    """The scheduler refused a pod like it, and the node has changed since: the model must not count at once."""
    world = World()
    world.put("m0", REFUSED)
    world.proofs()
    assert world.proofs() == dict.fromkeys(NAMES, CONTRADICTED)
    world.tables.upsert_pod(pod("small", node="n1", priority=1))
    world.tables.delete_pod("default", "small")
    assert world.proofs() == {"m0": CONTRADICTED, "m1": (Proof.UNKNOWN, Doubt.STANDS), "m2": CONTRADICTED}
    world.passes(2)
    world.evidence.preempt_called(world.pods["m2"], {"n1": frozenset({uid("v1")})})
    assert world.proofs()["m1"] == CONFIRMED, "it was shown after the change"


def test_what_was_shown_goes_with_the_member() -> None:
    """A probe that is bound, gone or relabelled says nothing any longer."""
    for end in ("bound", "gone", "relabelled", "ended"):
        world = World()
        world.tries("m0", "n0", "n1")
        assert world.proofs()["m1"] == CONFIRMED
        if end == "bound":
            world.put("m0", node="n0")
        elif end == "relabelled":
            world.put("m0", labels={"role": "leader"})
        elif end == "gone":
            world.tables.delete_pod("default", "m0")
            world.evidence.pod_changed(uid("m0"), None)
        else:
            world.put("m0", phase="Succeeded")
            world.evidence.pod_changed(uid("m0"), None)
        assert world.proofs()["m1"] == UNKNOWN, end


def test_what_was_shown_lapses_for_all() -> None:
    world = World()
    world.tries("m0", "n0", "n1", "n2")
    assert world.proofs() == dict.fromkeys(NAMES, CONFIRMED)
    world.tables.upsert_node(node("n1", cpu="5"))
    assert world.proofs()["m1"][0] is Proof.UNKNOWN
    world.passes(61)
    assert {proof for proof, _ in world.proofs().values()} == {Proof.UNKNOWN}
