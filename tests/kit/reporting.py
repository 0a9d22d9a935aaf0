"""Reports of the account over an API server that is a few dictionaries: leaders come and go, plans and reports stay."""

from __future__ import annotations

import asyncio
from typing import Any, Literal, cast

import msgspec

from api.reports import PreemptionReport, ReportRow
from api.times import rfc3339
from controllers.account.counted import CountedPlans
from controllers.account.report_writing import ReportWriter
from controllers.account.reporting import EVERY_SECONDS, Reporting
from kube.client import ApiClient
from kube.errors import ApiError
from kube.sender import Sender
from tests.kit.apiserver import Api
from tests.kit.observed_plans import plan as plan_of

__all__ = ["REPORTS", "Fault", "Killed", "Leaders", "Network"]

REPORTS = "/apis/reprieve.dev/v1alpha1/preemptionreports"
Fault = Literal["", "refused", "lost", "late", "killed before", "killed after"]
"""What becomes of a write. lost: it is done, and nobody answers. late: nobody answers, and it arrives right before the
next write."""


class Killed(BaseException):
    """The process is gone."""


class Network(Api):
    """Between a leader and the API server."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[Fault] = []
        """Of the next writes, one each."""
        self._late: list[tuple[str, str, dict[str, Any]]] = []

    async def request(self, method: str, path: str, **more: Any) -> bytes:
        """As `Api`."""
        if method == "GET":
            return await super().request(method, path, **more)
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "refused":
            raise ApiError(500, "InternalError", path)
        if fault == "killed before":
            raise Killed
        if fault == "late":
            self._late.append((method, path, more))
            raise ApiError(0, "Timeout", path)
        late, self._late = self._late, []
        for each in late:
            await self._arrive(*each)
        answer = await super().request(method, path, **more)
        if fault == "lost":
            raise ApiError(0, "Timeout", path)
        if fault == "killed after":
            raise Killed
        return answer

    async def _arrive(self, method: str, path: str, more: dict[str, Any]) -> None:
        try:
            await super().request(method, path, **more)
        except ApiError as error:
            if error.status not in (404, 409):
                raise


class Leaders:
    """One leader at a time."""

    def __init__(self, days: int = 30) -> None:
        self.network, self.days, self.terms = Network(), days, 0
        self.network.of(REPORTS)
        self.clock = self.network.clock
        self.stored: dict[str, Any] = {}
        """Plans by name."""
        self.plans, self.now = self._begin()

    def _begin(self) -> tuple[CountedPlans, Reporting]:
        self.terms += 1
        plans = CountedPlans(lambda each: self.now.count(each))
        client = cast(ApiClient, self.network)
        # Before the term, as views do.
        quiet = CountedPlans(lambda _: None)
        for each in self.stored.values():
            quiet.upsert(each)
            plans._plans, plans._uids = quiet._plans, quiet._uids
        writer = ReportWriter(client, Sender(client, attempts=1))
        now = Reporting(writer, plans, self.clock, days=self.days, token=f"leader/{self.terms}")
        return plans, now

    def kill(self) -> None:
        """The leader is gone, and another one leads."""
        self.plans, self.now = self._begin()

    def stop(self) -> None:
        """The leader steps down, and another one leads."""
        asyncio.run(self.now.close())
        self.kill()

    def store(self, number: int, *, age: float = 0.0, **fields: Any) -> str:
        """A plan that is concluded, unless the fields say otherwise. Returns its name."""
        plan = plan_of(number, **{"namespace": f"team-{number}", "bound": True, **fields})
        plan.metadata.uid = f"uid-{number}"
        plan.metadata.creation_timestamp = rfc3339(self.clock.wall() - age)
        name = plan.metadata.name
        self.stored[name] = plan
        self.plans.upsert(plan)
        return name

    def delete(self, name: str) -> None:
        """The plan is gone."""
        plan = self.stored.pop(name)
        self.plans.delete(plan.metadata.namespace, name)

    def pass_time(self, seconds: float, cause: Any = None) -> None:
        """In steps that are short enough for a process that runs."""
        while seconds > 0.0:
            step = min(seconds, 5.0)
            self.clock.advance(step)
            self.now.pass_time(cause)
            seconds -= step

    def write(self) -> None:
        """The next round."""
        self.now._due = min(self.now._due, self.clock.monotonic())
        asyncio.run(self.now.step())

    def later(self) -> None:
        """Let time pass until a round is due."""
        self.pass_time(EVERY_SECONDS)
        asyncio.run(self.now.step())

    def reports(self) -> dict[str, PreemptionReport]:
        """By day."""
        found = self.network.of(REPORTS)
        return {name: msgspec.convert(found[name], PreemptionReport) for name in sorted(found)}

    def rows(self, day: str) -> dict[str, ReportRow]:
        """Those of a day by namespace."""
        report = self.reports().get(day)
        return {each.namespace: each for each in report.namespaces} if report is not None else {}
