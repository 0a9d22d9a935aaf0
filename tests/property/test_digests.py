"""Digests of specs: equal for what means the same, different for everything else."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.multikueue.life.digests import LEFT_OUT, digest

SPEC: dict[str, Any] = {
    "active": True,
    "queueName": "q",
    "priority": 5,
    "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"},
    "preemptionGates": [{"name": "kueue.x-k8s.io/multikueue"}],
    "podSets": [
        {
            "name": "main",
            "count": 3,
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "args": ["", "x"],
                            "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": 2}},
                        }
                    ],
                    "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
                    "overhead": {"cpu": "250m"},
                    "tolerations": [{}, {"key": "k"}],
                },
            },
        }
    ],
}
LEAVES = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
SPECS = st.dictionaries(st.text(max_size=8), VALUES, max_size=5)


def at(spec: dict[str, Any], path: str) -> tuple[Any, Any]:
    """The container of what is at the path, and its key there."""
    found: Any = spec
    *way, last = (int(part) if part.isdigit() else part for part in path.split("."))
    for part in way:
        found = found[part]
    return found, last


def changed(path: str, value: object) -> dict[str, Any]:
    spec = copy.deepcopy(SPEC)
    where, key = at(spec, path)
    where[key] = value
    return spec


POD = "podSets.0.template.spec"
REQUESTS = f"{POD}.containers.0.resources.requests"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("podSets.0.template.metadata.creationTimestamp", None),
        (f"{POD}.containers.0.securityContext", {}),
        (f"{POD}.nodeSelector", {}),
        (f"{POD}.initContainers", []),
        (f"{POD}.affinity", {"nodeAffinity": {"terms": []}}),
        (f"{REQUESTS}.cpu", 1),
        (f"{REQUESTS}.cpu", "1000m"),
        (f"{REQUESTS}.cpu", 1.0),
        (f"{REQUESTS}.memory", "1024Mi"),
        (f"{REQUESTS}.memory", "1073741824"),
        (f"{POD}.overhead.cpu", "0.25"),
        (f"{POD}.volumes.0.emptyDir.sizeLimit", "1024Mi"),
        ("active", False),
        ("priority", 9),
        ("priorityClassRef", None),
        ("preemptionGates", []),
    ],
)
def test_what_means_the_same_is_equal(path: str, value: object) -> None:
    """Also an own gate of the manager's Workload (12543)."""
    assert digest(changed(path, value)) == digest(SPEC)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("queueName", "other"),
        ("podSets.0.count", 4),
        ("podSets.0.minCount", 1),
        ("maximumExecutionTimeSeconds", 60),
        (f"{REQUESTS}.cpu", "1001m"),
        (f"{REQUESTS}.memory", "1G"),
        (f"{POD}.containers.0.args", ["x", ""]),
        (f"{POD}.containers.0.args", ["", "", "x"]),
        (f"{POD}.containers.0.env", [{"name": "e"}]),
        (f"{POD}.tolerations", [{"key": "k"}]),
        (f"{POD}.priority", 5),
        ("podSets.0.template.metadata.labels.active", "true"),
    ],
)
def test_what_means_something_else_differs(path: str, value: object) -> None:
    assert digest(changed(path, value)) != digest(SPEC)


@given(SPECS, st.randoms())
def test_order_nulls_and_what_is_empty_mean_nothing(spec: dict[str, Any], dice: Any) -> None:
    def other(value: Any) -> Any:
        if isinstance(value, dict):
            items = [(key, other(each)) for key, each in value.items()]
            dice.shuffle(items)
            again = dict(items)
            nothing: list[Any] = [None, {}, [], {"deep": {"empty": None}}]
            for empty in nothing:
                again.setdefault(f"extra{len(again)}{dice.random()}", copy.deepcopy(empty))
            return again
        return [other(each) for each in value] if isinstance(value, list) else value

    assert digest(other(spec)) == digest(spec)
    assert digest(orjson.loads(orjson.dumps(spec))) == digest(spec)


@given(SPECS, SPECS)
def test_specs_differ_unless_what_is_kept_is_equal(one: dict[str, Any], two: dict[str, Any]) -> None:
    """What is kept is computed here in another way: as the set of the paths to all leaves."""

    def leaves(value: Any) -> Any:
        if isinstance(value, dict):
            kept = frozenset((key, leaves(each)) for key, each in value.items() if leaves(each) is not None)
            return ("object", kept) if kept else None
        if isinstance(value, list):
            return ("list", tuple(leaves(each) or "empty" for each in value)) if value else None
        return None if value is None else (type(value).__name__, value)

    def of(spec: dict[str, Any]) -> Any:
        return leaves({key: value for key, value in spec.items() if key not in LEFT_OUT})

    def has_both(value: Any) -> bool:
        """Only the digest sees the difference between an empty list and an empty object in a list."""
        if isinstance(value, list):
            return any(each in (None, {}, []) or has_both(each) for each in value)
        return isinstance(value, dict) and any(map(has_both, value.values()))

    if of(one) == of(two) and not has_both(one) and not has_both(two):
        assert digest(one) == digest(two)
    if of(one) != of(two):
        assert digest(one) != digest(two)


@given(st.text(max_size=80) | st.integers() | st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_any_amount_is_taken(amount: object, is_map: bool) -> None:
    spec = {"requests": {"cpu": amount}} if is_map else {"sizeLimit": amount}
    assert digest(spec) == digest(copy.deepcopy(spec))
    assert len(digest(spec)) == 16
