"""What API servers are configured to ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhooks.registrations import (
    CHECKED_STATUS,
    FILES,
    REGISTRATIONS,
    Json,
    configurations,
    mutating_webhook,
    render,
)
from webhooks.rules import KINDS
from webhooks.rules.decoding import Node, root_node

MANIFESTS = Path(__file__).parents[3] / "manifests"
WEBHOOKS = [
    webhook
    for name in FILES
    for configuration in configurations(name)
    for webhook in configuration["webhooks"]
]


@pytest.mark.parametrize("name", FILES)
def test_the_manifest_is_what_is_generated(name: str) -> None:
    assert (MANIFESTS / FILES[name]).read_text() == render(name), "run make crds"


def test_every_registration_is_in_a_manifest() -> None:
    assert {each.configuration for each in REGISTRATIONS} == FILES.keys()


def test_every_kind_with_rules_is_asked_about() -> None:
    assert {each.kind for each in REGISTRATIONS} == KINDS.keys()
    assert {each.kind for each in REGISTRATIONS if each.mutating} == {
        kind for kind, rules in KINDS.items() if rules.default
    }


def test_of_which_kinds_the_status_has_conditions() -> None:
    ours = [each for each in REGISTRATIONS if each.required]
    statuses = {each.kind: root_node(each.kind).fields.get("status") for each in ours}
    with_conditions = {kind for kind, status in statuses.items() if status and "conditions" in status.fields}
    assert {each.kind for each in REGISTRATIONS if each.has_conditions} == with_conditions


@pytest.mark.parametrize("webhook", WEBHOOKS, ids=lambda webhook: webhook["name"])
def test_each_webhook(webhook: Json) -> None:
    assert webhook["sideEffects"] == "None"
    assert webhook["matchPolicy"] == "Equivalent"
    assert webhook["admissionReviewVersions"] == ["v1"]
    assert 2 <= webhook["timeoutSeconds"] <= 5
    (rule,) = webhook["rules"]
    ours = rule["apiGroups"][0] in ("reprieve.dev", "kueue.x-k8s.io")
    assert webhook["failurePolicy"] == ("Fail" if ours else "Ignore")
    assert "caBundle" not in webhook["clientConfig"]
    if rule["scope"] == "Namespaced":
        (excluded,) = webhook["namespaceSelector"]["matchExpressions"]
        assert excluded["operator"] == "NotIn"
        assert set(excluded["values"]) == {"kube-system", "reprieve-system"}


def test_names_are_unique() -> None:
    names = [webhook["name"] for webhook in WEBHOOKS]
    assert len(set(names)) == len(names)


def test_of_workloads_nothing_that_may_be_unreadable_is_skipped() -> None:
    """Quantities and times are looked at in every field, though no other rule is about it."""

    def types(node: Node | None) -> set[str]:
        parts = [] if node is None else [*node.fields.values(), node.items]
        return set().union(*map(types, parts)) | ({node.type} if node is not None else set())

    fields = root_node("Workload").fields["status"].fields
    unreadable = {name for name, node in fields.items() if types(node) & {"quantity", "date-time"}}
    assert unreadable <= set(CHECKED_STATUS) < fields.keys()


def test_members_are_gated_when_they_are_created_and_nothing_waits_for_that() -> None:
    (webhook,) = [each for each in WEBHOOKS if each["name"] == mutating_webhook("Pod")]
    assert webhook["rules"][0]["operations"] == ["CREATE"]
    assert (webhook["failurePolicy"], webhook["timeoutSeconds"]) == ("Ignore", 2)
    (condition,) = webhook["matchConditions"]
    for field in ("labels[?'reprieve.dev/pod-group']", "?schedulingGroup.?podGroupName"):
        assert field in condition["expression"]


def test_no_job_waits_for_the_webhook() -> None:
    mutating, validating = (
        next(each for each in WEBHOOKS if each["name"] == f"jobs.{purpose}.reprieve.dev")
        for purpose in ("mutate", "validate")
    )
    assert {each["failurePolicy"] for each in (mutating, validating)} == {"Ignore"}
    assert mutating["rules"][0]["operations"] == ["CREATE"]
    assert "objectSelector" not in mutating  # a Job without a queue may get the default one
    assert validating["objectSelector"]["matchExpressions"] == [
        {"key": "kueue.x-k8s.io/queue-name", "operator": "Exists"}
    ]
