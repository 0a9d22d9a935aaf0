"""The account beside an observer, without a control plane."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import msgspec
from prometheus_client import REGISTRY

from api.instead import Instead
from api.plans import PreemptionPlan
from api.preempted import PreemptedEvent
from controllers.account.accounting import Accounting
from controllers.account.configuration import ObservingConfiguration
from controllers.account.controller import AccountController
from controllers.account.signs import MarkedPods
from controllers.gangs.accounted import Accounted
from kube.client import ApiClient
from runtime.terms.term import Term
from tests.kit.objects import BIG, gang, member, node, pod
from tests.kit.observed import ObservedStage, observed
from tests.kit.stage import PLANS

__all__ = [
    "EARLY",
    "OURS",
    "PREEMPTED",
    "Account",
    "accounted",
    "counted",
    "gang",
    "member",
    "node",
    "pod",
    "uid",
    "victim",
]

PREEMPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "default-scheduler: preempting to accommodate a higher priority pod",
}
EARLY: Final = "2025-12-31T23:00:00Z"
"""Since when the victims have run."""
OURS = {**PREEMPTED, "message": "PodGroup default/gang (priority 100) preempts this pod [term 1 of x]"}


class Account:
    """The account in a process of its own, beside the planner of a stage."""

    def __init__(self, stage: ObservedStage) -> None:
        self.stage, self._number = stage, 0
        client = cast(ApiClient, stage.api)
        roll = Accounted(stage.controller)
        self.controller = AccountController(
            ObservingConfiguration(episode_seconds=100), client, stage.views, roll, stage.api.clock
        )
        self.controller._events.replaced(set(), "")
        self.acting: Accounting | None = None

    def begin(self) -> Account:
        """A term begins."""
        self.acting = self.controller.begin(Term(1, self.stage.api.clock, holder="stage"))
        return self

    def forget(self) -> None:
        """As a process that has not been there before."""
        roll = self.controller._roll
        self.controller._marked = MarkedPods(roll.unit_of, roll.usage, self.stage.api.clock)

    async def pass_time(self, seconds: float) -> None:
        self.stage.clock += seconds
        await self.step()

    async def step(self) -> None:
        assert self.acting is not None
        self.stage.list_plans()
        self.acting.step()
        await self.acting.writing.flush()
        self.stage.list_plans()

    def event(self, victim: str, preemptor: str, where: str, kind: str = "pod") -> None:
        """A scheduler says for whom (UID) it has preempted a pod (UID)."""
        self._number += 1
        body = {
            "metadata": {
                "namespace": "default",
                "name": f"e{self._number}",
                "uid": f"e{self._number}",
                "resourceVersion": self.stage.api.next_version(),
            },
            "involvedObject": {"kind": "Pod", "namespace": "default", "name": victim, "uid": victim},
            "reason": "Preempted",
            "message": f"Preempted by {kind} {preemptor} on node {where}",
        }
        self.controller._events.upsert(msgspec.convert(body, PreemptedEvent), listed=False)

    def preempt(self, number: int, **fields: Any) -> None:
        """The scheduler marks the pod v{number} and deletes it."""
        self.stage.add(victim(number, conditions=[PREEMPTED], deleting="2026-01-01T00:00:30Z", **fields))

    def said(self) -> Instead | None:
        """What the only plan says."""
        (plan,) = self.stage.api.of(PLANS).values()
        status = msgspec.convert(plan, PreemptionPlan).status
        assert status is not None
        return status.instead


def victim(number: int, **fields: Any) -> Any:
    return pod(
        f"v{number}", **{"node": f"n{number}", "requests": BIG, "priority": 1, "created": EARLY, **fields}
    )


def uid(of: Any) -> str:
    name: str = of.metadata.uid
    return name


@asynccontextmanager
async def accounted(*more: Any, members: int = 2) -> AsyncIterator[Account]:
    """A gang of two with a plan to evict v0 and v1, and the account."""
    objects = [node("n0"), node("n1"), gang(minimum=2), *(member(each) for each in range(members))]
    async with observed(*objects, victim(0), victim(1), *more) as stage:
        account = Account(stage)
        await stage.settle()
        await stage.written()
        stage.list_plans()
        yield account


def counted(served: str) -> float:
    return REGISTRY.get_sample_value("reprieve_scheduler_victims_total", {"served": served}) or 0.0
