"""The status of a Workload that a manager sends to other clusters, on a real API server: what is reported is written,
and the Workload keeps its quota and its cluster until nothing runs there.

The manager is played: it reports, and nobody copies anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from hack.controlplane.client import Client, Json
from hack.controlplane.plane import ControlPlane
from runtime.exchange.dispatch_reports import CheckReport, Dispatched, DispatchReporter
from runtime.exchange.reports import Reports
from tests.e2e.quota_leading import create, leading, remove, until, until_true, workload
from tests.e2e.support import condition
from tests.kit.manifests import KUEUE

HERE = "quota-dispatched"
CHECK = "dispatched"
ADMITTED = 'The workload was admitted on "east"'


def named(kind: str, name: str, spec: Json, namespace: str = "") -> Json:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": spec}


@pytest.fixture
def plane(api_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A ClusterQueue of one CPU whose Workloads go to other clusters."""
    client = api_plane.client
    flavors = [{"name": "qd-flavor", "resources": [{"name": "cpu", "nominalQuota": 1}]}]
    spec = {
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]},
    }
    made = [
        named("ResourceFlavor", "qd-flavor", {}),
        named("AdmissionCheck", CHECK, {"controllerName": "kueue.x-k8s.io/multikueue"}),
        named("ClusterQueue", "qd", spec),
        named("LocalQueue", "lq", {"clusterQueue": "qd"}, HERE),
    ]
    if client.find("v1", "Namespace", HERE) is None:
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HERE}})
    create(client, *made)
    active = {"type": "Active", "status": "True", "reason": "Active", "message": ""}
    active["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    client.patch(KUEUE, "AdmissionCheck", CHECK, {"status": {"conditions": [active]}}, None, "status")
    yield api_plane
    for body in [*client.list(KUEUE, "Workload", HERE)]:
        remove(client, "Workload", body)
    for body in reversed(made):
        remove(client, body["kind"], client.get(KUEUE, body["kind"], body["metadata"]["name"], *_where(body)))


def _where(body: Json) -> list[str]:
    return [body["metadata"]["namespace"]] if "namespace" in body["metadata"] else []


class Manager:
    """It reports of one Workload."""

    def __init__(self, client: Client, reports: Reports, name: str) -> None:
        self.client, self.name = client, name
        self._reporter = DispatchReporter(reports.dispatched)
        reports.dispatched.is_served = True

    def stored(self) -> Json:
        found: Json = self.client.get(KUEUE, "Workload", self.name, HERE)
        return found

    def report(self, state: Any, message: str = "", **said: Any) -> None:
        """This holds of the quota that it holds now."""
        body = self.stored()
        attempt = (condition(body, "QuotaReserved") or {})["lastTransitionTime"]
        check = CheckReport(CHECK, state, message)
        dispatched = Dispatched(attempt, check, **{"may_run": False, **said})
        self._reporter.report(body["metadata"]["uid"], f"{HERE}/{self.name}", dispatched)

    def close(self) -> None:
        """The process ends. What it reported is not known to the next one."""
        self._reporter.close()

    async def shown(self, what: str, **status: Any) -> Json:
        """The Workload, once its status has these values. None: it lacks the field."""
        found: Json = await until(
            self.stored,
            lambda body: all(body["status"].get(name) == value for name, value in status.items()),
            what,
        )
        return found


def is_true(body: Json, kind: str) -> bool:
    return (condition(body, kind) or {}).get("status") == "True"


def test_a_workload_keeps_cluster_and_quota_until_nothing_of_it_runs_there(plane: ControlPlane) -> None:
    """7350, 9338. The API server takes each write, and never sees Ready without the cluster."""
    client = plane.client

    async def run() -> None:
        reports = Reports()
        async with leading(plane, 1, reports):
            create(client, workload(HERE, "low", 1, 0))
            await until_true(client, HERE, "low", "QuotaReserved")
            manager = Manager(client, reports, "low")
            manager.report("Pending", "east: waits\nwest: waits", nominated=("east", "west"))
            body = await manager.shown("nobody is nominated", nominatedClusterNames=["east", "west"])
            assert not is_true(body, "Admitted")
            (check,) = body["status"]["admissionChecks"]
            assert (check["state"], check["message"]) == ("Pending", "east: waits\nwest: waits")
            # A cluster that was not nominated takes two writes.
            manager.report("Ready", ADMITTED, cluster="north", may_run=True)
            body = await manager.shown("no cluster is named", clusterName="north")
            assert "nominatedClusterNames" not in body["status"]
            assert is_true(body, "Admitted")
            create(client, workload(HERE, "high", 1, 5))
            body = await until_true(client, HERE, "low", "Evicted")
            assert is_true(body, "QuotaReserved")
            assert body["status"]["clusterName"] == "north"
            manager.close()
        async with leading(plane, 2, reports):
            # The new process waits for the first report. What else happens to the Workload changes nothing.
            client.patch(KUEUE, "Workload", "low", {"spec": {"active": False}}, HERE)
            body = await until(
                manager.stored,
                lambda body: (condition(body, "Evicted") or {})["reason"] == "Deactivated",
                "it is not deactivated",
            )
            assert is_true(body, "QuotaReserved")
            assert body["status"]["clusterName"] == "north"
            manager.report("Ready", ADMITTED, cluster="north")
            body = await manager.shown("its cluster is still named", clusterName=None)
            assert not is_true(body, "QuotaReserved")
            await until_true(client, HERE, "high", "QuotaReserved")

    asyncio.run(run())
