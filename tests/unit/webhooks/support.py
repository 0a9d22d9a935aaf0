"""What the tests of reviews, of what is watched and of the listener share."""

from __future__ import annotations

from typing import Any, Final

import aiohttp

from api.checks import AdmissionCheck
from api.core import Namespace, PriorityClass
from api.foreign_groups import NativePodGroup
from api.groups import PodGroup
from api.kueue import ClusterQueue, LocalQueue
from hack.controlplane.objects import pod_group
from runtime.mirror.views import Views
from tests.kit.clock import ManualClock
from tests.kit.manifests import kueue
from tests.kit.objects import priority_class
from tests.kit.views import unconnected
from webhooks.facts import Facts, KnownFacts
from webhooks.review import Reviewer
from webhooks.settings import Settings
from webhooks.watched import WatchedFacts

__all__ = ["BAD", "CLASSES", "JSON", "LOOPBACK", "followed", "group", "learn", "post", "queue", "reviewer"]

LOOPBACK: Final = "127.0.0.1"
JSON: Final = {"Content-Type": "application/json"}
CLASSES: Final = KnownFacts([priority_class("high", 1000)])


Watched = PriorityClass | PodGroup | NativePodGroup | LocalQueue | ClusterQueue | AdmissionCheck | Namespace
PLURALS: Final[dict[type, str]] = {
    PriorityClass: "priorityclasses",
    PodGroup: "podgroups",
    NativePodGroup: "podgroups.scheduling.k8s.io",
    LocalQueue: "localqueues",
    ClusterQueue: "clusterqueues",
    AdmissionCheck: "admissionchecks",
    Namespace: "namespaces",
}


def queue(**preemption: Any) -> dict[str, Any]:
    """A ClusterQueue with nothing but these settings of preemption, defaults left out."""
    return kueue("ClusterQueue", "queue", spec={"preemption": preemption})


BAD: Final = queue(reclaimWithinCohort="Never", borrowWithinCohort={"policy": "LowerPriority"})
"""A rule of Kueue's webhook forbids it, the schema does not."""


def group(**spec: Any) -> dict[str, Any]:
    """A gang of two."""
    return pod_group("gang", min_count=2, **spec)


def reviewer(facts: Facts = CLASSES, max_depth: int = 100) -> Reviewer:
    """A reviewer whose time stands still."""
    return Reviewer(facts, Settings(), max_depth=max_depth, clock=ManualClock())


def followed(*, queues: bool = False, namespaces: bool = False) -> tuple[WatchedFacts, Views]:
    """Facts, and the views that they come from: of what the rules ask for, and nothing else."""
    views = unconnected()
    return WatchedFacts(views, queues=queues, namespaces=namespaces), views


def learn(views: Views, *objects: Watched) -> None:
    """As a watch tells of them."""
    by_kind = {view.kind: view for view in views}
    for each in objects:
        by_kind[PLURALS[type(each)]].upsert(each, listed=False)


async def post(url: str, body: Any, **options: Any) -> tuple[int, bytes]:
    """(status, body) of the answer to a POST; `options` are aiohttp's."""
    options.setdefault("headers", JSON)
    async with aiohttp.ClientSession() as session, session.post(url, data=body, **options) as answer:
        return answer.status, await answer.read()
