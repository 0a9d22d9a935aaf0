"""What is said of a Job."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from api.foreign_owners import OwningJob
from api.waits import Wait
from nodes.answers.creators import Event
from nodes.answers.job_waits import why_job_waits
from tests.kit.objects import make, pod

OWNER = ("batch/v1", "Job", "train")


def ask(
    spec: dict[str, Any],
    *pods: Pod,
    status: dict[str, Any] | None = None,
    events: tuple[Event, ...] = (),
    **meta: Any,
) -> Wait:
    body = {
        "metadata": {"name": "train", "namespace": "default", "uid": "uid-train", **meta},
        "spec": {"parallelism": 2, "completions": 2, **spec},
        "status": status or {},
    }
    return why_job_waits(make(OwningJob, body), pods, events)


def one(name: str, **more: Any) -> Pod:
    return pod(name, owner=OWNER, **more)


QUEUED: dict[str, Any] = {"labels": {"kueue.x-k8s.io/queue-name": "main"}}
FAILED = {"conditions": [{"type": "Failed", "status": "True", "message": "BackoffLimitExceeded"}]}


@pytest.mark.parametrize(
    ("answer", "state", "waits", "words"),
    [
        (ask({}, status=FAILED), "Failed", False, "BackoffLimitExceeded"),
        (ask({}, deletionTimestamp="2026-01-01T00:00:00Z"), "Terminating", False, "being deleted"),
        (ask({"suspend": True}), "Suspended", True, "is in no queue"),
        (ask({"suspend": True}, **QUEUED), "Suspended", True, "waits in LocalQueue main"),
        (ask({}, one("a", node="n"), one("b", node="n")), "Running", False, "every pod of it has a node"),
        (ask({}, one("a", node="n"), one("b")), "PodsWait", True, "1 of 2 pods have no node"),
        (ask({}, one("a", node="n")), "PodsMissing", True, "1 of 2 exist"),
        (ask({}, one("a", node="n"), status={"succeeded": 1}), "Running", False, "1 of 1 exist"),
    ],
)
def test_the_state_of_a_job(answer: Wait, state: str, waits: bool, words: str) -> None:
    assert (answer.state, answer.waits) == (state, waits)
    assert words in answer.sentence


def test_a_pod_that_was_refused_is_told() -> None:
    event = make(
        Event,
        {
            "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {"kind": "Job", "name": "train", "uid": "uid-train"},
            "reason": "FailedCreate",
            "message": "exceeded quota",
        },
    )
    assert ask({}, one("a"), events=(event,)).missing == (
        "Job default/train has 1 of 2 pods: exceeded quota",
    )


def test_a_job_that_an_eviction_would_end_is_told() -> None:
    assert ask({"parallelism": 6, "completions": 6}).notes == ()
    (note,) = ask({"parallelism": 7, "completions": 7}).notes
    assert "it loses 7 pods, and its backoffLimit is 6. A podFailurePolicy" in note
    assert ask({"parallelism": 7}, **QUEUED).notes == ()
    assert ask({"parallelism": 7, "completions": 7}, status=FAILED).notes == ()
