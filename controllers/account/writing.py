"""Writes `status.instead` of observed plans. What is to be written last counts; a plan that is gone needs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import msgspec
import structlog

from api.groups import API_VERSION
from api.instead import Instead
from api.plans import PreemptionPlanStatus
from controllers.account.cases import Decision
from kube.client import MERGE_PATCH
from kube.errors import ApiError
from kube.sender import Sender
from runtime.failpoints import failpoint

__all__ = ["Writing"]

log = structlog.get_logger(__name__)

GONE: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)
"""There is no such plan any longer, or it is another one of the name."""
AGAIN_SECONDS: Final = 5.0
LAST_SECONDS: Final = 1.0
"""How long the end of a term may wait for the last writes."""


class Writing:
    """What waits to be written in one term."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._waiting: dict[str, tuple[Decision, Instead]] = {}
        """By the plan's UID."""
        self._then: dict[str, Callable[[], object]] = {}
        """What follows when the plan with this UID is written."""
        self._nudged = asyncio.Event()

    def put(self, decision: Decision, said: Instead) -> None:
        """Write it soon."""
        self._waiting[decision.uid] = decision, said
        self._nudged.set()

    def after(self, decision: Decision, then: Callable[[], object]) -> None:
        """Call `then` when what waits for the plan is written, or the plan is gone."""
        self._then[decision.uid] = then

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._nudged.wait()
            self._nudged.clear()
            await self.flush()

    async def flush(self) -> None:
        """Write what waits now. What the API server does not take waits on."""
        while self._waiting:
            decision, said = next(iter(self._waiting.values()))
            try:
                await self._write_or_drop(decision, said)
            except ApiError as error:
                log.warning("what a scheduler did is not written", plan=decision.plan, error=str(error))
                self._nudged.set()
                await asyncio.sleep(AGAIN_SECONDS)
                return

    async def close(self) -> None:
        """The term ends: write what waits, if that can be done soon."""
        try:
            async with asyncio.timeout(LAST_SECONDS):
                for decision, said in list(self._waiting.values()):
                    await self._write_or_drop(decision, said)
        except (ApiError, TimeoutError) as error:
            log.info("what the term saw last is not written", error=str(error))

    async def _write_or_drop(self, decision: Decision, said: Instead) -> None:
        """Afterwards it does not wait any longer, unless there is news. Raises ApiError."""
        try:
            await self._write(decision, said)
        except ApiError as error:
            if error.status not in GONE:
                raise
        if self._waiting.get(decision.uid) == (decision, said):
            del self._waiting[decision.uid]
            self._then.pop(decision.uid, _nothing)()

    async def _write(self, decision: Decision, said: Instead) -> None:
        namespace, name = decision.plan
        path = f"/apis/{API_VERSION}/namespaces/{namespace}/preemptionplans/{name}/status"
        body = {"metadata": {"uid": decision.uid}, "status": PreemptionPlanStatus(instead=said)}
        await failpoint("account.before_write")
        await self._sender.send(
            "account", "PATCH", path, body=msgspec.json.encode(body), content_type=MERGE_PATCH
        )
        await failpoint("account.after_write")


def _nothing() -> None:
    pass
