"""When statuses are written, and what of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from api.kueue import API_VERSION, ClusterQueue, Cohort, LocalQueue, ResourceFlavor
from api.meta import ObjectMeta
from api.workloads import Workload
from controllers.quota.queues.queue_metrics import QueueMetrics
from controllers.quota.queues.queue_statuses import BUSY_SECONDS, RATE, QueueStatuses, QueueViews
from kube.client import ApiClient
from kube.errors import ApiError
from kube.sender import Sender
from quota.state.remains import Remains
from quota.state.statuses import Tally
from runtime.mirror.watched_quota import WatchedQuota
from tests.kit.apiserver import Api, Written
from tests.kit.quota.objects import (
    cluster_queue,
    cohort,
    cpu,
    flavor,
    held,
    local_queue,
    set_condition,
    workload,
)
from tests.kit.views import unconnected
from tests.kit.waiting import beside

KUEUE = f"/apis/{API_VERSION}"
PLURALS = {"ClusterQueue": "clusterqueues", "LocalQueue": "localqueues", "Cohort": "cohorts"}
SECOND = 1.001


class Waiting:
    """Workloads that wait, by queue."""

    def __init__(self) -> None:
        self.active = 0

    def counts(self, _queue: str) -> tuple[int, int]:
        return self.active, 1

    def local_counts(self, _queue: str) -> tuple[int, int]:
        return self.active, 0


class World:
    """The API server, the state that follows it when a test says so, and the writer of statuses."""

    def __init__(self, *, fair_sharing: bool = False) -> None:
        self.api, self.waiting = Api(), Waiting()
        views = unconnected(self.api.clock, self.api)
        self.state = WatchedQuota(views).state
        self.tally = Tally(lambda kind, key: self.views.changes.changed(kind, key))
        self.views = QueueViews(views)
        self.of = {view.resource.type: view for view in views}
        self.sender = Sender(cast(ApiClient, self.api), attempts=1)
        self.statuses = QueueStatuses(
            self.state,
            self.tally,
            self.waiting,
            self.views,
            self.sender,
            self.api.clock,
            fair_sharing=fair_sharing,
        )

    def put(self, item: ClusterQueue | LocalQueue | Cohort, *, shown: bool = True) -> None:
        """The object is stored, and seen."""
        body = msgspec.to_builtins(item)
        body["metadata"]["uid"] = f"uid-{item.metadata.name}"
        self.api.put(f"{KUEUE}/{PLURALS[item.kind]}", body)
        if shown:
            self.show(item.kind, item.metadata.name)

    def show(self, kind: str, name: str) -> None:
        kinds = {"ClusterQueue": ClusterQueue, "LocalQueue": LocalQueue, "Cohort": Cohort}
        body = self.api.of(f"{KUEUE}/{PLURALS[kind]}")[name]
        self.of[kinds[kind]].upsert(msgspec.convert(body, kinds[kind]), listed=False)

    def status(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api.of(f"{KUEUE}/{PLURALS[kind]}")[name].get("status") or {}
        return found

    def writes(self, kind: str, name: str) -> list[Written]:
        return [each for each in self.api.written if each.path.endswith(f"/{PLURALS[kind]}/{name}/status")]

    def set(self, item: Workload) -> None:
        self.of[Workload].upsert(item, listed=True)
        self.tally.put(item)

    async def pass_a_second(self) -> None:
        """Everything that is due within a second is done."""
        for _ in range(12):
            await self.pass_time(SECOND / 10)

    async def pass_time(self, seconds: float) -> None:
        """The queue is woken, because its clock is not its timer's."""
        self.api.clock.advance(seconds)
        self.views.changes.changed("LocalQueue", "ns/none")
        await asyncio.sleep(0.03)

    async def comes(self, condition: Callable[[], object]) -> None:
        """Let time pass until it holds."""
        for _ in range(60):
            if condition():
                return
            await self.pass_a_second()
        raise AssertionError("it does not come")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with beside(self.statuses.run()):
            yield


def flavors(world: World) -> None:
    world.of[ResourceFlavor].upsert(flavor("default"), listed=True)


def world_of(*, fair_sharing: bool = False) -> World:
    made = World(fair_sharing=fair_sharing)
    flavors(made)
    made.put(cluster_queue("q", cpu(4), "team"))
    made.put(local_queue("l", "q"))
    return made


