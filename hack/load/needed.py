"""Says of each preemption whether the newest state before its write needed it.

It follows Workloads and plans beside a load, and looks back when the load is over. It knows the shape of the load: one
flavor, one resource, and cohorts of ClusterQueues that are alike. It shares no code with what decides.

Quota that was given away before a preemption was decided counts as used, although its write came later. Conditions have
the second of the decision.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import orjson

from hack.load import objects
from hack.load.api import Api, RefusedError
from hack.load.shape import Shape

__all__ = ["Judged", "Preemptions", "Seen", "judge"]

PLANS: Final = "/apis/reprieve.dev/v1alpha1/preemptionplans"
PREEMPTOR: Final = re.compile(r"\(UID: ([^,)]+)")
ENDED: Final = frozenset({"QuotaReserved", "Aborted", "Expired"})
AGAIN_SECONDS: Final = 0.2
LOOK_BACK_SECONDS: Final = 10.0
"""How far back it is looked for the moment from which a preemption was not needed."""


@dataclass(frozen=True)
class Seen:
    """One event of a watch."""

    version: int
    at: float
    """When it came, in monotonic seconds."""
    kind: str
    is_gone: bool
    body: dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """The preemptions of a load."""

    needed: int
    needless: Sequence[float]
    """Of each of the others: for how many seconds it had not been needed."""


@dataclass
class Preemptions:
    """What is written while a load runs."""

    seen: list[Seen] = field(default_factory=list)

    @asynccontextmanager
    async def followed(self, api: Api, namespace: str) -> AsyncIterator[None]:
        """Follow while the context lasts."""
        workloads = f"/apis/{objects.API_VERSION}/namespaces/{namespace}/workloads"
        tasks = [asyncio.create_task(self._follow(api, path)) for path in (workloads, PLANS)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, api: Api, path: str) -> None:
        version = "0"
        while True:
            try:
                async for line in api.lines(path, {"watch": "true", "resourceVersion": version}):
                    event = orjson.loads(line)
                    body = event["object"]
                    version = body["metadata"]["resourceVersion"]
                    now = time.monotonic()
                    self.seen.append(Seen(int(version), now, body["kind"], event["type"] == "DELETED", body))
            except RefusedError:
                return  # whoever admits has no plans
            except aiohttp.ClientError:
                await asyncio.sleep(AGAIN_SECONDS)


def judge(seen: Sequence[Seen], shape: Shape) -> Judged:
    """Look at each preemption, in the order of the API server's writes."""
    world, needed, needless = _World(shape), 0, list[float]()
    events = sorted({each.version: each for each in seen}.values(), key=lambda each: each.version)
    admissions = _admissions(events)
    for number, event in enumerate(events):
        if event.kind == "Workload" and world.is_preempted_now(event.body):
            given = _given(admissions, event)
            since = world.needless_since(event.body, events[:number], given)
            if since is None:
                needed += 1
            else:
                needless.append(event.at - since)
        world.take(event)
    return Judged(needed, needless)


def _admissions(events: Sequence[Seen]) -> list[Seen]:
    """The events by which a Workload gets quota."""
    found, holding = list[Seen](), set[str]()
    for event in events:
        if event.kind == "Workload":
            uid = event.body["metadata"]["uid"]
            if not _holds(event.body):
                holding.discard(uid)
            elif uid not in holding:
                holding.add(uid)
                found.append(event)
    return found


def _given(admissions: Sequence[Seen], preemption: Seen) -> list[dict[str, Any]]:
    """The Workloads that got quota before the preemption was decided, and were written after it."""
    decided, preemptor = _since(preemption.body, "Evicted"), _preemptor_of(preemption.body)
    return [
        each.body
        for each in admissions
        if each.version > preemption.version
        and _since(each.body, "QuotaReserved") <= decided
        and each.body["metadata"]["uid"] != preemptor
    ]


