"""Opens the sessions of one connection, and keeps them. Each cluster has a task, a client and a backoff of its own: one
that hangs, is slow or floods delays no other one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from api.backoff import Backoff
from api.clock import Clock
from api.multikueue import SAME_CLUSTER
from controllers.multikueue.clusters.activity import CONNECTED, Activity
from controllers.multikueue.clusters.addresses import AddressGuard
from controllers.multikueue.clusters.client import Line, WorkerClient, opened
from controllers.multikueue.clusters.connection import Connection, Session
from controllers.multikueue.clusters.hooks import Hooks
from controllers.multikueue.clusters.kubeconfigs import Access, KubeconfigError
from controllers.multikueue.clusters.origin_lease import IN_USE, TIMES, OriginInUseError, OriginLease
from controllers.multikueue.clusters.probe import NOT_SERVED, probe
from controllers.multikueue.clusters.reach import AWAY_SECONDS
from controllers.multikueue.clusters.seeing import Seeing
from controllers.multikueue.clusters.tasks import first_end
from controllers.multikueue.configuration import MultiKueueConfiguration
from kube.errors import ApiError
from kube.lease import Observed
from kube.sender import Sender
from runtime.terms.term import Term

__all__ = ["AccessOf", "Connecting", "Shared"]

log = structlog.get_logger(__name__)

BACKOFF: Final = Backoff(1.0, 30.0)
LISTED_SECONDS: Final = 120.0
"""How long all lists of a new session may take."""
LOOK_SECONDS: Final = 0.5
"""Between two looks whether the session can go on."""
FILE_SECONDS: Final = 5.0
"""Between two looks whether a kubeconfig file has changed."""
PROBES: Final = Backoff(30.0, 600.0)
"""Between two probes of a cluster that does not honour gates: its quota controller may have been away."""

AccessOf = Callable[[], Awaitable[Access]]
"""The kubeconfig as it is now. Raises KubeconfigError."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What all connections of a term share."""

    settings: MultiKueueConfiguration
    manager: str
    """The UID of kube-system here."""
    term: Term
    clock: Clock
    hooks: Hooks
    leases: dict[str, str] = field(default_factory=dict)
    """By the UID of the Lease there: the name of the cluster that has a session."""


class _FaultError(Exception):
    """The session cannot go on."""


class _SameClusterError(Exception):
    """Another MultiKueueCluster leads to the same cluster. Both would write to the same copies, one against the
    other."""


