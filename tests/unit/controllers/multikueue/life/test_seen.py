"""What is kept of copies and Jobs."""

from __future__ import annotations

import pytest

from api.jobs import JobStatus
from api.meta import Condition
from controllers.multikueue.life.seen import Mark
from tests.kit.dispatched.seeing import ADMITTED, MARK, QUOTA_RESERVED, copy, job


def test_a_mark_is_read_as_it_was_written() -> None:
    assert Mark.read(str(MARK)) == MARK


@pytest.mark.parametrize("text", ["", "a", "a/b", "a//c", "/b/c", "a/b/"])
def test_another_form_is_no_mark(text: str) -> None:
    assert Mark.read(text) is None


def test_only_a_condition_that_is_true_counts() -> None:
    found = copy(ADMITTED, waits="Pending")
    assert (found.is_true(ADMITTED), found.is_true(QUOTA_RESERVED), found.is_true("Other")) == (
        True,
        False,
        False,
    )
    assert found.key == "team/train"


@pytest.mark.parametrize(
    ("suspended", "status", "runs"),
    [
        (True, JobStatus(), False),
        (False, JobStatus(), True),
        (True, JobStatus(active=1), True),
        (True, JobStatus(terminating=1), True),
        (True, JobStatus(start_time="2026-03-01T12:00:00Z"), True),
        (
            True,
            JobStatus(
                start_time="2026-03-01T12:00:00Z", conditions=[Condition("Suspended", "True", "", "", "")]
            ),
            False,
        ),
        (False, JobStatus(conditions=[Condition("Complete", "True", "", "", "")]), False),
        (False, JobStatus(conditions=[Condition("Failed", "True", "", "", "")]), False),
        (False, JobStatus(conditions=[Condition("FailureTarget", "True", "", "", "")]), True),
        (False, JobStatus(terminating=1, conditions=[Condition("Failed", "True", "", "", "")]), True),
    ],
)
def test_a_job_runs_while_a_pod_may_be_active_or_terminating(
    suspended: bool, status: JobStatus, runs: bool
) -> None:
    assert job(suspended=suspended, status=status).runs is runs
