"""Defaults and admission, offline. `tests/e2e/test_stored_objects.py` compares them with a real API server.

Covers admission, amounts, filling, limit_ranges and rows.
"""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers.reading.changes import Changed, NowAndThen
from answers.reading.documents import JsonDocument
from api.core import Pod
from api.foreign_owners import JobSet, LeaderWorkerSet, MPIJobV2, RayCluster
from api.limits import LimitRange, RuntimeClass
from api.requests import pod_requests
from api.storage import PersistentVolumeClaim
from api.validation import convert
from hack.fidelity.reads import READ
from hack.fidelity.written import COMPARED, written
from nodes.groups.made_pods import Written
from schema.defaults.admission import Admitted, admitted, with_resource_tolerations
from schema.defaults.amounts import rounded
from schema.defaults.filling import filled, filled_for_admission
from schema.defaults.limit_ranges import Summary, summary_of
from schema.defaults.rows import ROWS, Default

Json = dict[str, Any]


def pod(*containers: Json, **spec: Any) -> Pod:
    named = [{"name": f"c{number}", **each} for number, each in enumerate(containers)]
    body: Any = {"metadata": {"name": "p", "namespace": "t"}, "spec": {"containers": named, **spec}}
    made: Pod = filled_for_admission(convert(body, Pod))
    return made


def limits(**item: Any) -> Summary:
    body: Any = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", **item}]}}
    return summary_of([filled(convert(body, LimitRange))])


def runtime(**fields: Any) -> dict[str, RuntimeClass]:
    return {"kata": convert({"metadata": {"name": "kata"}, **fields}, RuntimeClass)}


@given(st.sampled_from([*COMPARED]), st.integers(0, 1000))
def test_an_object_that_was_stored_stays_as_it_is(kind: tuple[str, str], seed: int) -> None:
    body = written(Random(seed), kind, "m", "ns")
    for struct in READ[kind]:
        if struct is not Written:
            once = filled(convert(body, struct))
            assert filled(deepcopy(once)) == once


@given(st.integers(0, 1000))
def test_nothing_that_is_written_is_changed(seed: int) -> None:
    body = written(Random(seed), ("v1", "Pod"), "m", "ns")
    before, after = convert(body, Pod).spec, filled(convert(body, Pod)).spec
    for old, new in zip(before.containers, after.containers, strict=True):
        if old.resources is not None:
            asked = old.resources.requests or {}
            assert rounded(asked).items() <= (new.resources.requests or {}).items()
            assert rounded(old.resources.limits or {}) == (new.resources.limits or {})


IN_STRUCTS = [row for row in ROWS if row.fill is None and " " not in row.value]


@pytest.mark.parametrize("row", IN_STRUCTS, ids=lambda row: row.field)
def test_a_struct_has_the_default_that_the_table_says(row: Default) -> None:
    names = dict(zip(row.of.__struct_encode_fields__, row.of.__struct_fields__, strict=True))
    defaults = dict(
        zip(reversed(row.of.__struct_fields__), reversed(row.of.__struct_defaults__), strict=False)
    )
    assert defaults[names[row.field.rpartition(".")[2]]] == row.value


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [("0.0001", "1m"), ("1500u", "2m"), ("100u", "1m"), ("1500m", "1500m"), ("1e-1", "1e-1"), (0.0005, "1m"),
     ("1Gi", "1Gi"), (3, 3), (None, None), ("nonsense", "nonsense")],
)  # fmt: skip
def test_quantities_are_rounded_up_to_thousandths(quantity: Any, expected: Any) -> None:
    assert rounded({"cpu": quantity}) == {"cpu": expected}


OWNERS: list[tuple[type[Any], Json, str, list[int]]] = [
    (
        JobSet,
        {"replicatedJobs": [{"name": "a"}, {"name": "b", "replicas": 0}]},
        "spec.replicated_jobs.replicas",
        [1, 0],
    ),
    (LeaderWorkerSet, {"leaderWorkerTemplate": {}}, "spec.leader_worker_template.size", [1]),
    (RayCluster, {"workerGroupSpecs": [{}, {"replicas": 3}]}, "spec.worker_group_specs.replicas", [0, 3]),
    (
        RayCluster,
        {"workerGroupSpecs": [{}, {"numOfHosts": 2}]},
        "spec.worker_group_specs.num_of_hosts",
        [1, 2],
    ),
    (
        MPIJobV2,
        {"mpiReplicaSpecs": {"Launcher": {}, "Worker": {}}},
        "spec.mpi_replica_specs.replicas",
        [1, 0],
    ),
]


@pytest.mark.parametrize(("struct", "spec", "path", "expected"), OWNERS)
def test_owners_of_other_projects_have_the_numbers_of_their_schemas(
    struct: type[Any], spec: Json, path: str, expected: list[int]
) -> None:
    found: list[Any] = [filled(convert({"metadata": {"name": "o"}, "spec": spec}, struct))]
    for name in path.split("."):
        values = [getattr(each, name) for each in found]
        found = [item for each in values for item in _items(each)]
    assert found == expected


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else [value]


# ---- pods that do not exist yet


