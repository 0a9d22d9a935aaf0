"""Kueue's kinds: every field is read and written back, and refused where an API server would refuse it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.checks import KubeConfig
from api.core import PodSpec, Taint, Toleration
from api.kueue import BorrowWithinCohort, ClusterQueue, ClusterQueuePreemption, FairSharing, FlavorFungibility
from api.meta import Condition, ObjectMeta
from api.podsets import PodSet, PodSetAssignment
from api.validation import FieldError, convert
from api.workloads import Workload
from tests.kit.full import KINDS, full

Path = tuple[str | int, ...]
NOT_KUEUES = (ObjectMeta, PodSpec, Condition, Taint, Toleration)


def fields(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any, msgspec.structs.FieldInfo]]:
    """Every field within, of Kueue's own types: where it is on the wire, its value and what it is."""
    if isinstance(value, msgspec.Struct) and not isinstance(value, NOT_KUEUES):
        for field in msgspec.structs.fields(value):
            inner = getattr(value, field.name)
            yield (*path, field.encode_name), inner, field
            yield from fields(inner, (*path, field.encode_name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from fields(item, (*path, index))


def replaced(document: Any, path: Path, change: Callable[[Any, str | int], None]) -> Any:
    """A copy in which the container of what is at the path was changed."""
    document = copy.deepcopy(document)
    container = document
    for step in path[:-1]:
        container = container[step]
    change(container, path[-1])
    return document


def at(document: Any, path: Path, value: Any) -> Any:
    return replaced(document, path, lambda container, key: container.__setitem__(key, value))


def read(kind: str, document: Any) -> Any:
    """The object, or the path of the field that it was refused for."""
    try:
        return convert(document, KINDS[kind])
    except FieldError as error:
        return error.path


def dotted(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


PLACES = [
    (kind, path)
    for kind in KINDS
    for path, _, _ in fields(convert(full(kind), KINDS[kind]))
    if path not in (("apiVersion",), ("kind",))  # every object says what it is
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_examples_set_every_field_to_something_else_than_its_default(kind: str) -> None:
    unset = [
        dotted(path)
        for path, value, field in fields(convert(full(kind), KINDS[kind]))
        if value is None or value == field.default
    ]
    assert not unset


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_is_written_back(kind: str) -> None:
    document = full(kind)
    assert msgspec.to_builtins(convert(document, KINDS[kind])) == document
    decoded = msgspec.json.decode(msgspec.json.encode(document), type=KINDS[kind])
    assert msgspec.json.decode(msgspec.json.encode(decoded)) == document


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_made_in_code_says_what_it_is(kind: str) -> None:
    required = {"value": 1} if kind == "WorkloadPriorityClass" else {}
    thing = KINDS[kind](metadata=ObjectMeta(name="n"), **required)
    written = msgspec.to_builtins(thing)
    assert (written["apiVersion"], written["kind"]) == ("kueue.x-k8s.io/v1beta2", kind)
    assert convert(written, KINDS[kind]) == thing


@pytest.mark.parametrize(
    ("kind", "path"), PLACES, ids=lambda value: value if isinstance(value, str) else dotted(value)
)
def test_null_is_as_good_as_nothing(kind: str, path: Path) -> None:
    left_out = replaced(full(kind), path, lambda container, key: container.__delitem__(key))
    assert read(kind, at(full(kind), path, None)) == read(kind, left_out)


def test_the_defaults_of_a_cluster_queue() -> None:
    spec = convert({"metadata": {"name": "cq"}}, ClusterQueue).spec
    assert (spec.cohort_name, spec.queueing_strategy, spec.stop_policy) == ("", "BestEffortFIFO", "None")
    assert spec.flavor_fungibility == FlavorFungibility("MayStopSearch", "TryNextFlavor", None)
    assert spec.preemption == ClusterQueuePreemption(
        "Never", BorrowWithinCohort("Never", None), "Never", None
    )
    # Absent it selects no namespace; empty it selects all.
    assert spec.namespace_selector is None
    assert convert({}, FairSharing).weight == 1
    assert convert({"location": "l"}, KubeConfig).location_type == "Secret"


def test_the_defaults_of_a_workload() -> None:
    workload = convert({"metadata": {"name": "w"}}, Workload)
    assert (workload.spec.active, workload.spec.pod_sets, workload.spec.priority) == (True, [], None)
    assert workload.status.conditions is None
    pod_set = convert({"template": {}}, PodSet)
    assert (pod_set.name, pod_set.count, pod_set.min_count) == ("main", 1, None)
    assert pod_set.template.spec.containers is None
    assert convert({}, PodSetAssignment).name == "main"


def test_defaults_are_not_shared() -> None:
    one, other = (convert({"metadata": {}, "spec": {"preemption": None}}, ClusterQueue) for _ in range(2))
    assert one.spec.preemption is not other.spec.preemption
    workloads = [convert({"metadata": {}, "spec": {"podSets": None}}, Workload) for _ in range(2)]
    assert workloads[0].spec.pod_sets is not workloads[1].spec.pod_sets


GROUP: Path = ("spec", "resourceGroups", 0)
FLAVOR: Path = (*GROUP, "flavors", 0)
PREEMPTION: Path = ("spec", "preemption")
POD_SET: Path = ("spec", "podSets", 0)
CHECK: Path = ("status", "admissionChecks", 0)
ASSIGNMENT: Path = ("status", "admission", "podSetAssignments", 0)

BAD: list[tuple[str, Path, Any]] = [
    ("ClusterQueue", ("spec", "resourceGroups"), [{}] * 17),
    ("ClusterQueue", (*GROUP, "coveredResources"), []),
    ("ClusterQueue", (*GROUP, "coveredResources"), ["r"] * 65),
    ("ClusterQueue", (*GROUP, "flavors"), []),
    ("ClusterQueue", (*FLAVOR, "name"), "Spot"),
    ("ClusterQueue", (*FLAVOR, "name"), "a" * 254),
    ("ClusterQueue", (*FLAVOR, "resources"), []),
    ("ClusterQueue", (*FLAVOR, "resources", 0, "nominalQuota"), ["1"]),
    ("ClusterQueue", ("spec", "cohortName"), "a_b"),
    ("ClusterQueue", ("spec", "cohortName"), ""),
    ("ClusterQueue", ("spec", "queueingStrategy"), "FIFO"),
    ("ClusterQueue", ("spec", "stopPolicy"), "Drain"),
    ("ClusterQueue", ("spec", "flavorFungibility", "whenCanBorrow"), "Borrow"),
    ("ClusterQueue", ("spec", "flavorFungibility", "whenCanPreempt"), "Preempt"),
    ("ClusterQueue", ("spec", "flavorFungibility", "preference"), ""),
    ("ClusterQueue", (*PREEMPTION, "reclaimWithinCohort"), "LowerOrNewerEqualPriority"),
    ("ClusterQueue", (*PREEMPTION, "withinClusterQueue"), "Any"),
    ("ClusterQueue", (*PREEMPTION, "borrowWithinCohort", "policy"), "Any"),
    ("ClusterQueue", (*PREEMPTION, "borrowWithinCohort", "maxPriorityThreshold"), 2**31),
    ("ClusterQueue", (*PREEMPTION, "withinClusterQueueConfig", "minAdmitDuration"), 60),
    ("ClusterQueue", ("spec", "admissionChecksStrategy", "admissionChecks"), []),
    ("ClusterQueue", ("spec", "admissionChecksStrategy", "admissionChecks", 0, "name"), ""),
    ("ClusterQueue", ("spec", "admissionScope", "admissionMode"), "Any"),
    ("ClusterQueue", ("status", "conditions"), [{"type": "t", "status": "True"}] * 17),
    ("ClusterQueue", ("kind",), "Cohort"),
    ("Cohort", ("spec", "parentName"), "-"),
    ("LocalQueue", ("spec", "clusterQueue"), "a..b"),
    ("LocalQueue", ("status", "flavorsUsage"), [{"name": "f", "resources": []}] * 17),
    ("ResourceFlavor", ("spec", "nodeLabels"), {str(index): "" for index in range(9)}),
    ("ResourceFlavor", ("spec", "tolerations"), [{}] * 9),
    ("WorkloadPriorityClass", ("value",), -(2**31) - 1),
    ("WorkloadPriorityClass", ("description",), "d" * 2049),
    ("AdmissionCheck", ("spec", "controllerName"), ""),
    ("AdmissionCheck", ("spec", "parameters", "apiGroup"), ""),
    ("AdmissionCheck", ("spec", "parameters", "kind"), "Multi_Kueue"),
    ("MultiKueueConfig", ("spec", "clusters"), []),
    ("MultiKueueConfig", ("spec", "clusters"), ["c"] * 21),
    ("MultiKueueCluster", ("spec", "clusterSource", "kubeConfig", "locationType"), "URL"),
    ("Workload", ("spec", "podSets"), []),
    ("Workload", ("spec", "podSets"), [{"template": {}}] * 19),
    ("Workload", (*POD_SET, "name"), "a.b"),
    ("Workload", (*POD_SET, "name"), "a" * 64),
    ("Workload", (*POD_SET, "count"), -1),
    ("Workload", (*POD_SET, "minCount"), 0),
    ("Workload", (*POD_SET, "topologyRequest", "required"), "a" * 64),
    ("Workload", ("spec", "priority"), 2**31),
    ("Workload", ("spec", "priorityClassRef", "group"), "batch"),
    ("Workload", ("spec", "priorityClassRef", "name"), ""),
    ("Workload", ("spec", "maximumExecutionTimeSeconds"), 0),
    ("Workload", ("spec", "preemptionGates"), [{"name": "g"}] * 9),
    ("Workload", ("spec", "preemptionGates", 0, "name"), ""),
    ("Workload", (*ASSIGNMENT, "count"), -1),
    ("Workload", (*ASSIGNMENT, "flavors", "cpu"), "Spot"),
    ("Workload", (*ASSIGNMENT, "delayedTopologyRequest"), "No"),
    ("Workload", ("status", "reclaimablePods", 0, "count"), -1),
    ("Workload", ("status", "requeueState", "count"), -1),
    ("Workload", (*CHECK, "state"), "Failed"),
    ("Workload", (*CHECK, "message"), "m" * 32769),
    ("Workload", (*CHECK, "requeueAfterSeconds"), -1),
    ("Workload", (*CHECK, "retryCount"), 2**31),
    ("Workload", ("status", "nominatedClusterNames"), ["c"] * 21),
    ("Workload", ("status", "preemptionGates", 0, "position"), "Ajar"),
]


@pytest.mark.parametrize(("kind", "path", "value"), BAD)
def test_what_is_out_of_bounds_is_refused_by_its_path(kind: str, path: Path, value: Any) -> None:
    with pytest.raises(FieldError) as refusal:
        convert(at(full(kind), path, value), KINDS[kind])
    assert refusal.value.path == dotted(path)


GOOD: list[tuple[str, Path, Any]] = [
    ("ClusterQueue", ("spec", "resourceGroups"), [full("ClusterQueue")["spec"]["resourceGroups"][0]] * 16),
    ("ClusterQueue", (*FLAVOR, "name"), "a" * 253),
    ("ClusterQueue", (*FLAVOR, "resources", 0, "nominalQuota"), 2**70),
    ("ClusterQueue", ("spec", "namespaceSelector"), {}),
    ("ClusterQueue", (*PREEMPTION, "borrowWithinCohort", "maxPriorityThreshold"), -(2**31)),
    ("Workload", ("spec", "podSets"), [{"template": {}}] * 18),
    ("Workload", (*POD_SET, "count"), 0),
    ("Workload", (*ASSIGNMENT, "resourceUsage"), {"cpu": None, "memory": 1.5, "gpu": 2}),
    ("Workload", (*CHECK, "message"), ""),
    ("Workload", ("spec", "fieldOfALaterVersion"), {"a": 1}),
]


@pytest.mark.parametrize(("kind", "path", "value"), GOOD)
def test_what_is_just_within_bounds_is_taken(kind: str, path: Path, value: Any) -> None:
    convert(at(full(kind), path, value), KINDS[kind])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(place=st.sampled_from(PLACES), value=JSON)
def test_whatever_is_in_a_field_is_taken_or_refused_by_its_path(place: tuple[str, Path], value: Any) -> None:
    kind, path = place
    outcome = read(kind, at(full(kind), path, value))
    assert not isinstance(outcome, str) or outcome.startswith(dotted(path))
