"""The connection to one worker cluster, through all its sessions.

`connecting` opens its sessions, and keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from api.clock import Clock
from controllers.multikueue.clusters.activity import Activity
from controllers.multikueue.clusters.client import Line, WorkerClient
from controllers.multikueue.clusters.hooks import Hooks
from controllers.multikueue.clusters.objects import CopyObject, JobObject
from controllers.multikueue.clusters.probe import Probed
from controllers.multikueue.clusters.reach import Silence
from controllers.multikueue.clusters.seeing import Seeing
from controllers.multikueue.life.seen import Copy, Cost, Reach, RemoteJob
from controllers.multikueue.metrics import CONNECTIONS, LOSSES
from kube.client import ApiClient
from kube.errors import ApiError
from kube.sender import Sender

__all__ = ["Connection", "Session"]

NEVER_TRIED: Final = Activity.unconnected("not connected yet")
NOT_PROBED: Final = Probed(None, "NotTried", "there was no connection yet")


ANEW_SECONDS: Final = 5.0
"""The shortest time between two watches for this reason."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session in which all was listed."""

    line: Line
    client: WorkerClient
    sender: Sender
    seeing: Seeing


class Connection:
    """One worker cluster. What is known of it stays when a session ends, and is replaced once the next one has listed
    everything."""

    def __init__(self, name: str, lost_after: float, hooks: Hooks, clock: Clock) -> None:
        """`name`: of the MultiKueueCluster. `lost_after`: seconds of silence that make it lost. They begin now."""
        self.name = name
        self._hooks, self._clock = hooks, clock
        self._silence = Silence(clock, lost_after)
        self._session: Session | None = None
        """The session in which all was listed; None before."""
        self._seeing: Seeing | None = None
        """What was seen last, also in a session that has ended."""
        self._heard_by: Seeing | None = None
        """The views that are open, also while they list."""
        self.activity = NEVER_TRIED
        """For the condition Active."""
        self.probed = NOT_PROBED
        """For the condition of gates."""
        self.is_doubtful = False
        """Whether a request of this session got no answer, and the views have not been compared with the API server
        since: their streams may be lost without a sign."""
        self._watched = float("-inf")
        """When it was watched anew last."""
        self._told: tuple[object, ...] = ()

    # ---- the face

    @property
    def client(self) -> ApiClient:
        """For reads there. Raises ApiError (status 0) while there is no session."""
        return self._now().client

    @property
    def sender(self) -> Sender:
        """For writes there, fenced by the term. Raises ApiError (status 0) while there is no session."""
        return self._now().sender

    @property
    def reach(self) -> Reach:
        """Whether what is seen there is up to date."""
        if self._silence.matters:
            self._listen()
        return self._silence.reach(is_followed=self._session is not None and not self.is_doubtful)

    @property
    def why(self) -> str:
        """Why it is not connected; empty if it is."""
        if self.reach == "Connected":
            return ""
        if not self.activity.is_active:
            return self.activity.text
        return (
            "a request got no answer: what is seen of it may be old"
            if self.is_doubtful
            else "it does not answer"
        )

    @property
    def honours_gates(self) -> bool:
        """Whether its quota controller honours preemption gates. One that was not tried does not."""
        return self.probed.honours is True

    @property
    def is_prompt(self) -> bool:
        """Whether it answers within a second lately."""
        return self._session is not None and self._session.line.is_prompt

    def copy(self, key: str) -> Copy | None:
        """The copy of the Workload of that key (`namespace/name`), as it was seen last."""
        return self._seeing.copies.get(key) if self._seeing is not None else None

    def job(self, key: str, job_name: str) -> RemoteJob | None:
        """The Job there that uses the Workload of that key, or else the one of that name in its namespace."""
        return self._seeing.jobs.find(key, job_name) if self._seeing is not None else None

    def cost(self, key: str) -> Cost | None:
        """What the preemption for the Workload of that key would cost there."""
        return self._seeing.costs.get(key) if self._seeing is not None else None

    def copies(self) -> Iterator[Copy]:
        """All copies there, of any attempt and of any manager with our origin."""
        return iter(self._seeing.copies) if self._seeing is not None else iter(())

    def jobs(self) -> Iterator[RemoteJob]:
        """All Jobs there with our origin."""
        return iter(self._seeing.jobs) if self._seeing is not None else iter(())

    def apply_copy(self, answer: bytes) -> None:
        """Take the answer to a write of ours of a Workload, before the watch shows it."""
        if self._session is not None:
            with suppress(msgspec.DecodeError):  # the watch shows what it is
                seeing = self._session.seeing
                seeing.answered(seeing.copy_view, msgspec.json.decode(answer, type=CopyObject))

    def watch_anew(self) -> None:
        """An answer said what a watch has not shown: the watch may be lost without a sign."""
        now = self._clock.monotonic()
        if self._session is not None and now - self._watched >= ANEW_SECONDS:
            self._watched = now
            self._session.seeing.watch_anew()

    def apply_job(self, answer: bytes) -> None:
        """Take the answer to a write of ours of a Job, before the watch shows it."""
        if self._session is not None:
            with suppress(msgspec.DecodeError):
                seeing = self._session.seeing
                seeing.answered(seeing.job_view, msgspec.json.decode(answer, type=JobObject))

    def gone_copy(self, key: str, uid: str) -> None:
        """The copy of that UID is gone, as the answer to a deletion says."""
        if self._session is not None:
            self._session.seeing.gone(self._session.seeing.copy_view, key, uid)

    def gone_job(self, key: str, uid: str) -> None:
        """The Job of that key and UID is gone, as the answer to a deletion says."""
        if self._session is not None:
            self._session.seeing.gone(self._session.seeing.job_view, key, uid)

    def deleted(self, thing: Copy | RemoteJob, answer: bytes) -> None:
        """Take the answer to a deletion: the object, which waits for its finalizers, or a Status: it is gone."""
        is_job = isinstance(thing, RemoteJob)
        if b'"deletionTimestamp"' in answer:
            (self.apply_job if is_job else self.apply_copy)(answer)
        elif is_job:
            self.gone_job(f"{thing.namespace}/{thing.name}", thing.uid)
        else:
            self.gone_copy(f"{thing.namespace}/{thing.name}", thing.uid)

    # ---- for what connects (see `connecting`)

    def heard(self) -> None:
        """The cluster has answered just now."""
        self._silence.heard(self._clock.monotonic())

    def doubt(self) -> None:
        """A request got no answer."""
        self.is_doubtful = True
        self.look()

    def trust(self) -> None:
        """The views are as new as the API server."""
        self.is_doubtful = False
        self.look()

    @property
    def silent(self) -> float:
        """For how many seconds nothing was heard of it."""
        self._listen()
        return self._silence.seconds

    def listen_to(self, seeing: Seeing | None) -> None:
        """What its views bring is a word of the cluster. None: they have ended."""
        self._listen()
        self._heard_by = seeing

    def adopt(self, session: Session) -> None:
        """All was listed in this session. What was seen before is replaced."""
        before = self._seeing.keys() if self._seeing is not None else set()
        self._session, self._seeing = session, session.seeing
        session.seeing.is_current = True
        CONNECTIONS.labels(self.name).inc()
        for key in before | session.seeing.keys():
            self._hooks.workloads.changed(self.name, key)
        self.look()

    def ended(self) -> None:
        """The session is over. What was seen in it stays."""
        if self._session is not None:
            self._session.seeing.is_current = False
        self._session = None
        self.is_doubtful = False
        self.look()

    def look(self) -> None:
        """Tell others if the reach, or a property, is another one now."""
        now = (self.reach, self.why, self.honours_gates)
        if now != self._told:
            if self.reach == "Lost" and "Lost" not in self._told[:1]:
                LOSSES.labels(self.name).inc()
            self._told = now
            self._hooks.clusters.changed(self.name)

    def _listen(self) -> None:
        if self._heard_by is not None:
            self._silence.heard(self._heard_by.heard(self._clock.monotonic()))

    def _now(self) -> Session:
        if self._session is None:
            raise ApiError(0, "NotConnected", "there is no session with the cluster")
        return self._session
