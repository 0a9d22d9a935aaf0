"""Terms from a Lease: one process at a time may act."""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Final

import structlog
from msgspec import Meta

from api.clock import Clock
from api.validation import FieldError
from kube.errors import ApiError
from kube.lease import Held, LeaseLock
from runtime.metrics import LEADING
from runtime.terms.term import Term
from serving.sections import Seconds, Section

__all__ = ["LeaderElectionConfiguration", "LeaseTerms", "check_leader_election", "new_identity"]

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 1.0
"""Others look at the Lease so often: they see soon that it was released."""
REQUEST_SECONDS: Final = 5.0
SHORTEST_SECONDS: Final = 0.2
"""Between two attempts to renew, even if the first one took longer than the period."""
RELEASE_SECONDS: Final = 2.0
MOST_OF: Final = 0.75
MARGIN: Final = 0.2
"""A writer begins no write in this last part of the time that one renewal gives."""


class LeaderElectionConfiguration(Section):
    """Which of several processes acts. The names are those of kube-scheduler's `leaderElection`.

    leaderElect: false for a single process that never has a second one beside it. leaseDurationSeconds: how
    long others must not have seen a Lease renewed before they may take it. renewDeadlineSeconds: how long after the
    beginning of its last successful attempt a process acts if it cannot renew the Lease. retryPeriodSeconds: between
    two attempts. resourceNamespace, resourceName: the Lease.
    """

    leader_elect: bool = True
    lease_duration_seconds: Seconds = 15
    renew_deadline_seconds: Seconds = 10
    retry_period_seconds: Seconds = 2
    resource_namespace: Annotated[str, Meta(min_length=1)] = "reprieve-system"
    resource_name: Annotated[str, Meta(min_length=1)] = "reprieve"


def check_leader_election(settings: LeaderElectionConfiguration) -> None:
    """Raises FieldError for settings that do not go together."""
    if settings.lease_duration_seconds != round(settings.lease_duration_seconds):
        raise FieldError("leaderElection.leaseDurationSeconds", "is no whole number")
    if settings.renew_deadline_seconds > MOST_OF * settings.lease_duration_seconds:
        raise FieldError(
            "leaderElection.renewDeadlineSeconds",
            "is more than three quarters of leaderElection.leaseDurationSeconds",
        )
    if settings.retry_period_seconds > settings.renew_deadline_seconds / 2:
        raise FieldError(
            "leaderElection.retryPeriodSeconds", "is more than half of leaderElection.renewDeadlineSeconds"
        )


class LeaseTerms:
    """A term begins when the Lease is ours, and is put off with each renewal."""

    def __init__(self, lock: LeaseLock, clock: Clock) -> None:
        self._lock, self._times, self._clock = lock, lock.times, clock
        self._gauge = LEADING.labels(lock.name)

    @asynccontextmanager
    async def term(self) -> AsyncIterator[Term]:
        """See `runtime.terms.term.Terms`."""
        held = await self._take()
        margin = MARGIN * self._times.renew_deadline
        term = Term(held.number, self._clock, holder=self._lock.identity, end=held.until, margin=margin)
        renewing = asyncio.create_task(self._renew(held, term), name="renewing")
        # What acts may take its time to end, and does not act any longer.
        renewing.add_done_callback(lambda _: self._gauge.set(0))
        self._gauge.set(1)
        try:
            yield term
        finally:
            self._gauge.set(0)
            was_over = term.is_over
            term.end()
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            if not was_over:
                await self._release(held)

    async def follow(self) -> None:
        """See `runtime.terms.term.Terms`."""
        while True:
            with suppress(ApiError):
                await self._lock.look(REQUEST_SECONDS)
            await asyncio.sleep(LOOK_SECONDS)

    async def _take(self) -> Held:
        """Wait until the Lease is ours."""
        while True:
            try:
                await self._lock.look(REQUEST_SECONDS)
                held = await self._lock.take(REQUEST_SECONDS)
            except ApiError as error:
                log.warning("the Lease is not known", error=str(error))
                held = None
            if held is not None:
                return held
            free_in = self._lock.observed.free_in(self._clock.monotonic())
            await asyncio.sleep(min(LOOK_SECONDS, free_in) if free_in else LOOK_SECONDS)

    async def _renew(self, held: Held, term: Term) -> None:
        """Renew the Lease until somebody else has it, or until the term is over."""
        due = self._clock.monotonic() + self._times.retry_period
        while not term.is_over:
            await asyncio.sleep(
                min(max(SHORTEST_SECONDS, due - self._clock.monotonic()), term.seconds_left())
            )
            left, due = term.seconds_left(), self._clock.monotonic() + self._times.retry_period
            if not left:
                break
            try:
                renewed = await self._lock.renew(held, min(self._times.renew_deadline / 2, left))
            except ApiError as error:
                log.warning("the Lease was not renewed", error=str(error), seconds_left=round(left, 1))
                continue
            if renewed is None:
                log.warning("another process has the Lease")
                term.end()
                return
            held = renewed
            term.put_off(held.until)

    async def _release(self, held: Held) -> None:
        with suppress(ApiError, TimeoutError):
            async with asyncio.timeout(RELEASE_SECONDS):
                await self._lock.release(held, RELEASE_SECONDS)


def new_identity() -> str:
    """Another one for each start of a process. It begins with the host name: the name of the Pod."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"
