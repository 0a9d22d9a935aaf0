"""Workloads, queues and worker clusters come and go under new names: nothing of them stays in the manager."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any, Final

import msgspec
import pytest

from api.checks import AdmissionCheck, MultiKueueCluster, MultiKueueConfig
from api.clock import SYSTEM_CLOCK
from api.multikueue import CONTROLLER_NAME
from api.plans import PREEMPTOR_KIND
from controllers.multikueue.clusters.sources import KubeconfigSecret
from controllers.multikueue.leading import Leading
from controllers.multikueue.metrics import OF_CLUSTERS
from kube.errors import ApiError
from runtime.mirror.resources import ADMISSION_CHECKS, PLANS
from tests.kit.apiserver import Api
from tests.kit.held import entries
from tests.kit.waiting import until
from tests.unit.controllers.multikueue.connections_stage import Here, quick, workers
from tests.unit.controllers.multikueue.dispatching_stage import (
    JOBS,
    TURNS,
    WORKLOADS,
    Followed,
    Json,
    condition,
    job,
    workload,
)
from tests.unit.controllers.multikueue.leading_stage import BLOCKED, GATED, SETTINGS, Manager

__all__ = ["quick", "workers"]  # fixtures

ROUNDS: Final = 4
PATIENCE_SECONDS: Final = 10.0
COST: Final = {"highestVictimPriority": 1, "prioritySum": 1, "workloads": 1, "pods": 1, "podSeconds": 1}
BOUNDED: Final = frozenset(
    {
        "View._gone",
        "Originals._kept",
        "EventRecorder._series",
        "EventRecorder._buckets",
        # A time that was asked for comes, whether or not anybody still waits for it.
        "KeyedQueue._due",
        "KeyedQueue._heap",
        "KeyedQueue._heap[]",
    }
)
"""What keeps a number of the last ones, or goes with the time."""


class Round:
    """Two clusters, a queue and three Workloads, each with a name that no other one has."""

    def __init__(self, stage: Manager, number: int) -> None:
        self._stage, self._number = stage, number
        self._clusters = self._a, self._b = f"a{number}", f"b{number}"

    async def come_and_go(self) -> None:
        stage = self._stage
        for name in self._clusters:
            stage.comes(name)
        runs, turns, fails = (f"{what}{self._number}" for what in ("runs", "turns", "fails"))
        await self._runs(runs)
        await self._has_a_turn(turns)
        await self._fails(fails)
        for name in (runs, turns, fails):
            self._delete(name)
        await until(lambda: not any(stage.workers[name].of(WORKLOADS) for name in self._clusters))
        await until(lambda: not any(stage.workers[name].of(JOBS) for name in self._clusters))
        for name in self._clusters:
            stage.workers[name].remove(PLANS.path, turns)
        await until(lambda: all(each.get("status") for each in stage.here.of(TURNS).values()))
        for name in list(stage.here.of(TURNS)):
            stage.here.remove(TURNS, name)
        assert series() >= {*self._clusters}
        for name in self._clusters:
            stage.goes(name)
        await until(lambda: stage.reports.of(f"uid-{fails}") is None)

    async def _runs(self, name: str) -> None:
        stage = self._stage
        self._submit(name)
        await until(lambda: name in stage.workers[self._b].of(WORKLOADS))
        stage.change(self._b, WORKLOADS, name, condition("QuotaReserved"), condition("Admitted"))
        await until(lambda: (found := stage.reports.of(f"uid-{name}")) is not None and bool(found.cluster))
        stage.change("", WORKLOADS, name, clusterName=self._b)
        await until(lambda: f"j-{name}" in stage.workers[self._b].of(JOBS))

    async def _has_a_turn(self, name: str) -> None:
        stage = self._stage
        self._submit(name)
        for cluster in self._clusters:
            api = stage.workers[cluster]
            await until(lambda api=api: name in api.of(WORKLOADS))  # type: ignore[misc]  # bound by its default
            api.put(PLANS.path, _cost(name, f"cq{self._number}"))
            stage.change(cluster, WORKLOADS, name, BLOCKED, GATED, preemptionGates=stage.closed())
        await until(lambda: self._gate(name) == "Open")

    async def _fails(self, name: str) -> None:
        stage = self._stage
        asked = list[str]()

        def refuse(method: str, path: str) -> ApiError | None:
            if method != "POST":
                return None
            asked.append(path)
            return ApiError(500, "InternalError", "a webhook")

        stage.workers[self._a].refuse = refuse
        self._submit(name)
        await until(lambda: bool(asked) and name in stage.workers[self._b].of(WORKLOADS))

    def _submit(self, name: str) -> None:
        here, body = self._stage.here, workload(name)
        body["metadata"]["ownerReferences"][0] |= {"name": f"j-{name}", "uid": f"uid-j-{name}"}
        body["spec"]["queueName"] = f"q{self._number}"
        owner = job()
        owner["metadata"] |= {"name": f"j-{name}", "uid": f"uid-j-{name}"}
        here.put(JOBS, owner)
        here.put(WORKLOADS, body)

    def _delete(self, name: str) -> None:
        self._stage.here.remove(WORKLOADS, name)
        self._stage.here.remove(JOBS, f"j-{name}")

    def _gate(self, name: str) -> str:
        copy = self._stage.workers[self._a].of(WORKLOADS)[name]
        return str(copy["status"]["preemptionGates"][0]["position"])


def _cost(name: str, queue: str) -> Json:
    preemptor = {"kind": "Workload", "namespace": "n", "name": name, "quota": {"clusterQueue": queue}}
    meta = {"name": name, "namespace": "n", "uid": f"uid-plan-{name}", "labels": {PREEMPTOR_KIND: "Workload"}}
    spec = {"preemptor": preemptor, "cost": COST}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Proposed"}}


def held(stage: Manager) -> Counter[str]:
    return growing(entries(stage.leading, stage.reports, stage.mirrors, stage.hooks, but=(Followed, Manager)))


def growing(found: Counter[str]) -> Counter[str]:
    return Counter({path: count for path, count in found.items() if path not in BOUNDED and count})


def series() -> set[str]:
    """The clusters that metrics of the manager tell of."""
    return {
        sample.labels["cluster"]
        for metric in OF_CLUSTERS
        for family in metric.collect()
        for sample in family.samples
    }


async def test_nothing_is_left_of_workloads_queues_and_clusters_that_have_gone() -> None:
    """As if there had never been any."""
    stage = Manager()
    often = msgspec.structs.replace(SETTINGS, gc_interval_seconds=0.01)
    stage.leading = Leading(
        often, stage.mirrors, stage.reports, stage.client, stage.identity, stage.term, SYSTEM_CLOCK
    )
    async with stage.acting():
        await until(lambda: held(stage)["Leading._places"])
        before = held(stage)
        for number in range(ROUNDS):
            await Round(stage, number).come_and_go()
        with suppress(TimeoutError):  # the assertion says what is left
            await until(lambda: not held(stage) - before, PATIENCE_SECONDS)
        assert not held(stage) - before, "entries that have come"
    assert not series() & {f"{side}{number}" for side in "ab" for number in range(ROUNDS)}


@pytest.mark.usefixtures("quick")
async def test_nothing_is_left_of_connections_checks_and_configs_that_have_gone(workers: Any) -> None:
    """Some never had a kubeconfig, some had a bad one, and some were connected."""
    worker, here = await workers("worker"), Here()
    names = [f"cluster-{number}" for number in range(ROUNDS * 2)]

    def now() -> Counter[str]:
        return growing(entries(here.clusters, here.known, here.hooks, but=(Api, Here)))

    async with here.running():
        before = now()
        for number, name in enumerate(names):
            parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": name}
            spec = {"controllerName": CONTROLLER_NAME, "parameters": parameters}
            here.put(AdmissionCheck, {"metadata": {"name": name}, "spec": spec}, ADMISSION_CHECKS.path)
            here.put(MultiKueueConfig, {"metadata": {"name": name}, "spec": {"clusters": [name]}})
            if number % 4 == 0:
                here.join(name, worker)
                await here.says(name, "Active")
            else:
                here.secret(name, b"no kubeconfig")
                here.cluster(name, **({} if number % 2 else {"kubeConfig": {"location": "missing"}}))
                await here.says(name, "BadKubeConfig")
            for kind in (MultiKueueCluster, KubeconfigSecret, MultiKueueConfig, AdmissionCheck):
                here.remove(kind, name)
        with suppress(TimeoutError):
            await until(lambda: not now() - before, PATIENCE_SECONDS)
        assert not now() - before, "entries that have come"
    assert not series() & set(names)