def refusals(made: Pod, summary: Summary, classes: dict[str, RuntimeClass] | None = None) -> str:
    return "; ".join(admitted(made, summary, classes if classes is not None else {}).refusals)


@pytest.mark.parametrize(
    ("resources", "item", "text"),
    [
        ({"limits": {"cpu": 3}}, {"max": {"cpu": 2}},
         "the cpu limit of container c0 is above 2, the max of a LimitRange"),
        ({"limits": {"cpu": 1}}, {"min": {"cpu": 2}},
         "the cpu request of container c0 is below 2, the min of a LimitRange"),
        ({"limits": {"cpu": 2}, "requests": {"cpu": 1}}, {"max": {"cpu": 2}}, ""),
        ({"requests": {"cpu": 2}}, {"default": {"cpu": 1}}, "the cpu request of container c0 is above its limit of 1"),
        ({}, {"default": {"cpu": 1}, "max": {"cpu": 2}}, ""),
        ({"limits": {"cpu": 3}, "requests": {"cpu": 1}}, {"maxLimitRequestRatio": {"cpu": "2"}},
         "the cpu limit of container c0 is more than 2 times its request"),
        ({"limits": {"cpu": 2}, "requests": {"cpu": 1}}, {"maxLimitRequestRatio": {"cpu": "2"}}, ""),
        ({}, {"maxLimitRequestRatio": {"cpu": "2"}},
         "container c0 lacks a cpu request or limit, which maxLimitRequestRatio of a LimitRange needs"),
    ],
)  # fmt: skip
def test_a_limit_range_refuses(resources: Json, item: Json, text: str) -> None:
    assert refusals(pod({"resources": resources}), limits(**item)) == text


def test_a_limit_range_about_pods_wants_limits_of_the_whole_pod() -> None:
    body: Any = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Pod", "max": {"cpu": 3}}]}}
    summary = summary_of([convert(body, LimitRange)])
    one: Json = {"resources": {"limits": {"cpu": 2}}}
    assert "the cpu limit of the pod is above 3" in refusals(pod(one, one), summary)
    assert refusals(pod(one), summary) == ""
    assert "has no limit for cpu" in refusals(pod({}), summary)
    assert refusals(pod({}, resources={"limits": {"cpu": 3}}), summary) == ""


def test_a_pod_gets_what_its_runtime_class_says() -> None:
    classes = runtime(
        overhead={"podFixed": {"cpu": 1}},
        scheduling={"nodeSelector": {"kata": "yes"}, "tolerations": [{"key": "kata", "operator": "Exists"}]},
    )
    made = admitted(pod({}, runtimeClassName="kata", nodeSelector={"a": "b"}), Summary(), classes)
    assert made.refusals == ()
    assert made.pod.spec.node_selector == {"a": "b", "kata": "yes"}
    assert pod_requests(made.pod) == {"cpu": 1000}
    assert [each.key for each in made.pod.spec.tolerations or ()][-1] == "kata"


def test_a_pod_that_says_otherwise_than_its_runtime_class_is_refused() -> None:
    classes = runtime(overhead={"podFixed": {"cpu": 1}}, scheduling={"nodeSelector": {"kata": "yes"}})
    assert "overhead" in refusals(pod({}, runtimeClassName="kata", overhead={"cpu": 2}), Summary(), classes)
    assert "kata=no" in refusals(
        pod({}, runtimeClassName="kata", nodeSelector={"kata": "no"}), Summary(), classes
    )
    assert "no RuntimeClass" in refusals(pod({}, overhead={"cpu": 2}), Summary())
    assert refusals(pod({}, runtimeClassName="kata", overhead={"cpu": "1000m"}), Summary(), classes) == ""


def test_a_runtime_class_that_was_not_read_is_named() -> None:
    made: Admitted = admitted(pod({}, runtimeClassName="kata"), Summary(), None)
    assert made.refusals == ()
    assert made.unknown == ("RuntimeClass kata, which is not in what was read",)


@pytest.mark.parametrize(
    ("own", "added"),
    [
        ([], 2),
        ([{"operator": "Exists"}], 0),
        ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}], 1),
        ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}], 2),
    ],
)
def test_pods_stay_for_a_while_on_nodes_that_fail(own: list[Json], added: int) -> None:
    made = admitted(pod({}, tolerations=own), Summary(), {})
    assert len(made.pod.spec.tolerations or ()) == len(own) + added


def test_the_plugin_that_is_off_by_default_adds_a_toleration_for_each_extended_resource() -> None:
    made = with_resource_tolerations(pod({"resources": {"limits": {"example.com/gpu": 1, "cpu": 1}}}))
    assert [each.key for each in made.spec.tolerations or ()] == ["example.com/gpu"]


# ---- changes


def test_a_changed_claim_without_a_status_keeps_the_stored_one() -> None:
    body: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "t"},
    }
    changed = Changed("t")
    changed.add(
        JsonDocument(b'{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c"}}'), "new"
    )
    (thing,) = changed.things.values()
    assert thing.status.phase == "Pending"
    both = NowAndThen(0, changed)
    stored = filled(convert({**body, "status": {"phase": "Bound"}}, PersistentVolumeClaim))
    both.keep(stored, "stored")
    (merged,) = both._changed.values()
    assert merged.status.phase == "Bound"
