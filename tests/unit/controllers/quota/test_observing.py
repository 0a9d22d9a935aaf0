"""What becomes of the decisions that somebody else writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from prometheus_client import REGISTRY

from api.clock import SYSTEM_CLOCK
from api.podsets import PodSetTopologyRequest
from api.workloads import Workload
from controllers.quota import observing
from controllers.quota.observing import Observing
from quota.search.decision import Options
from runtime.mirror.watched_quota import WatchedQuota
from runtime.work.search_thread import SearchThread
from tests.kit.quota.objects import Object, cluster_queue, completed, condition, cpu, evicted, held, workload
from tests.kit.views import unconnected
from tests.kit.waiting import beside, until

REST = 0.05
TWO: dict[str, dict[str, tuple[int, None, None]]] = {
    "first": {"cpu": (4, None, None)},
    "second": {"cpu": (4, None, None)},
}


def counted() -> dict[str, float]:
    """The metric."""
    name = "reprieve_observer_decisions_total"
    return {
        agrees: REGISTRY.get_sample_value(name, {"agrees": agrees}) or 0.0
        for agrees in ("true", "false", "unknown")
    }


def preempted_for(who: Workload, uid: str) -> Workload:
    """On its way out, as Kueue writes it."""
    gone = evicted(who, 1000)
    found = condition(gone, "Evicted")
    assert found is not None
    others = [each for each in gone.status.conditions or () if each is not found]
    message = f"Preempted to accommodate a workload (UID: {uid}, JobUID: UNKNOWN) due to prioritization"
    named = msgspec.structs.replace(found, message=message)
    return msgspec.structs.replace(
        gone, status=msgspec.structs.replace(gone.status, conditions=[*others, named])
    )


class Stage:
    """What is seen of a cluster, and a term that observes it."""

    def __init__(self, *objects: Object) -> None:
        views = unconnected()
        self.quota = WatchedQuota(views)
        self._of = {view.resource.type: view for view in views}
        self._version = 0
        self.see(*completed(objects))
        self.before = counted()
        self.comes_late: list[Object] = []
        """What the watch brings only when it has caught up."""

    @asynccontextmanager
    async def observing(self) -> AsyncIterator[None]:
        with ThreadPoolExecutor(1) as executor:
            made = Observing(self.quota, SearchThread(Options(), executor), SYSTEM_CLOCK, self.catch_up, REST)
            self.quota.before_workload(made.about_to_change)
            self.quota.on_workload(made.workload_changed)
            self.quota.on_object(lambda _kind, _key: made.object_changed())
            async with beside(made.run()):
                yield

    async def catch_up(self) -> None:
        self.see(*self.comes_late)

    def see(self, *objects: Any, listed: bool = False) -> None:
        for each in objects:
            self._version += 1
            meta = msgspec.structs.replace(each.metadata, resource_version=f"{self._version}")
            self._of[type(each)].upsert(msgspec.structs.replace(each, metadata=meta), listed=listed)

    async def counts(self, **expected: int) -> None:
        """These numbers of decisions were counted, and no others."""
        want = {agrees: number + expected.get(f"{agrees}_", 0) for agrees, number in self.before.items()}
        await until(lambda: sum(counted().values()) >= sum(want.values()))
        assert counted() == want


async def test_the_same_flavor_agrees_and_another_one_does_not() -> None:
    first, second = workload("w", "q", 1), workload("v", "p", 1)
    stage = Stage(cluster_queue("q", TWO), cluster_queue("p", TWO), first, second)
    async with stage.observing():
        stage.see(held(first, 1000, flavors={"cpu": "first"}))
        stage.see(held(second, 1000, flavors={"cpu": "second"}))
        await stage.counts(true_=1, false_=1)


async def test_a_partial_admission_is_compared_with_its_number_of_pods() -> None:
    """4 of 10 pods fit. Quota for 3 is another decision."""
    asked = [workload(name, queue, 1, count=10, least=2) for name, queue in (("w", "q"), ("v", "p"))]
    stage = Stage(cluster_queue("q", cpu(4)), cluster_queue("p", cpu(4)), *asked)
    async with stage.observing():
        for each, count in zip(asked, (4, 3), strict=True):
            given = held(workload(each.metadata.name, each.spec.queue_name, 1, count=count), 1000)
            stage.see(msgspec.structs.replace(each, status=given.status))
        await stage.counts(true_=1, false_=1)


async def test_a_difference_counts_only_while_nothing_else_of_the_tree_changes() -> None:
    first, second = workload("w", "q", 1), workload("v", "p", 1)
    stage = Stage(cluster_queue("q", TWO, "team"), cluster_queue("p", TWO, "team"), first, second)
    async with stage.observing():
        stage.see(held(first, 1000, flavors={"cpu": "second"}))
        stage.see(held(second, 1000, flavors={"cpu": "second"}))
        await stage.counts(unknown_=2)


async def test_a_queue_that_changes_makes_a_difference_unknown() -> None:
    first = workload("w", "q", 1)
    stage = Stage(cluster_queue("q", TWO), first)
    async with stage.observing():
        stage.see(held(first, 1000, flavors={"cpu": "second"}))
        stage.see(cluster_queue("q", {**TWO, "first": {"cpu": (3, None, None)}}))
        await stage.counts(unknown_=1)


async def test_a_queue_that_changed_but_is_not_seen_yet_makes_a_difference_unknown() -> None:
    first = workload("w", "q", 1)
    stage = Stage(cluster_queue("q", TWO), first)
    stage.comes_late = [cluster_queue("q", {**TWO, "first": {"cpu": (0, None, None)}})]
    async with stage.observing():
        stage.see(held(first, 1000, flavors={"cpu": "second"}))
        await stage.counts(unknown_=1)


async def test_victims_that_a_list_hides_make_a_difference_unknown() -> None:
    one, two, three, asked = crowd()
    stage = Stage(cluster_queue("q", cpu(3), within="LowerPriority"), one, two, three, asked)
    async with stage.observing():
        stage.see(preempted_for(three, "w"))
        stage.see(one, listed=True)
        await stage.counts(unknown_=1)


async def test_writes_of_a_status_change_nothing_that_counts() -> None:
    first, second = workload("w", "q", 1), held(workload("v", "q", 1), 0, flavors={"cpu": "first"})
    stage = Stage(cluster_queue("q", TWO), first, second)
    async with stage.observing():
        admitted = held(first, 1000, flavors={"cpu": "second"})
        stage.see(admitted, second, admitted)
        await stage.counts(false_=1)


@pytest.mark.parametrize(
    "change",
    [
        lambda item: msgspec.structs.replace(
            item,
            spec=msgspec.structs.replace(
                item.spec,
                pod_sets=[
                    msgspec.structs.replace(
                        item.spec.pod_sets[0], topology_request=PodSetTopologyRequest(required="rack")
                    )
                ],
            ),
        ),
        lambda item: msgspec.structs.replace(
            item,
            metadata=msgspec.structs.replace(
                item.metadata, annotations={"kueue.x-k8s.io/elastic-job": "true"}
            ),
        ),
    ],
)
async def test_what_we_do_not_support_is_unknown(change: Callable[[Workload], Workload]) -> None:
    asked = change(workload("w", "q", 1))
    stage = Stage(cluster_queue("q", cpu(4)), asked)
    async with stage.observing():
        stage.see(held(asked, 1000))
        await stage.counts(unknown_=1)


async def test_a_difference_is_unknown_while_an_object_cannot_be_read() -> None:
    asked = workload("w", "q", 1)
    stage = Stage(cluster_queue("q", TWO), asked)
    async with stage.observing():
        unread = msgspec.structs.replace(asked.metadata, name="unread", uid="unread")
        stage.quota.workloads.unreadable(unread, ValueError("no"), listed=False)
        stage.see(held(asked, 1000, flavors={"cpu": "second"}))
        await stage.counts(unknown_=1)


async def test_what_a_list_shows_may_be_several_writes() -> None:
    asked = workload("w", "q", 1)
    stage = Stage(cluster_queue("q", cpu(4)), asked)
    async with stage.observing():
        stage.see(held(asked, 1000), listed=True)
        await stage.counts(unknown_=1)


async def test_too_many_at_a_time_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "MOST_OPEN", 1)
    first, second = workload("w", "q", 1), workload("v", "q", 1)
    stage = Stage(cluster_queue("q", cpu(4)), first, second)
    async with stage.observing():
        stage.see(held(first, 1000), held(second, 1000))
        await stage.counts(true_=1, unknown_=1)


async def test_what_is_seen_first_with_quota_is_no_decision() -> None:
    stage = Stage(cluster_queue("q", cpu(4)))
    async with stage.observing():
        stage.see(held(workload("old", "q", 1), 1000))
        asked = workload("w", "q", 1)
        stage.see(asked, held(asked, 1000))
        await stage.counts(true_=1)


async def test_a_queue_that_is_not_active_gives_no_decision() -> None:
    asked = workload("w", "q", 1)
    stage = Stage(cluster_queue("q", cpu(4), stop="Hold"), asked)
    async with stage.observing():
        stage.see(held(asked, 1000))
        await stage.counts(unknown_=1)


def crowd() -> tuple[Workload, Workload, Workload, Workload]:
    """Three that hold one CPU each, and one of higher priority that needs two of them."""
    one, two, three = (held(workload(name, "q", 1), 10 * at) for at, name in enumerate("xyz"))
    return one, two, three, workload("w", "q", 2, priority=5)


async def test_the_same_victims_are_one_decision() -> None:
    one, two, three, asked = crowd()
    stage = Stage(cluster_queue("q", cpu(3), within="LowerPriority"), one, two, three, asked)
    async with stage.observing():
        # Those that got their quota last go first.
        stage.see(preempted_for(three, "w"), preempted_for(two, "w"))
        await stage.counts(true_=1)


@pytest.mark.parametrize("victims", [(0, 1), (2,), (0, 1, 2)])
async def test_other_victims_are_another_decision(victims: tuple[int, ...]) -> None:
    *all_three, asked = crowd()
    stage = Stage(cluster_queue("q", cpu(3), within="LowerPriority"), *all_three, asked)
    async with stage.observing():
        stage.see(*(preempted_for(all_three[each], "w") for each in victims))
        await stage.counts(false_=1)


async def test_a_preemptor_that_nobody_knows_is_unknown() -> None:
    one, two, three, asked = crowd()
    stage = Stage(cluster_queue("q", cpu(3), within="LowerPriority"), one, two, three, asked)
    async with stage.observing():
        stage.see(preempted_for(three, "UNKNOWN"), preempted_for(two, "UNKNOWN"))
        await stage.counts(unknown_=1)


async def test_other_evictions_are_no_decisions() -> None:
    one, two, three, asked = crowd()
    stage = Stage(cluster_queue("q", cpu(3), within="LowerPriority"), one, two, three, asked)
    async with stage.observing():
        stage.see(evicted(one, 1000, "ClusterQueueStopped"))
        stage.see(preempted_for(three, "w"), preempted_for(two, "w"))
        await stage.counts(unknown_=1)
