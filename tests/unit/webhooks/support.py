"""What the tests of reviews, of the mirror and of the listener share."""

from __future__ import annotations

from typing import Any, Final, cast

import aiohttp

from hack.controlplane.objects import pod_group
from kube.client import ApiClient
from runtime.mirror import Mirror
from tests.kit.manifests import kueue
from tests.kit.objects import priority_class
from webhooks.facts import Facts, KnownFacts
from webhooks.review import Reviewer
from webhooks.service import MIRRORED
from webhooks.settings import Settings

__all__ = ["BAD", "CLASSES", "JSON", "LOOPBACK", "group", "listed", "mirror", "post", "queue", "reviewer"]

LOOPBACK: Final = "127.0.0.1"
JSON: Final = {"Content-Type": "application/json"}
CLASSES: Final = KnownFacts([priority_class("high", 1000)])


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
    return Reviewer(facts, Settings(), max_depth=max_depth, now=lambda: "2026-01-01T00:00:00Z")


def mirror() -> Mirror:
    """A mirror of what webhooks follow, before its first list."""
    return Mirror(cast(ApiClient, None), resources=MIRRORED)


def listed(mirror: Mirror) -> Mirror:
    """The same mirror after its first lists."""
    for reflector in mirror._reflectors:
        reflector.synced.set()
    return mirror


async def post(url: str, body: Any, **options: Any) -> tuple[int, bytes]:
    """(status, body) of the answer to a POST; `options` are aiohttp's."""
    options.setdefault("headers", JSON)
    async with aiohttp.ClientSession() as session, session.post(url, data=body, **options) as answer:
        return answer.status, await answer.read()