async def test_only_what_has_changed_is_written_and_once_a_second() -> None:
    world = world_of()
    async with world.running():
        await world.pass_a_second()
        assert world.status("ClusterQueue", "q")["pendingWorkloads"] == 1
        assert (len(world.writes("ClusterQueue", "q")), len(world.writes("LocalQueue", "l"))) == (1, 1)
        await world.pass_a_second()
        for number in range(5):
            world.set(held(workload(f"w{number}", "l", 1), 10, queue="q"))
            await asyncio.sleep(0)
        await world.pass_a_second()
        assert (len(world.writes("ClusterQueue", "q")), len(world.writes("LocalQueue", "l"))) == (2, 2)
        assert world.status("LocalQueue", "l")["reservingWorkloads"] == 5
        world.set(set_condition(held(workload("w0", "l", 1), 10, queue="q"), "Admitted", "True", "A", 11))
        before = len(world.writes("ClusterQueue", "q"))
        for number in range(6):
            world.set(held(workload("more", "l", number), 10, queue="q"))
            await asyncio.sleep(0.02)
        assert len(world.writes("ClusterQueue", "q")) - before <= 1
        await world.pass_a_second()
        await world.pass_a_second()
        assert world.status("ClusterQueue", "q")["admittedWorkloads"] == 1
        total = world.status("ClusterQueue", "q")["flavorsReservation"][0]["resources"][0]
        assert total == {"name": "cpu", "total": "10", "borrowed": "6"}
        count = len(world.api.written)
        world.views.changes.changed("ClusterQueue", "q")
        await world.pass_a_second()
        assert len(world.api.written) == count


async def test_a_second_passes_between_two_writes() -> None:
    world = world_of()
    async with world.running():
        for count in (1, 2, 3):
            world.set(held(workload("w", "l", count), 10, queue="q"))
            for _ in range(100):
                if len(world.writes("ClusterQueue", "q")) == count:
                    break
                await world.pass_time(0.06)
            assert len(world.writes("ClusterQueue", "q")) == count
            world.set(held(workload("w", "l", count + 10), 10, queue="q"))
            for _ in range(5):
                await world.pass_time(0.15)
            assert len(world.writes("ClusterQueue", "q")) == count


async def test_many_objects_share_a_rate_while_they_change_all_the_time() -> None:
    world, names = world_of(), [f"l{number}" for number in range(100)]
    for name in names:
        world.put(local_queue(name, "q"))
    async with world.running():
        for step in range(48):
            world.waiting.active = step
            for name in names:
                world.views.changes.changed("LocalQueue", f"ns/{name}")
            await world.pass_time(0.25)
        counts = [len(world.writes("LocalQueue", name)) for name in names]
    assert min(counts) >= 2
    assert (
        sum(counts) <= len(names) + RATE * 12
    )  # one a second each would be twelve times as many as there are


async def test_an_object_is_written_every_five_seconds_while_many_change() -> None:
    """They are not enough for each to wait for its turn at the rate."""
    world, names = world_of(), [f"l{number}" for number in range(30)]
    for name in names:
        world.put(local_queue(name, "q"))
    async with world.running():
        for step in range(48):
            world.waiting.active = step
            for name in names:
                world.views.changes.changed("LocalQueue", f"ns/{name}")
            await world.pass_time(0.25)
        counts = [len(world.writes("LocalQueue", name)) for name in names]
    assert min(counts) >= 2
    assert max(counts) <= 2 + 12 / BUSY_SECONDS  # the first one, and one more before there were many


async def test_a_newer_object_is_looked_at_again() -> None:
    """A write on an older state is refused, and made anew when the newer state is seen."""
    world = world_of()
    stopped = cluster_queue("q", cpu(4), "team", stop="Hold")
    world.put(stopped, shown=False)
    async with world.running():
        await world.pass_a_second()
        assert world.writes("ClusterQueue", "q") == []
        world.show("ClusterQueue", "q")
        await world.comes(lambda: world.writes("ClusterQueue", "q"))
        (condition,) = world.status("ClusterQueue", "q")["conditions"]
        assert (condition["status"], condition["reason"]) == ("False", "Stopped")
        await world.comes(
            lambda: world.status("LocalQueue", "l")["conditions"][0]["reason"] == "ClusterQueueIsInactive"
        )


async def test_a_transition_keeps_its_time_while_the_status_stays() -> None:
    world = world_of()
    async with world.running():
        await world.pass_a_second()
        (before,) = world.status("ClusterQueue", "q")["conditions"]
        world.show("ClusterQueue", "q")
        world.set(held(workload("w", "l", 1), 10, queue="q"))
        world.api.clock.advance(100)
        await world.pass_a_second()
        assert world.status("ClusterQueue", "q")["reservingWorkloads"] == 1
        assert world.status("ClusterQueue", "q")["conditions"] == [before]


