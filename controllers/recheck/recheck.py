"""Finds objects that were stored without a review. It checks all objects from time to time, and a condition has the
result.

If a kind has no conditions, an Event reports the fault. Nothing is kept between two checks. Two processes that check
at the same time find the same and write the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
import structlog

from api.clock import SYSTEM_CLOCK, Clock
from api.meta import Condition, ListMeta, ObjectMeta
from api.times import rfc3339_micro
from controllers.recheck.metrics import INVALID_OBJECTS
from kube.breath import Breath
from kube.client import ApiClient, get_or_none
from kube.conditions import ConditionWriter, Target
from kube.errors import ApiError
from kube.sender import Sender
from runtime.terms.term import Term
from schema import Object
from schema.verdict import Verdict
from serving.ops import Check

__all__ = ["VALID", "CheckedKind", "Rechecker"]

log = structlog.get_logger(__name__)

VALID: Final = "reprieve.dev/Valid"
"""The type of the condition."""
PAGE: Final = 100
MESSAGE: Final = 1024
"""The most characters in the report about an object."""
EVENTS: Final = "events.k8s.io/v1"
REPORTER: Final = "reprieve.dev/webhooks"
NOTE_BYTES: Final = 1024


class Page(msgspec.Struct):
    """A page of a list. The objects are not decoded further."""

    metadata: ListMeta
    items: list[Object]


@dataclass(frozen=True, slots=True)
class CheckedKind:
    """A kind whose stored objects are checked."""

    name: str
    plural: str
    group: str
    version: str
    has_conditions: bool
    """Whether the result is a condition. Otherwise a fault is reported by an Event."""

    @property
    def api_version(self) -> str:
        """The group and version, as in `apiVersion`."""
        return f"{self.group}/{self.version}"


class Rechecker:
    """Checks all stored objects of some kinds from time to time."""

    def __init__(
        self,
        client: ApiClient,
        kinds: Collection[CheckedKind],
        validate: Callable[[CheckedKind, Object], Verdict],
        facts: Check,
        *,
        seconds: float,
        excluded_namespaces: Collection[str] = (),
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`validate` gives the verdict on a stored object. `seconds` is the time between two checks of all objects.

        `facts` says what `validate` does not know yet; None if it knows everything. Until then nothing is checked.
        """
        self._client, self._kinds, self._validate = client, kinds, validate
        self._facts, self._seconds = facts, seconds
        self._excluded, self._clock = excluded_namespaces, clock

    @property
    def name(self) -> str:
        """See `Controller`."""
        return "recheck"

    def checks(self) -> Mapping[str, Check]:
        """See `Controller`."""
        return {"facts": self._facts}

    async def lead(self, term: Term) -> None:
        """Check all objects again and again, until the term ends."""
        try:
            while True:
                if self._facts() is None:
                    await self.sweep(term)
                    await asyncio.sleep(self._seconds * random.uniform(0.8, 1.2))  # noqa: S311 - spreads load
                else:
                    await asyncio.sleep(min(1.0, self._seconds))
        finally:
            INVALID_OBJECTS.clear()  # who leads next counts them

    async def sweep(self, term: Term) -> None:
        """Check all objects once."""
        sender = Sender(self._client, attempts=1, fence=term)  # the next sweep is another attempt
        reporter = _Reporter(sender, ConditionWriter(sender, clock=self._clock), self._clock)
        for kind in self._kinds:
            try:
                INVALID_OBJECTS.labels(kind.name).set(await self._sweep(kind, reporter))
            except (ApiError, msgspec.DecodeError) as error:
                log.warning("objects could not be checked", kind=kind.name, error=str(error))

    async def _sweep(self, kind: CheckedKind, reporter: _Reporter) -> int:
        """Check all objects of the kind. Returns how many are invalid."""
        invalid = 0
        async for each in self._all(kind):
            breath = Breath()
            verdict = self._validate(kind, each)
            invalid += not verdict.allowed
            if breath.is_due:
                await breath.take()
            await reporter.say(kind, each, verdict)
        return invalid

    async def _all(self, kind: CheckedKind) -> AsyncIterator[Object]:
        """Every object of the kind that API servers would ask about. Empty if the kind is not served."""
        query = {"limit": str(PAGE)}
        while True:
            body = await get_or_none(self._client, _collection(kind), query=query)
            if body is None:
                return
            page = msgspec.json.decode(body, type=Page)
            for each in page.items:
                if each["metadata"].get("namespace") not in self._excluded:
                    yield each
            if not page.metadata.continue_:
                return
            query["continue"] = page.metadata.continue_


