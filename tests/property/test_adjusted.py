"""Requests of pods among random LimitRanges and RuntimeClasses."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from api.limits import LimitRange, RuntimeClass
from api.validation import convert
from api.workloads import Workload
from quota.search.adjusted import adjusted
from quota.state.amounts import QuotaError
from quota.state.surroundings import Surroundings
from quota.state.workloads import pod_set_requests
from tests.kit.quota.surroundings import around, workload

NAMES = st.sampled_from(["cpu", "memory", "example.com/gpu"])
AMOUNTS = st.dictionaries(NAMES, st.integers(0, 6), max_size=3)
PARTS = ("max", "min", "default", "defaultRequest")
ITEMS = st.fixed_dictionaries(
    {"type": st.sampled_from(["Container", "Pod", "PersistentVolumeClaim"])},
    optional=dict.fromkeys(PARTS, AMOUNTS),
)
RANGES = st.lists(st.lists(ITEMS, max_size=2), max_size=3)
CONTAINERS = st.lists(st.fixed_dictionaries({"requests": AMOUNTS, "limits": AMOUNTS}), min_size=1, max_size=3)
OVERHEADS = st.none() | AMOUNTS


def known(ranges: list[Any], overhead: Any) -> Surroundings:
    metas: Any = [({"name": name, "namespace": "team"}, items) for name, items in ranges]
    limits = [convert({"metadata": meta, "spec": {"limits": items}}, LimitRange) for meta, items in metas]
    kata: Any = {"metadata": {"name": "kata"}, "overhead": {"podFixed": overhead}}
    return around(*limits, *([] if overhead is None else [convert(kata, RuntimeClass)]))


def named(ranges: list[Any]) -> list[Any]:
    return [(f"r{number}", items) for number, items in enumerate(ranges)]


def made_of(containers: list[Any], runtime: bool) -> Workload:
    return workload(*containers, **({"runtimeClassName": "kata"} if runtime else {}))


def model(containers: list[Any], ranges: list[Any], overhead: Any, runtime: bool) -> dict[str, int] | None:
    """The requests of one pod; None if it is refused. A plain second reading of the rules."""
    if runtime and overhead is None:
        return None
    items = [item for _, each in sorted(ranges) for item in each]
    of_containers = [item for item in items if item["type"] == "Container"]
    total: dict[str, int] = {}
    for container in containers:
        limits = dict(container["limits"])
        requests = {**limits, **container["requests"]}
        for item in of_containers:
            for name, amount in item.get("default", {}).items():
                limits.setdefault(name, amount)
            for name, amount in item.get("defaultRequest", {}).items():
                requests.setdefault(name, amount)
        for name, amount in limits.items():
            requests.setdefault(name, amount)
        if any(requests[name] > amount for name, amount in limits.items()):
            return None
        for item in of_containers:
            if any(
                limits.get(name, requests.get(name, 0)) > most for name, most in item.get("max", {}).items()
            ):
                return None
            if any(requests.get(name, least) < least for name, least in item.get("min", {}).items()):
                return None
        for name, amount in requests.items():
            total[name] = total.get(name, 0) + amount
    for name, amount in (overhead or {}).items() if runtime else ():
        total[name] = total.get(name, 0) + amount
    for item in items:
        if item["type"] == "Pod":
            if any(total.get(name, 0) > most for name, most in item.get("max", {}).items()):
                return None
            if any(total.get(name, least) < least for name, least in item.get("min", {}).items()):
                return None
    return total


@given(CONTAINERS, RANGES, OVERHEADS, st.booleans())
@settings(max_examples=400, deadline=None)
def test_requests_are_those_of_the_rules(
    containers: list[Any], ranges: list[Any], overhead: Any, runtime: bool
) -> None:
    made, expected = made_of(containers, runtime), model(containers, named(ranges), overhead, runtime)
    try:
        (pods,) = pod_set_requests(adjusted(made, known(named(ranges), overhead)))
    except QuotaError:
        assert expected is None
        return
    units = {"cpu": 1000}
    assert expected is not None
    assert pods.requests == {name: 2 * units.get(name, 1) * amount for name, amount in expected.items()}


@given(CONTAINERS, RANGES, OVERHEADS)
@settings(max_examples=100, deadline=None)
def test_what_is_written_stays_and_a_second_time_adds_nothing(
    containers: list[Any], ranges: list[Any], overhead: Any
) -> None:
    made, where = made_of(containers, overhead is not None), known(named(ranges), overhead)
    try:
        once = adjusted(made, where)
    except QuotaError:
        return
    assert adjusted(once, where) == once
    (before,), (after,) = made.spec.pod_sets, once.spec.pod_sets
    for old, new in zip(
        before.template.spec.containers or (), after.template.spec.containers or (), strict=True
    ):
        for part in ("requests", "limits"):
            had, has = getattr(old.resources, part) or {}, getattr(new.resources, part) or {}
            assert had.items() <= has.items()


@given(RANGES, OVERHEADS)
@settings(max_examples=50, deadline=None)
def test_the_order_in_which_objects_come_does_not_matter(ranges: list[Any], overhead: Any) -> None:
    found = [known(list(order), overhead) for order in permutations(named(ranges))]
    assert all(each == found[0] for each in found)