async def test_a_cluster_queue_that_cannot_be_read_says_so() -> None:
    world = world_of()
    async with world.running():
        await world.pass_a_second()
        meta = ObjectMeta("q", uid="uid-q", resource_version="999")
        world.of[ClusterQueue].unreadable(meta, ValueError("no shape"), listed=False)
        await world.comes(
            lambda: "the ClusterQueue itself" in world.status("ClusterQueue", "q")["conditions"][0]["message"]
        )
        count = len(world.writes("ClusterQueue", "q"))
        await world.pass_a_second()
        assert len(world.writes("ClusterQueue", "q")) == count


@pytest.mark.parametrize(
    ("remains", "note"),
    [
        (Remains("ns/w", "q", "", {("default", "cpu"): 1000}), "only its admission is known"),
        (Remains("ns/w", "", "ns/l", None), "its quota is not known"),
        (Remains("ns/w", "", "ns/l"), "it holds no quota"),
    ],
)
async def test_a_cluster_queue_names_workloads_that_were_never_readable(remains: Remains, note: str) -> None:
    world = world_of()
    meta = ObjectMeta("w", "ns", uid="uid-w", resource_version="7")
    world.of[Workload].unreadable(meta, ValueError("no shape"), listed=True)
    world.state.keep(remains)
    world.tally.keep(remains)
    async with world.running():
        await world.pass_a_second()
        await world.comes(
            lambda: world.status("ClusterQueue", "q")["conditions"][0]["message"].endswith(
                f"Workload ns/w ({note})"
            )
        )
        assert world.status("ClusterQueue", "q")["reservingWorkloads"] == bool(remains.cluster_queue)


async def test_what_is_refused_is_written_later() -> None:
    world = world_of()
    refusals = iter([ApiError(403, "Forbidden", "x")] * 3)
    world.api.refuse = lambda _method, _path: next(refusals, None)
    async with world.running():
        await world.comes(lambda: world.writes("ClusterQueue", "q") and world.writes("LocalQueue", "l"))
        assert next(refusals, None) is None
        assert "conditions" in world.status("ClusterQueue", "q")
        assert "conditions" in world.status("LocalQueue", "l")


async def test_shares_are_written_with_fair_sharing_and_removed_without() -> None:
    world = world_of(fair_sharing=True)
    world.put(cohort("team"))
    world.put(cluster_queue("lender", cpu(6), "team"))
    world.set(held(workload("w", "l", 5), 10, queue="q"))
    async with world.running():
        await world.pass_a_second()
        assert world.status("ClusterQueue", "q")["fairSharing"] == {"weightedShare": 100}
        assert world.status("Cohort", "team") == {"fairSharing": {"weightedShare": 0}}
    other = World()
    flavors(other)
    for kind, name in (("ClusterQueue", "q"), ("Cohort", "team")):
        body = world.api.of(f"{KUEUE}/{PLURALS[kind]}")[name]
        other.api.put(f"{KUEUE}/{PLURALS[kind]}", body)
        other.show(kind, name)
    async with other.running():
        await other.pass_a_second()
        assert "fairSharing" not in other.status("ClusterQueue", "q")
        assert other.status("Cohort", "team") == {}


def test_metrics_of_queues() -> None:
    world = world_of(fair_sharing=True)
    world.put(cluster_queue("off", cpu(1), stop="Hold"))
    world.put(cohort("team"))
    world.set(held(workload("w", "l", 5), 10, queue="q"))
    world.waiting.active = 3
    registry = CollectorRegistry()
    metrics = QueueMetrics(world.state, world.tally, world.waiting, fair_sharing=True)
    with metrics.registered(registry):
        lines = set(generate_latest(registry).decode().splitlines())
        role = 'replica_role="leader"'
        assert {
            f'kueue_pending_workloads{{cluster_queue="q",{role},status="active"}} 3.0',
            f'kueue_pending_workloads{{cluster_queue="q",{role},status="inadmissible"}} 1.0',
            f'kueue_reserving_active_workloads{{cluster_queue="q",{role}}} 1.0',
            f'kueue_admitted_active_workloads{{cluster_queue="q",{role}}} 0.0',
            f'kueue_cluster_queue_status{{cluster_queue="q",{role},status="active"}} 1.0',
            f'kueue_cluster_queue_status{{cluster_queue="off",{role},status="pending"}} 1.0',
            f'kueue_cluster_queue_status{{cluster_queue="off",{role},status="active"}} 0.0',
            f'kueue_cohort_weighted_share{{cohort="team",{role}}} 0.0',
        } <= {_sorted(line) for line in lines}
    assert not generate_latest(registry)


def _sorted(line: str) -> str:
    """The labels of a sample, sorted."""
    name, brace, rest = line.partition("{")
    labels, _, value = rest.partition("} ")
    return f"{name}{{{','.join(sorted(labels.split(',')))}}} {value}" if brace else line
