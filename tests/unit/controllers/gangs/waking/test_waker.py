"""Whatever filter holds back is woken, however what held it has ended."""

from __future__ import annotations

import pytest

from kube.errors import ApiError
from tests.kit.canary import canary, space
from tests.kit.objects import BIG, gang, group, member, node, pod
from tests.kit.stage import Stage, staged

HELD = [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available: 1 reprieve: wait."}]


async def reserving(stage: Stage) -> None:
    """A gang waits, with its room reserved, for a victim that takes its time."""
    stage.add(node("n0"), gang(minimum=1), member("m0"), pod("v", node="n0", requests=BIG, priority=1))
    await stage.settle()
    assert stage.phases() == ["Evicting"]
    stage.add(pod("v", node="n0", requests=BIG, priority=1, deleting=True))


@pytest.mark.parametrize("kind", ["ordinary", "of a basic group", "of a gang that runs"])
async def test_whoever_was_kept_out_of_reserved_room_is_woken(kind: str) -> None:
    async with staged() as stage:
        await reserving(stage)
        label = None if kind == "ordinary" else "other"
        if label is not None:
            basic = kind == "of a basic group"
            stage.add(gang("other", minimum=0 if basic else 1, priority=5))
            stage.add(node("n9"), pod("runs", group="other", node="n9", requests={"cpu": "1"}))
            await stage.settle()
        late = pod("late", group=label, requests=BIG, priority=5)
        stage.add(late)
        assert stage.filter(late, "n0") == []
        await stage.settle()
        assert "late" not in stage.api.woken, "it would be turned down again"
        stage.delete(gang())
        await stage.settle()
        assert stage.phases() == ["Aborted"]
        assert "late" in stage.api.woken


async def test_a_pod_kept_out_before_a_restart_is_woken_when_the_reservation_is_no_more() -> None:
    """The process was killed between writing that the plan had ended and waking."""
    said = [
        {
            "type": "PodScheduled",
            "status": "False",
            "message": "0/1 nodes are available: 1 reprieve: room is reserved for a pod group.",
        }
    ]
    async with staged() as stage:
        stage.add(node("n0"), pod("late", requests=BIG, conditions=said))
        await stage.settle()
        assert stage.api.woken == ["late"]


@pytest.mark.parametrize("minimum", [0, 1], ids=["basic", "running gang"])
async def test_pods_held_while_the_mirror_was_stale_are_woken(minimum: int) -> None:
    runs = member("runs", node="n0")
    async with staged(node("n0"), node("n1"), gang(minimum=minimum), runs) as stage:
        await stage.settle()
        stage.silence(1000)
        late = member("late")
        stage.add(late)
        assert stage.filter(late, "n1") == []
        await stage.settle()
        assert stage.api.woken == [], "it would be turned down again"
        stage.silence(0)
        stage.clock += 1
        await stage.settle()
        assert stage.api.woken == ["late"]
        assert stage.filter(late, "n1") == ["n1"]


async def test_a_group_that_comes_back_as_basic_between_two_looks() -> None:
    async with staged(node("n0"), gang(minimum=0)) as stage:
        await stage.settle()
        stage.delete(gang(minimum=0))
        lone = member("lone")
        stage.add(lone)
        assert stage.filter(lone, "n0") == []
        stage.add(gang(minimum=0))
        stage.clock += 1
        await stage.settle()
        assert stage.api.woken == ["lone"]


async def test_held_pods_whose_group_is_deleted_are_woken() -> None:
    """They say that they wait for a group. Filter tells them that there is none."""
    async with staged(node("n0", cpu="1"), gang(minimum=2), gang("other", minimum=2)) as stage:
        held = [member("m0"), member("m1"), pod("o0", group="other")]
        stage.add(*held)
        await stage.settle()
        for each in held:
            assert stage.filter(each, "n0") == []
        stage.delete(gang(minimum=2))
        await stage.settle()
        assert sorted(stage.api.woken) == ["m0", "m1"]


async def test_a_nomination_that_could_not_be_written_is_not_written_once_its_plan_has_ended() -> None:
    async with staged(node("n0"), gang(minimum=1), member("m0")) as stage:
        stage.leading.writer._sender._attempts = 1
        stage.api.refuse = lambda method, path: ApiError(503, "Away", "x", 0) if "/m0/" in path else None
        stage.filter(member("m0"), "n0")
        await stage.settle()
        assert stage.phases() == ["Ready"]
        stage.filter(member("m0"), "n0")
        stage.delete(gang())
        await stage.settle()
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 1
        await stage.settle()
        assert stage.api.nominated == {}
        assert stage.api.woken == ["m0"]


async def test_a_wake_that_was_refused_is_tried_again_on_a_quiet_cluster() -> None:
    async with staged() as stage:
        await reserving(stage)
        late = pod("late", requests=BIG, priority=5)
        stage.add(late)
        stage.filter(late, "n0")
        stage.api.refuse = lambda method, path: ApiError(503, "Away", "x", 0) if "/late/" in path else None
        stage.leading.writer._sender._attempts = 1
        stage.delete(gang())
        await stage.settle()
        assert stage.leading.waking.waker.behind, "the planner has to look again by itself"
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 1
        await stage.settle()
        assert stage.api.woken == ["late"]
        assert not stage.leading.waking.waker.behind


@pytest.mark.parametrize("enforced", [True, False])
async def test_a_pod_that_is_bound_before_it_is_woken_does_not_say_that_it_is_held(enforced: bool) -> None:
    """The scheduler had another reason to try it again. Pods of observed namespaces are left alone."""
    waits = {
        "type": "reprieve.dev/Held",
        "status": "True",
        "reason": "Gathering",
        "message": "1 of 2 members",
    }
    async with staged(space("default", enforced=enforced), configuration=canary()) as stage:
        await stage.settle()
        stage.add(node("n0"), gang(minimum=1), member("m0", node="n0", conditions=[waits]))
        await stage.settle()
        await stage.written()
        (said,) = stage.api.of("/api/v1/pods")["m0"]["status"]["conditions"]
        assert said["status"] == ("False" if enforced else "True")
        assert said["reason"] == ("Bound" if enforced else "Gathering")
        assert stage.api.woken == (["m0"] if enforced else []), "once"


async def test_pods_that_have_gone_are_not_remembered() -> None:
    async with staged(node("n0")) as stage:
        for number in range(3):
            lost = pod(f"p{number}", group=f"nowhere-{number}", conditions=HELD)
            stage.add(lost)
            stage.filter(lost, "n0")
            stage.delete(lost)
        assert stage.leading.waking.waker._held == {}
        assert not stage.leading.waking.waker.behind


async def test_a_gang_that_waited_for_reserved_room_is_planned_when_that_comes_back() -> None:
    """The reservation ends at its deadline, which changes nothing in the mirror."""
    async with staged() as stage:
        await reserving(stage)
        stage.add(group("second", minimum=1, priority=100), member("s0", group="second"))
        await stage.settle()
        assert sorted(stage.phases()) == ["Evicting", "Unschedulable"]
        second = next(plan for plan in stage.leading.gangs if plan.key[1] == "second")
        stage.clock += 299
        await stage.settle()
        assert second.life.plan is None
        stage.clock += 1.5
        await stage.settle()
        assert second.life.plan is not None


# ---- only those whose nodes have room now


async def two_plans(stage: Stage) -> None:
    """Two gangs wait for their victims, each on a node of its own with a CPU to spare."""
    for number, name in enumerate(("gang", "second")):
        node_name, host = f"n{number}", {"kubernetes.io/hostname": f"n{number}"}
        stage.add(node(node_name, cpu="5", labels=host), gang(name, minimum=1))
        stage.add(pod(f"v{number}", node=node_name, requests=BIG, priority=1))
        stage.add(member(f"m{number}", group=name, priority=100, nodeSelector=host))
    await stage.settle()
    assert stage.phases() == ["Evicting", "Evicting"]
    for number in range(2):
        stage.add(pod(f"v{number}", node=f"n{number}", requests=BIG, priority=1, deleting=True))


async def test_the_end_of_a_plan_wakes_only_those_whom_it_kept_out() -> None:
    async with staged() as stage:
        await two_plans(stage)
        for number in range(2):
            late = pod(f"late-{number}", requests=BIG, priority=5)
            stage.add(late)
            assert stage.filter(late, f"n{number}") == []
        stage.delete(gang("second"))
        await stage.settle()
        assert [name for name in stage.api.woken if name.startswith("late")] == ["late-1"]
        stage.delete(gang())
        await stage.settle()
        assert [name for name in stage.api.woken if name.startswith("late")] == ["late-1", "late-0"]


async def test_a_pod_that_would_still_not_pass_is_not_woken() -> None:
    async with staged() as stage:
        await two_plans(stage)
        late = pod("late", requests={"cpu": "2"}, priority=5)
        stage.add(late)
        assert stage.filter(late, "n0", "n1") == []
        stage.add(node("n0", cpu="5500m", labels={"kubernetes.io/hostname": "n0"}))
        await stage.settle()
        assert "late" not in stage.api.woken, "there is more room, and still too little"
        stage.add(node("n0", cpu="6", labels={"kubernetes.io/hostname": "n0"}))
        await stage.settle()
        assert "late" in stage.api.woken
        assert stage.filter(late, "n0", "n1") == ["n0"]


@pytest.mark.parametrize("end", ["preempt", "filter", "message", "time"])
async def test_a_pod_kept_out_by_another_that_was_on_its_way_is_woken_when_that_does_not_come(
    end: str,
) -> None:
    async with staged() as stage:
        await two_plans(stage)
        first, late = (pod(name, priority=5, version=10) for name in ("first", "late"))
        stage.add(first, late)
        assert stage.filter(first, "n0") == ["n0"]
        assert stage.filter(late, "n0") == []
        await stage.settle()
        assert "late" not in stage.api.woken
        match end:
            case "preempt":
                stage.preempt(first)
            case "filter":
                stage.filter(first, "n1")
            case "message":
                said = {"type": "PodScheduled", "status": "False", "reason": "SchedulerError", "message": "x"}
                stage.add(pod("first", priority=5, conditions=[said]))
            case _:
                stage.clock += 31
        await stage.settle()
        assert "late" in stage.api.woken
        assert stage.filter(late, "n0") == ["n0"]


@pytest.mark.parametrize("lets_go", ["it runs", "it is no gang", "it is gone"])
async def test_a_member_that_only_preempt_turned_down_comes_back_when_its_gang_lets_go(lets_go: str) -> None:
    """Filter is never called for it, since its nodes are full. Only a pulse brings it back."""
    async with staged(node("n0"), node("n1"), pod("full", node="n0", requests=BIG, priority=200)) as stage:
        stage.add(gang(minimum=2), member("m0"), pod("full-1", node="n1", requests=BIG, priority=200))
        await stage.settle()
        assert stage.preempt(member("m0"), n0=["full"]) == []
        await stage.settle()
        stage.api.pulsed.clear()
        match lets_go:
            case "it runs":
                stage.add(*(pod(f"m{number}", group="gang", node=f"n{number}") for number in (1, 2)))
            case "it is no gang":
                stage.add(gang(minimum=0))
            case _:
                stage.delete(gang())
        await stage.settle()
        assert stage.api.pulsed == ["m0"]


async def test_nobody_is_pulsed_for_members_that_are_bound() -> None:
    async with staged(node("n0"), node("n1")) as stage:
        full = [pod(f"full-{number}", node=f"n{number}", requests=BIG, priority=200) for number in range(2)]
        stage.add(*full, gang(minimum=2), member("m0"), member("m1"))
        await stage.settle()
        assert stage.preempt(member("m0"), n0=["full-0"]) == []
        await stage.settle()
        stage.api.pulsed.clear()
        stage.delete(*full)
        stage.add(member("m0", node="n0"), member("m1", node="n1"))
        await stage.settle()
        assert stage.api.pulsed == []
