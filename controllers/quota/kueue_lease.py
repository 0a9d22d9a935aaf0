"""Whether Kueue manages the Workloads of this cluster: two managers would give the same quota away twice.

Kueue's managers elect a leader by a Lease. Its name can be configured, and so can the namespace and the election. So a
fresh write of Kueue's own field manager on a Workload counts, too. One on a copy does not: Kueue's manager of several
clusters writes it from elsewhere.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import msgspec
import structlog

from api.backoff import Backoff
from api.clock import Clock
from api.kueue import API_VERSION
from api.meta import List, ObjectMeta, Struct
from api.multikueue import ORIGIN_LABEL
from api.times import parse_rfc3339
from api.workloads import Workload
from controllers.quota.metrics import STANDS_ASIDE
from kube.client import ApiClient, get_or_none
from kube.errors import ApiError
from kube.recorder import EventRecorder, Reference
from kube.retry import Retry
from quota.state.workloads import key_of
from runtime.mirror.resources import KUEUE

__all__ = ["Alone", "LeaseSeen", "judge"]

log = structlog.get_logger(__name__)

LEASES: Final = "coordination.k8s.io/v1"
LOOK_SECONDS: Final = 3.0
SURE_SECONDS: Final = 20.0
"""A Lease that a live manager holds is renewed within this time, or within the duration that it names. Kueue's default
is 15 seconds."""
FRESH_SECONDS: Final = 60.0
"""A write of Kueue's field manager that is younger than this shows that it manages."""
FIELD_MANAGERS: Final = frozenset({"kueue-admission"})
BACKOFF: Final = Backoff(1.0, 10.0)


class LeaseSpec(Struct):
    """coordination.k8s.io/v1 LeaseSpec, in part."""

    holder_identity: str | None = None
    renew_time: str | None = None
    lease_duration_seconds: int | None = None


class Lease(Struct):
    """coordination.k8s.io/v1 Lease, in part."""

    metadata: ObjectMeta
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)


class ManagedFields(Struct):
    """meta/v1 ManagedFieldsEntry, in part."""

    manager: str = ""
    time: str | None = None


class Managed(Struct):
    """The part of an object's metadata that says who wrote it."""

    uid: str = ""
    labels: dict[str, str] | None = None
    managed_fields: list[ManagedFields] | None = None


class ManagedObject(Struct):
    """An object of any kind."""

    metadata: Managed


@dataclass(frozen=True, slots=True)
class LeaseSeen:
    """A Lease as it was seen last."""

    version: str
    """holder and renewTime, as texts."""
    since: float
    """When it was first seen so, in monotonic seconds."""
    renewed: bool
    """Whether it was seen to change."""


def judge(
    before: LeaseSeen | None, holder: str, renewed: str, now: float, seconds: float = SURE_SECONDS
) -> tuple[LeaseSeen, bool | None]:
    """What is known of a Lease now, and whether somebody holds it: None as long as nobody can know.

    Time stamps of others are not compared with our clock: a Lease is held while it is seen to change. `now` is in
    monotonic seconds. A holder that lives renews it within `seconds`.
    """
    version = f"{holder} {renewed}"
    if before is None:
        seen = LeaseSeen(version, now, renewed=False)
    elif before.version != version:
        seen = LeaseSeen(version, now, renewed=True)
    else:
        seen = before
    if not holder:
        return seen, False
    if now - seen.since >= seconds:
        return seen, False
    return seen, True if seen.renewed else None


