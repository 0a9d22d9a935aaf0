"""The manager's cluster as far as connections need it, and worker clusters that are a few dictionaries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from api.backoff import Backoff
from api.checks import MultiKueueCluster
from api.clock import SYSTEM_CLOCK
from api.meta import ObjectMeta
from api.multikueue import MANAGER_NAMESPACE, ORIGIN_LABEL
from controllers.multikueue.clusters import clusters as clusters_module
from controllers.multikueue.clusters import connecting, origin_lease, probe
from controllers.multikueue.clusters.clusters import Clusters
from controllers.multikueue.clusters.connecting import Shared
from controllers.multikueue.clusters.connection import Connection
from controllers.multikueue.clusters.hooks import Hooks
from controllers.multikueue.clusters.known import Known
from controllers.multikueue.clusters.sources import KubeconfigSecret
from controllers.multikueue.configuration import MultiKueueConfiguration
from kube.client import ApiClient
from kube.lease import LeaseTimes
from runtime.mirror.resources import MULTIKUEUE_CLUSTERS
from runtime.terms.term import Term
from tests.kit.apiserver import Api
from tests.kit.multikueue_kubeconfigs import encoded
from tests.kit.views import unconnected
from tests.kit.waiting import beside, until
from tests.kit.worker_api import WorkerApi, worker_api

__all__ = ["HERE", "SETTINGS", "Here", "labelled", "quick", "workers"]

Json = dict[str, Any]
SETTINGS = MultiKueueConfiguration(allowed_networks=["127.0.0.0/8"], worker_lost_timeout_seconds=1.0)
HERE = "uid-of-kube-system"


class Here:
    """The manager's cluster, as far as it is known, and the connections."""

    def __init__(self, settings: MultiKueueConfiguration = SETTINGS, manager: str = HERE) -> None:
        self.api = Api()
        self.known = Known(settings.namespace, unconnected())
        self.hooks = Hooks()
        self.term = Term(1, SYSTEM_CLOCK)
        shared = Shared(settings, manager, self.term, SYSTEM_CLOCK, self.hooks)
        self.clusters = Clusters(self.known, cast(ApiClient, self.api), shared)
        self.workloads: list[tuple[str, str]] = []
        self.changes: list[str] = []
        self._version = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        with (
            self.hooks.workloads.told(lambda cluster, key: self.workloads.append((cluster, key))),
            self.hooks.clusters.told(self.changes.append),
        ):
            async with beside(self.clusters.run()):
                await asyncio.sleep(0)
                yield
        await asyncio.sleep(0.05)  # TLS connections close a little later

    def put(self, kind: type[Any], value: Json, path: str = "") -> None:
        """Create or change an object here."""
        self._version += 1
        value["metadata"] |= {"resourceVersion": str(self._version), "uid": value["metadata"]["name"]}
        if path:
            self.api.put(f"{path}/x", value)
        self._view(kind).upsert(msgspec.convert(value, kind), listed=False)

    def remove(self, kind: type[Any], name: str) -> None:
        namespace = MANAGER_NAMESPACE if kind is KubeconfigSecret else ""
        self._version += 1
        self._view(kind).delete(ObjectMeta(name, namespace, name, str(self._version)))

    def secret(self, name: str, text: bytes) -> None:
        meta = {"name": name, "namespace": MANAGER_NAMESPACE}
        self.put(KubeconfigSecret, {"metadata": meta, "data": {"kubeconfig": encoded(text)}})

    def cluster(self, name: str, **source: Any) -> None:
        given = source or {"kubeConfig": {"location": name}}
        value = {"metadata": {"name": name}, "spec": {"clusterSource": given}}
        self.put(MultiKueueCluster, value, MULTIKUEUE_CLUSTERS.path)

    def join(self, name: str, worker: WorkerApi) -> None:
        self.secret(name, worker.kubeconfig())
        self.cluster(name)

    def of(self, name: str) -> Connection:
        found = self.clusters.get(name)
        assert found is not None
        return found

    async def reaches(self, name: str, reach: str) -> None:
        await until(lambda: self.of(name).reach == reach)

    def condition(self, name: str, kind: str = "Active", path: str = MULTIKUEUE_CLUSTERS.path) -> Json:
        status = self.api.of(f"{path}/x").get(name, {}).get("status", {})
        return next((each for each in status.get("conditions", ()) if each["type"] == kind), {"reason": None})

    async def says(
        self, name: str, reason: str, kind: str = "Active", path: str = MULTIKUEUE_CLUSTERS.path
    ) -> Json:
        await until(lambda: self.condition(name, kind, path)["reason"] == reason)
        return self.condition(name, kind, path)

    def _view(self, kind: type[Any]) -> Any:
        return next(view for view in self.known.views if view.resource.type is kind)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times in which a test can wait."""
    monkeypatch.setattr(origin_lease, "TIMES", LeaseTimes(1.0, 0.5, 0.05))
    monkeypatch.setattr(origin_lease, "REQUEST_SECONDS", 0.2)
    monkeypatch.setattr(connecting, "TIMES", LeaseTimes(1.0, 0.5, 0.05))
    monkeypatch.setattr(connecting, "BACKOFF", Backoff(0.05, 0.1))
    monkeypatch.setattr(connecting, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(connecting, "FILE_SECONDS", 0.05)
    monkeypatch.setattr(connecting, "AWAY_SECONDS", 0.5)
    monkeypatch.setattr(connecting, "PROBES", Backoff(0.1, 0.2))
    monkeypatch.setattr(clusters_module, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(probe, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(probe, "LOOK_SECONDS", 0.02)


@pytest.fixture
async def workers(tmp_path: Path) -> AsyncIterator[Callable[[str], Any]]:
    async with AsyncExitStack() as stack:

        async def start(name: str) -> WorkerApi:
            return await stack.enter_async_context(worker_api(tmp_path / name))

        yield start


def labelled(name: str, **parts: Any) -> Json:
    meta = {"name": name, "namespace": "n", "labels": {ORIGIN_LABEL: "multikueue"}}
    return {"metadata": meta | parts.pop("metadata", {}), **parts}
