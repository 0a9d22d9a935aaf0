"""All worker clusters of one term: a connection for each MultiKueueCluster."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Final

import structlog

from api.checks import MultiKueueCluster, MultiKueueConfig
from controllers.multikueue.clusters.checks import ConfigError, clusters_of, state_of
from controllers.multikueue.clusters.connecting import Connecting, Shared
from controllers.multikueue.clusters.connection import Connection
from controllers.multikueue.clusters.known import CHECK, CLUSTER, CONFIG, SECRET, Known
from controllers.multikueue.clusters.kubeconfigs import Access
from controllers.multikueue.clusters.sources import Sources
from controllers.multikueue.clusters.statuses import Statuses, StatusKey
from controllers.multikueue.metrics import SILENCE, forget, no_longer_measured
from kube.client import ApiClient
from kube.metrics import forget_cluster
from kube.sender import Sender
from runtime.metrics import forget_views
from runtime.work.workers import serve

__all__ = ["Clusters"]

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 0.5
"""Between two looks whether the reach of a cluster has changed with the time."""
RESTART_SECONDS: Final = 1.0


class Clusters:
    """The connections. Their changes are reported to `hooks`."""

    def __init__(self, known: Known, client: ApiClient, shared: Shared) -> None:
        """`client`: here. Make it when a term begins."""
        settings = shared.settings
        self._known, self._shared = known, shared
        self.hooks = shared.hooks
        self._sources = Sources(settings.namespace, settings.folder, known.secrets)
        self._statuses = Statuses(Sender(client, fence=shared.term), shared.clock)
        self._connections: dict[str, Connection] = {}
        self._connecting: dict[str, Connecting] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    # ---- the face

    def get(self, name: str) -> Connection | None:
        """The connection to the MultiKueueCluster of that name; None if there is no such object."""
        return self._connections.get(name)

    def __iter__(self) -> Iterator[Connection]:
        return iter(self._connections.values())

    def config_of(self, check: str) -> tuple[str, ...] | None:
        """The clusters that the AdmissionCheck of that name names, in the order of its MultiKueueConfig.

        None: it is not there, is not a check of ours, or its MultiKueueConfig is missing or wrong.
        """
        found = self._known.check(check)
        if found is None:
            return None
        try:
            return clusters_of(found, self._config)
        except ConfigError:
            return None

    def is_check(self, name: str) -> bool:
        """Whether the AdmissionCheck of that name is a check of ours."""
        return self._known.check(name) is not None

    async def run(self) -> None:
        """Connect to all clusters, and follow what names them, until cancelled."""
        with self._known.changes.told(self._changed):
            for cluster in list(self._known.clusters):
                self._changed(CLUSTER, cluster.metadata.name)
            for name in list(self._known.our_checks()):
                self._statuses.changed(CHECK, name)
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._look(), name="reach of clusters")
                    tasks.create_task(
                        serve(
                            self._statuses.queue,
                            self._write,
                            self._statuses.failed,
                            name="conditions of clusters",
                            workers=1,
                        ),
                        name="conditions of clusters",
                    )
            finally:
                for name in list(self._tasks):
                    self._stop(name, is_removed=False)
                await asyncio.gather(*self._ending, return_exceptions=True)

    # ---- what changes here

    def _changed(self, kind: str, key: str) -> None:
        if kind == CLUSTER:
            self._cluster_changed(key)
        elif kind == SECRET:
            for cluster in self._known.clusters:
                if _secret_of(cluster) == key.partition("/")[2]:
                    self._source_changed(cluster.metadata.name)
        elif kind == CHECK:
            self._check_changed(key)
        elif kind == CONFIG:
            for name in list(self._known.our_checks()):
                self._check_changed(name)

    def _cluster_changed(self, name: str) -> None:
        is_there = self._known.clusters.get("", name) is not None
        if is_there and name in self._connections:
            self._source_changed(name)
        elif is_there:
            self._start(name)
            self.hooks.clusters.changed(name)
        else:
            self._stop(name, is_removed=True)
            self.hooks.clusters.changed(name)
        self._status_changed(name)

    def _source_changed(self, name: str) -> None:
        if (connecting := self._connecting.get(name)) is not None:
            connecting.source_changed()

    def _check_changed(self, name: str) -> None:
        self._statuses.changed(CHECK, name)
        self.hooks.configs.changed(name)

    def _status_changed(self, cluster: str) -> None:
        self._statuses.changed(CLUSTER, cluster)
        for name in list(self._known.our_checks()):
            if cluster in (self.config_of(name) or ()):
                self._statuses.changed(CHECK, name)

    # ---- connections

    def _start(self, name: str) -> None:
        shared = self._shared
        lost_after = shared.settings.worker_lost_timeout_seconds
        connection = Connection(name, lost_after, shared.hooks, shared.clock)
        connecting = Connecting(connection, shared, partial(self._access, name), self._status_changed)
        self._connections[name], self._connecting[name] = connection, connecting
        self._tasks[name] = asyncio.create_task(self._run(connecting, name), name=f"cluster {name}")

    def _stop(self, name: str, *, is_removed: bool) -> None:
        task = self._tasks.pop(name, None)
        if task is None:
            return
        self._connecting.pop(name).is_removed = is_removed
        del self._connections[name]
        no_longer_measured(name)
        self._sources.forget(name)
        task.cancel()
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _run(self, connecting: Connecting, name: str) -> None:
        """A fault in one connection must not end the others."""
        try:
            while True:
                try:
                    await connecting.run()
                except Exception:
                    log.exception("a connection failed, and begins anew", cluster=name)
                    await asyncio.sleep(RESTART_SECONDS)
        finally:
            if connecting.is_removed and name not in self._tasks:
                forget(name)
                forget_cluster(name)
                forget_views(name)

    async def _access(self, name: str) -> Access:
        return await self._sources.access(self._known.clusters.get("", name))

    async def _look(self) -> None:
        while True:
            for connection in list(self):
                connection.look()
                SILENCE.labels(connection.name).set(connection.silent)
            await asyncio.sleep(LOOK_SECONDS)

    # ---- conditions

    async def _write(self, key: StatusKey) -> None:
        if key.kind == CLUSTER:
            cluster, connection = self._known.clusters.get("", key.name), self.get(key.name)
            if cluster is not None and connection is not None:
                await self._statuses.write_cluster(cluster, connection.activity, connection.probed)
            return
        check = self._known.check(key.name)
        if check is not None:
            names = {each.metadata.name for each in self._known.clusters}
            state = state_of(check, self._config, names, self._is_active)
            await self._statuses.write_check(check, state)

    def _config(self, name: str) -> MultiKueueConfig | None:
        return self._known.configs.get("", name)

    def _is_active(self, name: str) -> bool:
        connection = self.get(name)
        return connection is not None and connection.activity.is_active


def _secret_of(cluster: MultiKueueCluster) -> str:
    """The name of the Secret that the cluster names; empty if it names a file, or nothing."""
    config = cluster.spec.cluster_source.kube_config if cluster.spec is not None else None
    return config.location if config is not None and config.location_type == "Secret" else ""
