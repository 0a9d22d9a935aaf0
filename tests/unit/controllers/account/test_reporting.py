"""Reports while leaders come and go. tests/property/test_reports.py has them die between any two writes."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from api.meta import Condition
from api.plans import Phase, PreemptionPlanStatus
from api.reports import Gap, PreemptionReport
from api.times import parse_rfc3339
from controllers.account.cases import LATE_SECONDS
from controllers.account.counted import CountedPlans
from controllers.account.reporting import EVERY_SECONDS
from controllers.account.tally import DAY_SECONDS, Counting
from kube.errors import ApiError
from runtime.exchange.agreements import Agreements
from runtime.terms.term import Term
from tests.kit.observed_plans import plan as plan_of
from tests.kit.reporting import REPORTS, Leaders
from tests.kit.stage import PLANS
from tests.unit.controllers.account.accounts import accounted, gang, member, uid, victim

TODAY = "2026-01-01"


@pytest.fixture
def leaders() -> Leaders:
    return Leaders()


def decisions(leaders: Leaders, day: str = TODAY) -> int:
    return leaders.reports()[day].total.observed.decisions


def writes(leaders: Leaders) -> list[str]:
    return [each.method for each in leaders.network.written]


def test_a_report_is_written_every_five_minutes_at_most(leaders: Leaders) -> None:
    leaders.pass_time(1.0)
    leaders.write()
    for number in range(20):
        leaders.store(number)
        leaders.pass_time(EVERY_SECONDS / 10)
        asyncio.run(leaders.now.step())
    assert writes(leaders) == ["POST", "PUT", "PUT"]
    assert decisions(leaders) == 20


def test_the_leader_that_steps_down_writes_what_waits(leaders: Leaders) -> None:
    leaders.pass_time(1.0)
    leaders.write()
    leaders.store(0)
    leaders.stop()
    assert decisions(leaders) == 1
    assert leaders.reports()[TODAY].ended


def test_the_next_leader_waits_for_the_five_minutes_of_the_former_one(leaders: Leaders) -> None:
    leaders.pass_time(1.0)
    leaders.write()
    leaders.kill()
    leaders.store(0)
    leaders.write()
    leaders.pass_time(EVERY_SECONDS - 2.0)
    asyncio.run(leaders.now.step())
    assert writes(leaders) == ["POST"]
    leaders.pass_time(2.0)
    asyncio.run(leaders.now.step())
    assert (writes(leaders), decisions(leaders)) == (["POST", "PUT"], 1)


@pytest.mark.parametrize(("steps_down", "cause"), [(True, "Restart"), (False, "NoLeader")])
def test_time_without_a_leader_is_a_gap(leaders: Leaders, steps_down: bool, cause: Any) -> None:
    leaders.pass_time(10.0)
    leaders.write()
    if steps_down:
        asyncio.run(leaders.now.close())
    leaders.clock.advance(100.0)
    leaders.kill()
    leaders.later()
    leaders.later()
    report = leaders.reports()[TODAY]
    assert report.gaps == [Gap(cause, 100, 1)]
    assert report.observed_seconds == 10 + 2 * EVERY_SECONDS


def test_days_without_a_leader_have_a_report_that_says_so(leaders: Leaders) -> None:
    leaders.pass_time(1.0)
    leaders.write()
    leaders.clock.advance(2.5 * DAY_SECONDS)
    leaders.kill()
    leaders.write()
    found = {day: sum(gap.seconds for gap in each.gaps) for day, each in leaders.reports().items()}
    assert found == {
        "2026-01-01": DAY_SECONDS - 1,
        "2026-01-02": DAY_SECONDS,
        "2026-01-03": DAY_SECONDS / 2 + 1,
    }


def test_a_process_that_stood_still_has_not_observed(leaders: Leaders) -> None:
    leaders.clock.advance(400.0)
    leaders.now.pass_time(None)
    leaders.write()
    report = leaders.reports()[TODAY]
    assert (report.observed_seconds, report.gaps) == (0, [Gap("NotReached", 400, 1)])


def test_a_clock_that_jumps_adds_no_time_and_deletes_no_report(leaders: Leaders) -> None:
    leaders = Leaders(days=3)
    leaders.pass_time(10.0)
    leaders.write()
    before = leaders.clock.wall()
    leaders.clock.set_wall(before + 4000 * DAY_SECONDS)
    leaders.later()
    assert TODAY in leaders.reports()
    leaders.clock.set_wall(before)
    leaders.later()
    leaders.store(1)
    leaders.later()
    assert decisions(leaders) == 1
    assert sum(each.observed_seconds for each in leaders.reports().values()) == 10 + 3 * EVERY_SECONDS
    leaders.kill()
    leaders.later()
    assert leaders.reports()[TODAY].gaps == []


def test_the_newest_reports_stay_and_other_names_are_left_alone() -> None:
    leaders = Leaders(days=2)
    leaders.network.put(
        REPORTS,
        *({"metadata": {"name": f"2025-12-{day}"}} for day in range(20, 30)),
        {"metadata": {"name": "mine"}},
    )
    leaders.write()
    leaders.later()
    assert sorted(leaders.network.of(REPORTS)) == ["2025-12-29", TODAY, "mine"]


def test_without_the_kind_it_goes_on_and_writes_when_it_is_there(leaders: Leaders) -> None:
    leaders.network.refuse = lambda _method, path: (
        ApiError(404, "NotFound", path) if path.startswith(REPORTS) else None
    )
    leaders.store(0)
    leaders.later()
    leaders.later()
    asyncio.run(leaders.now.close())
    assert leaders.reports() == {}
    leaders.network.refuse = lambda _method, _path: None
    leaders.later()
    assert decisions(leaders) == 1
    assert leaders.reports()[TODAY].observed_seconds == 3 * EVERY_SECONDS


def test_a_report_that_somebody_else_changes_is_added_to(leaders: Leaders) -> None:
    leaders.store(0)
    leaders.pass_time(1.0)
    leaders.write()
    stored = leaders.network.of(REPORTS)[TODAY]
    stored["observedSeconds"] = 5000
    stored["metadata"]["labels"] = {"a": "b"}
    leaders.store(1)
    leaders.later()
    report = leaders.reports()[TODAY]
    assert (report.observed_seconds, report.total.observed.decisions) == (5000 + EVERY_SECONDS, 2)
    assert report.metadata.labels == {"a": "b"}


def test_a_report_that_somebody_deletes_is_made_anew_from_the_plans_that_are_there(leaders: Leaders) -> None:
    leaders.store(0)
    leaders.pass_time(1.0)
    leaders.write()
    leaders.network.of(REPORTS).clear()
    leaders.store(1)
    leaders.later()
    assert decisions(leaders) == 1, "this leader has told what it knew of the other plan"
    leaders.kill()
    leaders.write()
    leaders.later()
    assert decisions(leaders) == 2


def test_a_conflict_is_tried_again(leaders: Leaders) -> None:
    left = [3]

    def refuse(method: str, path: str) -> ApiError | None:
        if method not in ("POST", "PUT") or not left[0]:
            return None
        left[0] -= 1
        return ApiError(409, "Conflict", path)

    leaders.network.refuse = refuse
    leaders.store(0)
    leaders.write()
    assert decisions(leaders) == 1


def test_a_report_that_cannot_be_read_is_left_alone_and_others_are_written(leaders: Leaders) -> None:
    damaged = {"metadata": {"name": "2025-12-31"}, "observedSeconds": -1, "total": "lost"}
    leaders.network.put(REPORTS, damaged)
    leaders.write()
    leaders.store(0, age=DAY_SECONDS)
    leaders.store(1)
    leaders.later()
    leaders.later()
    assert leaders.network.of(REPORTS)["2025-12-31"]["total"] == "lost"
    assert (
        msgspec.convert(leaders.network.of(REPORTS)[TODAY], dict[str, Any])["total"]["observed"]["decisions"]
        == 1
    )
    leaders.network.of(REPORTS).pop("2025-12-31")
    leaders.later()
    assert decisions(leaders, "2025-12-31") == 1


def test_plans_of_days_that_are_not_kept_do_not_count() -> None:
    leaders = Leaders(days=2)
    leaders.store(0, age=5 * DAY_SECONDS)
    leaders.store(1)
    leaders.write()
    assert list(leaders.reports()) == [TODAY]


def test_what_quota_agrees_to_is_in_the_row_of_its_namespace(leaders: Leaders) -> None:
    agreements = Agreements()
    agreements.on_compared(lambda namespace, agrees: leaders.now.compared(namespace, agrees))
    for agrees in ("true", "true", "false", "unknown"):
        agreements.compared("team", agrees)
    agreements.compared("", "unknown")
    leaders.write()
    report = leaders.reports()[TODAY]
    (row,) = report.namespaces
    assert (row.quota.agrees, row.quota.differs, row.quota.unknown) == (2, 1, 1)
    assert (report.others.quota.unknown, report.total.quota.unknown) == (1, 2)


def stored(phase: Phase, *conditions: Condition, mode: Any = msgspec.UNSET, **fields: Any) -> list[Counting]:
    """What counts of one plan."""
    heard = list[Counting]()
    plans, plan = CountedPlans(heard.append), plan_of(0, ours=3)
    plan.spec.mode = mode
    plan.status = PreemptionPlanStatus(phase=phase, conditions=list(conditions), **fields)
    plans.upsert(plan)
    plans.upsert(plan)
    assert list(plans) == heard, "each is heard once"
    return heard


EVICTING = Condition("Evicting", "True")


def test_a_plan_that_was_carried_out_counts_when_it_has_ended_and_has_its_verdict() -> None:
    assert stored("Evicting", EVICTING) == []
    (bound,) = stored("Bound", EVICTING, Condition("Bound", "True"))
    assert (bound.pods, bound.bound, bound.in_vain, bound.instead) == (3, True, False, None)
    assert stored("Aborted", EVICTING, Condition("Aborted", "True", "Overtaken")) == [], "nobody knows yet"
    (vain,) = stored("Aborted", EVICTING, Condition("Aborted", "True"), Condition("InVain", "True"))
    assert (vain.bound, vain.in_vain) == (False, True)
    (forgiven,) = stored("Aborted", EVICTING, Condition("Aborted", "True", "ModeChanged"))
    assert not forgiven.in_vain
    assert stored("Aborted", Condition("Aborted", "True")) == [], "it has evicted nobody"


def test_an_observed_plan_counts_when_it_is_concluded() -> None:
    said = plan_of(0).status
    assert said is not None
    assert said.instead is not None
    assert len(stored("Observed", mode="Observe", instead=said.instead)) == 1
    goes_on = msgspec.structs.replace(said.instead, concluded=False)
    assert stored("Observed", mode="Observe", instead=goes_on) == []
    assert stored("Observed", mode="Observe") == []


def test_plans_of_workloads_and_of_foreign_namespaces_do_not_count() -> None:
    for change in ({"kind": "Workload"}, {"namespace": "other"}):
        heard = list[Counting]()
        plan = plan_of(0)
        plan.spec.preemptor = msgspec.structs.replace(plan.spec.preemptor, **change)
        CountedPlans(heard.append).upsert(plan)
        assert heard == []


def test_a_plan_of_the_same_name_is_another_one() -> None:
    heard = list[Counting]()
    plans, plan = CountedPlans(heard.append), plan_of(0)
    plan.metadata.uid = "one"
    plans.upsert(plan)
    plan.metadata.uid = "two"
    plans.upsert(plan)
    assert [each.uid for each in heard] == ["one", "two"]
    assert (plans.knows("one"), plans.knows("two")) == (False, True)
    plans.delete("team-a", "plan-0")
    assert not plans.knows("two")


def test_the_day_is_that_of_the_decision(leaders: Leaders) -> None:
    leaders.clock.set_wall(parse_rfc3339(f"{TODAY}T00:00:10Z"))
    leaders.store(0, age=20.0)
    leaders.store(1, age=5.0)
    leaders.write()
    assert (decisions(leaders, "2025-12-31"), decisions(leaders)) == (1, 1)


async def test_what_the_account_concludes_is_in_the_report_also_if_its_plan_is_gone() -> None:
    """One plan says it itself. The other one is deleted before it can, together with its gang."""
    for is_gone in (False, True):
        async with accounted() as account:
            api = account.stage.api
            api.of(REPORTS)
            reporting = account.controller.report(Term(1, api.clock, holder="stage"))
            account.begin()
            account.preempt(0)
            account.event(uid(victim(0)), uid(member(0)), "n0")
            await account.step()
            if is_gone:
                (name,) = api.of(PLANS)
                api.of(PLANS).clear()
                for store in (account.controller._decisions, account.controller._counted):
                    store.delete("default", name)
                account.stage.delete(gang(minimum=2), member(0), member(1))
            else:
                account.stage.add(member(0, node="n0"), member(1, node="n1"))
            account.stage.list_plans()
            await account.pass_time(1.0)
            await account.pass_time(LATE_SECONDS)
            await reporting.step()
            (body,) = api.of(REPORTS).values()
            report = msgspec.convert(body, PreemptionReport)
            observed, scheduler = report.total.observed, report.total.scheduler
            assert (observed.decisions, observed.pods) == (1, 2)
            assert (scheduler.pods, scheduler.bound) == (1, int(not is_gone))
            assert [row.namespace for row in report.namespaces] == ["default"]
