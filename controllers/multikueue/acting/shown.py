"""Whose status each Job here shows, and when it is written anew.

The Job controller there writes a status for each step of a pod. What users and other controllers act upon is shown at
once: that it starts, its conditions, its end. Where only numbers have changed, they are written every five seconds at
most.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from api.clock import Clock
from api.jobs import TemplatedJob
from controllers.multikueue.life.seen import RemoteJob

__all__ = ["EVERY_SECONDS", "Shown"]

EVERY_SECONDS: Final = 5.0
FORECASTS: Final = frozenset({"SuccessCriteriaMet", "FailureTarget"})
"""Conditions that say which end comes."""


class _Facts(NamedTuple):
    """What is shown at once."""

    start_time: str | None
    conditions: frozenset[tuple[str, str]]
    """Types and statuses."""


class _Last(NamedTuple):
    """What was shown last."""

    job: tuple[str, bool, str]
    """UID of the Job here, whether it is suspended, and UID of the Job there."""
    version: str
    """Of the Job there."""
    facts: _Facts
    has_pods: bool
    at: float
    """Monotonic seconds."""


class Shown:
    """In one term. By key of a Workload."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: dict[str, _Last] = {}

    def is_shown(self, key: str, job: TemplatedJob, remote: RemoteJob | None) -> bool:
        """Whether the Job here shows the status of the Job there, or so nearly that it may wait (see
        EVERY_SECONDS)."""
        if remote is not None and not remote.has_ended and _rests(job):
            return True
        last = self._last.get(key)
        if last is None or last.job != _job(job, remote):
            return False
        if remote is None or last.version == remote.version:
            return True
        is_news = last.facts != _facts(remote) or (_has_pods(remote) and not last.has_pods)
        return not (is_news or remote.has_ended) and self._clock.monotonic() < last.at + EVERY_SECONDS

    def shows(self, key: str, job: TemplatedJob, remote: RemoteJob | None) -> None:
        """The Job here shows the status of the Job there. Ask again after EVERY_SECONDS."""
        version, facts = (
            (remote.version, _facts(remote)) if remote is not None else ("", _Facts(None, frozenset()))
        )
        has_pods = remote is not None and _has_pods(remote)
        self._last[key] = _Last(_job(job, remote), version, facts, has_pods, self._clock.monotonic())

    def gone(self, key: str) -> None:
        """There is no Workload of this key any longer."""
        self._last.pop(key, None)


def _job(job: TemplatedJob, remote: RemoteJob | None) -> tuple[str, bool, str]:
    return job.metadata.uid, job.spec.suspend is True, remote.uid if remote is not None else ""


def _rests(job: TemplatedJob) -> bool:
    """Whether the Job here is suspended, and shows nothing that runs or has run since."""
    status = job.status
    if job.spec.suspend is not True or status.active or status.terminating or status.start_time is not None:
        return False
    return all(each.status == "True" for each in status.conditions or () if each.type == "Suspended")


def _facts(remote: RemoteJob) -> _Facts:
    conditions = remote.status.conditions or ()
    said = frozenset((each.type, each.status) for each in conditions if each.type not in FORECASTS)
    return _Facts(remote.status.start_time, said)


def _has_pods(remote: RemoteJob) -> bool:
    return bool(remote.status.active)
