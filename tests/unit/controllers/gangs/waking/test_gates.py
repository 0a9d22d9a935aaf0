"""When the scheduling gate of members is removed, and from which pods."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given

from api.core import Pod
from api.groups import SCHEDULING_GATE
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey, Life
from controllers.gangs.lifecycle.observations import MembersSeen
from controllers.gangs.lifecycle.probing import ROUND_SECONDS, Probing
from controllers.gangs.lifecycle.settings import GatesMode
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.waking.gates import AT_ONCE, GRACE_SECONDS, SEARCH_SECONDS, Gates, Removal, removal
from controllers.gangs.writing.pod_writer import PodWriter
from kube.errors import ApiError
from tests.kit.clock import ManualClock
from tests.kit.objects import gang, node, pod, tables
from tests.kit.stage import Stage, staged
from tests.kit.waiting import beside
from tests.unit.controllers.gangs.lives import in_phase

PLAN: ActivePlan = in_phase("Planned").plan
OTHERS = "example.com/wait"
BIG = {"cpu": "4"}


def gated(name: str, *others: str, **fields: Any) -> Pod:
    """A pod with our gate, before it the gates of others."""
    gates = [{"name": gate} for gate in (*others, SCHEDULING_GATE)]
    return pod(name, **{"schedulingGates": gates, **fields})


def member(name: str, *others: str, **fields: Any) -> Pod:
    return gated(name, *others, group="gang", requests=BIG, **fields)


def ungated(made: Pod) -> Pod:
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, scheduling_gates=None))


# ---- when


LATE = SEARCH_SECONDS
PROBED = Probing((("m0", "m1"),), frozenset(), 0.0)
EACH = Probing((), frozenset({"m0", "m1"}), 0.0)
COMPLETE = Life(complete=True)
ALIKE = replace(PLAN, alike=PROBED.alike)


@pytest.mark.parametrize(
    ("seen", "life", "now", "gathering", "until_planned"),
    [
        (None, Life(), 0.0, Removal.AFTER_GRACE, Removal.AFTER_GRACE),
        (MembersSeen(2, 1, 0), Life(), LATE, Removal.NOT_YET, Removal.NOT_YET),
        (MembersSeen(2, 2, 0), COMPLETE, 0.0, Removal.NOT_YET, Removal.NOT_YET),
        (MembersSeen(2, 2, 0), COMPLETE, LATE, Removal.NOW, Removal.NOT_YET),
        (MembersSeen(2, 2, 0), Life(), LATE, Removal.NOT_YET, Removal.NOT_YET),
        (MembersSeen(2, 2, 0), Life(phase="Unschedulable"), 0.0, Removal.NOW, Removal.NOT_YET),
        (MembersSeen(2, 2, 0), Life(placed=True, probing=PROBED), 0.0, Removal.PROBES, Removal.PROBES),
        (MembersSeen(2, 2, 0), Life(placed=True, probing=PROBED), LATE, Removal.PROBES, Removal.PROBES),
        (MembersSeen(2, 2, 0), Life(placed=True, probing=EACH), 0.0, Removal.NOW, Removal.NOW),
        (MembersSeen(2, 2, 1), COMPLETE, LATE, Removal.NOW, Removal.NOT_YET),
        (MembersSeen(2, 3, 2), Life(), 0.0, Removal.NOW, Removal.NOW),
        (MembersSeen(2, 1, 1), Life(phase="Bound"), LATE, Removal.NOT_YET, Removal.NOT_YET),
        (MembersSeen(2, 1, 0), Life(plan=PLAN), 0.0, Removal.NOW, Removal.NOW),
        (MembersSeen(2, 2, 0), Life(plan=ALIKE, probing=PROBED), LATE, Removal.PROBES, Removal.PROBES),
        (
            MembersSeen(2, 2, 0),
            Life(plan=replace(ALIKE, room_is_free=True), probing=PROBED),
            0.0,
            Removal.NOW,
            Removal.NOW,
        ),
    ],
)
def test_when_gates_are_removed(
    seen: MembersSeen | None, life: Life, now: float, gathering: Removal, until_planned: Removal
) -> None:
    assert removal("Off", seen, life, now) is Removal.NOW
    assert removal("Gathering", seen, life, now) is gathering
    assert removal("UntilPlanned", seen, life, now) is until_planned


def test_a_group_of_the_schedulers_own_loses_all_gates_at_once() -> None:
    """A gate on one member keeps all of them from being tried."""
    seen = MembersSeen(2, 2, 0)
    for life in (COMPLETE, Life(placed=True, probing=PROBED)):
        assert removal("Gathering", seen, life, 0.0, native=True) is Removal.NOW
    assert removal("UntilPlanned", seen, COMPLETE, 0.0, native=True) is Removal.NOT_YET
    assert removal("UntilPlanned", seen, Life(placed=True, probing=PROBED), 0.0, native=True) is Removal.NOW


# ---- who

STATES = st.lists(
    st.builds(
        lambda name, group, deleting, there, has_gate: (
            name,
            pod(
                name,
                group=group,
                deleting=deleting,
                schedulingGates=[{"name": SCHEDULING_GATE}] if has_gate else [{"name": OTHERS}],
            )
            if there
            else None,
        ),
        st.sampled_from(["p0", "p1", "p2"]),
        st.sampled_from([None, "a", "b"]),
        st.sampled_from([False, False, False, True]),
        st.sampled_from([True, True, True, False]),
        st.booleans(),
    )
)


@given(STATES)
def test_the_gated_pods_are_those_of_the_newest_states(states: list[tuple[str, Pod | None]]) -> None:
    pods, newest = GatedPods(ManualClock()), dict[str, Pod]()

    def expected() -> Counter[tuple[str, str]]:
        labels = (each.metadata.labels or {} for each in newest.values())
        return Counter(("default", each.get("reprieve.dev/pod-group", "")) for each in labels)

    for uid, state in states:
        before = expected()
        newest.pop(uid, None)
        gates = (state.spec.scheduling_gates or []) if state is not None else []
        if state is not None and not state.metadata.deletion_timestamp and gates[0].name == SCHEDULING_GATE:
            newest[uid] = state
        pods.pod_changed(uid, state)
        assert {pods.ungated_by(uid)} - {None} == set(before - expected())
        assert {group: len(pods.of(group)) for group in pods.groups} == dict(expected())
        assert [uid in pods for uid in ("p0", "p1", "p2")] == [uid in newest for uid in ("p0", "p1", "p2")]


# ---- on the stage


async def test_members_lose_the_gate_when_min_count_of_them_exist() -> None:
    async with staged(node("n0"), node("n1"), gang(), member("m0")) as stage:
        await stage.settle()
        assert stage.api.ungated == []
        stage.add(member("m1", OTHERS))
        await stage.settle()
        assert stage.api.ungated == [], "with the gate of others it is no member"
        stage.add(member("m2"))
        await stage.settle()
        assert sorted(stage.api.ungated) == ["m0", "m1", "m2"], "each once"
        assert gates_of(stage, "m1") == [OTHERS]


def gates_of(stage: Stage, name: str) -> list[str]:
    spec = stage.api.of("/api/v1/pods")[name]["spec"]
    return [gate["name"] for gate in spec.get("schedulingGates") or ()]


async def test_until_planned_the_gate_stays_until_there_is_a_place() -> None:
    members = [member("m0"), member("m1")]
    async with staged(node("n0"), gang(), *members, gates="UntilPlanned") as stage:
        await stage.settle()
        assert stage.api.ungated == []
        assert stage.api.reasons["gang"] == "Unschedulable"
        stage.add(node("n1"))
        stage.clock += 60.0
        await stage.settle()
        assert sorted(stage.api.ungated) == ["m0", "m1"]
        assert stage.phases()[-1] == "Ready"


def victims() -> list[Pod]:
    return [pod(f"v{number}", node=f"n{number}", requests=BIG, priority=1) for number in range(2)]


@pytest.mark.parametrize("mode", ["Gathering", "UntilPlanned"])
async def test_a_plan_that_evicts_is_made_after_the_scheduler_has_tried_every_member(mode: GatesMode) -> None:
    objects = [node("n0"), node("n1"), gang(), member("m0"), member("m1"), *victims()]
    async with staged(*objects, gates=mode) as stage:
        stage.agrees = False
        stage.wait_for_attempts(5.0)
        await stage.settle()
        assert sorted(stage.api.ungated) == ["m0", "m1"]
        assert stage.api.plans == {}
        for name in ("m0", "m1"):
            stage.preempt(
                ungated(member(name)), **{each.spec.node_name: [each.metadata.uid] for each in victims()}
            )
        await stage.settle()
        assert sorted(stage.api.deleted) == ["v0", "v1"]


def crowd(count: int) -> list[Any]:
    """As many members that are alike as there are full nodes."""
    nodes = [node(f"n{number}") for number in range(count)]
    full = [pod(f"v{number}", node=f"n{number}", requests=BIG, priority=1) for number in range(count)]
    return [*nodes, *full, gang(minimum=count), *(member(f"m{number}") for number in range(count))]


def tries(stage: Stage, name: str, *nodes: int) -> None:
    """A whole attempt on a member that has no gate any longer. Evictions would help on these nodes."""
    stage.filter(ungated(member(name)))
    stage.preempt(ungated(member(name)), **{f"n{each}": [f"uid-default-v{each}"] for each in nodes})


@pytest.mark.parametrize("mode", ["Gathering", "UntilPlanned"])
async def test_a_few_members_lose_the_gate_and_the_others_when_the_room_is_free(mode: GatesMode) -> None:
    async with staged(*crowd(5), gates=mode) as stage:
        stage.agrees = False
        stage.wait_for_attempts(5.0)
        stage.clock += 2.0
        await stage.settle()
        assert stage.api.ungated == ["m0", "m1"]
        assert stage.api.plans == {}
        for name in ("m0", "m1"):
            tries(stage, name, *range(5))
        await stage.settle()
        assert sorted(stage.api.deleted) == [f"v{number}" for number in range(5)]
        assert stage.api.ungated == ["m0", "m1"]
        assert stage.phases() == ["Evicting"]
        stage.delete(*(each for each in crowd(5) if each.metadata.name.startswith("v")))
        await stage.settle()
        assert sorted(stage.api.ungated) == [f"m{number}" for number in range(5)], "each once"
        assert stage.phases() == ["Ready"]
        assert stage.api.nominated.keys() == {f"m{number}" for number in range(5)}


async def test_more_members_are_tried_while_a_node_is_not_confirmed() -> None:
    """The scheduler names a part of the nodes in each attempt, and it has named the last one for nobody."""
    async with staged(*crowd(9)) as stage:
        stage.agrees = False
        stage.wait_for_attempts(5.0)
        await stage.settle()
        assert stage.api.ungated == ["m0", "m1"]
        for name, nodes in (("m0", [0, 1, 2, 3]), ("m1", [4, 5, 6, 7])):
            tries(stage, name, *nodes)
        await stage.settle()
        assert stage.api.ungated == ["m0", "m1", "m2", "m3"], "all have been tried"
        await stage.settle()
        assert stage.api.ungated == ["m0", "m1", "m2", "m3"], "nobody has tried the new ones"
        stage.clock += ROUND_SECONDS
        await stage.settle()
        assert stage.api.ungated == [f"m{number}" for number in range(8)]
        assert stage.api.deleted == []
        tries(stage, "m5", *range(9))
        await stage.settle()
        assert stage.api.deleted == [], "the others have no gate, and nobody has tried them"
        for name in ("m2", "m3", "m4", "m6", "m7"):
            tries(stage, name, *range(9))
        await stage.settle()
        assert len(stage.api.deleted) == 9
        assert "m8" not in stage.api.ungated


async def test_nobody_is_evicted_while_a_gate_could_not_be_removed_later() -> None:
    """Of a member that need not be tried. The API server is asked before anybody is evicted."""
    async with staged(*crowd(4)) as stage:
        stage.agrees = False
        stage.wait_for_attempts(5.0)
        stage.api.refuse = refused("m3")
        await stage.settle()
        for _ in range(4):
            for name in ("m0", "m1"):
                tries(stage, name, *range(4))
            stage.clock += 6.0
            await stage.settle()
        assert stage.api.plans == {}
        assert stage.api.waits["gang"][-1][0] == "Ungating"
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 60.0
        for name in ("m0", "m1"):
            tries(stage, name, *range(4))
        await stage.settle()
        assert len(stage.api.deleted) == 4
        assert stage.api.ungated == ["m0", "m1"]


async def test_a_gang_that_waits_for_its_search_for_long_loses_all_gates() -> None:
    """An autoscaler does not see gated pods."""
    async with staged(*crowd(4)) as stage:
        stage.leading.turns.next = lambda: None  # type: ignore[method-assign]
        await stage.settle()
        assert stage.api.ungated == []
        stage.clock += SEARCH_SECONDS
        await stage.settle()
        assert len(stage.api.ungated) == 4


async def test_a_process_that_resumes_a_plan_has_every_member_tried() -> None:
    """It has seen no attempt, and does not know which members are alike."""
    async with staged(*crowd(4)) as stage:
        stage.agrees = False
        stage.wait_for_attempts(5.0)
        await stage.settle()
        stage.clock += 6.0
        await stage.settle()
        assert stage.phases() == ["Planned"]
        before = list(stage.api.ungated)
        await stage.close()
        after = stage.restart()
        after.agrees = False
        after.add(*(each for each in crowd(4) if each.metadata.name not in before))
        after.add(*(ungated(member(name)) for name in before))
        await after.settle()
        assert sorted(after.api.ungated) == [f"m{number}" for number in range(4)]
        assert after.api.deleted == []
        await after.close()


async def test_the_time_to_try_members_begins_when_the_last_gate_is_gone() -> None:
    objects = [node("n0"), node("n1"), gang(), member("m0"), member("m1"), *victims()]
    async with staged(*objects) as stage:
        stage.agrees = False
        stage.wait_for_attempts(5.0)
        stage.api.refuse = refused("m1")
        await stage.settle()
        for _ in range(3):
            stage.clock += 6.0
            await stage.settle()
        assert stage.api.ungated == ["m0"]
        assert stage.api.plans == {}, "nobody is planned for before that"
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 90.0
        await stage.settle()
        assert stage.api.ungated == ["m0", "m1"]
        stage.clock += 4.9
        await stage.settle()
        assert stage.api.plans == {}
        stage.clock += 0.2
        await stage.settle()
        assert stage.phases() == ["Planned"]


def refused(name: str) -> Any:
    """The API server does not let anybody change this pod's spec."""
    return lambda method, path: (
        ApiError(403, "Forbidden", "x")
        if method.startswith("PATCH") and path.endswith(f"/pods/{name}")
        else None
    )


