"""Looks at plans keep what they have seen. Whatever happens, they see what a look sees that keeps nothing.

Anything may happen to pods, nodes, groups, plans and reservations, also what no planner and no scheduler would do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from api.core import Pod
from api.groups import SCHEDULING_GATE
from api.plans import Placement, PreemptionPlanSpec, Preemptor, Victim, VictimPod
from api.requests import PODS
from api.times import parse_rfc3339
from controllers.gangs.keys import GroupKey, LonePod, key_of_pod
from controllers.gangs.lifecycle.life import ActivePlan, Offer, PlannedPod
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.looking.look import Looks
from controllers.gangs.looking.steered_look import SteeredLook
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.group_members import Claim, member_of
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.scheduler_marks import SchedulerMarks
from controllers.gangs.mirror.waiting import WaitingPods
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.scheduler.attempts import Estimate
from controllers.gangs.scheduler.configuration import SchedulerConfiguration
from nodes.groups.registry import group_of
from nodes.search.preemptors.mismatch import mismatch
from nodes.state.columns import change_log
from nodes.state.columns.change_log import ChangeLog
from nodes.state.columns.flags import GATED, TERMINATING
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.examples import MANY_EXAMPLES, examples
from tests.kit.objects import gang, node, pod, priority_class
from tests.twins.gangs.looking import seen

NOW: Final = parse_rfc3339("2026-01-01T01:00:00Z")
NODES: Final = ("n0", "n1", "n2", "n3")
CPUS: Final = {"n0": "3", "n1": "4", "n2": "5", "n3": "3"}
GANG: Final = ("default", "gang")
PIECES: Final = ("default", "pieces")
HIGH: Final = ("default", "high")
HIGHER: Final = ("default", "higher")
LOWER: Final = ("default", "lower")
LONE: Final = LonePod("default", "l0", "l0").key
REFUSED: Final = (
    "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: "
    "3 No preemption victims found for incoming pod."
)
OURS: Final = REFUSED.replace("3 Insufficient cpu", "1 reprieve: room is being freed, 2 Insufficient cpu")

KEEPS_OFF: Final = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "m"}}}
        ]
    }
}
PODS_AT_FIRST: Final[dict[str, dict[str, Any]]] = {
    "k0": {"node": "n3", "priority": 0, "affinity": KEEPS_OFF},
    "m0": {"group": "gang", "priority": 100},
    "m1": {"group": "gang", "priority": 100},
    "m2": {"group": "gang", "priority": 100},
    "m3": {"group": "gang", "priority": 100},
    "l0": {"priority": 100, "labels": {"app": "m"}},
    "v0": {"node": "n0", "priority": 1},
    "v1": {"node": "n1", "priority": 1, "group": "soft"},
    "v2": {"node": "n2", "priority": 1},
    "u0": {"node": "n1", "priority": 1, "group": "unit"},
    "u1": {"node": "n2", "priority": 1, "group": "unit"},
    "u2": {"node": "n1", "priority": 1},
    "r0": {"node": "n2", "priority": 100, "group": "pieces"},
    "r1": {"node": "n3", "priority": 100, "group": "pieces"},
    "x0": {"priority": 150, "nominated": "n0"},
}
GROUPS_AT_FIRST: Final[dict[str, dict[str, Any]]] = {
    "gang": {"minimum": 3},
    "soft": {"minimum": 0, "priority": None, "priorityClassName": "low"},
    "unit": {"minimum": 0, "mode": "all", "priority": 1},
    "pieces": {"minimum": 3},
}
GROUP_TWEAKS: Final[list[dict[str, Any]]] = [
    {},
    {"priority": 150},
    {"priority": 150},
    {"minimum": 2},
    {"mode": "all"},
    {"mode": "single"},
    {"has_run": True},
    {"preemptionPolicy": "Never"},
]
TWEAKS: Final[dict[str, list[Any]]] = {
    "node": ["", *NODES, "n9"],
    "nominated": ["", *NODES, "n9"],
    "requests": [{"cpu": "1"}, {"cpu": "2"}, {"cpu": "500m", "x.io/gpu": "1"}],
    "priority": [0, 1, 50, 100, 150],
    "group": [None, *GROUPS_AT_FIRST],
    "labels": [{}, {"app": "m"}, {"app": "n"}],
    "deleting": [False, "2026-01-01T01:00:01Z", "2026-01-01T00:59:00Z"],
    "gated": [True, False],
    "schedulingGates": [None, [{"name": SCHEDULING_GATE}]],
    "phase": ["", "", "Succeeded", "Failed"],
    "preemptionPolicy": [None, "Never"],
    "schedulerName": ["default-scheduler", "other"],
    "message": ["", REFUSED, OURS, "0/3 nodes are available"],
    "nodeSelector": [None, {"zone": "a"}],
    "affinity": [None, KEEPS_OFF],
    "mirror": [True, False],
    "created": ["2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"],
}


class Theme(NamedTuple):
    """What happens most in one example. What is rare among everything would hardly ever meet."""

    pods: str
    """Names."""
    tweaks: str
    """Fields."""
    rules: str
    """Kinds of rules besides those of pods."""


THEMES: Final = {
    "all": Theme(" ".join(PODS_AT_FIRST), " ".join(TWEAKS), "rooms members victims proofs"),
    "rooms": Theme("m0 m1 x0 x0 v0", "node nominated nominated priority deleting requests group", "rooms"),
    "members": Theme(
        "m0 m1 m2 m3 l0",
        "node group message gated schedulingGates phase priority schedulerName nodeSelector created requests",
        "members",
    ),
    "victims": Theme("v0 v1 v2 u0 u1 u2 r0 r1", "node group deleting priority mirror phase", "victims"),
    "proofs": Theme(
        "m0 m1 l0 v0 u0 v2 k0 k0",
        "node affinity labels deleting message message priority phase preemptionPolicy nominated",
        "proofs",
    ),
}


def happens_in(kind: str) -> Callable[[Scene], bool]:
    """Whether rules of this kind are tried now."""
    return lambda scene: kind in scene.theme.rules


def planned(uid: str, node: str, wave: int = 0) -> PlannedPod:
    return PlannedPod(uid, uid, node, {"cpu": 1000, PODS: 1}, wave=wave)


def victim(uid: str, on: str) -> Victim:
    return Victim("Pod", "default", uid, uid, 1, False, [VictimPod("default", uid, uid, on)])


def unit(name: str, **pods: str) -> Victim:
    found = [VictimPod("default", uid, uid, on) for uid, on in pods.items()]
    return Victim("PodGroup", "default", name, f"uid-{name}", 1, False, found)


def plan(key: GroupKey, victims: list[Victim], *members: PlannedPod) -> ActivePlan:
    kind, name, uid = ("Pod", "l0", "l0") if key == LONE else ("PodGroup", key[1], f"uid-{key[1]}")
    spec = PreemptionPlanSpec(
        preemptor=Preemptor(kind, "v1", "default", name, uid, 100),  # type: ignore[arg-type]
        outcome="Preempts" if members else "Releases",
        reason="",
        placements=[Placement(each.name, each.node, each.uid) for each in members],
        victims=victims,
    )
    alike = (tuple(each.uid for each in members),) if len(members) > 1 else ()
    by_uid = {each.uid: each for each in members}
    return ActivePlan(name=name, spec=spec, members=by_uid, deadline=9e9, alike=alike)


def plans(*, swapped: bool = False) -> dict[GroupKey, ActivePlan]:
    """`swapped`: members of GANG are planned on other nodes, and a victim stays. PIECES has lost its quota."""
    if swapped:
        members = planned("m0", "n1"), planned("m1", "n0"), planned("m3", "n2")
        others = plans()
        spec = msgspec.structs.replace(others[PIECES].spec, outcome="Withdraws")
        withdrawn = replace(others[PIECES], spec=spec)
        return others | {GANG: plan(GANG, [victim("v1", "n1")], *members), PIECES: withdrawn}
    of_gang = [victim("v0", "n0"), unit("unit", u0="n1", u1="n2"), victim("v1", "n1")]
    return {
        GANG: plan(GANG, of_gang, planned("m0", "n0"), planned("m1", "n1", 1), planned("m2", "n0", 1)),
        LONE: plan(LONE, [victim("v2", "n2")], planned("l0", "n2")),
        PIECES: plan(PIECES, [unit("pieces", r0="n2", r1="n3")]),
    }


CLAIMED: Final = {
    GANG: {"g0": "n3"},
    HIGH: {"h0": "n3"},
    HIGHER: {"h1": "n2", "h2": "n2"},
    LOWER: {"w0": "n0"},
}
"""Nodes by pods that do not exist, by plan: HIGH takes room that GANG claims on n3, and HIGHER has all room of n2."""
RESERVED: Final = {GANG: 100, HIGH: 200, HIGHER: 300, LOWER: 60}
"""Priorities by plan."""
ANY_PLAN: Final = st.sampled_from([GANG, GANG, LONE, PIECES])
MEMBERS: Final = st.sampled_from(["m0", "m1", "m2", "m3", "l0"])
PLACES: Final = st.sampled_from(NODES)


class Scene(RuleBasedStateMachine):
    """A mirror with plans, and a scheduler that shows what it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.theme, self.quiet = THEMES["all"], 0
        self.clock, self.tables = ManualClock(), Tables()
        self.roster, self.reservations = Roster(self.tables), Reservations(self.clock)
        self.gated = GatedPods(self.clock)
        self.evidence = Evidence(
            self.roster,
            SchedulerConfiguration(),
            self.clock,
            lambda _group, _uid: None,
            offer_seconds=60.0,
            gang_of=lambda pod: key_of_pod(pod) if pod.metadata.uid == "l0" else group_of(pod),
        )
        steered = SteeredLook(
            self.roster,
            WaitingPods(self.clock),
            SchedulerMarks(self.clock),
            lambda *_: Estimate(0.0, True),
        )
        self.looks = Looks(self.roster, self.reservations, self.evidence, self.gated, steered)
        self.plans = plans()
        self.fields = {name: dict(fields) for name, fields in PODS_AT_FIRST.items()}
        self.tables.upsert_priority_class(priority_class("low", 1))
        for name in NODES:
            self.put_node(name, cpu=CPUS[name], zone="a", taint=False)
        for name in GROUPS_AT_FIRST:
            self.put_group(name)
        for name in PODS_AT_FIRST:
            self.put(name)
        self.begin_all()
        self.time_passes(2.0)

    @initialize(theme=st.sampled_from(sorted(THEMES)))
    def begin_theme(self, theme: str) -> None:
        self.theme = THEMES[theme]

    # ---- the cluster

    @precondition(happens_in("victims"))
    @rule(name=st.sampled_from(["u2", "v0", "x0"]), group=st.sampled_from(["unit", "soft", "pieces", None]))
    def a_group_gets_a_pod(self, name: str, group: str | None) -> None:
        self.fields[name]["group"] = group
        self.put(name)

    def put(self, name: str) -> None:
        fields = dict(self.fields[name])
        message = fields.pop("message", "")
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        self.shows(pod(name, uid=name, conditions=[said] if message else None, **fields))

    def shows(self, made: Pod) -> None:
        self.tables.upsert_pod(made)
        ended = made.status.phase in ("Succeeded", "Failed")
        self.told(made.metadata.uid, None if ended else made)

    def told(self, uid: str, made: Pod | None) -> None:
        """As the controller hears of it."""
        self.gated.pod_changed(uid, made)
        self.evidence.pod_changed(uid, made)

    @rule(data=st.data())
    def pod_changes(self, data: st.DataObject) -> None:
        name = data.draw(self.a_pod())
        what = data.draw(st.sampled_from(self.theme.tweaks.split()))
        self.fields[name][what] = data.draw(st.sampled_from(TWEAKS[what]))
        self.put(name)

    @precondition(happens_in("rooms"))
    @rule(
        data=st.data(), name=st.sampled_from(["x0", "x0", "m0"]), node=st.sampled_from(["n0", "n0", "n1", ""])
    )
    def pod_is_nominated(self, data: st.DataObject, name: str, node: str) -> None:
        self.fields[name] = {**PODS_AT_FIRST[name], "nominated": node}
        self.fields[name] |= data.draw(st.sampled_from([{}, {"group": "gang"}, {"group": "soft"}]))
        self.put(name)

    @rule(data=st.data())
    def pod_changes_again(self, data: st.DataObject) -> None:
        self.pod_changes(data)

    @rule(data=st.data())
    def pod_is_as_at_first(self, data: st.DataObject) -> None:
        name = data.draw(self.a_pod())
        self.fields[name] = dict(PODS_AT_FIRST[name])
        self.put(name)

    def a_pod(self) -> st.SearchStrategy[str]:
        return st.sampled_from(self.theme.pods.split())

    @rule(data=st.data())
    def pod_goes(self, data: st.DataObject) -> None:
        name = data.draw(self.a_pod())
        self.tables.delete_pod("default", name)
        self.told(name, None)

    @rule(
        name=PLACES,
        cpu=st.sampled_from(["1", "2", "3", "5"]),
        zone=st.sampled_from("aab"),
        taint=st.booleans(),
    )
    def put_node(self, name: str, cpu: str, zone: str, taint: bool) -> None:
        taints = [{"key": "x", "effect": "NoSchedule"}] if taint else None
        self.tables.upsert_node(node(name, cpu=cpu, labels={"zone": zone}, taints=taints))

    @precondition(happens_in("proofs"))
    @rule(name=st.sampled_from([*NODES, "n9"]))
    def node_goes(self, name: str) -> None:
        self.tables.delete_node(name)

    @precondition(happens_in("proofs"))
    @rule()
    def a_node_comes(self) -> None:
        self.tables.upsert_node(node("n9"))

    @precondition(happens_in("victims"))
    @rule(
        name=st.sampled_from(["gang", "pieces", "soft", "soft", "unit"]), fields=st.sampled_from(GROUP_TWEAKS)
    )
    def put_group(self, name: str, fields: dict[str, Any] | None = None) -> None:
        self.tables.upsert_group(gang(name, **{**GROUPS_AT_FIRST[name], **(fields or {})}))

    @precondition(happens_in("victims"))
    @rule(name=st.sampled_from(list(GROUPS_AT_FIRST)), anew=st.booleans())
    def group_goes(self, name: str, anew: bool) -> None:
        self.tables.delete_group("default", name)
        if anew:
            made = gang(name, **GROUPS_AT_FIRST[name])
            meta = msgspec.structs.replace(made.metadata, uid="another")
            self.tables.upsert_group(msgspec.structs.replace(made, metadata=meta))

    @precondition(happens_in("victims"))
    @rule(value=st.sampled_from([200, 1, 50]))
    def class_changes(self, value: int) -> None:
        self.tables.upsert_priority_class(priority_class("low", value))

    @rule(seconds=st.sampled_from([-30, 0, 30]))
    def time_is_told(self, seconds: float) -> None:
        self.tables.tell_time(NOW + seconds)

    # ---- plans

    @rule(
        key=ANY_PLAN,
        phase=st.sampled_from(["Planned", "Planned", "Confirmed", "Evicting", "Evicting", "Ready"]),
        evicted=st.booleans(),
        resumed=st.booleans(),
    )
    def plan_goes_on(self, key: GroupKey, phase: Any, evicted: bool, resumed: bool) -> None:
        self.plans[key] = replace(self.plans[key], phase=phase, evicted=evicted, resumed=resumed)

    @precondition(happens_in("members"))
    @rule(key=ANY_PLAN, uids=st.sets(MEMBERS))
    def plan_is_offered(self, key: GroupKey, uids: set[str]) -> None:
        self.plans[key] = replace(self.plans[key], offered={uid: Offer(0.0, "") for uid in sorted(uids)})

    @rule(key=ANY_PLAN, forget=st.booleans(), swapped=st.booleans())
    def plan_is_made_anew(self, key: GroupKey, forget: bool, swapped: bool) -> None:
        if forget:
            self.looks.forget(key)
        self.plans[key] = plans(swapped=swapped)[key]

    def begin_all(self) -> None:
        """As at first."""
        for key, priority in RESERVED.items():
            self.begin(key, priority)

    @precondition(happens_in("rooms"))
    @rule(
        key=st.sampled_from([GANG, LONE, PIECES, HIGH, HIGHER]),
        priority=st.sampled_from([50, 100, 100, 150, 200]),
    )
    def begin(self, key: GroupKey, priority: int) -> None:
        """A reservation as the plan has it, if there is one, and claims for pods that do not exist."""
        self.reservations.open(key, priority)
        members = [*self.plans[key].members.values()] if key in self.plans else []
        members += [planned(uid, node) for uid, node in CLAIMED.get(key, {}).items()]
        for each in members:
            self.reservations.put_claim(key, each.uid, Claim(each.node, each.requests))

    @precondition(happens_in("rooms"))
    @rule(
        data=st.data(),
        uid=st.sampled_from(["m0", "m1", "l0", "x0", "x0", "x0", "v0", "none"]),
        where=st.sampled_from(["", *NODES, "n2"]),
        cpus=st.integers(1, 3),
        kind=st.sampled_from(["claim", "claim", "victim", "leaving"]),
    )
    def promise(self, data: st.DataObject, uid: str, where: str, cpus: int, kind: str) -> None:
        key = data.draw(st.sampled_from(sorted(self.reservations.groups or [GANG])))
        if self.reservations.priority(key) is None:
            self.reservations.open(key, 100)
        claim = Claim(where, {"cpu": cpus * 1000, PODS: 1}) if where else None
        if kind == "claim":
            self.reservations.put_claim(key, uid, claim)
        else:
            self.reservations.put_victim(key, uid, claim, leaving=kind == "leaving")

    @precondition(happens_in("rooms"))
    @rule(data=st.data())
    def plan_ends(self, data: st.DataObject) -> None:
        self.reservations.release(data.draw(st.sampled_from(sorted(self.reservations.groups or [GANG]))))

    # ---- the scheduler

    @precondition(happens_in("proofs"))
    @rule(name=MEMBERS, names=st.lists(st.sampled_from([*NODES, "n9"]), unique=True))
    def filter_is_called(self, name: str, names: list[str]) -> None:
        self.evidence.filter_called(pod(name, uid=name, group=PODS_AT_FIRST[name].get("group")), names)

    @precondition(happens_in("proofs"))
    @rule(
        name=MEMBERS,
        candidates=st.dictionaries(PLACES, st.frozensets(st.sampled_from(["v0", "v1", "u0", "v2", "x0"]))),
    )
    def preempt_is_called(self, name: str, candidates: dict[str, frozenset[str]]) -> None:
        self.evidence.preempt_called(pod(name, uid=name, group=PODS_AT_FIRST[name].get("group")), candidates)

    @precondition(happens_in("proofs"))
    @rule(seconds=st.sampled_from([0.5, 1.0, 29.5, 60.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.evidence.tick(trusted=True)

    # ---- what must hold

    @rule(steps=st.integers(2, 4))
    def nobody_looks(self, steps: int) -> None:
        """More than one thing happens between two looks."""
        self.quiet = steps

    @invariant()
    def looks_see_what_is_there(self) -> None:
        self.quiet = max(0, self.quiet - 1)
        if self.quiet:
            return
        for each in self.plans.values():
            kept = self.looks.look(each, trusted=True)
            fresh = seen(each, self.roster, self.reservations, self.evidence, self.gated)
            assert kept == fresh
            assert list(kept.proofs) == list(fresh.proofs)

    @invariant()
    def members_are_those_in_the_tables(self) -> None:
        if self.quiet:
            return
        for key in (GANG, PIECES):
            views = [self.tables.view(row) for row in self.tables.members(key)]
            members = [member_of(view) for view in views if not view.flags & (TERMINATING | GATED)]
            members.sort(key=lambda each: (each.created, each.name))
            assert self.roster.members(key) == members
            running = {view.uid for view in views if view.node is not None and not view.flags & TERMINATING}
            assert self.roster.running_members(key) == running
            group, priority = self.roster.group(key), self.roster.group_priority(key)
            if group is not None and priority is not None and group.spec.preemption_policy != "Never":
                asking = [each.asking for each in members if each.node is None]
                differs = mismatch(group, priority, asking)
                assert self.roster.why_no_evictions(key) == (differs.text if differs is not None else "")


# ---- one event at a time


Event = tuple[Callable[[Scene], object], Callable[[Scene], object]]
"""What happens, and what takes it back."""


def of_pods() -> Iterator[Event]:
    for name, what in itertools.product(PODS_AT_FIRST, TWEAKS):
        for value in TWEAKS[what]:
            yield partial(tweak, name=name, what=what, value=value), partial(at_first, name=name)
    for name in PODS_AT_FIRST:
        yield partial(gone, name=name), partial(at_first, name=name)
        # Only its group counts a pod that has Succeeded.
        succeeds = partial(tweak, name=name, what="phase", value="Succeeded")
        yield succeeds, partial(gone, name=name)
        yield succeeds, partial(at_first, name=name)


def tweak(scene: Scene, name: str, what: str, value: Any) -> None:
    scene.fields[name][what] = value
    scene.put(name)


def at_first(scene: Scene, name: str) -> None:
    scene.fields[name] = dict(PODS_AT_FIRST[name])
    scene.put(name)


def gone(scene: Scene, name: str) -> None:
    scene.tables.delete_pod("default", name)
    scene.told(name, None)


def of_nodes() -> Iterator[Event]:
    for name in NODES:
        back = partial(Scene.put_node, name=name, cpu=CPUS[name], zone="a", taint=False)
        for cpu, zone, taint in (("1", "a", False), ("5", "a", False), ("3", "b", False), ("3", "a", True)):
            yield partial(Scene.put_node, name=name, cpu=cpu, zone=zone, taint=taint), back
        yield partial(Scene.node_goes, name=name), back


def of_groups() -> Iterator[Event]:
    for name in GROUPS_AT_FIRST:
        back = partial(Scene.put_group, name=name)
        for fields in GROUP_TWEAKS:
            yield partial(Scene.put_group, name=name, fields=fields), back
        for anew in (True, False):
            yield partial(Scene.group_goes, name=name, anew=anew), back
    for value in (200, 50):
        yield partial(Scene.class_changes, value=value), partial(Scene.class_changes, value=1)


def of_reservations() -> Iterator[Event]:
    for key, priority in itertools.product(RESERVED, (50, 150, 300)):
        yield partial(Scene.begin, key=key, priority=priority), Scene.begin_all
    for key, uid, place in itertools.product(RESERVED, ("x0", "m0", "v0", "none"), NODES):
        claim = Claim(place, {"cpu": 1000, PODS: 1})
        yield partial(put_claim, key=key, uid=uid, claim=claim), Scene.begin_all
        yield partial(put_victim, key=key, uid=uid, claim=claim), Scene.begin_all


def put_claim(scene: Scene, key: GroupKey, uid: str, claim: Claim) -> None:
    scene.reservations.put_claim(key, uid, claim)


def put_victim(scene: Scene, key: GroupKey, uid: str, claim: Claim) -> None:
    scene.reservations.put_victim(key, uid, claim)


def nothing(scene: Scene) -> None:
    """There is nothing to take back."""


def of_schedulers() -> Iterator[Event]:
    for name in ("m0", "m1", "m2", "l0"):
        for names in ([], ["n0", "n1"], ["n2"]):
            yield partial(Scene.filter_is_called, name=name, names=names), nothing
        for place in ("n0", "n1", "n2"):
            for victims in ({"v0"}, {"u0", "v1"}, {"x0"}):
                candidates = {place: frozenset(victims)}
                yield partial(Scene.preempt_is_called, name=name, candidates=candidates), nothing
    for seconds in (1.0, 58.5, 0.5, 1.0):
        yield partial(Scene.time_passes, seconds=seconds), nothing
    first, second = (
        partial(Scene.filter_is_called, names=["n0"]),
        partial(Scene.preempt_is_called, candidates={}),
    )
    for name in ("m0", "l0"):
        yield partial(first, name=name), partial(Scene.time_passes, seconds=30.0)
        yield partial(second, name=name), partial(Scene.time_passes, seconds=31.0)
    for seconds in (0, 30):
        yield partial(Scene.time_is_told, seconds=seconds), partial(Scene.time_is_told, seconds=-30)


def of_plans() -> Iterator[Event]:
    for forget in (True, False):
        make = partial(Scene.plan_is_made_anew, key=GANG, forget=forget)
        yield partial(make, swapped=True), partial(make, swapped=False)
    for fields in ({"has_run": True}, {"minimum": 2}):
        make = partial(Scene.plan_is_made_anew, key=PIECES, forget=False)
        yield partial(Scene.put_group, name="pieces", fields=fields), partial(make, swapped=True)
        yield partial(make, swapped=False), partial(Scene.put_group, name="pieces")
    offered = partial(Scene.plan_is_offered, key=GANG)
    yield partial(offered, uids={"m0"}), partial(offered, uids={"m1", "m3"})


@pytest.mark.parametrize("events", [of_plans, of_pods, of_nodes, of_groups, of_reservations, of_schedulers])
@pytest.mark.parametrize(("phase", "is_shown"), [("Planned", True), ("Planned", False), ("Evicting", False)])
@pytest.mark.parametrize("is_lost", [False, pytest.param(True, marks=MANY_EXAMPLES)])
def test_a_look_sees_each_single_event(
    events: Callable[[], Iterator[Event]],
    phase: Any,
    is_shown: bool,
    is_lost: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`is_shown`: the scheduler has refused every member. `is_lost`: the logs remember nothing."""
    if is_lost:
        monkeypatch.setattr(ChangeLog, "since", lambda log, count: [] if count == log.count else None)
    scene = Scene()
    for key in scene.plans:
        scene.plan_goes_on(key, phase, evicted=False, resumed=phase == "Evicting")
        scene.plan_is_offered(key, {"m0", "m2", "m3", "l0"})
    if is_shown:
        for name in ("m0", "m1", "m2", "l0"):
            tweak(scene, name, "message", REFUSED)
    scene.looks_see_what_is_there()
    for happens, back in events():
        for step in (happens, back):
            step(scene)
            scene.looks_see_what_is_there()


@pytest.mark.parametrize("remembered", [50_000, 2], ids=["as it is", "nearly nothing is remembered"])
def test_a_look_sees_what_one_sees_that_keeps_nothing(
    remembered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the second bound, much has changed since the last look that nobody remembers."""
    monkeypatch.setattr(change_log, "REMEMBERED", remembered)
    run_state_machine_as_test(
        Scene, settings=settings(deadline=None, max_examples=examples(250), stateful_step_count=40)
    )
