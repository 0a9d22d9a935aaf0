"""Which Jobs fail for good when their pods are evicted (batch/v1: backoffLimit, podFailurePolicy)."""

from __future__ import annotations

from typing import Any

import pytest

from api.jobs import Job
from nodes.answers.failing_jobs import why_it_fails
from tests.kit.objects import make

IGNORE = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
COUNT = {"action": "Count", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
FAIL = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}
FAIL_INDEX = {"action": "FailIndex", "onPodConditions": [{"type": "DisruptionTarget"}]}
OTHER = {"action": "FailJob", "onPodConditions": [{"type": "ConfigIssue"}]}
NOT_TRUE = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "False"}]}
EXIT = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}


def job(*rules: dict[str, Any], failed: int = 0, labels: dict[str, str] | None = None, **spec: Any) -> Job:
    policy = {"podFailurePolicy": {"rules": list(rules)}} if rules else {}
    body = {
        "metadata": {"name": "j", "labels": labels},
        "spec": {**policy, **spec},
        "status": {"failed": failed},
    }
    return make(Job, body)


@pytest.mark.parametrize(
    ("given", "pods", "why"),
    [
        (job(), 6, ""),
        (job(), 7, "it loses 7 pods, and its backoffLimit is 6"),
        (job(failed=1), 6, "it loses 6 pods, 1 failed before, and its backoffLimit is 6"),
        (job(backoffLimit=0), 1, "it loses 1 pod, and its backoffLimit is 0"),
        (job(backoffLimit=8), 8, ""),
        (job(IGNORE), 100, ""),
        (job(OTHER, NOT_TRUE, EXIT, IGNORE), 100, ""),
        (job(COUNT, IGNORE), 7, "it loses 7 pods, and its backoffLimit is 6"),
        (job(FAIL), 1, "its podFailurePolicy has FailJob for DisruptionTarget"),
        (job(IGNORE, FAIL), 1, ""),
        (job(backoffLimitPerIndex=1), 100, ""),
        (job(backoffLimitPerIndex=0), 1, "the index of each evicted pod fails at once"),
        (job(FAIL_INDEX, backoffLimitPerIndex=3), 1, "the index of each evicted pod fails at once"),
        (job(backoffLimit=0, labels={"kueue.x-k8s.io/queue-name": "q"}), 9, ""),
    ],
)
def test_who_fails(given: Job, pods: int, why: str) -> None:
    assert why_it_fails(given, pods) == why
