"""Reports of the account, while leaders die between any two writes: nothing counts twice, and nothing that is stored is
lost.

Each decision has a namespace of its own, so its row says how often it was counted.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from api.instead import Instead, InsteadVictims
from api.reports import ReportRow, added
from controllers.account.cases import Decision
from controllers.account.tally import DAY_SECONDS, Counting, day_of
from runtime.exchange.accounted import Owner
from tests.kit.examples import examples
from tests.kit.reporting import Fault, Killed, Leaders

DAYS: Final = 3
FAULTS: Final[tuple[Fault, ...]] = ("", "refused", "lost", "late", "killed before", "killed after")
STATES: Final = st.sampled_from(["Same", "Same", "Changed", "Unknown"])


class Reports(RuleBasedStateMachine):
    """What happens to reports, and what they must say after that."""

    def __init__(self) -> None:
        super().__init__()
        self.leaders = Leaders(DAYS)
        self.number = 0
        self.concluded: dict[int, Counting] = {}
        """All decisions ever, by number."""
        self.stored: dict[int, str] = {}
        """Names of plans that are there."""
        self.in_memory: set[int] = set()
        """What this leader knows, and may have written."""
        self.compared: dict[int, str] = {}
        """Decisions of Kueue that this leader knows: their day."""
        self.compared_ever: dict[int, str] = {}
        self.observed = 0.0
        self.began = self.leaders.clock.wall()

    def _next(self) -> int:
        self.number += 1
        return self.number

    @rule(pods=st.integers(0, 5), age=st.sampled_from([0.0, 60.0, 40_000.0, DAY_SECONDS]), state=STATES)
    def a_decision_is_concluded(self, pods: int, age: float, state: Any) -> None:
        number = self._next()
        seconds = pods * 31
        said: dict[str, Any] = {"state": state, "pods": pods, "seconds_until_bound": seconds}
        self.stored[number] = self.leaders.store(number, age=age, ours=pods + 1, **said)
        instead = Instead(InsteadVictims(pods=pods), bound=True, state=state, seconds_until_bound=seconds)
        created = self.leaders.clock.wall() - age
        uid, namespace = f"uid-{number}", f"team-{number}"
        self.concluded[number] = Counting(uid, float(int(created)), namespace, pods + 1, instead)
        self.in_memory.add(number)

    @rule()
    def a_decision_is_concluded_whose_plan_is_gone(self) -> None:
        number, created = self._next(), float(int(self.leaders.clock.wall()))
        said = Instead(InsteadVictims(pods=2), state="Same", concluded=True)
        uid, namespace = f"uid-{number}", f"team-{number}"
        owner = Owner(f"o{number}", "PodGroup", namespace, "gang", (namespace, "gang"))
        decision = Decision((namespace, "plan"), uid, owner, changed=False, created=created, pods=3)
        self.leaders.now.conclude(decision, said)
        self.concluded[number] = Counting(uid, created, namespace, 3, said)
        self.in_memory.add(number)

    @precondition(lambda self: self.stored)
    @rule(data=st.data())
    def a_plan_is_deleted(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.stored)))
        self.leaders.delete(self.stored.pop(number))

    @rule()
    def kueue_decides(self) -> None:
        number = self._next()
        self.leaders.now.compared(f"kueue-{number}", "true")
        self.compared[number] = self.compared_ever[number] = day_of(self.leaders.clock.wall())

    @rule(seconds=st.sampled_from([1.0, 60.0, 300.0]), cause=st.sampled_from([None, "NotReached"]))
    def time_passes(self, seconds: float, cause: Any) -> None:
        self.leaders.pass_time(seconds, cause)
        self.observed += seconds if cause is None else 0.0

    @rule(seconds=st.sampled_from([1.0, 300.0, DAY_SECONDS]))
    def nobody_leads(self, seconds: float) -> None:
        self._kill()
        self.leaders.clock.advance(seconds)
        self._kill()

    @rule(faults=st.lists(st.sampled_from(FAULTS), max_size=4))
    def a_report_is_written(self, faults: list[Fault]) -> None:
        self.leaders.network.faults = list(faults)
        try:
            self.leaders.write()
        except Killed:
            self._kill()
        self.leaders.network.faults = []

    @rule(faults=st.lists(st.sampled_from(FAULTS), max_size=2))
    def the_leader_steps_down(self, faults: list[Fault]) -> None:
        self.leaders.network.faults = list(faults)
        with suppress(Killed):
            self.leaders.stop()
        self._kill()
        self.leaders.network.faults = []

    def _kill(self) -> None:
        self.leaders.kill()
        self.in_memory = set(self.stored)
        self.compared = {}

    @invariant()
    def nothing_counts_twice(self) -> None:
        observed = 0
        for day, report in self.leaders.reports().items():
            total = ReportRow()
            for row in report.namespaces:
                kind, _, number = row.namespace.partition("-")
                if kind == "kueue":
                    assert self.compared_ever[int(number)] == day
                    assert row == ReportRow(row.namespace, quota=row.quota)
                    assert (row.quota.agrees, row.quota.differs, row.quota.unknown) == (1, 0, 0)
                else:
                    counting = self.concluded[int(number)]
                    assert row == counting.row()
                    assert day_of(counting.created) == day
                total = added(total, row)
            assert report.total == total
            assert len(report.counted) == len(set(report.counted))
            observed += report.observed_seconds
        assert observed <= self.observed + 1.0

    @rule()
    def nothing_is_lost(self) -> None:
        """After a write without a fault."""
        self.leaders.write()
        self.leaders.write()  # the first one may have waited for the former leader's five minutes
        first = day_of(self.leaders.clock.wall() - (DAYS - 1) * DAY_SECONDS)
        rows = {day: self.leaders.rows(day) for day in self.leaders.reports()}
        for number in self.in_memory:
            counting = self.concluded[number]
            if (day := day_of(counting.created)) >= first:
                assert counting.namespace in rows[day], f"{counting} is lost"
        for number, day in self.compared.items():
            assert day < first or f"kueue-{number}" in rows[day]

    @invariant()
    def no_more_reports_stay_than_are_kept(self) -> None:
        # The sweep of a day comes after its first write.
        assert len(self.leaders.reports()) <= 2 * DAYS + 1

    def teardown(self) -> None:
        self.nothing_is_lost()
        self.nothing_counts_twice()


TestReports = Reports.TestCase
TestReports.settings = settings(max_examples=examples(600), stateful_step_count=40, deadline=None)
