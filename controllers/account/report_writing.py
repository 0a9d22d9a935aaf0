"""Requests about PreemptionReports, one function each."""

from __future__ import annotations

from typing import Final

import msgspec

from api.meta import List
from api.reports import PreemptionReport
from kube.client import METADATA_LIST, ApiClient
from kube.envelopes import OnlyIdentity
from kube.sender import Sender
from runtime.plans.plan_writer import decoded, path_of

__all__ = ["ReportWriter"]

REPORTS: Final = "preemptionreports"
PAGE: Final = "500"


class ReportWriter:
    """Everything raises ApiError: 404 if the kind is not there, 409 if the report is another one by now."""

    def __init__(self, client: ApiClient, sender: Sender) -> None:
        self._client, self._sender = client, sender

    async def names(self) -> list[str]:
        """The names of all reports."""
        names, more = list[str](), ""
        while True:
            query = {"limit": PAGE, **({"continue": more} if more else {})}
            body = await self._client.request("GET", path_of(REPORTS), query=query, accept=METADATA_LIST)
            page = decoded(body, List[OnlyIdentity])
            names += [each.metadata.name for each in page.items]
            more = page.metadata.continue_
            if not more:
                return names

    async def find(self, name: str) -> PreemptionReport | None:
        """The report as it is stored. It is asked for in a list, for which the right to list is enough."""
        query = {"fieldSelector": f"metadata.name={name}"}
        body = await self._client.request("GET", path_of(REPORTS), query=query)
        return next(iter(decoded(body, List[PreemptionReport]).items), None)

    async def write(self, report: PreemptionReport) -> None:
        """Create it, or replace the version that its metadata name."""
        body = msgspec.json.encode(report)
        if report.metadata.resource_version:
            path = path_of(REPORTS, name=report.metadata.name)
            await self._sender.send("report", "PUT", path, body=body)
        else:
            await self._sender.send("report", "POST", path_of(REPORTS), body=body)

    async def delete(self, name: str) -> None:
        """Delete it."""
        await self._sender.send("report deletion", "DELETE", path_of(REPORTS, name=name))
