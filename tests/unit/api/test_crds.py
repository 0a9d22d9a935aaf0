"""The generated CustomResourceDefinitions: committed as written, structural, and wide enough for what is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from api.compression import compress
from api.crds import definitions, schema_of
from api.crds.__main__ import FOLDERS, main
from api.crds.lists import ATOMIC, KEYS
from api.crds.rules import FIELD_RULES
from api.dispatch import (
    DispatchedWorkload,
    DispatchPlan,
    DispatchPlanSpec,
    DispatchPlanStatus,
    WorkerCluster,
)
from api.groups import PodGroup
from api.meta import Condition, ObjectMeta
from api.plan_results import DomainResult, Excluded, OtherDomains, PlanCost, Score, SearchReport
from api.plans import (
    Domain,
    Placement,
    PreemptionPlan,
    PreemptionPlanSpec,
    PreemptionPlanStatus,
    Preemptor,
    PreemptorQuota,
    QuotaAmount,
    Victim,
    VictimPod,
    VictimQuota,
)
from tests.kit.full import KINDS as KUEUES
from tests.kit.full import full

MANIFESTS = Path(__file__).parents[3] / "manifests"
PLANS = "PreemptionPlan"
DECISIONS = (PLANS, "ClusterPreemptionPlan", "PreemptionReport", "DispatchPlan")
GROUPS = "PodGroup"
KINDS_OF_ALL = [definition["spec"]["names"]["kind"] for definition in definitions().values()]
INT_OR_STRING = "x-kubernetes-int-or-string"
FORBIDDEN = {
    "oneOf",
    "allOf",
    "not",
    "$ref",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
}


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, member in schema.get("properties", {}).items():
        yield from nodes(member, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], f"{path}{{}}")


def faults(schema: dict[str, Any], document: Any, path: str = "") -> Iterator[str]:
    """What an API server would prune or refuse: unknown fields, nulls, wrong types and values."""
    if document is None:
        if not schema.get("nullable"):
            yield f"{path}: null"
    elif INT_OR_STRING in schema:
        if not isinstance(document, str | int | float) or isinstance(document, bool):
            yield f"{path}: {document!r}"
    elif schema["type"] == "object" and "additionalProperties" in schema:
        for name, member in document.items():
            yield from faults(schema["additionalProperties"], member, f"{path}[{name}]")
    elif schema["type"] == "object" and "properties" in schema:
        yield from (f"{path}.{name}: missing" for name in schema.get("required", ()) if name not in document)
        for name, member in document.items():
            known = schema["properties"].get(name)
            yield from faults(known, member, f"{path}.{name}") if known else (f"{path}.{name}: pruned",)
    elif schema["type"] == "array":
        for member in document:
            yield from faults(schema["items"], member, f"{path}[]")
    elif schema["type"] == "string":
        if not isinstance(document, str) or document not in schema.get("enum", (document,)):
            yield f"{path}: {document!r}"
    elif schema["type"] == "integer" and type(document) is not int:
        yield f"{path}: {document!r}"


def full_plan() -> PreemptionPlan:
    score = Score(1, 10, 2**31 + 10, 1, 1, "2026-01-01T00:00:00Z")
    spec = PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", "ns", "g", "u", 5),
        outcome="Preempts",
        reason="because",
        domain=Domain("rack", "a"),
        priority_cutoff=10,
        search=SearchReport(20, ended=False, lowest_cutoff=True),
        placements=[Placement("p", "n")],
        victims=[Victim("Pod", "ns", "v", "u", 1, True, [VictimPod("ns", "v", "u", "n")])],
        pod_disruption_budget_violations=1,
        domains=[DomainResult("a", "Preempts", "", score), DomainResult("b", "Unschedulable", "full", None)],
        other_domains=[OtherDomains("Unschedulable", "full", 3)],
        not_modelled=["hostPorts"],
        excluded=[Excluded("ns/p", "n", "0/3 nodes are available")],
        other_excluded=1,
    )
    condition = Condition("Evicted", "True", "Done", "all", "2026-01-01T00:00:00Z", 1)
    status = PreemptionPlanStatus(phase="Ready", conditions=[condition])
    return PreemptionPlan(metadata=ObjectMeta(name="x"), spec=spec, status=status)


def quota_plan() -> PreemptionPlan:
    amounts = [QuotaAmount("default", "cpu", "4", "1500m", "0")]
    quota = PreemptorQuota("team", "/root/team", 3, 0, amounts)
    given_back = VictimQuota("InCohortReclamation", "other", "/root/other", "2026-01-01T00:00:00Z")
    spec = PreemptionPlanSpec(
        preemptor=Preemptor("Workload", "kueue.x-k8s.io/v1beta2", "ns", "w", "u", 5, quota),
        outcome="Preempts",
        reason="because",
        victims=[Victim("Workload", "ns", "v", "u", 1, False, [], given_back)],
    )
    status = PreemptionPlanStatus(phase="QuotaReserved")
    return PreemptionPlan(metadata=ObjectMeta(name="x"), spec=spec, status=status)


def test_the_committed_files_are_what_is_generated(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 0
    assert {folder.name for folder in tmp_path.iterdir()} == set(FOLDERS.values())
    for folder in tmp_path.iterdir():
        written = {path.name: path.read_text() for path in folder.iterdir()}
        committed = {path.name: path.read_text() for path in (MANIFESTS / folder.name).glob("*_*.yaml")}
        assert written == committed, "run: make crds"
        listed = yaml.safe_load((MANIFESTS / folder.name / "kustomization.yaml").read_text())["resources"]
        assert listed == sorted(written)


def test_usage_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "FOLDER" in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS_OF_ALL)
def test_schemas_are_structural_and_keep_no_unknown_fields(kind: str) -> None:
    for path, schema in nodes(schema_of(kind)):
        assert not FORBIDDEN & schema.keys(), path
        if INT_OR_STRING in schema:
            assert "type" not in schema, path
            continue
        assert schema["type"] in ("object", "array", "string", "integer", "number", "boolean"), path
        empty = schema["type"] == "object" and not {"properties", "additionalProperties"} & schema.keys()
        assert not empty or path == ".metadata" or kind == GROUPS, path


@pytest.mark.parametrize("kind", KINDS_OF_ALL)
def test_every_field_explains_itself(kind: str) -> None:
    for path, schema in nodes(schema_of(kind)):
        if not path.endswith(("[]", "{}")) and path != ".metadata" and ".template." not in path:
            assert schema.get("description") or kind in DECISIONS, path


@pytest.mark.parametrize("kind", KINDS_OF_ALL)
def test_map_lists_have_keys_that_every_entry_has(kind: str) -> None:
    for path, schema in nodes(schema_of(kind)):
        for key in schema.get("x-kubernetes-list-map-keys", ()):
            entry = schema["items"]
            wide = key == "type" and path.endswith(".conditions")
            assert wide or key in entry.get("required", ()) or "default" in entry["properties"][key], path


def test_what_the_tables_name_is_there() -> None:
    """A field that was renamed would lose its rules, and nobody would notice."""
    for table in (KEYS, FIELD_RULES, ATOMIC):
        for struct, names in table.items():
            known = {field.encode_name for field in msgspec.structs.fields(struct)}
            assert set(names) <= known | {""}, struct


@pytest.mark.parametrize("kind", KUEUES)
def test_an_object_with_every_field_set_is_within_the_schema(kind: str) -> None:
    assert list(faults(schema_of(kind), full(kind))) == []


@pytest.mark.parametrize("above_pods", [0, 10])
@pytest.mark.parametrize("plan", [full_plan(), quota_plan()], ids=["nodes", "quota"])
def test_the_schema_holds_every_field_of_a_stored_plan(plan: PreemptionPlan, above_pods: int) -> None:
    stored = msgspec.structs.replace(plan, spec=compress(plan.spec, above_pods=above_pods))
    assert list(faults(schema_of(PLANS), msgspec.to_builtins(stored))) == []


@pytest.mark.parametrize("cost", [None, PlanCost(10, 30, 2, 4, 600)])
def test_the_schema_holds_every_field_of_a_turn(cost: PlanCost | None) -> None:
    spec = DispatchPlanSpec(
        DispatchedWorkload("w", "u", "2026-01-01T00:00:00Z", -5),
        2,
        "east",
        "LeastDisruption",
        "because",
        "2026-01-01T00:00:00.000000Z",
        "2026-01-01T00:05:00.000000Z",
        [WorkerCluster("east", "waits", 0, 1, cost)],
    )
    status = DispatchPlanStatus("TimedOut", "", "2026-01-01T00:05:00.000000Z")
    plan = DispatchPlan(metadata=ObjectMeta(name="x"), spec=spec, status=status)
    assert list(faults(schema_of("DispatchPlan"), msgspec.to_builtins(plan))) == []


def test_a_plan_for_nobody_has_nulls_where_the_schema_allows_them() -> None:
    spec = PreemptionPlanSpec(full_plan().spec.preemptor, "Unschedulable", "full")
    plan = PreemptionPlan(metadata=ObjectMeta(name="x"), spec=spec)
    document = msgspec.to_builtins(plan)
    assert document["spec"]["domain"] is None
    assert document["spec"]["priorityCutoff"] is None
    assert list(faults(schema_of(PLANS), document)) == []


def test_a_plan_of_the_nodes_plane_says_nothing_of_quotas() -> None:
    """Its name ends with a digest of all that it says."""
    assert b"quota" not in msgspec.json.encode(full_plan())
    assert full_plan().spec.preemptor.quota is msgspec.UNSET


def test_objects_name_their_kind() -> None:
    encoded = msgspec.json.encode(full_plan())
    assert encoded.startswith(b'{"apiVersion":"reprieve.dev/v1alpha1","kind":"PreemptionPlan","metadata"')


def test_a_group_round_trips_through_the_schema() -> None:
    manifest = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ns"},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 3}},
            "disruptionMode": {"all": {}},
            "schedulingConstraints": {"topology": [{"key": "rack"}]},
            "priorityClassName": "high",
            "priority": -5,
            "preemptionPolicy": "Never",
        },
        "status": {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "False"}]},
    }
    assert list(faults(schema_of(GROUPS), manifest)) == []
    assert msgspec.to_builtins(msgspec.convert(manifest, PodGroup)) == manifest


def test_what_may_not_change() -> None:
    for kind in (PLANS, "DispatchPlan"):
        plan_rules = schema_of(kind)["properties"]["spec"]["x-kubernetes-validations"]
        assert [rule["rule"] for rule in plan_rules] == ["self == oldSelf"]
    group = schema_of(GROUPS)["properties"]["spec"]
    messages = [rule["message"] for rule in group["x-kubernetes-validations"]]
    immutable = {message.partition(" is ")[0] for message in messages if message.endswith("is immutable")}
    assert immutable == set(group["properties"]) - {"schedulingPolicy"}


def test_every_definition_fits_into_the_annotation_of_a_plain_apply() -> None:
    """kubectl keeps what was applied in an annotation, and all annotations together may have 256 KiB."""
    for name, definition in definitions().items():
        assert len(json.dumps(definition, separators=(",", ":"))) < 220 * 1024, name


def test_names_that_kubectl_takes_are_one_kinds() -> None:
    names = [definition["spec"]["names"] for definition in definitions().values()]
    taken = [
        each for entry in names for each in (entry["singular"], entry["plural"], *entry.get("shortNames", ()))
    ]
    assert len(taken) == len(set(taken))