class _World:
    """The newest state of each object, up to some version."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._workloads: dict[str, dict[str, Any]] = {}
        self._plans: dict[str, dict[str, Any]] = {}
        self._used: dict[str, dict[str, int]] = {each: {} for each in objects.local_queue_names(shape)}
        """By queue: what each Workload (UID) uses that is not on its way out."""

    def take(self, event: Seen) -> None:
        uid, body = event.body["metadata"]["uid"], event.body
        known = self._workloads if event.kind == "Workload" else self._plans
        if event.is_gone:
            known.pop(uid, None)
        else:
            known[uid] = body
        if event.kind == "Workload":
            used = self._used[body["spec"]["queueName"]]
            used.pop(uid, None)
            if _holds(body) and not _is_preempted(body) and not event.is_gone:
                used[uid] = _cpu(body)

    def is_preempted_now(self, body: dict[str, Any]) -> bool:
        before = self._workloads.get(body["metadata"]["uid"], {})
        return _is_preempted(body) and _holds(before) and not _is_preempted(before)

    def needless_since(
        self, victim: dict[str, Any], events: Sequence[Seen], given: Sequence[dict[str, Any]]
    ) -> float | None:
        """Since when the preemption was not needed, in monotonic seconds; None if the newest state needs it. `given`:
        Workloads that have got their quota, and whose write comes later."""
        if self._needs(victim, given):
            return None
        since = events[-1].at
        earlier = _World(self._shape)
        states = list[tuple[float, bool]]()
        for event in events:
            earlier.take(event)
            if event.at > since - LOOK_BACK_SECONDS:
                states.append((event.at, earlier._needs(victim, given)))
        for at, needs in reversed(states):
            if needs:
                break
            since = at
        return since

    def _needs(self, victim: dict[str, Any], given: Sequence[dict[str, Any]]) -> bool:
        preemptor = self._workloads.get(_preemptor_of(victim))
        if preemptor is None or _holds(preemptor) or _is(preemptor, "Finished"):
            return False
        queue, asked = preemptor["spec"]["queueName"], _cpu(preemptor)
        used = {each: sum(self._used[each].values()) for each in self._tree(queue)}
        taken = {each["metadata"]["uid"]: each for each in (*self._promised_beside(preemptor), *given)}
        for each in taken.values():
            if each["spec"]["queueName"] in used:
                used[each["spec"]["queueName"]] += _cpu(each)
        free = len(used) * self._shape.cpu - sum(used.values())
        most = self._shape.cpu + self._shape.borrowing_limit - used[queue]
        return min(free, most) < asked

    def _tree(self, queue: str) -> list[str]:
        cohort = queue.partition("-")[0]
        return [each for each in objects.local_queue_names(self._shape) if each.partition("-")[0] == cohort]

    def _promised_beside(self, preemptor: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Other preemptors that wait for what is freed for them. A victim of any of them leaves it to all."""
        own = preemptor["metadata"]["uid"]
        waiting = {_preemptor(each) for each in self._plans.values() if not _has_ended(each)}
        victims = {
            uid for each in self._plans.values() if _preemptor(each) in waiting for uid in _victims(each)
        }
        for uid in waiting - {own}:
            other = self._workloads.get(uid)
            respects = own in victims or (other is not None and _priority(other) >= _priority(preemptor))
            if other is not None and not _holds(other) and respects:
                yield other


def _preemptor(plan: dict[str, Any]) -> str:
    return str(plan["spec"]["preemptor"]["uid"])


def _victims(plan: dict[str, Any]) -> list[str]:
    return [each["uid"] for each in plan["spec"].get("victims", ())]


def _has_ended(plan: dict[str, Any]) -> bool:
    return plan.get("status", {}).get("phase") in ENDED


def _is(body: dict[str, Any], kind: str) -> bool:
    return any(
        each["type"] == kind and each["status"] == "True"
        for each in body.get("status", {}).get("conditions", ())
    )


def _holds(body: dict[str, Any]) -> bool:
    return _is(body, "QuotaReserved") and not _is(body, "Finished")


def _is_preempted(body: dict[str, Any]) -> bool:
    return any(
        (each["type"], each["status"], each["reason"]) == ("Evicted", "True", "Preempted")
        for each in body.get("status", {}).get("conditions", ())
    )


def _since(body: dict[str, Any], kind: str) -> str:
    """When the condition became so, as the object has it."""
    return next(
        str(each["lastTransitionTime"]) for each in body["status"]["conditions"] if each["type"] == kind
    )


def _preemptor_of(victim: dict[str, Any]) -> str:
    """The UID in the message."""
    said = next(each["message"] for each in victim["status"]["conditions"] if each["type"] == "Evicted")
    found = PREEMPTOR.search(said)
    return found[1] if found is not None else ""


def _cpu(body: dict[str, Any]) -> int:
    (pods,) = body["spec"]["podSets"]
    return int(pods["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def _priority(body: dict[str, Any]) -> int:
    return int(body["spec"]["priority"])