async def test_no_member_goes_on_while_the_gate_of_another_one_cannot_be_removed() -> None:
    """Otherwise the gang would be bound in part. The room is kept, and the user learns what is in the way."""
    async with staged(node("n0"), node("n1"), gang(), member("m0"), member("m1")) as stage:
        stage.api.refuse = refused("m1")
        await stage.settle()
        assert stage.phases() == ["Planned"]
        assert stage.api.ungated == ["m0"]
        assert stage.filter(pod("m0", group="gang"), "n0", "n1") == []
        assert (stage.api.woken, stage.api.nominated) == ([], {})
        stage.clock += 0.1
        await stage.settle()
        assert stage.api.waits["gang"][-1][0] == "Ungating"
        await stage.leading.writer.close()
        told = [body for _, path, body in stage.api.written if path.endswith("/events")]
        assert [(each["reason"], each["regarding"]["name"]) for each in told] == [("GateNotRemoved", "m1")]
        stage.api.refuse = lambda method, path: None
        stage.clock += 6.0
        await stage.settle()
        assert stage.phases() == ["Ready"]
        assert stage.api.nominated.keys() == {"m0", "m1"}


async def test_a_plan_that_evicts_waits_for_a_gate_without_a_write_every_few_seconds() -> None:
    objects = [node("n0"), node("n1"), *victims(), gang(), member("m0"), member("m1")]
    async with staged(*objects) as stage:
        stage.api.refuse = refused("m1")
        for _ in range(30):
            await stage.settle(2)
            stage.clock += 1.0
        assert stage.api.plans == {}
        assert [reason for reason, _ in stage.api.waits["gang"]].count("Ungating") == 1
        assert stage.api.waits["gang"][-1][0] == "Ungating"