class Alone:
    """Looks whether Kueue manages."""

    def __init__(self, client: ApiClient, name: str, clock: Clock) -> None:
        """`name`: of Kueue's Lease, in any namespace."""
        self._client, self._name, self._clock = client, name, clock
        self._seen: dict[tuple[str, str], LeaseSeen] = {}
        self._suspects: dict[str, None] = {}
        """Keys of Workloads that somebody else has admitted."""
        self._stirred = asyncio.Event()
        self._about: Reference | None = None
        """What shows that Kueue manages."""
        self.problem = ""
        """Why the quota controller does not act although this process leads; empty if it may, or does not lead."""

    async def wait(self, recorder: EventRecorder) -> None:
        """Wait until it is sure that Kueue does not manage. An event on what shows that Kueue manages says so."""
        try:
            await self._wait(recorder)
        finally:
            self._says("")

    async def _wait(self, recorder: EventRecorder) -> None:
        retry, said = Retry(BACKOFF), ""
        self._says("it is not known yet whether Kueue manages Workloads")
        while True:
            try:
                self._says(await self._look())
                retry.succeeded()
            except ApiError as error:
                self._says(f"it is not known whether Kueue manages Workloads: {error}")
                log.warning("the quota controller does not act", problem=self.problem)
                await asyncio.sleep(retry.failed(error))
                continue
            if not self.problem:
                return
            if self.problem != said:
                said = self.problem
                log.warning("the quota controller does not act", problem=self.problem)
                if self._about is not None:
                    recorder.event(self._about, "Warning", "KueueManages", "StandAside", self.problem)
            await asyncio.sleep(LOOK_SECONDS)

    def _says(self, problem: str) -> None:
        self.problem = problem
        STANDS_ASIDE.set(bool(problem))

    def suspect(self, workload: Workload) -> None:
        """Somebody else has admitted the Workload. Whoever that is, it is looked at."""
        self._suspects[key_of(workload)] = None
        self._stirred.set()

    async def until_kueue_manages(self, running: asyncio.Task[None]) -> None:
        """Wait until Kueue begins to manage. Raises what `running` raises, if that ends before."""
        while True:
            looking = asyncio.create_task(self._stirred.wait())
            await asyncio.wait({running, looking}, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            looking.cancel()
            if running.done():
                running.result()
            self._stirred.clear()
            try:
                problem = await self._look()
            except ApiError as error:
                log.info("it is not known whether Kueue manages", error=str(error))
                continue
            if problem:
                log.warning("the quota controller stops to act", problem=problem)
                return

    async def _look(self) -> str:
        """Why the quota controller must not act; empty if nothing speaks against it. Raises ApiError."""
        self._about = None
        held = [await self._look_at(lease) for lease in await self._leases()]
        for problem in held:
            if problem:
                return problem
        return await self._look_at_workloads()

    async def _look_at(self, lease: Lease) -> str:
        key = lease.metadata.namespace, lease.metadata.name
        self._seen[key], is_held = judge(
            self._seen.get(key),
            lease.spec.holder_identity or "",
            lease.spec.renew_time or "",
            self._clock.monotonic(),
            max(SURE_SECONDS, float(lease.spec.lease_duration_seconds or 0)),
        )
        place = f"Lease {key[0]}/{key[1]}"
        if is_held is None:
            return f"{place} names {lease.spec.holder_identity}, and it is not known yet whether that lives"
        if not is_held:
            return ""
        self._about = Reference.of(LEASES, "Lease", lease.metadata)
        return f"Kueue manages Workloads: {lease.spec.holder_identity} holds {place}"

    async def _leases(self) -> list[Lease]:
        query = {"fieldSelector": f"metadata.name={self._name}"}
        body = await self._client.request("GET", f"/apis/{LEASES}/leases", query=query)
        return msgspec.json.decode(body, type=List[Lease]).items

    async def _look_at_workloads(self) -> str:
        """Workloads that somebody else has admitted are asked who wrote to them."""
        while self._suspects:
            key = next(iter(self._suspects))
            namespace, _, name = key.partition("/")
            body = await get_or_none(self._client, f"{KUEUE}/namespaces/{namespace}/workloads/{name}")
            del self._suspects[key]
            if body is not None and (manager := self._manager(body)):
                uid = msgspec.json.decode(body, type=ManagedObject).metadata.uid
                self._about = Reference(API_VERSION, "Workload", namespace, name, uid)
                return f"Kueue manages Workloads: {manager} wrote to {key} less than a minute ago"
        return ""

    def _manager(self, body: bytes) -> str:
        """The field manager of a fresh write of Kueue here; empty if Kueue has not written.

        A manager of several clusters (MultiKueue) writes to its copies from elsewhere, under the same name.
        """
        meta = msgspec.json.decode(body, type=ManagedObject).metadata
        if ORIGIN_LABEL in (meta.labels or {}):
            return ""
        fresh = [each.manager for each in meta.managed_fields or () if self._is_fresh(each.time)]
        return next((each for each in fresh if each in FIELD_MANAGERS), "")

    def _is_fresh(self, time: str | None) -> bool:
        try:
            return time is not None and self._clock.wall() - parse_rfc3339(time) < FRESH_SECONDS
        except ValueError:
            return False
