"""The account beside an observer: what plans say of what the scheduler did instead."""

from __future__ import annotations

import msgspec
import pytest

from api.times import rfc3339
from controllers.account.accounting import FIRST_SECONDS, UNSAID_SECONDS, WRITE_SECONDS
from controllers.account.cases import LATE_SECONDS
from controllers.account.signs import PAST_SECONDS
from kube.errors import ApiError
from tests.kit.objects import BIG
from tests.kit.observed import observed
from tests.kit.stage import PLANS
from tests.unit.controllers.account.accounts import (
    OURS,
    PREEMPTED,
    Account,
    accounted,
    counted,
    gang,
    member,
    node,
    pod,
    uid,
    victim,
)


async def test_the_plan_says_what_the_scheduler_did_instead() -> None:
    async with accounted() as account:
        account.begin()
        await account.step()
        assert account.said() is None, "nothing has happened"
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        await account.step()
        assert account.said() is None, "others may come within the same second"
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.state, said.victims.pods, said.victims.highest_priority) == ("Same", 1, 1)
        assert (said.bound, said.concluded) == (False, False)
        account.stage.delete(victim(0))
        account.stage.add(member(0, node="n0"))
        await account.step()
        await account.pass_time(WRITE_SECONDS)
        account.preempt(1)
        account.event(uid(victim(1)), uid(member(1)), "n1")
        account.stage.delete(victim(1))
        account.stage.add(member(1, node="n1"))
        await account.step()
        await account.pass_time(LATE_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.victims.pods, said.bound, said.concluded) == (2, True, True)
        assert (said.in_pieces, said.served_nobody, said.groups_broken) == (True, 0, 0)


async def test_what_is_said_when_a_gang_runs_stays() -> None:
    """That is written between the end of its case and the end of the time in which events may come."""
    async with accounted() as account:
        account.begin()
        for number in range(2):
            account.preempt(number)
            account.event(uid(victim(number)), uid(member(number)), f"n{number}")
        await account.step()
        for number in range(2):
            account.stage.delete(victim(number))
            account.stage.add(member(number, node=f"n{number}"))
        await account.step()
        seen = list[tuple[int, bool, bool]]()
        for _ in range(4):
            await account.pass_time(LATE_SECONDS)
            said = account.said()
            assert said is not None
            seen.append((said.victims.pods, said.bound, said.concluded))
        assert {each[:2] for each in seen} == {(2, True)}
        assert seen[-1][2]
        assert account.acting is not None
        assert len(account.acting._ledger) == 0


async def test_a_member_that_is_gone_at_once_has_served() -> None:
    """The gang ran whole between two looks at it. Its status says so, and then nobody is awaited any longer."""
    async with accounted() as account:
        account.begin()
        for number in range(2):
            account.preempt(number)
            account.event(uid(victim(number)), uid(member(number)), f"n{number}")
        await account.step()
        for number in range(2):
            account.stage.delete(victim(number))
            account.stage.add(member(number, node=f"n{number}"))
        account.stage.delete(member(1))
        account.stage.add(gang(minimum=2, has_run=True))
        await account.step()
        await account.pass_time(LATE_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.bound, said.victims.pods, said.served_nobody) == (True, 2, 0)


async def test_nothing_is_written_at_rest() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        for _ in range(3):
            await account.pass_time(WRITE_SECONDS)
        before = len(account.stage.api.written)
        for _ in range(5):
            await account.pass_time(5.0)
        assert len(account.stage.api.written) == before


async def test_our_own_victims_are_not_the_schedulers() -> None:
    async with accounted() as account:
        account.begin()
        account.stage.add(victim(0, conditions=[OURS], deleting="2026-01-01T00:00:30Z"))
        for _ in range(3):
            await account.pass_time(LATE_SECONDS)
        assert account.said() is None


async def test_a_group_of_which_a_part_is_preempted_is_broken() -> None:
    unit = gang("whole", mode="all", priority=1)
    pods = [
        pod(f"w{each}", node=f"n{each}", group="whole", requests={"cpu": "1"}, priority=1)
        for each in range(2)
    ]
    async with accounted(unit, *pods) as account:
        account.begin()
        account.stage.add(
            pod("w0", node="n0", group="whole", requests={"cpu": "1"}, priority=1, conditions=[PREEMPTED])
        )
        account.event(uid(pods[0]), uid(member(0)), "n0")
        await account.step()
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.groups_broken, said.victims.units) == (1, 1)


