from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from answers.errors import InputError
from answers.reading.documents import JsonDocument
from answers.reading.node_objects import NodeObjects
from nodes.state.snapshot import Snapshot
from tests.kit.changes import changed
from tests.kit.examples import examples

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": 4, "memory": "8Gi", "pods": "110"}},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p1", "namespace": "team"},
    "spec": {
        "nodeName": "n1",
        "priority": 5,
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
    },
}
GROUP: dict[str, Any] = {
    "apiVersion": "reprieve.dev/v1alpha1",
    "kind": "PodGroup",
    "metadata": {"name": "g"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
}
CLASS: dict[str, Any] = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 7,
}
BUDGET: dict[str, Any] = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b", "namespace": "team"},
    "spec": {"selector": {"matchLabels": {"a": "b"}}},
}


def load(*texts: str) -> tuple[NodeObjects, Snapshot]:
    objects = NodeObjects()
    for number, text in enumerate(texts):
        objects.add_file(text.encode(), f"file{number}")
    return objects, objects.picture().snapshot


def error(*texts: str) -> str:
    with pytest.raises(InputError) as caught:
        load(*texts)
    return str(caught.value)


def names(snapshot: Snapshot) -> list[str]:
    rows = zip(snapshot.pod_namespaces, snapshot.pod_names, snapshot.pod_live, strict=True)
    return sorted(f"{namespace}/{name}" for namespace, name, live in rows if live)


@pytest.mark.parametrize("dump", [json.dumps, yaml.dump])
def test_lists_and_single_objects(dump: Any) -> None:
    everything = {"apiVersion": "v1", "kind": "List", "items": [NODE, POD, GROUP, CLASS, BUDGET]}
    objects, snapshot = load(dump(everything))
    assert names(snapshot) == ["team/p1"]
    assert snapshot.node_names == ["n1"]
    assert ("default", "g") in snapshot.group_keys
    assert snapshot.priority_classes["high"].value == 7
    assert snapshot.budgets[0] is not None
    assert not objects.ignored
    _, alone = load(*map(dump, [NODE, POD, GROUP, CLASS, BUDGET]))
    assert names(alone) == names(snapshot)


@pytest.mark.parametrize("dump", [json.dumps, yaml.dump])
def test_typed_lists_need_no_kinds_in_their_items(dump: Any) -> None:
    bare = {key: POD[key] for key in ("metadata", "spec")}
    _, snapshot = load(
        dump({"apiVersion": "v1", "kind": "PodList", "items": [bare, POD | {"metadata": {"name": "p2"}}]})
    )
    assert names(snapshot) == ["default/p2", "team/p1"]
    _, empty = load(dump({"apiVersion": "v1", "kind": "PodList", "items": None}))
    assert names(empty) == []


def test_documents_and_lists_of_lists() -> None:
    pods = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [{"apiVersion": "v1", "kind": "PodList", "items": [POD]}],
    }
    _, snapshot = load("---\n# nothing\n---\n" + yaml.dump(NODE) + "---\n" + yaml.dump(pods))
    assert names(snapshot) == ["team/p1"]


def test_other_kinds_are_counted() -> None:
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "d"}}
    native = {"apiVersion": "scheduling.example.com/v1", "kind": "PodGroup", "metadata": {"name": "g"}}
    objects, _ = load(json.dumps(ingress), json.dumps(native), json.dumps(ingress | {"metadata": {}}))
    assert objects.ignored == {"networking.k8s.io/v1 Ingress": 2, "scheduling.example.com/v1 PodGroup": 1}


def test_uids_are_made_from_names() -> None:
    _, snapshot = load(json.dumps(POD))
    assert [*snapshot.pod_uids] == ["Pod/team/p1"]


def test_priorities_of_pods_that_admission_has_not_seen() -> None:
    unset = changed(POD, "spec.priority", ...)
    named = changed(changed(unset, "spec.priorityClassName", "high"), "metadata.name", "p2")
    system = changed(changed(named, "spec.priorityClassName", "system-node-critical"), "metadata.name", "p3")
    # The class comes last: order of files and documents does not matter.
    _, snapshot = load(json.dumps(unset), json.dumps(named), json.dumps(system), json.dumps(CLASS))
    priorities = dict(zip(snapshot.pod_names, snapshot.pod_priority.tolist(), strict=True))
    assert priorities == {"p1": 0, "p2": 7, "p3": 2_000_001_000}
    _, snapshot = load(json.dumps(unset), json.dumps(CLASS | {"globalDefault": True}))
    assert snapshot.pod_priority.tolist() == [7]
    assert error(json.dumps(named)) == (
        "file0: document 1, Pod team/p2: spec.priorityClassName: there is no PriorityClass high"
    )