class Connecting:
    """What connects to one cluster."""

    def __init__(
        self, connection: Connection, shared: Shared, access_of: AccessOf, changed: Callable[[str], None]
    ) -> None:
        """`changed` gets the cluster's name when one of its conditions has changed."""
        self._connection, self._shared = connection, shared
        self._access_of, self._changed = access_of, changed
        self._observed = Observed(TIMES)
        """What this process has seen of the Lease there."""
        self._source = asyncio.Event()
        self._doubts_gates = False
        """Whether the last probe said that the cluster no longer honours gates: its quota controller may be about to
        start."""
        self._is_back = asyncio.Event()
        """Set when the cluster answers again after a request that got no answer."""
        self._misses = 0
        """Requests that got no answer."""
        self.is_removed = False
        """Whether the MultiKueueCluster is gone: then the origin is given back when `run` ends."""

    def source_changed(self) -> None:
        """The kubeconfig may be another one."""
        self._source.set()

    async def run(self) -> None:
        """Connect again and again, until cancelled."""
        failures = 0
        while True:
            self._source.clear()
            began = self._shared.clock.monotonic()
            try:
                activity = await self._attempt()
            finally:
                self._connection.ended()
            if activity is None:
                failures = 0
                continue
            heard_since = self._connection.silent < self._shared.clock.monotonic() - began
            failures = 1 if heard_since and self._was_active else failures + 1
            wait = BACKOFF.delay(failures)
            next_attempt = self._shared.clock.wall() + wait
            self._say(replace(activity, attempts=failures, next_attempt=next_attempt))
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._source.wait()
                    failures = 0

    async def _attempt(self) -> Activity | None:
        """One session, to its end. Returns why it could not begin or go on; None if the kubeconfig is another one."""
        self._was_active = False
        try:
            access = await self._access_of()
            guard = AddressGuard(self._shared.settings.allowed_networks)
            async with opened(access, guard, self._shared.clock) as line:
                await self._session(line)
        except KubeconfigError as error:
            return Activity.unloaded(error.reason, error.message)
        except OriginInUseError as error:
            return Activity.unconnected(str(error), IN_USE)
        except _SameClusterError as error:
            return Activity.unconnected(str(error), SAME_CLUSTER)
        except ApiError as error:
            return Activity.unconnected(error.message)
        except _FaultError as error:
            return Activity.unconnected(str(error))
        except (
            Exception
        ):  # a cluster that was taken over may say anything: its condition must not stay Active
            log.exception("a connection failed, and begins anew", cluster=self._connection.name)
            return Activity.unconnected(
                "it answers what no API server does, or there is a fault here: see the log"
            )
        return None

    async def _session(self, line: Line) -> None:
        shared, name = self._shared, self._connection.name
        origin, clock = shared.settings.origin, shared.clock
        client = WorkerClient(line, name)
        # What fails is decided anew. A repetition could come when it is no longer right.
        sender = Sender(client, attempts=1, fence=shared.term)
        # The Lease has a client of its own: its requests do not wait for others.
        lease = OriginLease(
            WorkerClient(line, name), origin, shared.manager, shared.term, clock, self._observed
        )
        try:
            await lease.take()
            self._claim(lease.uid)
            self._connection.heard()
            session = Session(line, client, sender, Seeing(client, origin, shared.hooks, clock))
            self._connection.listen_to(session.seeing)
            await first_end(
                session.seeing.run(),
                lease.keep(self._heard, self._missed),
                self._catch_up(session),
                self._follow_source(line),
                self._watch_over(session),
                self._serve(session),
            )
        finally:
            self._connection.listen_to(None)
            self._connection.ended()
            is_ours = shared.leases.get(lease.uid, name) == name
            if is_ours:
                shared.leases.pop(lease.uid, None)
            if self.is_removed and is_ours:
                with suppress(ApiError):
                    await lease.release()

    def _heard(self) -> None:
        self._connection.heard()
        if self._connection.is_doubtful:
            self._is_back.set()

    def _missed(self) -> None:
        self._misses += 1
        self._connection.doubt()

    async def _catch_up(self, session: Session) -> None:
        """Each time that it is back: believe what is seen only once it is as new as the API server."""
        while True:
            await self._is_back.wait()
            self._is_back.clear()
            if not self._connection.is_doubtful:
                continue
            misses = self._misses
            log.info("a request was lost: it is watched anew", cluster=self._connection.name)
            await session.seeing.renew()
            if misses == self._misses:
                self._connection.trust()

    def _claim(self, uid: str) -> None:
        """Raises _SameClusterError."""
        name = self._connection.name
        other = self._shared.leases.setdefault(uid, name) if uid else name
        if other != name:
            raise _SameClusterError(f"it is the same cluster as MultiKueueCluster {other}")

    async def _serve(self, session: Session) -> None:
        """Let others use the session once all was listed. Probe again while gates are not honoured."""
        try:
            async with asyncio.timeout(LISTED_SECONDS):
                await asyncio.gather(session.seeing.wait_listed(), self._probe(session))
        except TimeoutError:
            raise _FaultError("lists of its objects take too long") from None
        self._connection.adopt(session)
        self._was_active = True
        self._say(CONNECTED)
        vain = 1
        while True:
            await asyncio.sleep(PROBES.delay(vain))
            vain = 1 if self._doubts_gates or self._connection.honours_gates else vain + 1
            if self._doubts_gates or not self._connection.honours_gates:
                await self._probe(session)

    async def _probe(self, session: Session) -> None:
        shared = self._shared
        sender = Sender(session.client, fence=shared.term)
        probed = await probe(session.client, sender, shared.settings.origin, shared.clock)
        is_new = not probed.honours and probed.reason != NOT_SERVED and self._connection.honours_gates
        self._doubts_gates = is_new and not self._doubts_gates
        if self._doubts_gates:
            return  # otherwise its waiting copies would be deleted
        if probed != self._connection.probed:
            self._connection.probed = probed
            self._changed(self._connection.name)
            self._connection.look()

    async def _watch_over(self, session: Session) -> None:
        """Raises what ends the session."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._connection.silent > AWAY_SECONDS:
                raise _FaultError(f"no word from it for {AWAY_SECONDS:.0f} s")
            if session.seeing.is_behind():
                log.info("a watch is behind: it is watched anew", cluster=self._connection.name)
                self._connection.watch_anew()
            if fault := session.line.excess or session.seeing.fault():
                raise _FaultError(fault)

    async def _follow_source(self, line: Line) -> None:
        """Use a new token in place. Returns when a new session is needed. Raises KubeconfigError."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(FILE_SECONDS):
                    await self._source.wait()
            self._source.clear()
            access = await self._access_of()
            if access == line.access:
                continue
            if not access.differs_in_token_only(line.access):
                log.info("another kubeconfig", cluster=self._connection.name)
                return
            log.info("another token", cluster=self._connection.name)
            line.use_token(access.token)

    def _say(self, activity: Activity) -> None:
        if activity != self._connection.activity:
            self._connection.activity = activity
            log.info(
                "connection",
                cluster=self._connection.name,
                reason=activity.reason,
                message=activity.message,
            )
            self._changed(self._connection.name)
        self._connection.look()
