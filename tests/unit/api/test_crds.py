"""The generated CustomResourceDefinitions: committed as written, structural, and wide enough for what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.compression import compress
from api.crds import definitions, main
from api.groups import PodGroup
from api.meta import Condition, ObjectMeta
from api.plans import (
    Domain,
    DomainResult,
    OtherDomains,
    Placement,
    PreemptionPlan,
    PreemptionPlanSpec,
    PreemptionPlanStatus,
    Preemptor,
    Score,
    Victim,
    VictimPod,
)

COMMITTED = Path(__file__).parents[3] / "manifests" / "crds"
PLANS = "reprieve.dev_preemptionplans.yaml"
GROUPS = "reprieve.dev_podgroups.yaml"


def schema_of(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = definitions()[name]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, member in schema.get("properties", {}).items():
        yield from nodes(member, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")


def faults(schema: dict[str, Any], document: Any, path: str = "") -> Iterator[str]:
    """What an API server would prune or refuse: unknown fields, nulls, wrong types and values."""
    if document is None:
        if not schema.get("nullable"):
            yield f"{path}: null"
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
        placements=[Placement("p", "n")],
        victims=[Victim("Pod", "ns", "v", "u", 1, True, [VictimPod("ns", "v", "u", "n")])],
        pod_disruption_budget_violations=1,
        domains=[DomainResult("a", "Preempts", "", score), DomainResult("b", "Unschedulable", "full", None)],
        other_domains=[OtherDomains("Unschedulable", "full", 3)],
        not_modelled=["hostPorts"],
    )
    condition = Condition("Evicted", "True", "Done", "all", "2026-01-01T00:00:00Z", 1)
    status = PreemptionPlanStatus(phase="Ready", conditions=[condition])
    return PreemptionPlan(metadata=ObjectMeta(name="x"), spec=spec, status=status)


def test_the_committed_files_are_what_is_generated(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 0
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_text() for path in COMMITTED.glob("reprieve.dev_*.yaml")}
    assert written == committed, "run: python -m api.crds manifests/crds"


def test_usage_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "FOLDER" in capsys.readouterr().err


@pytest.mark.parametrize("name", [PLANS, GROUPS])
def test_schemas_are_structural_and_explain_themselves(name: str) -> None:
    for path, schema in nodes(schema_of(name)):
        assert schema["type"] in ("object", "array", "string", "integer", "boolean"), path
        assert not {"anyOf", "oneOf", "$ref", "x-kubernetes-preserve-unknown-fields"} & schema.keys(), path
        if schema["type"] == "object" and path != ".metadata":
            assert schema["description"], path


@pytest.mark.parametrize("above_pods", [0, 10])
def test_the_schema_holds_every_field_of_a_stored_plan(above_pods: int) -> None:
    plan = full_plan()
    stored = msgspec.structs.replace(plan, spec=compress(plan.spec, above_pods=above_pods))
    assert list(faults(schema_of(PLANS), msgspec.to_builtins(stored))) == []


def test_a_plan_for_nobody_has_nulls_where_the_schema_allows_them() -> None:
    spec = PreemptionPlanSpec(full_plan().spec.preemptor, "Unschedulable", "full")
    plan = PreemptionPlan(metadata=ObjectMeta(name="x"), spec=spec)
    document = msgspec.to_builtins(plan)
    assert document["spec"]["domain"] is None
    assert document["spec"]["priorityCutoff"] is None
    assert list(faults(schema_of(PLANS), document)) == []


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
    plan_rules = schema_of(PLANS)["properties"]["spec"]["x-kubernetes-validations"]
    assert [rule["rule"] for rule in plan_rules] == ["self == oldSelf"]
    group = schema_of(GROUPS)["properties"]["spec"]
    immutable = {rule["message"].partition(" is ")[0] for rule in group["x-kubernetes-validations"]}
    assert immutable == set(group["properties"]) - {"schedulingPolicy"}