def test_times_in_yaml_need_no_quotes() -> None:
    text = yaml.dump(POD) + "status: {startTime: 2026-01-02T03:04:05Z}\n"
    _, snapshot = load(text)
    assert snapshot.pod_start.tolist() == [1767323045]


REQUESTS = "spec.containers.0.resources.requests"
AFFINITY = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"


def node_affinity(operator: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": "a", "operator": operator}]}]
    return {"nodeAffinity": {AFFINITY.rpartition(".")[2]: {"nodeSelectorTerms": terms}}}


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        ([[]], "document 1: expected an object, got a list"),
        (5, "document 1: expected an object, got an integer"),
        ({}, "document 1: apiVersion: is missing"),
        ({"apiVersion": "v1"}, "document 1: kind: is missing"),
        ({"apiVersion": "v1", "kind": 5}, "document 1: kind: expected a string, got an integer"),
        (changed(POD, "metadata", ...), "document 1, Pod default/: metadata.name: is missing"),
        (changed(POD, "metadata.name", ""), "document 1, Pod team/: metadata.name: is missing"),
        (changed(POD, "metadata.name", 5), "document 1: metadata.name: expected a string, got an integer"),
        (changed(POD, "spec", ...), "document 1, Pod team/p1: spec: is missing"),
        (changed(POD, "spec.containers", []), "document 1, Pod team/p1: spec.containers: is missing"),
        (
            changed(POD, "spec.containers.0.name", ...),
            "document 1, Pod team/p1: spec.containers[0].name: is missing",
        ),
        (
            changed(POD, "spec.priority", 2**40),
            "document 1, Pod team/p1: spec.priority: expected an integer <= ",
        ),
        (
            changed(POD, f"{REQUESTS}.cpu", "1Q"),
            'document 1, Pod team/p1: spec.containers[0].resources.requests.cpu: "1Q" is not a quantity',
        ),
        (
            changed(POD, f"{REQUESTS}.nvidia:com/gpu", []),
            'document 1, Pod team/p1: spec.containers[0].resources.requests["nvidia:com/gpu"]: expected',
        ),
        (
            changed(POD, "spec.overhead.memory", "x"),
            'document 1, Pod team/p1: spec.overhead.memory: "x" is not a quantity',
        ),
        (
            changed(POD, "status.startTime", "yesterday"),
            'document 1, Pod team/p1: status.startTime: "yesterday" is not an RFC 3339 time',
        ),
        (
            changed(POD, "metadata.creationTimestamp", "0001-01-01T00:00:00+10:00"),
            'document 1, Pod team/p1: metadata.creationTimestamp: "0001-01-01T00:00:00+10:00" is not an RFC 3339',
        ),
        (
            changed(BUDGET, "status.disruptionsAllowed", 10**30),
            "document 1, PodDisruptionBudget team/b: status.disruptionsAllowed: expected an integer <= 2147483647",
        ),
        (
            changed(NODE, "status.allocatable.cpu", "four"),
            'document 1, Node n1: status.allocatable.cpu: "four" is not a quantity',
        ),
        (
            changed(NODE, "status.allocatable.cpu", "-4"),
            'document 1, Node n1: status.allocatable.cpu: "-4" is negative',
        ),
        (
            changed(POD, f"{REQUESTS}.cpu", "-1m"),
            'document 1, Pod team/p1: spec.containers[0].resources.requests.cpu: "-1m" is negative',
        ),
        (
            changed(NODE, "spec", {"taints": [{"key": "a", "effect": "Noschedule"}]}),
            "document 1, Node n1: spec.taints[0].effect: not one of NoSchedule, PreferNoSchedule, NoExecute: 'Nosch",
        ),
        (
            changed(changed(POD, "spec.affinity", node_affinity("Like")), "spec.nodeName", ""),
            f"document 1, Pod team/p1: {AFFINITY}.nodeSelectorTerms[0].matchExpressions[0].operator: not one of",
        ),
        (
            changed(GROUP, "spec.schedulingPolicy", {}),
            "document 1, PodGroup default/g: spec.schedulingPolicy: must have exactly one of basic and gang",
        ),
        (
            changed(GROUP, "spec.disruptionMode", {"all": {}, "single": {}}),
            "document 1, PodGroup default/g: spec.disruptionMode: must not have both",
        ),
        (
            changed(GROUP, "spec.schedulingPolicy.gang.minCount", 0),
            "document 1, PodGroup default/g: spec.schedulingPolicy.gang.minCount: expected an integer >= 1",
        ),
        (
            changed(BUDGET, "spec.selector.matchExpressions", [{"key": "a", "operator": "Like"}]),
            "document 1, PodDisruptionBudget team/b: spec.selector.matchExpressions[0].operator: not one of",
        ),
        (
            {"apiVersion": "v1", "kind": "List", "items": [NODE, changed(POD, "spec.nodeName", 1)]},
            "document 1, items[1], Pod team/p1: spec.nodeName: expected a string, got an integer",
        ),
        (
            {"apiVersion": "v1", "kind": "List", "items": [{"metadata": {}}]},
            "document 1, items[0]: apiVersion: is",
        ),
        (
            {"apiVersion": "v1", "kind": "List", "items": 5},
            "document 1: items: expected a list or null, got an int",
        ),
    ],
)
@pytest.mark.parametrize("dump", [json.dumps, yaml.dump])
def test_errors_name_document_object_and_field(dump: Any, thing: object, message: str) -> None:
    assert error(dump(thing)).startswith(f"file0: {message}")


