"""Why pods of a group do not exist: their creators, and events about them."""

from __future__ import annotations

from typing import Any

import pytest

from api.foreign_owners import OwningJob
from nodes.answers.creators import (
    Creator,
    Event,
    ReplicaSet,
    StatefulSet,
    creator_of_job,
    creator_of_set,
    why_missing,
)
from tests.kit.objects import make, pod

LABELS = {"reprieve.dev/pod-group": "gang"}
QUOTA = 'pods "train-0" is forbidden: exceeded quota: small'


def job(
    *, labels: dict[str, str] | None = None, conditions: list[dict[str, str]] | None = None, **spec: Any
) -> Creator:
    body = {
        "metadata": {"name": "train", "namespace": "default", "uid": "uid-train", "labels": labels},
        "spec": {"parallelism": 3, "completions": 3, "template": {"metadata": {"labels": LABELS}}, **spec},
        "status": {"conditions": conditions},
    }
    return creator_of_job(make(OwningJob, body))


def event(message: str, *, uid: str = "uid-train", when: str = "2026-01-01T00:00:00Z") -> Event:
    about = {"kind": "Job", "namespace": "default", "name": "train", "uid": uid}
    body = {
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": about,
        "reason": "FailedCreate",
        "message": message,
        "lastTimestamp": when,
    }
    return make(Event, body)


@pytest.mark.parametrize(
    ("creator", "events", "said"),
    [
        (job(), [], "Job default/train has 1 of 3 pods. Nothing that was read says why it has no more."),
        (job(parallelism=1), [], "Job default/train has all the pods that it wants: 1."),
        (job(suspend=True), [], "Job default/train is suspended."),
        (
            job(suspend=True, labels={"kueue.x-k8s.io/queue-name": "main"}),
            [],
            "Job default/train is suspended, and waits in LocalQueue main.",
        ),
        (job(conditions=[{"type": "Failed", "status": "True"}]), [], "Job default/train has ended (Failed)."),
        (job(), [event(QUOTA)], f"Job default/train has 1 of 3 pods: {QUOTA}"),
        (
            job(),
            [event("older"), event(QUOTA, when="2026-01-02T00:00:00Z")],
            f"Job default/train has 1 of 3 pods: {QUOTA}",
        ),
        (
            job(),
            [event(QUOTA, uid="of a former Job")],
            "Job default/train has 1 of 3 pods. Nothing that was read says why it has no more.",
        ),
    ],
)
def test_the_creator_says_why(creator: Creator, events: list[Event], said: str) -> None:
    pods = [
        pod("train-0", group="gang", owner=("batch/v1", "Job", "train")),
        pod("train-1", group="gang", owner=("batch/v1", "Job", "train"), phase="Failed"),
    ]
    assert why_missing("gang", pods, [creator], events, {}) == [said]


def test_a_creator_without_pods_is_known_by_its_template() -> None:
    assert why_missing("gang", [], [job(suspend=True)], [], {"uid-train": "it waits for quota."}) == [
        "Job default/train is suspended: it waits for quota."
    ]
    nobody = "No Job, ReplicaSet or StatefulSet that was read creates pods for it."
    assert why_missing("other", [], [job(suspend=True)], [], {}) == [nobody]


def test_an_owner_that_is_gone_is_named() -> None:
    members = [pod("train-0", group="gang", owner=("batch/v1", "Job", "train"))]
    (said,) = why_missing("gang", members, [], [], {})
    assert said == "Job default/train, which created train-0, does not exist. Its pods are not created again."
    others = [pod("ray-0", group="gang", owner=("ray.io/v1", "RayCluster", "ray"))]
    (said,) = why_missing("gang", others, [], [], {})
    assert said == "RayCluster default/ray creates pods of it. Objects of that kind are not read here."


@pytest.mark.parametrize("kind", [ReplicaSet, StatefulSet])
def test_sets_say_what_was_refused(kind: type[ReplicaSet]) -> None:
    failing = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": QUOTA}
    body = {
        "metadata": {"name": "web", "namespace": "default", "uid": "uid-web"},
        "spec": {"replicas": 2, "template": {"metadata": {"labels": LABELS}}},
        "status": {"conditions": [failing]},
    }
    creator = creator_of_set(make(kind, body))
    assert why_missing("gang", [], [creator], [], {}) == [
        f"{kind.__name__} default/web has 0 of 2 pods: {QUOTA}"
    ]


def test_only_the_first_causes_are_listed() -> None:
    members = [pod(f"p-{each}", group="gang", owner=("batch/v1", "Job", f"j-{each}")) for each in range(7)]
    assert why_missing("gang", members, [], [], {})[-1] == "And 2 more causes."
