"""What budgets allow, counted from objects, is what the rule of the disruption controller says of them."""

from __future__ import annotations

from math import ceil
from random import Random
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from hack.fidelity.budgets import count_offline, evict_offline, random_objects
from tests.kit.examples import examples

Json = dict[str, Any]
NOW = "2026-01-01T00:00:00Z"
KINDS = ("ReplicationController", "ReplicaSet", "Deployment", "StatefulSet")


class Status(NamedTuple):
    """What the controller writes."""

    allowed: int
    healthy: int = 0
    desired: int = 0


def plain(budget: Json, pods: list[Json], owners: list[Json]) -> Status | None:
    """The rule again, over objects as they are; None if it depends on an owner that is not there."""
    spec, disrupted = budget["spec"], budget["status"]["disruptedPods"]
    mine = [each for each in pods if is_selected(budget, each)]
    healthy = sum(
        "deletionTimestamp" not in each["metadata"]
        and each["metadata"]["name"] not in disrupted
        and is_ready(each)
        for each in mine
    )
    if "maxUnavailable" not in spec and "minAvailable" not in spec:
        return Status(0, healthy)
    value = spec.get("maxUnavailable", spec.get("minAvailable"))
    if "minAvailable" in spec and isinstance(value, int):
        return Status(max(0, healthy - value), healthy, value)
    found = [scale(each["metadata"].get("ownerReferences"), owners) for each in mine]
    if "none" in found:
        return Status(0)
    if "unknown" in found:
        return None
    expected = sum(dict(each for each in found if isinstance(each, tuple)).values())
    share = value if isinstance(value, int) else ceil(int(value[:-1]) * expected / 100)
    desired = max(0, expected - share) if "maxUnavailable" in spec else share
    return Status(max(0, healthy - desired) if expected else 0, healthy, desired)


def would_evict(pod: Json, selecting: list[Json], counted: list[Status]) -> bool:
    """The rule of the Eviction API, over objects as they are. `selecting`: budgets, with the status of each."""
    if pod["status"]["phase"] == "Pending" or not selecting:
        return True
    if len(selecting) > 1:
        return False
    [budget], [status] = selecting, counted
    if not is_ready(pod):
        if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
            return True
        if status.healthy >= status.desired and status.desired > 0:
            return True
    return status.allowed > 0


def is_ready(pod: Json) -> bool:
    return bool(pod["status"]["conditions"][0]["status"] == "True")


def is_selected(budget: Json, pod: Json) -> bool:
    selector = budget["spec"].get("selector")
    return selector is not None and selects(selector, pod["metadata"]["labels"])


def selects(selector: Json, labels: Json) -> bool:
    return all(labels.get(name) == value for name, value in selector.get("matchLabels", {}).items())


def scale(references: list[Json] | None, owners: list[Json]) -> tuple[str, int] | str | None:
    """UID and number; None without an owner; `none` if the controller fails, `unknown` if nobody knows."""
    if references is None:
        return None
    (owner,) = references
    if owner["kind"] not in KINDS:
        return "none"
    known = [
        each for each in owners if (each["kind"], each["metadata"]["name"]) == (owner["kind"], owner["name"])
    ]
    if not known:
        return "unknown"
    (item,) = known
    if item["metadata"]["uid"] != owner["uid"]:
        return "none"
    above = scale(item["metadata"].get("ownerReferences"), owners)
    if above == "unknown" or isinstance(above, tuple):
        return above
    return item["metadata"]["uid"], item["spec"].get("replicas", 1)


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 2**32))
def test_it_is_what_the_rule_says(seed: int) -> None:
    crowd = random_objects(Random(seed), "team", NOW)
    found = count_offline([*crowd.budgets, *crowd.owners, *crowd.pods])
    for each in crowd.budgets:
        allowed, unknown = found["team", each["metadata"]["name"]]
        expected = plain(each, crowd.pods, crowd.owners)
        assert (expected is None) == bool(unknown)
        assert allowed == (expected.allowed if expected is not None else 0), each


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 2**32))
def test_whom_the_api_server_would_evict(seed: int) -> None:
    crowd = random_objects(Random(seed), "team", NOW)
    found = evict_offline([*crowd.budgets, *crowd.owners, *crowd.pods])
    for pod in crowd.pods:
        name = pod["metadata"]["name"]
        selecting = [each for each in crowd.budgets if is_selected(each, pod)]
        if pod["status"]["phase"] == "Succeeded" or "deletionTimestamp" in pod["metadata"]:
            assert ("team", name) not in found
        elif not any(name in each["status"]["disruptedPods"] for each in selecting):
            counted = [plain(each, crowd.pods, crowd.owners) or Status(0) for each in selecting]
            assert found["team", name].goes == would_evict(pod, selecting, counted), pod


def test_the_order_of_objects_does_not_matter() -> None:
    crowd = random_objects(Random(7), "team", NOW)
    rest = [*crowd.owners, *crowd.pods]
    assert count_offline([*crowd.budgets, *rest]) == count_offline([*reversed(rest), *crowd.budgets])
