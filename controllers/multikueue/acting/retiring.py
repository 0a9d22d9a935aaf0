"""DispatchPlans that are over go after a while."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import structlog

from api.clock import Clock
from api.dispatch import DispatchPlan
from controllers.multikueue.acting.mirrors import Mirrors
from kube.errors import ApiError
from kube.sender import Sender
from quota.state.workloads import attempt_of
from runtime.mirror.resources import DISPATCH_PLANS
from runtime.plans.kept_turns import surplus_turns

__all__ = ["retire"]

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 60.0


async def retire(mirrors: Mirrors, sender: Sender, seconds: float, clock: Clock) -> None:
    """Delete those that ended `seconds` ago, until cancelled. A turn of a present attempt stays: turns are counted."""
    while True:
        for plan in _surplus(mirrors, clock.wall(), seconds):
            try:
                await _delete(plan, sender)
            except ApiError as error:
                log.info("a DispatchPlan stays for now", plan=plan.metadata.name, error=str(error))
        await asyncio.sleep(LOOK_SECONDS)


def _surplus(mirrors: Mirrors, now: float, seconds: float) -> list[DispatchPlan]:
    attempts = {each.metadata.uid: attempt_of(each) for each in mirrors.workloads}
    return surplus_turns(mirrors.turns, lambda uid: attempts.get(uid, ""), now, seconds)


async def _delete(plan: DispatchPlan, sender: Sender) -> None:
    group, _, plural = DISPATCH_PLANS.path.rpartition("/")
    path = f"{group}/namespaces/{plan.metadata.namespace}/{plural}/{plan.metadata.name}"
    try:
        await sender.send("DispatchPlan deletion", "DELETE", path)
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
