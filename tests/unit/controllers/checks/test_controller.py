"""AdmissionChecks stay as long as ClusterQueues name them."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from api.checks import AdmissionCheck
from api.kueue import RESOURCE_IN_USE, AdmissionChecksStrategy, AdmissionCheckStrategyRule, ClusterQueue
from api.meta import ObjectMeta
from controllers.checks.controller import CheckController
from kube.client import ApiClient
from runtime.mirror.resources import ADMISSION_CHECKS, CLUSTER_QUEUES
from runtime.mirror.views import Views
from runtime.terms.term import Term
from tests.kit.apiserver import Api
from tests.kit.quota.objects import cluster_queue, cpu
from tests.kit.views import unconnected
from tests.kit.waiting import beside, until


class World:
    """The API server, and the views, which a test keeps up to date."""

    def __init__(self) -> None:
        self.api = Api()
        self.views: Views = unconnected(self.api.clock, self.api)
        self.controller = CheckController(cast(ApiClient, self.api), self.views, self.api.clock)
        self.of = {view.resource: view for view in self.views}

    def put(self, name: str, **metadata: Any) -> None:
        meta = {"name": name, "uid": f"uid-{name}", **metadata}
        self.api.put(ADMISSION_CHECKS.path, {"metadata": meta})
        self.show(name)

    def show(self, name: str) -> None:
        """The view sees the check as it is stored."""
        body = self.api.of(ADMISSION_CHECKS.path).get(name)
        view = self.of[ADMISSION_CHECKS]
        if body is None:
            view.delete(ObjectMeta(name))
            return
        meta = body["metadata"]
        seen = ObjectMeta(
            name,
            uid=meta["uid"],
            resource_version=meta["resourceVersion"],
            deletion_timestamp=meta.get("deletionTimestamp"),
            finalizers=meta.get("finalizers"),
        )
        view.upsert(AdmissionCheck(metadata=seen), listed=True)

    def queue(self, name: str, *checks: str) -> None:
        queue: ClusterQueue = cluster_queue(name, cpu(1))
        rules = [AdmissionCheckStrategyRule(check) for check in checks]
        queue.spec.admission_checks_strategy = AdmissionChecksStrategy(rules)
        self.of[CLUSTER_QUEUES].upsert(queue, listed=True)

    def finalizers(self, name: str) -> list[str] | None:
        body = self.api.of(ADMISSION_CHECKS.path).get(name)
        return None if body is None else body["metadata"].get("finalizers") or []


async def test_a_check_stays_as_long_as_it_is_named() -> None:
    world = World()
    world.put("c")
    world.queue("q", "c", "other")
    assert world.controller.checks()["view of clusterqueues"]() is not None
    async with beside(world.controller.lead(Term(1, world.api.clock, began=float("-inf")))):
        for _ in range(5):
            await asyncio.sleep(0)
        assert world.finalizers("c") == []
        for view in world.views:
            view.replaced({("", "c"), ("", "q")}, "")
        await until(lambda: world.finalizers("c") == [RESOURCE_IN_USE])
        world.put("c", finalizers=[RESOURCE_IN_USE], deletionTimestamp="2026-01-01T00:00:00Z")
        world.queue("p", "c")
        world.queue("q", "other")
        for _ in range(20):
            await asyncio.sleep(0)
        assert world.finalizers("c") == [RESOURCE_IN_USE]
        world.of[CLUSTER_QUEUES].delete(ObjectMeta("p"))
        await until(lambda: world.finalizers("c") is None)
    assert world.controller.name == "checks"
