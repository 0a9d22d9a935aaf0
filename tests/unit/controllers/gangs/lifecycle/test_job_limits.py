"""What a Job bears: one row for each way in which it counts its failed pods."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.jobs import Job
from controllers.gangs.lifecycle.job_limits import why_job_stays

TARGET = {"type": "DisruptionTarget", "status": "True"}
IGNORES = {"action": "Ignore", "onPodConditions": [TARGET]}
OTHER = [{"type": "ConfigIssue", "status": "True"}]
CODES = {"containerName": "c", "operator": "In", "values": [42]}


def job(*rules: dict[str, Any], status: dict[str, Any] | None = None, **spec: Any) -> Job:
    """A Job as an API server sends it."""
    if rules:
        spec["podFailurePolicy"] = {"rules": list(rules)}
    return msgspec.convert({"metadata": {"name": "j"}, "spec": spec, "status": status or {}}, Job)


@pytest.mark.parametrize(
    ("given", "failures"),
    [
        (job(), [0] * 6),
        (job(backoffLimit=3, status={"failed": None}), [0] * 3),
        (job(backoffLimit=3, status={"failed": 1}), [0] * 2),
        (job(IGNORES, backoffLimit=0), [0] * 3),
        (job({"action": "Ignore", "onExitCodes": CODES}, IGNORES, backoffLimit=0), [0] * 3),
        (job({"action": "FailJob", "onPodConditions": OTHER}, IGNORES, backoffLimit=0), [0] * 3),
        (job({"action": "FailJob", "onPodConditions": [{**TARGET, "status": "False"}]}), [0] * 3),
        (job(backoffLimit=100, backoffLimitPerIndex=1), [0, 0]),
    ],
)
def test_pods_may_go(given: Job, failures: list[int]) -> None:
    assert why_job_stays(given, failures) == ""


@pytest.mark.parametrize(
    ("given", "failures", "why"),
    [
        (job(), [0] * 7, "bears 6 failed pods, and has 0 already"),
        (job(backoffLimit=3, status={"failed": 1}), [0] * 3, "bears 3 failed pods, and has 1 already"),
        (job(status={"succeeded": 1}), [0], "a pod of Job j has succeeded"),
        (job({"action": "FailJob", "onPodConditions": [TARGET]}), [0], "may fail the Job"),
        (job({"action": "FailJob", "onExitCodes": CODES}, IGNORES), [0], "may fail the Job"),
        (job({"action": "FailIndex", "onExitCodes": CODES}, IGNORES), [0], "may fail the Job"),
        (job({"action": "Count", "onPodConditions": [TARGET]}, IGNORES, backoffLimit=0), [0], "bears 0"),
        (job(backoffLimit=100, backoffLimitPerIndex=1), [0, 1], "an index of Job j"),
    ],
)
def test_pods_stay(given: Job, failures: list[int], why: str) -> None:
    assert why in why_job_stays(given, failures)
