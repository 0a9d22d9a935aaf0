"""Requests as pods will have them: limits, overheads, LimitRanges."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from api.limits import LimitRange, RuntimeClass
from api.meta import ObjectMeta
from api.requests import pod_requests
from api.validation import convert
from api.workloads import Workload
from quota.search.adjusted import adjusted
from quota.state.amounts import QuotaError
from quota.state.surroundings import NO_SURROUNDINGS, KnownSurroundings, Surroundings
from quota.state.workloads import pod_set_requests
from tests.kit.quota.surroundings import around, workload


def limit_range(
    name: str = "limits", kind: str = "Container", namespace: str = "team", **item: Any
) -> LimitRange:
    spec: Any = {"limits": [{"type": kind, **item}]}
    made: LimitRange = convert({"metadata": {"name": name, "namespace": namespace}, "spec": spec}, LimitRange)
    return made


def runtime_class(name: str, **overhead: Any) -> RuntimeClass:
    made: RuntimeClass = convert(
        {"metadata": {"name": name}, "overhead": {"podFixed": overhead} if overhead else None}, RuntimeClass
    )
    return made


def asked(made: Workload, where: Surroundings) -> dict[str, int]:
    (pods,) = pod_set_requests(adjusted(made, where))
    return dict(pods.requests)


def problem(made: Workload, where: Surroundings) -> str:
    with pytest.raises(QuotaError) as error:
        adjusted(made, where)
    return error.value.problem


def test_nothing_is_added_where_nothing_is_missing() -> None:
    made = workload({"requests": {"cpu": 1}, "limits": {"cpu": 1}})
    assert adjusted(made, NO_SURROUNDINGS) is made
    where = around(limit_range(default={"cpu": 5}, defaultRequest={"cpu": 4}, max={"cpu": 1}))
    assert asked(made, where) == {"cpu": 2000}


def test_a_limit_counts_where_a_request_is_missing() -> None:
    made = workload({"limits": {"cpu": 3, "memory": 7}, "requests": {"memory": 1}})
    assert asked(made, NO_SURROUNDINGS) == {"cpu": 6000, "memory": 2}


def test_its_pods_ask_nodes_for_their_limits_as_well() -> None:
    made = workload({"limits": {"cpu": 3}}, resources={"limits": {"memory": 7}})
    (pods,) = adjusted(made, NO_SURROUNDINGS).spec.pod_sets
    assert pod_requests(Pod(ObjectMeta(), pods.template.spec)) == {"cpu": 3000, "memory": 7}


def test_limits_become_requests_before_a_limit_range_is_looked_at() -> None:
    where = around(limit_range(default={"cpu": 5, "memory": 9}, defaultRequest={"cpu": 2}))
    assert asked(workload({"limits": {"cpu": 3}}), where) == {"cpu": 6000, "memory": 18}
    assert asked(workload({}, init=[{}]), where) == {"cpu": 4000, "memory": 18}
    assert asked(workload(None, None), where) == {"cpu": 8000, "memory": 36}


def test_a_limit_range_counts_only_in_its_namespace_and_for_containers() -> None:
    other = around(limit_range(namespace="other", defaultRequest={"cpu": 2}))
    assert asked(workload({}), other) == {}
    assert asked(workload({}), around(limit_range(kind="Pod", defaultRequest={"cpu": 2}))) == {}


def test_of_several_limit_ranges_the_first_default_counts_and_the_tightest_limits() -> None:
    one = limit_range("a", defaultRequest={"cpu": 1}, max={"cpu": 8}, min={"cpu": "200m"})
    two = limit_range("b", defaultRequest={"cpu": 2, "memory": 3}, max={"cpu": 4}, min={"cpu": "100m"})
    for things in ((one, two), (two, one)):
        where = around(*things)
        assert asked(workload({}), where) == {"cpu": 2000, "memory": 6}
        assert "limitRange max" in problem(workload({"requests": {"cpu": 5}}), where)
        assert "limitRange min" in problem(workload({"requests": {"cpu": "150m"}}), where)


def test_the_overhead_of_the_runtime_class_counts_once_a_pod() -> None:
    where = around(runtime_class("kata", cpu="250m"), runtime_class("plain"))
    made = {"requests": {"cpu": 1}}
    assert asked(workload(made, runtimeClassName="kata"), where) == {"cpu": 2500}
    assert asked(workload(made, runtimeClassName="plain"), where) == {"cpu": 2000}
    assert asked(workload(made), where) == {"cpu": 2000}
    assert asked(workload(made, runtimeClassName="kata", overhead={"cpu": 1}), where) == {"cpu": 4000}


def test_a_runtime_class_that_is_missing_is_named() -> None:
    made = workload({}, runtimeClassName="kata")
    assert problem(made, around(runtime_class("other"))) == "RuntimeClass kata doesn't exist"
    assert problem(made, around()) == "RuntimeClass kata doesn't exist"
    assert adjusted(made, around(partial=True)) is made
    assert problem(made, around(runtime_class("other"), partial=True)) == "RuntimeClass kata doesn't exist"


@pytest.mark.parametrize(
    ("kind", "item", "resources", "expected"),
    [
        (
            "Container",
            {"max": {"cpu": 1}},
            {"requests": {"cpu": 2}},
            "containers[0][cpu]: requests must not be above",
        ),
        (
            "Container",
            {"max": {"cpu": 1}},
            {"limits": {"cpu": 2}, "requests": {"cpu": 1}},
            "must not be above",
        ),
        (
            "Container",
            {"min": {"cpu": 2}},
            {"limits": {"cpu": 3}, "requests": {"cpu": 1}},
            "must not be below",
        ),
        (
            "Pod",
            {"max": {"cpu": 1}},
            {"requests": {"cpu": 2}},
            "podSets.main[cpu]: requests must not be above",
        ),
        (
            "Pod",
            {"min": {"cpu": 3}},
            {"requests": {"cpu": 2}},
            "podSets.main[cpu]: requests must not be below",
        ),
    ],
)
def test_what_a_limit_range_forbids_is_refused(kind: str, item: Any, resources: Any, expected: str) -> None:
    said = problem(workload(resources), around(limit_range(kind=kind, **item)))
    assert said.startswith("didn't satisfy LimitRange constraints: podSets.main")
    assert expected in said


def test_a_resource_that_only_the_limit_range_names_is_not_refused() -> None:
    made = workload({"requests": {"cpu": 1}})
    for kind in ("Container", "Pod"):
        where = around(limit_range(kind=kind, min={"memory": 1}, max={"example.com/gpu": 0}))
        assert asked(made, where) == {"cpu": 2000}


def test_a_request_above_its_limit_is_refused() -> None:
    made = workload({"requests": {"cpu": 2, "memory": 1}, "limits": {"cpu": 1, "memory": 1}})
    assert problem(made, NO_SURROUNDINGS) == (
        "resource validation failed: podSets.main.containers[0][cpu] requests exceed it's limits"
    )


def test_what_cannot_be_read_changes_nothing() -> None:
    known = KnownSurroundings()
    known.apply(limit_range(defaultRequest={"cpu": 1}))
    before = known.now
    for bad in (limit_range(max={"cpu": "x"}), runtime_class("kata", cpu="-1")):
        with pytest.raises(QuotaError):
            known.apply(bad)
    assert known.now is before


def test_changes_are_told_once() -> None:
    known = KnownSurroundings()
    assert known.apply(limit_range(max={"cpu": 1}))
    assert not known.apply(limit_range(max={"cpu": 1}))
    assert known.apply(limit_range(max={"cpu": 2}))
    assert known.apply(runtime_class("kata", cpu=1))
    assert not known.apply(runtime_class("kata", cpu=1))
    known.delete("LimitRange", "team/limits")
    known.delete("RuntimeClass", "kata")
    assert known.now == Surroundings(runtime_classes={})