class _Reporter:
    """Reports the results, in one term."""

    def __init__(self, sender: Sender, conditions: ConditionWriter, clock: Clock) -> None:
        self._sender, self._conditions, self._clock = sender, conditions, clock

    async def say(self, kind: CheckedKind, stored: Object, verdict: Verdict) -> None:
        """Write the condition if it has changed. An object that has always been valid gets no condition."""
        metadata = stored["metadata"]
        message = "; ".join(str(cause) for cause in verdict.causes)[:MESSAGE]
        if message:
            names = {"namespace": metadata.get("namespace", ""), "name": metadata["name"]}
            log.warning("a stored object is not valid", kind=kind.name, **names, causes=message)
        if not kind.has_conditions:
            if message:
                await self._warn(kind, metadata, message)
            return
        known = _conditions(stored)
        if not message and not known:
            return
        path = f"{_collection(kind, metadata.get('namespace'))}/{metadata['name']}"
        target = Target(path, kind.api_version, kind.name, msgspec.convert(metadata, ObjectMeta), known)
        status: Literal["True", "False"] = "False" if message else "True"
        reason, message = ("Invalid", message) if message else ("Valid", "the object is valid again")
        generation = target.metadata.generation
        try:
            await self._conditions.write(target, VALID, status, reason, message, generation=generation)
        except ApiError as error:
            log.warning("a condition could not be written", kind=kind.name, error=str(error))

    async def _warn(self, kind: CheckedKind, metadata: Object, message: str) -> None:
        """Send one Event for each fault. Its name comes from the fault, so API servers refuse the same Event a second
        time."""
        event = fault_event(kind, metadata, message, self._clock.wall())
        path = f"/apis/{EVENTS}/namespaces/{event['metadata']['namespace']}/events"
        try:
            await self._sender.send("event", "POST", path, body=msgspec.json.encode(event))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                log.warning("an event could not be written", kind=kind.name, error=str(error))


def fault_event(kind: CheckedKind, metadata: Object, message: str, seconds: float) -> Object:
    """An events.k8s.io/v1 Event of type Warning. It is in `default`, because kinds without conditions have no
    namespace.

    `seconds`: when the fault was found, since 1970.
    """
    regarding = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    fault = hashlib.sha256(f"{metadata['uid']} {message}".encode()).hexdigest()[:16]
    return {
        "apiVersion": EVENTS,
        "kind": "Event",
        "metadata": {"name": f"{metadata['name'][:230].rstrip('.-')}.{fault}", "namespace": "default"},
        "type": "Warning",
        "reason": "Invalid",
        "action": "Check",
        "note": message.encode()[:NOTE_BYTES].decode(errors="ignore"),
        "regarding": regarding,
        "reportingController": REPORTER,
        "reportingInstance": socket.gethostname()[:128],
        "eventTime": rfc3339_micro(seconds),
    }


def _conditions(stored: Object) -> list[Condition]:
    """The conditions of our type. Other conditions may have any shape, so they are not decoded."""
    conditions: list[Any] = (stored.get("status") or {}).get("conditions") or []
    return msgspec.convert([each for each in conditions if each.get("type") == VALID], list[Condition])


def _collection(kind: CheckedKind, namespace: str | None = None) -> str:
    parts = ["/apis", kind.group, kind.version]
    if namespace is not None:
        parts += ["namespaces", namespace]
    return "/".join([*parts, kind.plural])
