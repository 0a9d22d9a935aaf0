"""The shape of the load, and how its result is read."""

from __future__ import annotations

import math
import os
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from hack.load import objects
from hack.load.api import RefusedError
from hack.load.measures import processes_used, quantile, usage_of, writes
from hack.load.shape import KUEUE


def request(verb: str, code: int, value: str, *, subresource: str = "", dry_run: str = "") -> str:
    """A line of the API server's metrics."""
    labels = (
        f'code="{code}",component="apiserver",dry_run="{dry_run}",group="kueue.x-k8s.io",resource="workloads",'
        f'scope="resource",subresource="{subresource}",verb="{verb}",version="v1beta2"'
    )
    return f"apiserver_request_total{{{labels}}} {value}"


METRICS = "\n".join(
    [
        "# TYPE apiserver_request_total counter",
        request("POST", 201, "15000"),
        request("PATCH", 200, "1.6e+04", subresource="status"),
        request("PATCH", 409, "7", subresource="status"),
        request("POST", 201, "3", dry_run="All"),
        request("LIST", 200, "9"),
        'apiserver_request_duration_seconds_count{verb="POST"} 4',
    ]
).encode()


def test_the_whole_load_is_that_of_kueue() -> None:
    assert KUEUE.size == 15_000
    assert len(objects.local_queue_names(KUEUE)) == 30
    assert KUEUE.of_size(15_000) == KUEUE


@pytest.mark.parametrize(
    ("size", "counts"), [(3_000, [70, 20, 10]), (300, [7, 2, 1]), (1, [1, 1, 1])], ids=str
)
def test_less_has_the_same_proportions(size: int, counts: list[int]) -> None:
    assert [each.count for each in KUEUE.of_size(size).classes] == counts


def test_other_queues() -> None:
    shape = KUEUE.of_size(50_000, cohorts=10, queues=100)
    assert (shape.cohorts, shape.queues, shape.size) == (10, 100, 50_000)


def test_every_cluster_queue_has_a_local_queue_in_the_cohort_of_its_name() -> None:
    made = list(objects.queues(KUEUE, "load-1"))
    cohorts = Counter(each["spec"]["cohortName"] for each in made if each["kind"] == "ClusterQueue")
    assert cohorts == {f"load-1-c{cohort}": 6 for cohort in range(5)}
    names = {each["metadata"]["name"] for each in made if each["kind"] == "ClusterQueue"}
    assert names == {each["spec"]["clusterQueue"] for each in made if each["kind"] == "LocalQueue"}


def test_an_eviction_is_ended_and_everything_else_stays() -> None:
    def condition(type_: str, status: str = "True") -> dict[str, Any]:
        return {"type": type_, "status": status, "reason": "R", "message": "m", "lastTransitionTime": "t"}

    before = [condition("QuotaReserved"), condition("Admitted"), condition("Evicted")]
    patch = objects.ended("17", before)
    assert patch["metadata"] == {"resourceVersion": "17"}
    assert patch["status"]["admission"] is None
    reserved, admitted, evicted = patch["status"]["conditions"]
    assert (reserved["status"], admitted["status"]) == ("False", "False")
    assert evicted == condition("Evicted")
    not_admitted = condition("Admitted", "False")
    assert objects.ended("1", [not_admitted])["status"]["conditions"] == [not_admitted]


async def test_writes_are_counted_by_kind() -> None:
    async def send(*_: str) -> bytes:
        return METRICS

    api: Any = SimpleNamespace(send=send)
    assert await writes(api) == {"POST workloads": 15_000, "PATCH workloads/status": 16_000}


async def test_without_the_right_to_read_metrics_nothing_is_counted() -> None:
    async def send(*_: str) -> bytes:
        raise RefusedError(403, "no")

    api: Any = SimpleNamespace(send=send)
    assert await writes(api) == {}


def test_what_a_process_uses() -> None:
    before = {"me": usage_of(os.getpid())}
    sum(number * number for number in range(500_000))
    (used,) = processes_used(before, {"me": usage_of(os.getpid())}).values()
    assert used.cpu >= 0
    assert used.peak > 1
    with pytest.raises(OSError, match="No such file"):
        usage_of(2**22 + 1)


def test_quantiles() -> None:
    assert math.isnan(quantile([], 0.5))
    assert quantile([3.0], 0.99) == 3.0
    assert quantile([1.0, 2.0, 3.0], 0.5) == 2.0