async def test_pods_without_a_gang_lose_the_gate_after_a_grace() -> None:
    pods = [gated("of-none", group="none"), gated("of-basic", group="basic"), gated("no-label")]
    async with staged(node("n0"), gang("basic", minimum=0), *pods) as stage:
        await stage.settle()
        assert stage.api.ungated == []
        stage.clock += GRACE_SECONDS
        stage.add(gated("late", group="none"))
        await stage.settle()
        assert sorted(stage.api.ungated) == ["no-label", "of-basic", "of-none"]


async def test_a_process_that_has_just_started_releases_pods_whose_group_is_gone() -> None:
    async with staged(gang(), member("m0")) as stage:
        await stage.settle()
        await stage.close()
        after = stage.restart()
        after.add(member("m0"))
        await after.settle()
        after.clock += GRACE_SECONDS
        await after.settle()
        assert after.api.ungated == ["m0"]
        await after.close()


async def test_off_removes_every_gate_at_once() -> None:
    async with staged(gang(), member("m0"), gated("x", group="none"), gates="Off") as stage:
        stage.silence(1000.0)
        await stage.settle()
        assert sorted(stage.api.ungated) == ["m0", "x"]


async def test_without_a_mirror_that_may_be_trusted_gates_stay() -> None:
    async with staged(gang(), member("m0"), member("m1")) as stage:
        stage.silence(1000.0)
        await stage.settle()
        assert stage.api.ungated == []
        stage.silence(0.0)
        await stage.settle()
        assert sorted(stage.api.ungated) == ["m0", "m1"]


