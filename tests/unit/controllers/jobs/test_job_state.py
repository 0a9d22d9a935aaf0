"""What is read from a Job."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.jobs.job_state import finished, is_mutable, nothing_runs, pods_at_once, pods_needed
from tests.kit.jobs import condition, job, read_job


@pytest.mark.parametrize(
    ("spec", "at_once"),
    [
        ({}, 2),
        ({"parallelism": 5}, 2),
        ({"parallelism": None, "completions": None}, 1),
        ({"parallelism": 5, "completions": None}, 5),
        ({"parallelism": 0}, 0),
    ],
)
def test_pods_at_once(spec: Any, at_once: int) -> None:
    assert pods_at_once(read_job(job(**spec))) == at_once


@pytest.mark.parametrize(
    ("spec", "status", "needed"),
    [
        ({"parallelism": 3, "completions": 6}, {"succeeded": 3}, 3),
        ({"parallelism": 3, "completions": 6}, {"succeeded": 5}, 1),
        ({"parallelism": 3, "completions": None}, {"succeeded": 2}, 3),
        (
            {"parallelism": 4, "completions": 4, "completionMode": "Indexed"},
            {"succeeded": 2, "completedIndexes": "0,2", "failedIndexes": "3"},
            1,
        ),
        (
            {"parallelism": 9, "completions": 9, "completionMode": "Indexed"},
            {"completedIndexes": "0-3,5,7-8"},
            2,
        ),
    ],
    ids=["many are left", "one is left", "any success ends it", "indexes", "ranges"],
)
def test_pods_that_still_need_quota(spec: Any, status: Any, needed: int) -> None:
    body = job(**spec)
    body["status"] |= status
    assert pods_needed(read_job(body)) == needed


@pytest.mark.parametrize(
    ("spec", "status", "ended", "mutable"),
    [
        ({}, {}, True, True),
        ({"suspend": False}, {}, False, False),
        ({}, {"active": 1}, False, False),
        ({}, {"terminating": 1}, False, False),
        ({}, {"startTime": "2026-01-01T00:00:00Z"}, True, False),
        ({}, {"startTime": "2026-01-01T00:00:00Z", "conditions": []}, False, False),
        ({}, {"conditions": []}, True, False),
    ],
    ids=[
        "new",
        "resumed",
        "active",
        "terminating",
        "started",
        "the controller has not seen it",
        "never seen",
    ],
)
def test_when_nothing_runs_and_when_the_template_may_change(
    spec: Any, status: Any, ended: bool, mutable: bool
) -> None:
    body = job(**spec)
    body["status"] |= status
    assert (nothing_runs(read_job(body)), is_mutable(read_job(body))) == (ended, mutable)


def test_how_a_job_ends() -> None:
    body = job()
    assert finished(read_job(body)) is None
    body["status"]["conditions"] = [
        condition("Complete", message="Reached expected number of succeeded pods")
    ]
    assert finished(read_job(body)) == ("Succeeded", "Reached expected number of succeeded pods")
    body["status"]["conditions"] = [condition("Failed"), condition("Complete", "False")]
    assert finished(read_job(body)) == ("Failed", "Job failed")