def test_errors_name_the_document() -> None:
    text = yaml.dump_all([NODE, GROUP, changed(POD, "spec.priority", "high")])
    assert error(text).startswith("file0: document 3, Pod team/p1: spec.priority: expected an integer")


def test_one_object_of_a_name() -> None:
    assert error(json.dumps(NODE), yaml.dump_all([POD, NODE])) == (
        "file1: document 2, Node n1: this object is defined twice, also in file0: document 1, Node n1"
    )
    with_namespace = changed(GROUP, "metadata.namespace", "default")
    assert "PodGroup default/g: this object is defined twice" in error(
        json.dumps(GROUP), json.dumps(with_namespace)
    )


@pytest.mark.parametrize("ended", [[], [0], [1], [0, 1]])
def test_one_pod_of_a_uid(ended: list[int]) -> None:
    first = changed(POD, "metadata.uid", "u")
    pods = [first, changed(first, "metadata.name", "p2")]
    for number in ended:
        pods[number] = changed(pods[number], "status", {"phase": "Succeeded"})
    assert error(*map(json.dumps, pods)) == (
        "file1: document 1, Pod team/p2: metadata.uid: is also that of file0: document 1, Pod team/p1"
    )


def test_the_affinity_of_pods_that_run_no_longer_matters() -> None:
    running = changed(POD, "spec.affinity", node_affinity("Like"))
    assert names(load(json.dumps(running))[1]) == ["team/p1"]


def test_broken_text() -> None:
    assert error('{"kind": "Pod"\n"x": 1}').startswith(
        "file0: line 2, column 1: while parsing a flow mapping"
    )
    assert error('{"kind": "Pod",').startswith("file0: line 2, column 1: while parsing a flow node")
    assert error("a: b: c") == "file0: line 1, column 5: mapping values are not allowed in this context"
    assert "nested deeper" in error("[" * 100_000)
    assert "nested deeper" in error('{"a":' * 100_000)


def test_lists_are_not_followed_for_ever() -> None:
    thing: dict[str, Any] = NODE
    for _ in range(20):
        thing = {"apiVersion": "v1", "kind": "List", "items": [thing]}
    assert "lists are nested" in error(json.dumps(thing))
    assert "lists are nested" in error(yaml.dump(thing))


@settings(max_examples=examples(300))
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    ),
    st.sampled_from(
        [
            "metadata",
            "metadata.labels",
            "metadata.creationTimestamp",
            "spec",
            "spec.containers",
            REQUESTS,
            f"{REQUESTS}.cpu",
            "spec.priority",
            "spec.tolerations",
            "spec.affinity",
            "spec.volumes",
            "status",
            "status.startTime",
            "status.containerStatuses",
        ]
    ),
)
def test_any_value_anywhere_is_read_or_refused(value: object, path: str) -> None:
    pod = changed(POD, path, "@")
    raw = json.dumps(pod).replace('"@"', json.dumps(value))
    objects = NodeObjects()
    try:
        msgspec.json.decode(raw.encode(), type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return
    try:
        objects.add(JsonDocument(raw.encode()), "line")
        objects.picture()
    except InputError as caught:
        assert str(caught).startswith("line")  # noqa: PT017 - both ways out are right


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_group_of_kubernetes_is_read_in_either_version(version: str) -> None:
    group = GROUP | {"apiVersion": f"scheduling.k8s.io/{version}"}
    _, snapshot = load(json.dumps(group))
    assert snapshot.group_keys == [("default", "podgroups.scheduling.k8s.io:g")]
