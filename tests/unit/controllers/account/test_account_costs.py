"""What preemptions cost, beside an observer: requests and ages of pods as the nodes plane has them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import msgspec
import pytest

from api.plans import PreemptionPlan
from api.requests import pod_requests
from api.times import parse_rfc3339, rfc3339
from controllers.account.accounting import WRITE_SECONDS
from controllers.account.cases import LATE_SECONDS
from controllers.account.costs import Lost
from controllers.account.signs import PAST_SECONDS
from controllers.gangs.accounted import Accounted
from tests.kit.observed import observed
from tests.kit.stage import PLANS
from tests.unit.controllers.account.accounts import (
    EARLY,
    PREEMPTED,
    accounted,
    gang,
    member,
    node,
    pod,
    uid,
    victim,
)

CPU: Final = {"cpu": "1"}
CREATED: Final = parse_rfc3339(EARLY)


def whole(number: int, **fields: Any) -> Any:
    """A pod of a group of two that is evicted whole."""
    return pod(
        f"w{number}", **{"node": f"n{number}", "group": "whole", "requests": CPU, "priority": 1, **fields}
    )


async def test_the_plan_says_what_it_cost() -> None:
    """Of the victims, of ours, and of the gang in pieces. What our decision would cost is as of its time."""
    async with accounted() as account:
        account.begin()
        account.stage.clock += 1000.0
        account.preempt(0)
        marked = account.stage.api.clock.wall()
        account.event(uid(victim(0)), uid(member(0)), "n0")
        await account.step()
        account.stage.delete(victim(0))
        account.stage.add(member(0, node="n0"))
        await account.step()
        await account.pass_time(WRITE_SECONDS)
        said = account.said()
        assert said is not None
        cores = pod_requests(victim(0))["cpu"] // 1000
        plan = msgspec.convert(next(iter(account.stage.api.of(PLANS).values())), PreemptionPlan)
        decided = parse_rfc3339(plan.metadata.creation_timestamp or "")
        assert said.costs.ours["cpu"] == 2 * cores * (decided - CREATED)
        assert said.costs.victims["cpu"] == round(cores * (marked - CREATED)) > said.costs.ours["cpu"] / 2
        assert said.costs.held_in_pieces["cpu"] == int(pod_requests(member(0))["cpu"] / 1000 * WRITE_SECONDS)
        assert (said.costs.unknown, said.costs.unknown_ours) == (0, 0)


async def test_what_stays_of_a_broken_group_is_in_the_costs() -> None:
    async with accounted(gang("whole", mode="all", priority=1, minimum=2), whole(0), whole(1)) as account:
        account.begin()
        account.stage.add(whole(0, conditions=[PREEMPTED], deleting="2026-01-01T00:00:30Z"))
        account.event(uid(whole(0)), uid(member(0)), "n0")
        await account.step()
        account.stage.delete(whole(0))
        await account.pass_time(20.0)
        account.stage.delete(whole(1))
        await account.step()
        await account.pass_time(WRITE_SECONDS)
        account.stage.delete(gang(minimum=2))
        await account.step()
        await account.pass_time(LATE_SECONDS)
        said = account.said()
        assert said is not None
        assert said.costs.idle_remainders == {"cpu": 20}
        assert said.concluded


async def test_a_pod_that_no_kubelet_has_started_has_held_its_room_since_it_was_bound() -> None:
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": rfc3339(CREATED + 4000.0)}
    async with accounted() as account:
        account.begin()
        account.stage.clock += 100.0
        account.stage.add(victim(0, conditions=[PREEMPTED, bound], deleting="2026-01-01T00:00:30Z"))
        (marked,) = account.controller._marked
        assert marked.usage is not None
        assert marked.usage.since == CREATED + 4000.0


async def test_our_victims_that_are_gone_have_lost_what_they_held() -> None:
    """Our decision puts back whom the scheduler has preempted before the gang was complete."""
    async with accounted(members=1) as account:
        account.begin()
        account.preempt(0)
        marked = account.stage.api.clock.wall()
        account.stage.delete(victim(0))
        account.stage.clock += 50.0
        lost = account.controller._marked.lost([uid(victim(0)), uid(victim(1)), "nobody"], marked + 50.0)
        milli = pod_requests(victim(0))["cpu"]
        assert lost.amounts["cpu"] == milli * (2 * (marked - CREATED) + 50.0)
        assert lost.unknown == 1


async def test_a_new_leader_says_what_our_victims_would_have_lost() -> None:
    """Its plans came before its pods."""
    async with accounted() as account:
        decisions = account.controller._decisions
        (owner,) = decisions.owners()
        (early,) = decisions.of(owner)
        decisions._stored[early.decision.plan] = replace(
            early, decision=replace(early.decision, ours=Lost(unknown=2))
        )
        account.begin()
        (known,) = decisions.of(owner)
        assert (known.decision.ours.unknown, known.decision.ours.amounts["cpu"] > 0) == (0, True)


async def test_what_is_remembered_of_pods_that_are_gone_ends() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.stage.delete(victim(0))
        account.stage.clock += PAST_SECONDS + 1.0
        account.preempt(1)
        assert list(account.controller._marked._past) == [uid(victim(1))]


@pytest.mark.parametrize("has_run", [False, True])
async def test_a_member_that_succeeded_makes_up_for_one_alone(has_run: bool) -> None:
    """Of three members one has Succeeded, and one has a node: the third one is missing."""
    members = member(0, phase="Succeeded", node="n0"), member(1, node="n1"), member(2)
    async with observed(node("n0"), node("n1"), gang(minimum=3, has_run=has_run), *members) as stage:
        roll = Accounted(stage.controller)
        owner = roll.owner_of(uid(member(1)))
        assert owner is not None
        standing = roll.standing(owner)
        assert standing is not None
        assert (standing.is_in_pieces, standing.is_whole) == (True, False)
        stage.add(member(2, node="n1"))
        standing = roll.standing(owner)
        assert standing is not None
        assert (standing.is_in_pieces, standing.is_whole) == (False, True)


@pytest.mark.parametrize("has_run", [False, True])
async def test_a_gang_without_a_pod_does_not_run(has_run: bool) -> None:
    """All its pods were deleted while they waited. Those that Succeeded have run."""
    async with observed(node("n0"), gang(minimum=1, has_run=has_run), member(0)) as stage:
        roll = Accounted(stage.controller)
        owner = roll.owner_of(uid(member(0)))
        assert owner is not None
        stage.delete(member(0))
        standing = roll.standing(owner)
        assert standing is not None
        assert (standing.is_in_pieces, standing.is_whole) == (False, False)
        stage.add(member(1, phase="Succeeded", node="n0"))
        standing = roll.standing(owner)
        assert standing is not None
        assert standing.is_whole


async def test_nothing_is_written_at_rest_however_many_devices_a_victim_has() -> None:
    """Not all of them are said, and what was said and is no longer so is a zero."""
    devices = {f"vendor.io/device-{each:02}": "1" for each in range(40)}
    many, other = (
        pod("many", node="n0", requests=devices, priority=1, created=EARLY),
        pod("other", requests=devices),
    )
    async with accounted(many, other) as account:
        account.begin()
        marked = pod("many", node="n0", requests=devices, priority=1, created=EARLY, conditions=[PREEMPTED])
        account.stage.add(marked)
        account.stage.add(member(0, nominated="n0"))
        account.preempt(1)
        account.event(uid(victim(1)), uid(member(1)), "n1")
        for _ in range(2):
            await account.pass_time(WRITE_SECONDS)
        said = account.said()
        assert said is not None
        assert len(said.costs.victims) == 14, "cpu, and 13 devices"
        account.event(uid(many), uid(other), "n0")
        for _ in range(2):
            await account.pass_time(WRITE_SECONDS)
        said = account.said()
        assert said is not None
        assert {name for name, seconds in said.costs.victims.items() if seconds} == {"cpu"}
        before = len(account.stage.api.written)
        for _ in range(3):
            await account.pass_time(WRITE_SECONDS)
        assert len(account.stage.api.written) == before