async def test_a_new_leader_counts_nobody_twice() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        await account.step()
        await account.pass_time(FIRST_SECONDS)
        account.stage.delete(victim(0))
        account.forget()
        account.begin()
        account.preempt(1)
        account.event(uid(victim(1)), uid(member(1)), "n1")
        await account.step()
        await account.pass_time(WRITE_SECONDS + FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert said.victims.pods == 2
        assert said.state == "Unknown", "of v0 only the event is left"


async def test_a_follower_remembers_pods_that_are_gone() -> None:
    """The plan says Same, although another process has led when the pod went."""
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        account.stage.delete(victim(0))
        account.begin()
        await account.step()
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.state, said.victims.pods, said.victims.highest_priority) == ("Same", 1, 1)


async def test_a_follower_remembers_the_gang_of_a_member_that_is_gone() -> None:
    async with accounted() as account:
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        account.stage.delete(member(0))
        account.begin()
        await account.step()
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.state, said.victims.pods) == ("Same", 1)


async def test_a_decision_soon_after_a_term_begins_has_what_was_preempted_before() -> None:
    async with accounted() as account:
        plans = account.stage.api.of(PLANS)
        (kept,) = plans.values()
        plans.clear()
        account.controller._plans.replaced(set(), "")
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        account.stage.delete(victim(0))
        account.begin()
        await account.step()
        plans[kept["metadata"]["name"]] = kept
        await account.step()
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.state, said.victims.pods) == ("Same", 1)


async def test_what_a_gang_preempted_before_it_lost_a_member_is_not_of_a_decision_after_it() -> None:
    """While nobody led, it may have run in the meantime: then these pods were preempted for an earlier start."""
    async with accounted() as account:
        plans = account.stage.api.of(PLANS)
        (kept,) = plans.values()
        plans.clear()
        account.controller._plans.replaced(set(), "")
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        account.stage.delete(victim(0))
        account.stage.delete(member(0))
        account.begin()
        await account.step()
        account.stage.clock += 5.0
        account.stage.add(member(2, created=rfc3339(account.stage.api.clock.wall())))
        plans[kept["metadata"]["name"]] = kept
        await account.step()
        account.preempt(1)
        account.event(uid(victim(1)), uid(member(2)), "n1")
        await account.step()
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert said.victims.pods == 1


async def test_pods_that_are_gone_are_forgotten() -> None:
    async with accounted() as account:
        account.preempt(0)
        account.stage.delete(victim(0))
        assert account.controller._marked.find(uid(victim(0))) is not None
        account.stage.clock += PAST_SECONDS + 1.0
        account.preempt(1)
        account.stage.delete(victim(1))
        assert account.controller._marked.find(uid(victim(0))) is None
        assert account.controller._marked.find(uid(victim(1))) is not None


async def test_a_pod_that_still_terminates_is_not_counted_again_after_the_end() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        account.stage.delete(victim(1))
        account.stage.add(member(0, node="n0"), member(1, node="n1"))
        await account.step()
        await account.pass_time(LATE_SECONDS)
        said = account.said()
        assert said is not None
        assert said.concluded
        acting = account.begin().acting
        assert acting is not None
        await account.step()
        assert list(acting._ledger) == []


async def test_a_new_leader_counts_seconds_from_the_first_decision() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        await account.step()
        await account.pass_time(40.0)
        account.begin()
        account.stage.delete(victim(0), victim(1))
        account.stage.add(member(0, node="n0"), member(1, node="n1"))
        await account.step()
        await account.pass_time(LATE_SECONDS)
        said = account.said()
        assert said is not None
        assert isinstance(said.seconds_until_bound, int)
        assert said.seconds_until_bound >= 40


async def test_a_new_leader_does_not_count_what_is_concluded() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        account.stage.delete(victim(0), victim(1))
        account.stage.add(member(0, node="n0"), member(1, node="n1"))
        await account.step()
        await account.pass_time(LATE_SECONDS)
        said = account.said()
        assert said is not None
        assert said.concluded
        before = len(account.stage.api.written), counted("true")
        account.begin()
        for _ in range(3):
            await account.pass_time(LATE_SECONDS)
        assert (len(account.stage.api.written), counted("true")) == before


async def test_a_leader_that_steps_down_says_what_is_not_due_yet() -> None:
    async with accounted() as account:
        acting = account.begin().acting
        assert acting is not None
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        await acting.close()
        account.stage.list_plans()
        said = account.said()
        assert said is not None
        assert said.victims.pods == 1


async def test_a_term_that_is_over_waits_for_nothing() -> None:
    async with accounted() as account:
        acting = account.begin().acting
        assert acting is not None
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        account.stage.api.refuse = lambda _method, _path: ApiError(0, "Fenced", "the term is over")
        await acting.close()
        account.stage.list_plans()
        assert account.said() is None


