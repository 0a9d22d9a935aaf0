"""PreemptionReports of one term: what counts is gathered, and written every five minutes at most.

Each write is conditioned on the version that was read. It is sent again as it is until it is known whether it was done:
the report says which write was the last one. So nothing is added twice, whoever dies when, and without a second write
to plans.

See docs/decisions/0114.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from typing import Final, Literal

import structlog

from api.clock import Clock
from api.instead import Instead
from api.reports import GapCause, PreemptionReport, QuotaCounts, ReportRow, added
from controllers.account.cases import Decision
from controllers.account.counted import CountedPlans
from controllers.account.report_writing import ReportWriter
from controllers.account.tally import (
    DAY_SECONDS,
    Addition,
    Counting,
    Span,
    applied,
    begin_of,
    day_of,
    seconds_of_report,
)
from kube.errors import ApiError

__all__ = ["EVERY_SECONDS", "Reporting"]

log = structlog.get_logger(__name__)

EVERY_SECONDS: Final = 300.0
"""The least time between two writes of a term."""
STEP_SECONDS: Final = 1.0
FROZEN_SECONDS: Final = 10.0
"""A process that has not looked for this time did not run."""
LAST_SECONDS: Final = 2.0
"""How long the end of a term may wait for the last write."""
TRIES: Final = 5
"""How often a write is tried at once if others write, too."""
MOST_WAITING: Final = 10_000
"""Plans of one day that wait to be written. More would fill the memory where no report can be stored."""
DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
UNREADABLE: Final = "InvalidAnswer"
"""The reason of the error for a report with a damaged field. It is left alone, so others of its day are not stored."""
NOT_SERVED: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN)


@dataclass(frozen=True, slots=True)
class _Flight:
    """A write that may have been done."""

    token: str
    addition: Addition
    ended: bool


class Reporting:
    """All that waits to be written in one term."""

    def __init__(
        self, writer: ReportWriter, plans: CountedPlans, clock: Clock, *, days: int, token: str
    ) -> None:
        """`days`: how many reports stay. `token`: names this term, and none before or after it."""
        self._writer, self._plans, self._clock, self._days, self._token = writer, plans, clock, days, token
        self._since, self._last = clock.wall(), clock.monotonic()
        self._cause: GapCause | None = None
        self._waiting: dict[str, Addition] = {}
        """By day."""
        self._flights: dict[str, _Flight] = {}
        self._unstored: dict[str, Counting] = {}
        """Decisions that are concluded. Their plans do not say so yet."""
        self._missing: dict[str, set[str]] = {}
        """By day: listed plans (UIDs) that were gone at the last write."""
        self._writes, self._due, self._swept = 0, -inf, ""
        self._has_begun = False
        for each in plans:
            self.count(each)

    # ---- what happens

    def count(self, counting: Counting) -> None:
        """A stored plan counts from now on, or from before."""
        self._unstored.pop(counting.uid, None)
        addition = self._of(counting.created)
        if addition is not None and len(addition.plans) < MOST_WAITING:
            addition.plans[counting.uid] = counting

    def conclude(self, decision: Decision, said: Instead) -> None:
        """A decision is concluded, and its plan is about to say so. It counts then, or if the plan is gone."""
        namespace, uid = decision.plan[0], decision.uid
        self._unstored[uid] = Counting(uid, decision.created, namespace, decision.pods, said)

    def compared(self, namespace: str, agrees: Literal["true", "false", "unknown"]) -> None:
        """A decision of Kueue was compared with ours."""
        addition = self._of(self._clock.wall())
        if addition is not None:
            quota = QuotaCounts(int(agrees == "true"), int(agrees == "false"), int(agrees == "unknown"))
            row = ReportRow(namespace, quota=quota)
            known = addition.rows.get(namespace)
            addition.rows[namespace] = row if known is None else added(known, row)

    def pass_time(self, cause: GapCause | None) -> None:
        """Time has passed. `cause`: why not all was seen in it; None: all was."""
        now, wall = self._clock.monotonic(), self._clock.wall()
        seconds, self._last = now - self._last, now
        if seconds > FROZEN_SECONDS:
            cause = "NotReached"
        begins, self._cause = cause != self._cause, cause
        addition = self._of(wall)
        if addition is not None:
            addition.pass_time(Span(wall, seconds, cause), begins=begins)

    def _of(self, when: float) -> Addition | None:
        """What is added to the report of this time; None if that report is not kept any longer."""
        if when < self._clock.wall() - self._days * DAY_SECONDS:
            return None
        return self._waiting.setdefault(day_of(when), Addition())

    # ---- what follows

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self.step()
            await asyncio.sleep(STEP_SECONDS)

    async def step(self) -> None:
        """Write if it is time. Faults are logged: the next round tries again."""
        now = self._clock.monotonic()
        if now < self._due:
            return
        self._due = now + EVERY_SECONDS
        try:
            if not self._has_begun:
                wait = await self._begin()
                self._has_begun = True
                await self._sweep()
                if wait > 0.0:
                    self._due = now + wait
                    return
            await self._write(ended=False)
            await self._sweep()
        except ApiError as error:
            log.warning("a report is not written", error=str(error))

    async def close(self) -> None:
        """The term ends: write what waits, if that can be done soon."""
        if not self._has_begun:
            return
        self.pass_time(self._cause)
        try:
            async with asyncio.timeout(LAST_SECONDS):
                await self._write(ended=True)
        except (ApiError, TimeoutError) as error:
            log.info("the last report of the term is not written", error=str(error))

    async def _begin(self) -> float:
        """Count the time since the last write of the former leader. Returns how long to wait for the next one."""
        today = day_of(self._since)
        days = [name for name in await self._writer.names() if _is_day(name) and name <= today]
        last = await self._last_of(days)
        if last is None:
            return 0.0
        before = seconds_of_report(last)
        if before > 0.0:
            self._leave_out(before, "Restart" if last.ended else "NoLeader")
        return min(EVERY_SECONDS, before + EVERY_SECONDS - self._clock.wall())

    async def _last_of(self, days: list[str]) -> PreemptionReport | None:
        try:
            return await self._writer.find(max(days)) if days else None
        except ApiError as error:
            if error.reason != UNREADABLE:
                raise
            return None  # whoever writes to it says so

    def _leave_out(self, begin: float, cause: GapCause) -> None:
        """Nobody led from `begin` until this term."""
        begin = max(begin, self._since - self._days * DAY_SECONDS)
        while self._since - begin >= 1.0:
            end = min(self._since, begin_of(day_of(begin)) + DAY_SECONDS)
            addition = self._of(begin)
            if addition is not None:
                addition.pass_time(Span(end, end - begin, cause), begins=True)
            begin = end

    async def _write(self, *, ended: bool) -> None:
        self._take_unstored()
        today = day_of(self._clock.wall())
        for day in sorted({*self._flights, *self._waiting}):
            try:
                await self._write_day(day, ended=ended and day == today)
            except ApiError as error:
                if error.status in NOT_SERVED or error.reason == "Fenced":
                    raise
                log.warning("a report is not written", day=day, error=str(error))

    def _take_unstored(self) -> None:
        """Those whose plans are gone will never be said to be concluded. They count as this leader knows them."""
        for uid, counting in list(self._unstored.items()):
            if not self._plans.knows(uid):
                self.count(counting)

    async def _write_day(self, day: str, *, ended: bool) -> None:
        if (flight := self._flights.get(day)) is not None:
            await self._land(day, flight)
        if day in self._waiting:
            self._writes += 1
            flight = _Flight(f"{self._token}/{self._writes}", self._waiting.pop(day), ended)
            self._flights[day] = flight
            await self._land(day, flight)

    async def _land(self, day: str, flight: _Flight) -> None:
        """Make the write, or find that it was made. Raises ApiError if neither is known."""
        for _ in range(TRIES):
            stored = await self._writer.find(day)
            listed = set(stored.counted) if stored is not None else set[str]()
            more = flight.ended or flight.addition.has_more_than_plans
            is_new = more or not flight.addition.plans.keys() <= listed
            if not is_new or (stored is not None and stored.written_by == flight.token):
                del self._flights[day]
                return
            gone = {uid for uid in listed if not self._plans.knows(uid)}
            leaving = gone & self._missing.get(day, set())
            report = applied(
                stored, flight.addition, day, flight.token, leaves=leaving.__contains__, ended=flight.ended
            )
            try:
                await self._writer.write(report)
            except ApiError as error:
                if error.status != HTTPStatus.CONFLICT:
                    raise
            else:
                self._missing[day] = gone
                del self._flights[day]
                return
        raise ApiError(HTTPStatus.CONFLICT, "Conflict", f"PreemptionReport {day} changes again and again")

    async def _sweep(self) -> None:
        """Delete the oldest reports, once a day. The newest ones stay, so a clock that jumps deletes no history."""
        today = day_of(self._clock.wall())
        if self._swept == today:
            return
        days = sorted(filter(_is_day, await self._writer.names()))
        for name in days[: -self._days]:
            try:
                await self._writer.delete(name)
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
        self._swept = today if today in days else ""
        self._missing = {day: gone for day, gone in self._missing.items() if day in self._waiting}


def _is_day(name: str) -> bool:
    try:
        begin_of(name)
    except ValueError:
        return False
    return DAY.fullmatch(name) is not None
