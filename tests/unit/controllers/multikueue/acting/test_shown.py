"""When the Job here gets the status of the Job there."""

from __future__ import annotations

import pytest

from api.jobs import JobStatus, TemplatedJob, TemplatedJobSpec
from api.meta import Condition, ObjectMeta
from controllers.multikueue.acting.shown import EVERY_SECONDS, Shown
from controllers.multikueue.life.seen import RemoteJob
from tests.kit.clock import ManualClock

KEY = "n/w"
START = "2026-01-01T00:00:00Z"


def here(*, suspend: bool = False, uid: str = "here") -> TemplatedJob:
    return TemplatedJob(ObjectMeta("j", "n", uid), TemplatedJobSpec(suspend=suspend))


def there(version: str, *conditions: str, uid: str = "there", active: int = 1) -> RemoteJob:
    status = JobStatus(
        active=active,
        start_time=START,
        conditions=[Condition(type=each, status="True", reason="", message="") for each in conditions],
    )
    return RemoteJob(namespace="n", name="j", uid=uid, version=version, status=status)


def shown(clock: ManualClock, remote: RemoteJob | None, **job: object) -> Shown:
    made = Shown(clock)
    made.shows(KEY, here(**job), remote)  # type: ignore[arg-type]  # as `here` has them
    return made


def test_numbers_wait_for_five_seconds() -> None:
    clock = ManualClock()
    shows = shown(clock, there("1"))
    assert shows.is_shown(KEY, here(), there("1"))
    assert shows.is_shown(KEY, here(), there("2", active=3))
    clock.advance(EVERY_SECONDS)
    assert not shows.is_shown(KEY, here(), there("2", active=3))
    assert shows.is_shown(KEY, here(), there("1"))


def test_the_end_a_condition_and_the_first_pod_are_shown_at_once() -> None:
    clock = ManualClock()
    assert not shown(clock, there("1")).is_shown(KEY, here(), there("2", "Complete"))
    assert not shown(clock, there("1", "Complete")).is_shown(KEY, here(), there("2", "Complete"))
    assert not shown(clock, there("1")).is_shown(KEY, here(), there("2", "Suspended"))
    assert not shown(clock, there("1", active=0)).is_shown(KEY, here(), there("2"))
    assert shown(clock, there("1")).is_shown(KEY, here(), there("2", "SuccessCriteriaMet", active=0))


@pytest.mark.parametrize(
    "status",
    [
        JobStatus(active=1),
        JobStatus(terminating=1),
        JobStatus(start_time=START),
        JobStatus(conditions=[Condition("Suspended", "False", "", "", "")]),
    ],
)
def test_a_job_that_was_not_resumed_yet_shows_nothing(status: JobStatus) -> None:
    """That write was one of three a Job, and hindered the one that resumes it. An evicted Job shows how its pods
    end."""
    shows, waits = Shown(ManualClock()), here(suspend=True)
    assert shows.is_shown(KEY, waits, there("1"))
    assert not shows.is_shown(KEY, waits, there("1", "Complete"))
    assert not shows.is_shown(KEY, waits, None)
    assert not shows.is_shown(KEY, here(), there("1"))
    waits.status = status
    assert not shows.is_shown(KEY, waits, there("1"))


def test_another_job_is_shown_at_once() -> None:
    clock = ManualClock()
    shows = shown(clock, there("1"))
    assert not shows.is_shown(KEY, here(uid="other"), there("1"))
    ran = here(suspend=True)
    ran.status.active = 1
    assert not shows.is_shown(KEY, ran, there("1"))
    assert not shows.is_shown(KEY, here(), there("1", uid="other"))
    assert not shows.is_shown(KEY, here(), None)
    assert not Shown(clock).is_shown(KEY, here(), there("1"))
    assert shown(clock, None).is_shown(KEY, here(), None)
    shows.gone(KEY)
    assert not shows.is_shown(KEY, here(), there("1"))
