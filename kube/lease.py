"""One Lease (coordination.k8s.io/v1) that says which process may act.

Times in the Lease are for people. A process judges by its own monotonic clock: when it saw the Lease change last
(the rule of client-go's leader election). Between two processes this guarantees nothing if one of them stands still:
their writes are fenced as well (docs/decisions/0036).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from api.clock import Clock
from api.lease import Lease, LeaseSpec
from api.times import rfc3339_micro
from kube.client import JSON, MERGE_PATCH, ApiClient, get_or_none
from kube.errors import ApiError

__all__ = ["ADDRESS", "Held", "LeaseLock", "LeaseTimes", "Observed", "Record"]

ADDRESS: Final = "reprieve.dev/address"
"""The annotation with the address (HOST:PORT) at which the holder serves its peers."""
NOBODY: Final = "nobody"
"""The holder of a Lease that was created because there was none."""
API_VERSION: Final = "coordination.k8s.io/v1"
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds, with the names and defaults of client-go's leader election."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


class Record(NamedTuple):
    """A Lease as it was read: who holds it, and for how long. Two records differ if somebody renewed it."""

    holder: str
    """Empty if nobody holds it."""
    duration: float
    renewed: str
    transitions: int
    address: str
    """Of the holder. Empty if it has none."""
    version: str
    """The resourceVersion: a write carries it."""
    uid: str = ""
    """Of the object."""
    notes: Mapping[str, str] = NOTHING
    """All annotations: what the holder says of itself."""

    @property
    def content(self) -> tuple[str, float, str, int]:
        """What a renewal changes. Other writes, such as a label, prove no life of the holder."""
        return self.holder, self.duration, self.renewed, self.transitions


class Held(NamedTuple):
    """The Lease is ours."""

    number: int
    """Of the term. Higher than all that this process has seen. Numbers begin again where somebody deletes the Lease and
    no process is left that knew it. Only the holder tells terms apart then."""
    until: float
    """The term ends then, in monotonic seconds, if the Lease is not renewed before."""


class Observed:
    """What one process has seen of the Lease. Pure: it neither reads nor writes."""

    def __init__(self, times: LeaseTimes) -> None:
        self._times = times
        self.record: Record | None = None
        """As it was seen last; None if there is no Lease."""
        self._expires = float("-inf")
        """In monotonic seconds: before that, its holder may act."""
        self._highest = 0
        self._seen = float("-inf")

    def saw(self, record: Record | None, now: float) -> None:
        """The Lease was read."""
        self._seen = now
        if record is not None:
            self._highest = max(self._highest, record.transitions)
            if record.holder and (self.record is None or self.record.content != record.content):
                self._expires = now + max(record.duration, self._times.duration)
        if record is not None and not record.holder:
            self._expires = float("-inf")
        self.record = record

    def free_in(self, now: float) -> float:
        """Seconds until anybody may take the Lease; 0 if it is free now."""
        return max(0.0, self._expires - now)

    def is_known(self, now: float) -> bool:
        """Whether the Lease was read within its duration. Otherwise anybody may have taken it, and acted, meanwhile."""
        return now - self._seen < self._times.duration

    def next_number(self) -> int:
        """The number of a term that begins now."""
        return self._highest + 1


class LeaseLock:
    """Reads, takes, renews and releases the Lease. Errors of the API server are raised as ApiError."""

    def __init__(
        self,
        client: ApiClient,
        namespace: str,
        name: str,
        identity: str,
        times: LeaseTimes,
        clock: Clock,
        address: str = "",
        *,
        notes: Callable[[], Mapping[str, str]] = dict,
        at_once: bool = False,
    ) -> None:
        """`identity` must be another one for each start of a process, unless those processes exclude one another in
        another way. `notes`: further annotations, for people. Each write has them as they are then. `at_once`: where
        there is no Lease it is taken at once. A holder that does not know yet that it is gone finds that out when it
        renews it. That is enough where holders leave alone what is another one's."""
        self._client, self.name, self.identity, self._address = client, name, identity, address
        self.times, self._clock = times, clock
        self._collection = f"/apis/{API_VERSION}/namespaces/{namespace}/leases"
        self._path = f"{self._collection}/{name}"
        self._acquired = ""
        self.observed = Observed(times)
        self._notes, self._at_once = notes, at_once

    @property
    def holder(self) -> Record | None:
        """Who may act now, as far as this process knows; None if nobody may, or if it is this process.

        A process that cannot read the Lease does not see it renewed: then it is whoever had it last.
        """
        record = self.observed.record
        if record is None or record.holder in ("", NOBODY, self.identity):
            return None
        return record if self.observed.free_in(self._clock.monotonic()) or not self.in_touch else None

    @property
    def in_touch(self) -> bool:
        """Whether this process has read the Lease within its duration, and so knows what others may have done."""
        return self.observed.is_known(self._clock.monotonic())

    async def look(self, seconds: float) -> None:
        """Read the Lease. `seconds` is the limit for the request."""
        body = await get_or_none(self._client, self._path, seconds=seconds)
        self.observed.saw(_record(body) if body is not None else None, self._clock.monotonic())

    async def take(self, seconds: float) -> Held | None:
        """Take the Lease if it is free, or names us, by what was seen last. None if it is not ours afterwards.

        Where there is no Lease, its last holder may not know that yet. So it is created for nobody, and has to expire
        (but see `at_once`).
        """
        began = self._clock.monotonic()
        record = self.observed.record
        is_ours = record is not None and record.holder == self.identity
        if record is not None and not is_ours and self.observed.free_in(began):
            return None
        number = self.observed.next_number()
        self._acquired = rfc3339_micro(self._clock.wall())
        if record is None and not self._at_once:
            await self._write(NOBODY, number, seconds)
            return None
        if not await self._write(self.identity, number, seconds):
            return None
        return Held(number, began + self.times.renew_deadline)

    async def renew(self, held: Held, seconds: float) -> Held | None:
        """Renew it. None if it is no longer ours. Raises ApiError if the answer does not say.

        A Lease that somebody has deleted is created again. One that somebody has edited is ours as long as it names us.
        """
        began = self._clock.monotonic()
        if not await self._write(self.identity, held.number, seconds):
            await self.look(seconds)
            record = self.observed.record
            if record is not None and record.holder != self.identity:
                return None
            if not await self._write(self.identity, held.number, seconds):
                return held  # written by somebody once more: the next attempt decides
        return held._replace(until=began + self.times.renew_deadline)

    async def release(self, held: Held, seconds: float) -> None:
        """Let others take the Lease at once. Without effect if it is no longer ours."""
        record = self.observed.record
        if record is not None and record.holder == self.identity:
            await self._write("", held.number, seconds)

    async def _write(self, holder: str, number: int, seconds: float) -> bool:
        """Write the Lease, if nobody has written it since we read it; returns whether that was so."""
        record = self.observed.record
        spec = LeaseSpec(
            holder_identity=holder,
            lease_duration_seconds=max(1, round(self.times.duration)),
            acquire_time=self._acquired,
            renew_time=rfc3339_micro(self._clock.wall()),
            lease_transitions=number,
        )
        meta: dict[str, object] = {
            "name": self.name,
            "annotations": {ADDRESS: self._address, **self._notes()},
        }
        body: dict[str, object] = {"metadata": meta, "spec": msgspec.to_builtins(spec)}
        method, path, content_type = "PATCH", self._path, MERGE_PATCH
        if record is None:
            method, path, content_type = "POST", self._collection, JSON
            body |= {"apiVersion": API_VERSION, "kind": "Lease"}
        else:
            meta["resourceVersion"] = record.version
        try:
            answer = await self._client.request(
                method, path, body=msgspec.json.encode(body), content_type=content_type, seconds=seconds
            )
        except ApiError as error:
            is_gone = error.status == 404 and record is not None
            if is_gone:
                self.observed.saw(None, self._clock.monotonic())
            if is_gone or error.status == 409:
                return False
            raise
        self.observed.saw(_record(answer), self._clock.monotonic())
        return True


def _record(body: bytes) -> Record:
    try:
        lease = msgspec.json.decode(body, type=Lease)
    except msgspec.DecodeError as error:
        raise ApiError(0, "InvalidAnswer", f"the answer is no Lease: {error}") from error
    spec, meta = lease.spec or LeaseSpec(), lease.metadata
    return Record(
        spec.holder_identity or "",
        float(spec.lease_duration_seconds or 0),
        spec.renew_time or "",
        spec.lease_transitions or 0,
        (meta.annotations or {}).get(ADDRESS, ""),
        meta.resource_version,
        meta.uid,
        meta.annotations or NOTHING,
    )