async def test_what_no_leader_has_said_of_a_gang_that_was_bound_meanwhile_is_said() -> None:
    """The leader that made the plan died within the second, or nobody led when the gang was bound."""
    async with accounted() as account:
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        account.stage.delete(victim(0), victim(1))
        account.stage.add(member(0, node="n0"), member(1, node="n1"))
        account.stage.clock += UNSAID_SECONDS - 1.0
        account.begin()
        await account.step()
        await account.pass_time(LATE_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.state, said.victims.pods, said.bound, said.concluded) == ("Same", 1, True, True)


async def test_a_plan_whose_preemptor_ran_before_the_term_is_not_counted() -> None:
    async with accounted() as account:
        account.stage.delete(victim(0), victim(1))
        account.stage.add(member(0, node="n0"), member(1, node="n1"))
        account.stage.clock += UNSAID_SECONDS + 1.0
        account.begin()
        for _ in range(3):
            await account.pass_time(LATE_SECONDS)
        assert account.said() is None


async def test_a_single_pod_is_in_the_account_without_a_plan() -> None:
    hero, before = pod("hero", priority=100, requests=BIG), counted("true")
    async with observed(node("n0"), victim(0), hero) as stage:
        account = Account(stage).begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(hero), "n0")
        stage.delete(victim(0))
        stage.add(pod("hero", priority=100, requests=BIG, node="n0"))
        await account.step()
        await account.pass_time(LATE_SECONDS)
        assert stage.api.written == []
    assert counted("true") == before + 1


async def test_a_nomination_says_for_whom_if_no_event_does() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.stage.add(member(0, nominated="n0"))
        await account.pass_time(LATE_SECONDS)
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert said.victims.pods == 1


async def test_a_preempt_call_says_for_whom_if_no_event_does() -> None:
    async with accounted() as account:
        account.begin()
        account.stage.controller.preempt_heard(member(0), {"n0": [uid(victim(0))]})
        account.preempt(0)
        await account.pass_time(LATE_SECONDS)
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert said.victims.pods == 1


@pytest.mark.parametrize(
    "left_out", [{"status": "", "reason": ""}, {"status": ""}], ids=["preempts", "releases"]
)
async def test_a_pod_whose_mark_we_withdraw_at_that_moment_is_preempted(left_out: dict[str, str]) -> None:
    """The scheduler writes only what differs from our mark, which it saw, and the rest is gone with the mark."""
    async with accounted() as account:
        account.begin()
        mark = {**PREEMPTED, **left_out}
        account.stage.add(victim(0, conditions=[mark], deleting="2026-01-01T00:00:30Z"))
        account.stage.delete(victim(0))
        account.event(uid(victim(0)), uid(member(0)), "n0")
        await account.pass_time(FIRST_SECONDS)
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.state, said.victims.pods, said.victims.highest_priority) == ("Same", 1, 1)


async def test_what_nobody_explains_is_unknown() -> None:
    before = counted("unknown")
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        await account.pass_time(100.0)
    assert counted("unknown") == before + 1


async def test_a_write_that_the_api_server_does_not_take_is_made_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("controllers.account.writing.AGAIN_SECONDS", 0.0)
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        await account.step()
        account.stage.api.refuse = lambda method, path: (
            ApiError(403, "Forbidden", "no") if path.endswith("/status") and method == "PATCH" else None
        )
        await account.pass_time(FIRST_SECONDS)
        assert account.said() is None
        account.stage.api.refuse = lambda _method, _path: None
        await account.step()
        assert account.said() is not None


async def test_a_plan_that_is_gone_needs_no_write() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        await account.step()
        account.stage.api.of(PLANS).clear()
        await account.pass_time(FIRST_SECONDS)
        assert account.acting is not None
        assert not account.acting.writing._waiting


async def test_a_gang_of_the_same_name_is_another_preemptor() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        account.stage.delete(gang(minimum=2))
        new = gang(minimum=2)
        new = msgspec.structs.replace(new, metadata=msgspec.structs.replace(new.metadata, uid="another"))
        account.stage.add(new)
        await account.step()
        await account.pass_time(LATE_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.concluded, said.bound, said.served_nobody) == (True, False, 1)


async def test_whose_only_victim_was_for_another_preemptor_is_forgotten() -> None:
    """A nomination spoke for it, until the event named the other one."""
    first = pod("first", nominated="n5", requests=BIG, priority=100)
    second = pod("second", requests=BIG, priority=100)
    async with accounted(node("n5"), victim(5), second) as account:
        acting = account.begin().acting
        assert acting is not None
        account.stage.add(first)
        account.preempt(5)
        await account.pass_time(LATE_SECONDS + 1.0)
        assert acting._ledger.has(uid(first))
        account.event(uid(victim(5)), uid(second), "n5")
        await account.step()
        assert not acting._ledger.has(uid(first))
        assert uid(first) not in {owner.uid for owners in acting._owners.values() for owner in owners}
        assert uid(second) in {owner.uid for owners in acting._owners.values() for owner in owners}
