"""Whole requests: what becomes of them, and what an API server finds wrong with them by itself."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from schema import KNOWN, judge, prepare
from schema.nodes import node_of
from schema.verdict import Cause
from tests.kit.manifests import kueue

Json = dict[str, Any]

OWNER: Json = {"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": True}
BARE: Json = {"kind": "K", "name": "n", "uid": "u"}
UNCHECKED = ("<nil>", "Invalid")
"""Rules wait until types are right and nothing is missing."""


def cohort(**spec: Any) -> Json:
    return kueue("Cohort", "all", spec=spec)


def queue(**spec: Any) -> Json:
    return kueue("ClusterQueue", "all", spec=spec)


def workload(status: Json | None = None, **spec: Any) -> Json:
    whole = kueue("Workload", "w", "d", spec=spec)
    return whole if status is None else whole | {"status": status}


def quota(names: list[str]) -> Json:
    """On a kind with duplicates to be had."""
    resource = {"name": "cpu", "nominalQuota": 1}
    flavors = [{"name": name, "resources": [resource]} for name in names]
    return {"coveredResources": ["cpu"], "flavors": flavors}


def stored(new: Json, old: Json | None = None, subresource: str = "") -> Json:
    prepared = prepare(new["kind"], new, old, subresource)
    assert not isinstance(prepared, list), prepared
    return prepared.new


def causes(new: Json, old: Json | None = None, subresource: str = "") -> list[Cause]:
    prepared = prepare(new["kind"], new, old, subresource)
    return prepared if isinstance(prepared, list) else judge(prepared)


def faults(new: Json, old: Json | None = None, subresource: str = "") -> list[tuple[str, str]]:
    return [(each.field, each.type.removeprefix("FieldValue")) for each in causes(new, old, subresource)]


@pytest.mark.parametrize("kind", sorted(KNOWN))
def test_every_schema_and_every_rule_is_understood(kind: str) -> None:
    assert node_of(kind).properties["metadata"].types == ("object",)


def test_defaults_are_put_in_and_nulls_left_out() -> None:
    given = queue(
        cohortName=None, stopPolicy=None, preemption={"borrowWithinCohort": {}}, namespaceSelector=None
    )
    before = copy.deepcopy(given)
    spec = stored(given)["spec"]
    assert given == before
    assert "cohortName" not in spec
    assert "namespaceSelector" not in spec
    assert spec["stopPolicy"] == "None"
    assert spec["preemption"]["reclaimWithinCohort"] == "Never"
    assert spec["preemption"]["borrowWithinCohort"] == {"policy": "Never"}
    assert spec["flavorFungibility"]["whenCanBorrow"] == "MayStopSearch"


def test_defaults_reach_into_lists() -> None:
    podset = {"template": {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 1}]}]}}}
    spec = stored(workload(podSets=[podset]))["spec"]
    assert spec["podSets"][0]["name"] == "main"
    assert spec["podSets"][0]["count"] == 1
    assert spec["podSets"][0]["template"]["spec"]["containers"][0]["ports"] == [
        {"containerPort": 1, "protocol": "TCP"}
    ]


def test_defaults_of_one_object_are_not_anothers() -> None:
    first = stored(queue())
    first["spec"]["preemption"]["reclaimWithinCohort"] = "Any"
    assert stored(queue())["spec"]["preemption"]["reclaimWithinCohort"] == "Never"


def test_the_status_is_kept_from_the_object_and_the_object_from_the_status() -> None:
    old = workload({"accumulatedPastExecutionTimeSeconds": 1}, queueName="a")
    new = workload({"accumulatedPastExecutionTimeSeconds": 2}, queueName="b")
    assert "status" not in stored(new)
    main, status = stored(new, old), stored(new, old, "status")
    assert (main["spec"]["queueName"], main["status"]) == ("b", old["status"])
    assert (status["spec"]["queueName"], status["status"]) == ("a", new["status"])
    assert "status" not in stored(workload(), old, "status")
    assert "status" not in stored(new, workload())


def test_a_kind_without_a_status_endpoint_keeps_its_all() -> None:
    flavor = cohort(nodeLabels={"a": "b"}) | {"kind": "ResourceFlavor"}
    assert stored(flavor)["spec"] == {"nodeLabels": {"a": "b"}}


def test_what_is_dropped_is_not_judged_but_has_no_unknown_fields_either() -> None:
    assert faults(workload("x")) == []  # type: ignore[arg-type]  # what a client may send
    assert faults(workload({"foo": 1})) == [("status.foo", "UnknownField")]
    old = workload(queueName="a")
    assert faults(workload({}, queueName="Bad_"), old, "status") == []
    assert faults(workload({}, foo=1), old, "status") == [("spec.foo", "UnknownField")]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"foo": 1}, "foo"),
        ({"Spec": {}}, "Spec"),
        ({"spec": {"parentName": {"a": 1}}}, "spec.parentName.a"),
        (
            {"spec": {"resourceGroups": [{"flavors": [{"x": {"y": 1}}]}]}},
            "spec.resourceGroups[0].flavors[0].x",
        ),
        ({"spec": {"fairSharing": [[{"a": 1}]]}}, "spec.fairSharing[0][0].a"),
        ({"metadata": {"name": "a", "foo": 1}}, "metadata.foo"),
        ({"metadata": {"name": "a", "foo": None}}, "metadata.foo"),
        (
            {"metadata": {"name": "a", "ownerReferences": [{"foo": 1}]}},
            "metadata.ownerReferences[0].foo",
        ),
    ],
)
def test_unknown_fields(change: Json, field: str) -> None:
    assert faults(cohort() | change) == [(field, "UnknownField")]


def test_messages_say_what_may_be_meant() -> None:
    (unknown,) = causes(cohort(parentNam="root"))
    assert unknown.message == "there is no such field; is parentName meant?"
    (far,) = causes(cohort(xyz="root"))
    assert far.message == "there is no such field"
    wrong = causes(cohort(fairSharing={"weight": "much"}))
    assert wrong[0].message == "'much' is no quantity, such as 40, 500m or 40Gi"


def test_what_managed_fields_hold_is_nobodys_business() -> None:
    new = cohort()
    new["metadata"]["managedFields"] = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
    assert faults(new) == []


def test_of_another_kind_or_version() -> None:
    assert faults(cohort() | {"apiVersion": "kueue.x-k8s.io/v1beta1"}) == [("apiVersion", "Invalid")]
    prepared = prepare("ClusterQueue", cohort(), None)
    assert isinstance(prepared, list)
    assert prepared[0].field == "kind"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, [("metadata.name", "Required")]),
        ({"name": "A"}, [("metadata.name", "Invalid")]),
        ({"generateName": "a-"}, []),
        # Of a prefix the last dash is not looked at; of the name that comes of it, it is.
        ({"generateName": "a.-"}, [("metadata.name", "Invalid")]),
        ({"generateName": "A-"}, [("metadata.generateName", "Invalid"), ("metadata.name", "Invalid")]),
        ({"name": "a", "namespace": "Ignored_"}, []),
        ({"name": "a", "labels": {"b": "c d"}}, [("metadata.labels", "Invalid")]),
        ({"name": "a", "labels": {"b": None}}, []),
        ({"name": "a", "creationTimestamp": None}, []),
        ({"name": "a", "annotations": {"b c": ""}}, [("metadata.annotations", "Invalid")]),
        ({"name": "a", "generateName": "B"}, [("metadata.generateName", "Invalid")]),
        ({"name": "a", "finalizers": ["x y"]}, [("metadata.finalizers", "Invalid")]),
        # A null in a list is what Go has for nothing: an empty text, an empty object.
        ({"name": "a", "finalizers": [None]}, [("metadata.finalizers", "Invalid")] * 2),
        (
            {"name": "a", "ownerReferences": [None]},
            [
                (f"metadata.ownerReferences[0].{field}", "Required")
                for field in ("apiVersion", "kind", "name", "uid")
            ],
        ),
        ({"name": "a", "ownerReferences": [OWNER, OWNER | {"uid": "v", "controller": False}]}, []),
        ({"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}, [("metadata.finalizers", "Invalid")]),
        ({"name": "a", "finalizers": ["orphan"]}, []),
        ({"name": "a", "finalizers": ["foregroundDeletion"]}, []),
        ({"name": "a", "labels": {"b": 1}}, [("metadata.labels.b", "DecodeError")]),
        ({"name": "a", "finalizers": "x"}, [("metadata.finalizers", "DecodeError")]),
        (
            {"name": "a", "ownerReferences": [{"apiVersion": "a/b/c", "kind": "K", "name": "n"}]},
            [
                ("metadata.ownerReferences[0].uid", "Required"),
                ("metadata.ownerReferences[0].apiVersion", "Invalid"),
            ],
        ),
        (
            {"name": "a", "ownerReferences": [OWNER, OWNER | {"name": "other"}]},
            [("metadata.ownerReferences", "Invalid")],
        ),
        ({"name": "a", "ownerReferences": [OWNER, OWNER, OWNER | {"blockOwnerDeletion": None}]}, []),
        ({"name": "a", "ownerReferences": [OWNER | {"apiVersion": "apps/v1"}]}, []),
        (
            {"name": "a", "ownerReferences": [BARE, BARE | {"apiVersion": ""}]},
            [("metadata.ownerReferences[0].apiVersion", "Required")],
        ),
        (
            {"name": "a", "ownerReferences": [OWNER | {"kind": "Event"}]},
            [("metadata.ownerReferences[0]", "Invalid")],
        ),
        (
            {"name": "a", "ownerReferences": [OWNER | {"apiVersion": "a.b/"}]},
            [("metadata.ownerReferences[0].apiVersion", "Invalid")],
        ),
    ],
)
def test_metadata(metadata: Json, expected: list[tuple[str, str]]) -> None:
    found = faults(cohort() | {"metadata": metadata})
    assert [fault for fault in found if fault != UNCHECKED] == expected


def test_metadata_that_is_none() -> None:
    assert faults(cohort() | {"metadata": "x"}) == [("metadata", "DecodeError")]
    assert faults(cohort() | {"metadata": None}) == [("metadata.name", "Required"), UNCHECKED]


def test_metadata_is_checked_on_update_too() -> None:
    wrong = cohort()
    wrong["metadata"] |= {"labels": {"a": "b c"}, "finalizers": ["x y"]}
    expected = [("metadata.labels", "Invalid"), ("metadata.finalizers", "Invalid")]
    assert faults(wrong, cohort()) == expected
    assert faults(wrong, wrong) == expected


def test_stored_metadata_that_is_none_is_nobodys_name() -> None:
    assert faults(cohort(), cohort() | {"metadata": "x"}) == [("metadata.name", "Invalid")]


def test_what_is_of_a_namespace_is_of_the_default_one_unless_it_says() -> None:
    assert stored(workload() | {"metadata": {"name": "w"}})["metadata"]["namespace"] == "default"
    assert stored(workload())["metadata"]["namespace"] == "d"


def test_a_name_is_generated_where_there_is_none() -> None:
    assert stored(cohort() | {"metadata": {"generateName": "b-"}})["metadata"]["name"].startswith("b-")
    named = stored(cohort() | {"metadata": {"name": "a", "generateName": "b-"}})
    assert named["metadata"]["name"] == "a"


def test_names_do_not_change() -> None:
    other = cohort() | {"metadata": {"name": "other"}}
    assert faults(other, cohort()) == [("metadata.name", "Invalid")]
    nowhere = cohort() | {"metadata": {"name": "all", "namespace": "ignored"}}
    assert faults(nowhere, cohort()) == []
    moved = workload() | {"metadata": {"name": "w", "namespace": "e"}}
    assert faults(moved, workload()) == [("metadata.namespace", "Invalid")]
    assert faults(workload() | {"metadata": {"name": "w"}}, workload()) == [("metadata.namespace", "Invalid")]


def test_a_namespace_is_a_label() -> None:
    for namespace in ("a.b", "a" * 64, "-a"):
        named = workload() | {"metadata": {"name": "w", "namespace": namespace}}
        assert faults(named) == [("metadata.namespace", "Invalid")]
    assert faults(workload() | {"metadata": {"name": "w", "namespace": "a" * 63}}) == []


def test_what_is_being_deleted_gets_no_finalizers() -> None:
    old = cohort()
    old["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b", "c/d"]}
    fewer, more = cohort(), cohort()
    fewer["metadata"]["finalizers"] = ["a/b"]
    more["metadata"]["finalizers"] = ["e/f"]
    assert faults(fewer, old) == []
    assert stored(fewer, old)["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert faults(more, old) == [("metadata.finalizers", "Forbidden")]
    assert faults(cohort(), old) == []
    for none in ({}, {"finalizers": 5}):
        del old["metadata"]["finalizers"]
        old["metadata"] |= {"finalizers": []} | none
        assert faults(more, old) == [("metadata.finalizers", "Forbidden")]


def test_rules_wait_for_types() -> None:
    wrong = queue(preemption={"borrowWithinCohort": {"policy": "LowerPriority"}})
    assert faults(wrong) == [("spec.preemption", "Invalid")]
    wrong["spec"]["stopPolicy"] = "Never"
    assert faults(wrong) == [("spec.stopPolicy", "NotSupported"), ("<nil>", "Invalid")]
    plain = cohort() | {"kind": "WorkloadPriorityClass", "value": "x"}
    del plain["spec"]
    assert faults(plain) == [("value", "TypeInvalid")]


def test_what_a_rule_did_not_like_may_stay() -> None:
    wrong = queue(preemption={"borrowWithinCohort": {"policy": "LowerPriority"}})
    assert faults(queue(**wrong["spec"], stopPolicy="Hold"), wrong) == []
    changed = copy.deepcopy(wrong)
    changed["spec"]["preemption"]["withinClusterQueue"] = "LowerPriority"
    assert faults(changed, wrong) == [("spec.preemption", "Invalid")]


def test_in_a_list_that_changes_whole_old_faults_come_back() -> None:
    bad = {
        "coveredResources": ["cpu", "memory"],
        "flavors": [{"name": "a", "resources": [{"name": "cpu", "nominalQuota": 1}]}],
    }
    old = queue(resourceGroups=[bad])
    assert faults(queue(resourceGroups=[bad], stopPolicy="Hold"), old) == []
    assert faults(queue(resourceGroups=[bad, quota(["b"])]), old) == [("spec.resourceGroups[0]", "Invalid")]


def test_changes_are_judged_even_of_what_stays_the_same_elsewhere() -> None:
    old = cohort(clusterQueue="a") | {"kind": "LocalQueue"}
    assert faults(cohort(clusterQueue="b") | {"kind": "LocalQueue"}, old) == [
        ("spec.clusterQueue", "Invalid")
    ]
    assert faults(cohort() | {"kind": "LocalQueue"}, old) == []


def test_an_expression_without_a_value_is_a_fault_and_a_lasting_one() -> None:
    podset = {"minCount": 1.0, "template": {"spec": {"containers": [{"name": "c"}]}}}
    old = workload(podSets=[podset])
    assert faults(old) == [("spec.podSets[0]", "Invalid")]
    assert faults(workload(podSets=[podset], queueName="a"), old) == [("spec.podSets[0]", "Invalid")]


def test_rules_on_the_whole_object_stand_nowhere() -> None:
    condition = {
        "type": "QuotaReserved",
        "status": "True",
        "reason": "R",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    old = workload({"conditions": [condition]}, queueName="a")
    assert faults(workload(queueName="b"), old) == [("<nil>", "Invalid")]


def test_duplicates_once_stored_let_in_others() -> None:
    old = cohort(resourceGroups=[quota(["a", "a"])])
    path = "spec.resourceGroups[0].flavors"
    assert faults(old) == [(f"{path}[1]", "Duplicate")]
    assert faults(cohort(resourceGroups=[quota(["a", "a", "b", "b"])]), old) == []
    assert faults(old, cohort(resourceGroups=[quota(["a"])])) == [(f"{path}[1]", "Duplicate")]


def test_the_status_is_judged_at_its_own_endpoint() -> None:
    old = workload({})
    assert faults(workload({"requeueState": {"count": -1}}), old) == []
    assert faults(workload({"requeueState": {"count": -1}}), old, "status") == [
        ("status.requeueState.count", "Invalid")
    ]
    assert faults(workload({"requeueState": {"count": 2**31}}), old, "status") == [("status", "Invalid")]
    assert faults(workload("x"), old, "status") == [("status", "TypeInvalid"), ("<nil>", "Invalid")]  # type: ignore[arg-type]
    bad = workload({"requeueState": {"count": -1}})
    assert faults(bad, bad, "status") == []


def test_integers_beyond_64_bits_are_what_go_makes_of_them() -> None:
    for number in (2**63, -(2**63) - 1, 2**64, 10**400, -(10**400)):
        fields = dict(faults(workload(priority=number)))
        assert fields == {"spec.priority": "TypeInvalid", "<nil>": "Invalid"}
    for number in (2**63 - 1, -(2**63)):
        assert dict(faults(workload(priority=number))) == {"<nil>": "Invalid"}


@pytest.mark.parametrize("subresource", ["", "status"])
@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"name": "other"}, "metadata.name"),
        ({"namespace": "other"}, "metadata.namespace"),
        ({"uid": "new"}, "metadata.uid"),
    ],
)
def test_another_object_takes_the_place_of_none(metadata: Json, field: str, subresource: str) -> None:
    old, new = workload({}), workload({})
    old["metadata"]["uid"] = "old"
    new["metadata"] |= metadata
    assert faults(new, old, subresource) == [(field, "Invalid")]
    new["metadata"] = {"name": "w", "namespace": "d", "uid": "old"}
    assert faults(new, old, subresource) == []
    del old["metadata"]["uid"]
    new["metadata"] = {"name": "w", "namespace": "d", "uid": "any"}
    assert faults(new, old, subresource) == []


def test_a_status_is_written_beside_what_an_api_server_keeps_of_metadata() -> None:
    old = workload()
    old["metadata"] |= {
        "foo": 1,
        "ownerReferences": [OWNER | {"foo": 1}],
        "managedFields": [{"manager": "kubectl"}],
    }
    whole = stored(workload({}), old, "status")
    assert whole["metadata"] == workload()["metadata"] | {
        "ownerReferences": [OWNER],
        "managedFields": [{"manager": "kubectl"}],
    }
