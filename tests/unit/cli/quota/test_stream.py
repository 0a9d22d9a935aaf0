from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.common.lines import answer_each
from cli.quota.stream import answer_scenario
from tests.kit.changes import JSON, changed
from tests.kit.quota.manifests import (
    FLAVOR,
    HIGH,
    INCOMING,
    LOCAL,
    LOW,
    OBJECTS,
    QUEUE,
    SCENARIO,
    admitted,
    cluster_queue,
    manifest,
    with_object,
    workload,
)

QUOTA = "spec.resourceGroups.0.flavors.0.resources.0.nominalQuota"
USAGE = "status.admission.podSetAssignments.0.resourceUsage.cpu"
REQUEST = "spec.podSets.0.template.spec.containers.0.resources.requests.cpu"
PREEMPTS = {
    "id": "good",
    "mode": "Preempt",
    "flavors": {"main": {"cpu": "default"}},
    "borrowing": 0,
    "targets": [{"workload": "d/low", "reason": "InClusterQueue"}],
}


def answers(*lines: bytes) -> tuple[bool, list[dict[str, Any]]]:
    out = io.BytesIO()
    complete = answer_each(lines, out, answer_scenario)
    return complete, [json.loads(line) for line in out.getvalue().splitlines()]


def line(**changes: Any) -> bytes:
    scenario = {key: value for key, value in {**SCENARIO, **changes}.items() if value is not ...}
    return json.dumps(scenario).encode() + b"\n"


def answer(**changes: Any) -> dict[str, Any]:
    complete, (found,) = answers(line(**changes))
    assert complete == ("error" not in found)
    return found


def test_an_answer_a_line() -> None:
    fits = with_object(workload("incoming", 5, "0"))
    never = with_object(workload("incoming", 5, "11"))
    complete, found = answers(line(), line(id=7, objects=fits), line(id="ä", objects=never))
    assert complete
    assert found == [
        PREEMPTS,
        {"id": 7, "mode": "Fit", "flavors": {"main": {"cpu": "default"}}, "borrowing": 0, "targets": []},
        {"id": "ä", "mode": "NoFit", "flavors": {}, "borrowing": 0, "targets": []},
    ]


def test_what_else_a_line_says_does_not_count() -> None:
    assert answer(tags=["any"], expect={"mode": "Fit"}, fairSharing=...) == PREEMPTS


def test_preemption_is_needed_and_nobody_may_go() -> None:
    found = answer(objects=with_object(workload("incoming", 0, "3")))
    assert (found["mode"], found["targets"]) == ("Preempt", [])
    assert found["flavors"] == {"main": {"cpu": "default"}}


@pytest.mark.parametrize(
    "strategies",
    [
        None,
        [],
        ["LessThanOrEqualToFinalShare"],
        ["LessThanInitialShare"],
        ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
    ],
)
def test_fair_sharing_strategies(strategies: list[str] | None) -> None:
    assert answer(fairSharing=True, fairSharingStrategies=strategies) == PREEMPTS


def test_bad_lines_do_not_stop_the_rest() -> None:
    complete, (first, second, third) = answers(b"{oops\n", line(), line(id="last", objects=5))
    assert not complete
    assert first["id"] is None
    assert first["error"].startswith("is not JSON: ")
    assert second == PREEMPTS
    assert third == {"id": "last", "error": "objects: expected a list, got an integer"}


def test_time_based_preemption_can_be_off() -> None:
    preemption = {
        "withinClusterQueue": "LowerOrNewerEqualPriority",
        "withinClusterQueueConfig": {"minAdmitDuration": "1h"},
    }
    objects = [FLAVOR, cluster_queue("cq", preemption=preemption), LOCAL, admitted("a", 5, "10"), INCOMING]
    raw = line(objects=objects)
    assert answer_scenario(raw)["targets"] == [{"workload": "d/a", "reason": "InClusterQueueTimeBased"}]
    assert answer_scenario(raw, time_based=False)["targets"] == []


