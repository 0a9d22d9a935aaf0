"""What budgets allow, counted from objects, is what the rule of the disruption controller says of them."""

from __future__ import annotations

from math import ceil
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hack.fidelity.budgets import count_offline, random_objects
from tests.kit.examples import examples

Json = dict[str, Any]
NOW = "2026-01-01T00:00:00Z"
KINDS = ("ReplicationController", "ReplicaSet", "Deployment", "StatefulSet")


def plain(budget: Json, pods: list[Json], owners: list[Json]) -> int | None:
    """The rule again, over objects as they are; None if it depends on an owner that is not there."""
    spec, selector = budget["spec"], budget["spec"].get("selector")
    disrupted = budget["status"]["disruptedPods"]
    mine = [each for each in pods if selector is not None and selects(selector, each["metadata"]["labels"])]
    healthy = [
        each
        for each in mine
        if "deletionTimestamp" not in each["metadata"]
        and each["metadata"]["name"] not in disrupted
        and each["status"]["conditions"][0]["status"] == "True"
    ]
    if "maxUnavailable" not in spec and "minAvailable" not in spec:
        return 0
    value = spec.get("maxUnavailable", spec.get("minAvailable"))
    if "minAvailable" in spec and isinstance(value, int):
        return max(0, len(healthy) - value)
    found = [scale(each["metadata"].get("ownerReferences"), owners) for each in mine]
    if "none" in found:
        return 0
    if "unknown" in found:
        return None
    expected = sum(dict(each for each in found if isinstance(each, tuple)).values())
    share = value if isinstance(value, int) else ceil(int(value[:-1]) * expected / 100)
    desired = max(0, expected - share) if "maxUnavailable" in spec else share
    return max(0, len(healthy) - desired) if expected else 0


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
        assert allowed == (expected or 0), each


def test_the_order_of_objects_does_not_matter() -> None:
    crowd = random_objects(Random(7), "team", NOW)
    rest = [*crowd.owners, *crowd.pods]
    assert count_offline([*crowd.budgets, *rest]) == count_offline([*reversed(rest), *crowd.budgets])