# ---- what makes it look, and how it writes


class SlowWriter:
    """Removes no gate before `release`, and counts who waits by namespace."""

    def __init__(self) -> None:
        self.waiting: Counter[str] = Counter()
        self.removed: list[str] = []
        self.slow: set[str] = set()
        self.failing: set[str] = set()
        self.released = asyncio.Event()

    def may_write(self, _namespace: str) -> bool:
        return True

    async def remove_gate(self, namespace: str, name: str, _uid: str, *, dry_run: bool) -> bool:
        if name in self.failing:
            raise ApiError(500, "Away", "x")
        assert not dry_run
        self.waiting[namespace] += 1
        if namespace in self.slow:
            await self.released.wait()
        self.waiting[namespace] -= 1
        self.removed.append(name)
        return True


class World:
    """Gated pods and the tables, as the controller keeps them in step."""

    def __init__(self, *objects: Any, mode: GatesMode = "Gathering") -> None:
        self.clock, self.tables, self.writer = ManualClock(), tables(*objects), SlowWriter()
        self.gated, self.life = GatedPods(self.clock), Life(phase="Unschedulable")
        self.opened: list[GroupKey] = []
        self.gates = Gates(
            mode,
            self.gated,
            Roster(self.tables),
            lambda _group: self.life,
            cast(PodWriter, self.writer),
            lambda: True,
            self.clock,
        )
        self.gates.on_opened(self.opened.append)
        self.tables.groups.on_touch(self.gates.group_touched)

    def add(self, *pods: Pod) -> None:
        for each in pods:
            self.tables.upsert_pod(each)
            self.gated.pod_changed(each.metadata.uid, each)
            self.gates.pod_changed(each.metadata.uid)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with beside(self.gates.run()):
            await asyncio.sleep(0)
            yield