CYCLE = [
    manifest("Cohort", "a", spec={"parentName": "b"}),
    manifest("Cohort", "b", spec={"parentName": "a"}),
    cluster_queue("cq", cohortName="a"),
]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"now": ...}, "now: is missing"),
        ({"now": 5}, "now: expected a string, got an integer"),
        ({"now": "yesterday"}, "now: "),
        ({"now": "2026-03-01"}, "now: "),
        ({"now": "2026-03-01T12:00:00"}, "now: "),
        ({"objects": ...}, "objects: is missing"),
        ({"objects": [1]}, "objects[0]: expected an object, got an integer"),
        ({"objects": [{}]}, "objects[0]: apiVersion: is missing"),
        ({"incoming": ...}, "incoming: is missing"),
        ({"incoming": "incoming"}, "incoming: expected NAMESPACE/NAME, not 'incoming'"),
        ({"incoming": "d/other"}, "Workload d/other: there is no such object"),
        ({"incoming": "d/low"}, "objects[3], Workload d/low: "),
        ({"fairSharing": "yes"}, "fairSharing: expected true or false, got a string"),
        ({"fairSharingStrategies": ["Other"]}, "fairSharingStrategies[0]: "),
        (
            {"fairSharingStrategies": ["LessThanInitialShare", "LessThanOrEqualToFinalShare"]},
            "fairSharingStrategies: ",
        ),
        (
            {"objects": [*OBJECTS, QUEUE]},
            "objects[6], ClusterQueue cq: this object is defined twice, also in",
        ),
        (
            {"objects": with_object({**QUEUE, "apiVersion": "kueue.x-k8s.io/v1beta1"})},
            "objects[1]: apiVersion: kueue.x-k8s.io/v1beta1 is not read, only kueue.x-k8s.io/v1beta2: "
            "kubectl get clusterqueues.v1beta2.kueue.x-k8s.io prints it",
        ),
        (
            {"objects": with_object(changed(QUEUE, QUOTA, "-1"))},
            "objects[1], ClusterQueue cq: spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: ",
        ),
        (
            {"objects": with_object(changed(QUEUE, QUOTA, "many"))},
            "objects[1], ClusterQueue cq: spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: ",
        ),
        (
            {"objects": with_object(changed(LOW, USAGE, "-1"))},
            "objects[3], Workload d/low: status.admission.podSetAssignments[0].resourceUsage[cpu]: ",
        ),
        (
            {"objects": with_object(changed(LOW, USAGE, "10E"))},
            "objects[3], Workload d/low: status.admission.podSetAssignments[0].resourceUsage[cpu]: ",
        ),
        (
            {"objects": with_object(changed(INCOMING, REQUEST, "-1"))},
            "objects[5], Workload d/incoming: "
            "spec.podSets[0].template.spec.containers[0].resources.requests[cpu]: ",
        ),
        (
            {"objects": with_object(changed(INCOMING, REQUEST, "10E"))},
            "objects[5], Workload d/incoming: spec.podSets[0]",
        ),
        (
            {"objects": with_object(changed(LOW, "status.conditions.0.lastTransitionTime", "noon"))},
            "objects[3], Workload d/low: status.conditions[QuotaReserved].lastTransitionTime: ",
        ),
        (
            {"objects": with_object(changed(INCOMING, "metadata.creationTimestamp", "noon"))},
            "objects[5], Workload d/incoming: metadata.creationTimestamp: ",
        ),
        (
            {"objects": [FLAVOR, QUEUE, INCOMING]},
            "objects[2], Workload d/incoming: spec.queueName: ",
        ),
        (
            {"objects": [FLAVOR, LOCAL, INCOMING]},
            "objects[1], LocalQueue d/lq: spec.clusterQueue: there is no",
        ),
        (
            {"objects": [*CYCLE, FLAVOR, LOCAL, INCOMING]},
            "objects[2], ClusterQueue cq: is not active: spec.cohortName: the cohorts form a cycle: a -> b -> a",
        ),
        (
            {"objects": [QUEUE, LOCAL, INCOMING]},
            "objects[0], ClusterQueue cq: is not active: "
            "spec.resourceGroups[0].flavors[0].name: there is no ResourceFlavor default",
        ),
    ],
)
def test_what_is_wrong_with_a_scenario(changes: dict[str, Any], message: str) -> None:
    found = answer(**changes)
    assert list(found) == ["id", "error"]
    assert found["error"].startswith(message)


def test_quota_held_in_a_queue_that_is_gone_counts_nowhere() -> None:
    gone = admitted("gone", 1, "100", queue="other")
    assert answer(objects=[*OBJECTS, gone]) == PREEMPTS


def test_other_kinds_do_not_matter() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    assert answer(objects=[*OBJECTS, node, manifest("AdmissionCheck", "check")]) == PREEMPTS


@given(st.permutations(OBJECTS))
def test_the_order_of_objects_does_not_matter(objects: list[dict[str, Any]]) -> None:
    assert answer(objects=objects) == PREEMPTS


AWKWARD = JSON | st.sampled_from(
    ["", "-1", "1e99", "9223372036854775808", "0", -1, 2**63, 2**31, {}, [], "d"]
)


def paths(thing: Any, *path: Any) -> list[tuple[Any, ...]]:
    """Of every value in it."""
    steps = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
    return [path] * bool(path) + [found for step, inner in steps for found in paths(inner, *path, step)]


PATHS = paths(SCENARIO)


@given(st.lists(st.tuples(st.sampled_from(PATHS), AWKWARD | st.just(...)), min_size=1, max_size=3))
def test_any_value_in_any_field(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    scenario = json.loads(json.dumps(SCENARIO))
    for (*parents, last), value in changes:
        inner = scenario
        for step in parents:
            try:
                inner = inner[step]
            except (KeyError, IndexError, TypeError):
                break
        else:
            if isinstance(inner, dict):
                inner.pop(last, None) if value is ... else inner.update({last: value})
            elif isinstance(inner, list) and isinstance(last, int) and last < len(inner):
                inner[last : last + 1] = [] if value is ... else [value]
    _, (found,) = answers(json.dumps(scenario).encode())
    assert ("mode" in found) != ("error" in found)
    assert "internal error" not in found.get("error", "")


@given(st.integers(0, len(line()) - 1), st.binary(max_size=4))
def test_any_damage(at: int, damage: bytes) -> None:
    raw = line()
    _, (found,) = answers(raw[:at] + damage + raw[at + len(damage) :])
    assert ("mode" in found) != ("error" in found)
    assert "internal error" not in found.get("error", "")


def test_the_scenario_holds_who_it_says() -> None:
    assert answer(objects=with_object(changed(HIGH, "spec.priority", 0)))["targets"] == [
        {"workload": "d/high", "reason": "InClusterQueue"}
    ]
