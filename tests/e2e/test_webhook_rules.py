"""Every rule through an API server with the webhooks: what it accepts, and what it refuses, with field and type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from api.crds import schema_of
from api.disruption import COST_ANNOTATION
from api.groups import POD_GROUP_LABEL, SCHEDULING_GATE
from api.integration import ADMISSION_GATE, QUEUE_NAME_LABEL
from cli.validate.verdicts import Context, Write, verdict
from hack.controlplane import objects
from hack.controlplane.client import ApiError, Json, path_of
from hack.controlplane.objects import priority_class
from hack.controlplane.plane import ControlPlane
from hack.controlplane.processes import wait_until
from schema import KNOWN
from tests.e2e.rules.clusterqueue_schema import SCHEMA
from tests.e2e.rules.clusterqueue_webhook import KEPS, WEBHOOK
from tests.e2e.rules.gates_retries import GATES, OPENER, RETRIES, gated, stands
from tests.e2e.rules.others import COHORTS, FLAVORS, OTHERS
from tests.e2e.rules.podgroups import BARE, CLASS, GANG, MEEK, MEEK_CLASS, POD_GROUPS, SYSTEM_NAMESPACE, VALUE
from tests.e2e.rules.sending import pairs, send
from tests.e2e.rules.table import Edits, Rule, edited
from tests.e2e.rules.topology import TOPOLOGY
from tests.e2e.rules.warnings import WARNINGS
from tests.e2e.rules.workload_spec import SPEC, WHILE_RESERVED
from tests.e2e.rules.workload_status import STATUS
from tests.e2e.webhook_requests import STRICT, Sender
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.manifests import TIME, cluster_queue, pod_group, preemption

RULES: Final = (
    *(*SCHEMA, *WEBHOOK, *KEPS, *COHORTS, *FLAVORS, *OTHERS),
    *(*SPEC, *WHILE_RESERVED, *STATUS, *TOPOLOGY, *GATES, *RETRIES),
    *POD_GROUPS,
)


ACCOUNT: Final[Json] = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "rules", "namespace": "default"},
}
"""Nobody else makes one on this plane."""


def written(plane: ControlPlane, group: Json) -> Json | None:
    """The PodGroup as it would be stored; None if it is refused."""
    path = path_of(group["apiVersion"], "PodGroup", group["metadata"]["namespace"])
    try:
        return plane.client.request("POST", f"{path}?{STRICT}", group)
    except ApiError as error:
        if error.status != 422:
            raise
        return None


@contextmanager
def existing(plane: ControlPlane, *bodies: Json) -> Iterator[None]:
    """While the context lasts."""
    for body in bodies:
        plane.client.create(body)
    try:
        yield
    finally:
        for body in reversed(bodies):
            meta = body["metadata"]
            plane.client.delete(body["apiVersion"], body["kind"], meta["name"], meta.get("namespace"))


@pytest.fixture(scope="module")
def plane(webhook_plane: ControlPlane) -> Iterator[ControlPlane]:
    """With classes that the webhooks know."""
    meek = priority_class(MEEK_CLASS, VALUE, policy="Never")
    with existing(webhook_plane, priority_class(CLASS, VALUE), meek):
        wait_until(
            lambda: all(written(webhook_plane, group) is not None for group in (GANG, MEEK)),
            PATIENCE_SECONDS,
            lambda: "no class",
        )
        yield webhook_plane


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.creates], ids=str)
def test_on_create(plane: ControlPlane, rule: Rule) -> None:
    bad = send(plane, rule, rule.bad, "CREATE")
    assert pairs(bad) == rule.causes, bad.text
    good = send(plane, rule, rule.good, "CREATE")
    assert good.allowed, good.text


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_on_update(plane: ControlPlane, rule: Rule) -> None:
    bad = send(plane, rule, rule.bad, "UPDATE")
    assert pairs(bad) == rule.update_causes, bad.text
    good = send(plane, rule, rule.good, "UPDATE")
    assert good.allowed, good.text


def test_names_are_unique() -> None:
    names = [(rule.base["kind"], rule.name) for rule in RULES]
    assert len(set(names)) == len(names)


def test_every_cel_rule_has_a_line() -> None:
    """By its message, without an API server: `tests/e2e/test_schema.py` sees that it is the same."""
    said = set()
    for rule in RULES:
        for old in (None, rule.base) if rule.creates else (rule.base,):
            bad = edited(rule.base, rule.bad)
            judged = verdict(Write(rule.base["kind"], bad, old, rule.subresource), Context())
            said |= {cause.message for cause in judged.causes}
    for kind in KNOWN:
        assert set(cel_messages(schema_of(kind))) <= said, kind


def cel_messages(schema: Json) -> Iterator[str]:
    """Of the rules of a schema, and of all below."""
    for entry in schema.get("x-kubernetes-validations", ()):
        yield entry["message"]
    below = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for each in below:
        if isinstance(each, dict):
            yield from cel_messages(each)


@pytest.mark.parametrize("rule", WARNINGS, ids=str)
def test_a_warning(plane: ControlPlane, rule: Rule) -> None:
    """What is let in with a warning, and what without."""
    for operation in ("CREATE", "UPDATE") if rule.creates else ("UPDATE",):
        warned, silent = (send(plane, rule, edits, operation) for edits in (rule.bad, rule.good))
        assert (warned.allowed, silent.allowed) == (True, True), warned.text
        (field,) = {field for field, _ in rule.causes}
        assert [warning for warning in warned.warnings if field in warning] == list(warned.warnings) != []
        assert silent.warnings == ()


def test_a_member_whose_priority_is_not_its_groups_gets_a_warning(plane: ControlPlane) -> None:
    group = {**GANG, "metadata": {"name": "rules", "namespace": "default"}}

    def warnings(name: str) -> list[str]:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"generateName": "rules-", "labels": {POD_GROUP_LABEL: "rules"}},
            "spec": {
                "serviceAccountName": "rules",
                "containers": [{"name": "main", "image": "main"}],
                **({"priorityClassName": name} if name else {}),
            },
        }
        plane.client.warnings.clear()
        plane.client.request("POST", f"{path_of('v1', 'Pod', 'default')}?{STRICT}", pod)
        return list(plane.client.warnings)

    with existing(plane, ACCOUNT, group):
        expected = f"the pod's priority is 0, and that of its PodGroup rules, which counts, {VALUE}"
        wait_until(lambda: warnings("") != [], PATIENCE_SECONDS, lambda: "no group")
        assert [expected in warning for warning in warnings("")] == [True]
        assert warnings(CLASS) == []


def test_a_pod_gets_a_warning_for_a_cost_that_cannot_be_read(plane: ControlPlane) -> None:
    """When it is made, and when the annotation changes, whether or not it is of a group."""
    client = plane.client
    said = f"metadata.annotations[{COST_ANNOTATION}]: "

    def warnings(act: Callable[[], object]) -> list[str]:
        client.warnings.clear()
        act()
        return [warning for warning in client.warnings if said in warning]

    def annotated(cost: str) -> Json:
        return {"metadata": {"annotations": {COST_ANNOTATION: cost}}}

    def patched(change: Json) -> list[str]:
        return warnings(lambda: client.patch("v1", "Pod", "costly", change, "default"))

    pod = objects.pod("costly", "default", annotations={COST_ANNOTATION: "much"})
    pod["spec"]["serviceAccountName"] = ACCOUNT["metadata"]["name"]
    with existing(plane, ACCOUNT):
        made = warnings(lambda: client.create(pod))
        try:
            assert len(made) == 1
            assert patched({"metadata": {"labels": {"a": "b"}}}) == []
            assert len(patched(annotated("1.5"))) == 1
            assert patched(annotated("15")) == []
        finally:
            client.delete("v1", "Pod", "costly", "default", grace_seconds=0)


def test_a_member_gets_the_scheduling_gate(plane: ControlPlane) -> None:
    """Also if its group does not exist, but not if it has a node, or if its group is no gang. A group that names a
    queue waits for quota, too."""
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "default"},
    }
    basic, queued = objects.pod_group("rules-basic"), objects.pod_group("rules-queued", min_count=1)
    queued["metadata"]["labels"] = {QUEUE_NAME_LABEL: "q"}

    def gates(name: str, **fields: Any) -> list[str]:
        body = objects.pod(name, **fields)
        made = plane.client.request("POST", f"{path_of('v1', 'Pod', 'default')}?{STRICT}", body)
        return [gate["name"] for gate in made["spec"].get("schedulingGates", ())]

    with existing(plane, account, basic, queued):
        assert gates("member", group="rules-none") == [SCHEDULING_GATE, ADMISSION_GATE]
        assert gates("member", group="rules-queued") == [SCHEDULING_GATE, ADMISSION_GATE]
        assert gates("member", group="rules-none", schedulingGates=[{"name": "a.b/c"}]) == [
            "a.b/c",
            SCHEDULING_GATE,
            ADMISSION_GATE,
        ]
        assert gates("member", group="rules-none", node_name="n0") == []
        assert gates("other") == []
        wait_until(
            lambda: gates("member", group="rules-basic") == [],
            PATIENCE_SECONDS,
            lambda: "the basic group is not known",
        )


def test_a_changed_position_gets_the_present_time(plane: ControlPlane) -> None:
    """On the way to the schema, so that an equal time is legal and an earlier one is not."""
    closed = gated("Closed")
    opener = plane.client.impersonating(OPENER)
    sender = Sender(plane)
    path = path_of(closed["apiVersion"], "Workload", "default", closed["metadata"]["name"])
    try:
        for edits, stamped in ((stands("Open", TIME), True), (stands("Closed", TIME), False)):
            body = edited(closed, edits)
            body["metadata"]["resourceVersion"] = sender.store("Workload", closed)
            made = opener.request("PUT", f"{path}/status?{STRICT}", body)
            assert (made["status"]["preemptionGates"][0]["lastTransitionTime"] > TIME) is stamped
    finally:
        sender.remove("Workload", closed["metadata"]["name"])
        opener.close()


def test_priority_and_policy_are_filled_in(plane: ControlPlane) -> None:
    made = written(plane, pod_group(priorityClassName=CLASS))
    assert made is not None
    assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (VALUE, "PreemptLowerPriority")
    made = written(plane, pod_group())
    assert made is not None
    assert made["spec"]["priority"] == 0


def test_the_global_default_is_filled_in_with_its_name(plane: ControlPlane) -> None:
    usual = priority_class("rules-usual", 7, default=True, policy="Never")

    def filled() -> tuple[Any, ...]:
        spec = (written(plane, pod_group()) or BARE)["spec"]
        return tuple(spec.get(field) for field in ("priorityClassName", "priority", "preemptionPolicy"))

    with existing(plane, usual):
        wait_until(lambda: filled() == ("rules-usual", 7, "Never"), PATIENCE_SECONDS, lambda: f"{filled()}")
    wait_until(lambda: filled() == (None, 0, None), PATIENCE_SECONDS, lambda: f"{filled()}")


def test_classes_of_the_system_are_for_namespaces_of_the_configuration(plane: ControlPlane) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}}
    plane.client.apply(namespace)  # stays: nobody here would end a namespace
    for allowed in (SYSTEM_NAMESPACE, "kube-system"):
        assert written(plane, pod_group(allowed, priorityClassName="system-node-critical")) is not None
    assert written(plane, pod_group("default", priorityClassName="system-node-critical")) is None


def put(plane: ControlPlane, stored: Json, edits: Edits) -> set[tuple[str, str]]:
    """What is wrong with an update of what is stored, whatever that is."""
    rule = Rule.of("", stored, edits)
    return pairs(send(plane, rule, edits, "UPDATE"))


SHORT: Final = cluster_queue(
    annotations={"reprieve.dev/min-admit-duration": "10s"},
    preemption=preemption(withinClusterQueue="LowerOrNewerEqualPriority"),
)
LENDS: Final = edited(cluster_queue(), {"spec/resourceGroups/1/flavors/0/resources/0/lendingLimit": "11"})
LENT: Final = {("spec.resourceGroups[1].flavors[0].resources[0].lendingLimit", "FieldValueInvalid")}
ANNOTATION: Final = {("metadata.annotations[reprieve.dev/min-admit-duration]", "FieldValueInvalid")}


def test_a_stored_fault_against_a_rule_of_ours_may_stay(plane: ControlPlane) -> None:
    assert put(plane, SHORT, {"spec/stopPolicy": "Hold"}) == set()
    shorter = {"metadata/annotations": {"reprieve.dev/min-admit-duration": "9s"}}
    assert put(plane, SHORT, shorter) == ANNOTATION


def test_a_stored_fault_against_a_rule_of_kueues_is_told_at_every_update(plane: ControlPlane) -> None:
    assert put(plane, LENDS, {"spec/stopPolicy": "Hold"}) == LENT


def test_what_is_being_deleted_loses_its_finalizers(plane: ControlPlane) -> None:
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/a", "example.com/b"]}
    stored = edited(LENDS, {f"metadata/{field}": value for field, value in deleted.items()})
    assert put(plane, stored, {"metadata/finalizers": ["example.com/a"]}) == set()
    assert put(plane, stored, {"spec/stopPolicy": "Hold"}) == LENT