async def spin() -> None:
    """Let each task continue that can."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_a_slow_namespace_delays_no_other_one() -> None:
    world = World(*(gang(name, minimum=1) for name in ("a", "b")))
    slow = [gated(f"s{number}", namespace="slow", group="none") for number in range(3 * AT_ONCE)]
    world.add(*slow, gated("m", group="a"))
    world.writer.slow.add("slow")
    world.clock.advance(GRACE_SECONDS)
    async with world.running():
        await spin()
        assert world.writer.waiting["slow"] == AT_ONCE
        assert world.writer.removed == ["m"]
        world.add(gated("other", group="b"))
        world.clock.advance(1.0)
        world.gates._look_at_all()
        await spin()
        assert world.writer.removed == ["m", "other"]
        world.writer.released.set()
        await spin()
        assert sorted(world.writer.removed) == sorted(["m", "other", *(each.metadata.name for each in slow)])


async def test_what_could_not_be_removed_is_tried_again_later() -> None:
    world = World(gang(minimum=1))
    world.add(member("m0"), member("m1"))
    world.writer.failing.add("m0")
    async with world.running():
        await spin()
        assert world.writer.removed == ["m1"]
        delay = world.gates._refused[member("m0").metadata.uid].until - world.clock.monotonic()
        world.writer.failing.clear()
        world.add(member("m2"))
        world.clock.advance(delay / 2)
        world.gates.gang_changed(("default", "gang"))
        await spin()
        assert world.writer.removed == ["m1", "m2"], "others do not wait for it"
        world.clock.advance(delay)
        world.gates.gang_changed(("default", "gang"))
        await spin()
        assert world.writer.removed == ["m1", "m2", "m0"], "each once"


async def test_each_kind_of_change_makes_it_look() -> None:
    """A pod, the group, or the gang's life: none of them waits for the next look at all groups."""
    world = World(mode="UntilPlanned")
    queue = world.gates._queue
    world.add(member("m0"))
    assert queue.take() is None, "a burst of pods is waited for"
    world.clock.advance(1.0)
    group = queue.take()
    assert group == ("default", "gang")
    queue.done(group)
    world.gates.gang_changed(("default", "other"))
    assert queue.take() is None
    world.tables.upsert_group(gang())
    world.clock.advance(1.0)
    assert queue.take() == group
    queue.done(group)
    world.life = replace(world.life, placed=True)
    world.gates.gang_changed(group)
    await spin()
    assert queue.take() == group


async def test_pods_groups_and_lives_are_told_of() -> None:
    """By the controller, whose watch and planner they come from."""
    group = ("default", "gang")
    async with staged(node("n0"), node("n1"), gates="UntilPlanned") as stage:
        await stage.settle()
        queue, planner = stage.leading.gates._queue, stage.leading.planner

        def looks() -> bool:
            found = queue.take()
            if found is not None:
                queue.done(found)
            return found == group

        stage.add(member("m0"), member("m1"))
        assert not looks()
        stage.clock += 1.0
        assert looks(), "pods"
        stage.add(gang())
        await spin()
        stage.clock += 1.0
        assert looks(), "the group"
        assert not looks()
        while not stage.leading.gangs._gangs or not stage.leading.gangs._gangs[group].life.placed:
            await planner.step()
        assert looks(), "its life"
