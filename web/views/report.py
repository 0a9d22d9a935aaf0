"""What the scheduler did instead of observed decisions."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

from aiohttp import web

from answers.names import right
from answers.reports.report import report
from api.clock import Clock
from web.answering import Answering
from web.errors import forbidden
from web.questions import ReportQuestion, namespaces_of, report_of
from web.readers.rights import Granted
from web.route import NAMESPACE, Reading, Route, json_answer
from web.shared import Shared
from web.sources.source import Seen
from web.wire.report import Report

__all__ = ["ReportView"]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which report. Equal ones are made once."""

    version: str
    granted: Granted
    question: ReportQuestion


class ReportView:
    """See `View`."""

    def __init__(self, reading: Reading, answering: Answering, executor: Executor, clock: Clock) -> None:
        self._reading, self._answering = reading, answering
        self._reports = Shared[Asked, dict[str, Any]](executor, clock)

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
        return (
            Route(
                "GET",
                "/report",
                self.report,
                "What the scheduler did instead: what `reprieve report -o json` prints",
                Report,
                query=("since", "by", "price", "preemptorNamespace", NAMESPACE),
            ),
        )

    async def report(self, request: web.Request) -> web.StreamResponse:
        """GET report. Raises Refused: it has rows for all namespaces."""
        reader, question = await self._reading(request), report_of(request.query)

        async def made(granted: Granted) -> dict[str, Any]:
            if not granted.lists("preemptionreports"):
                raise forbidden(right("preemptionreports"))
            self._answering.check_ready()
            asked = Asked(self._answering.source.version, granted, question)
            return await self._answering.listed(reader, self._reports, asked, self._report_of(asked))

        namespaces = namespaces_of(request.query)
        return json_answer(await self._answering.with_rights(reader, namespaces, made))

    def _report_of(self, asked: Asked) -> Callable[[], dict[str, Any]]:
        """Makes the report, of what is there now."""
        source = self._answering.source
        return partial(_report, source.picture(), source.now(), asked)


def _report(seen: Seen, moment: int, asked: Asked) -> dict[str, Any]:
    question, now = asked.question, moment / 1e6
    found = report(
        seen.account.decisions,
        seen.account.reports,
        now=now,
        since=now - question.seconds,
        by=question.by,
        namespace=question.namespace or None,
        prices=dict(question.prices),
        names=asked.granted,
    )
    return found.plain()
