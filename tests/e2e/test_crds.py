"""The CRDs on a real API server, without a webhook: what it takes and refuses by itself, and what it names."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from hack.controlplane import objects
from hack.controlplane.binaries import binaries
from hack.controlplane.client import RESOURCES, ApiError, Client, path_of
from hack.controlplane.manifests import MANIFESTS
from hack.controlplane.plane import ControlPlane
from hack.podtemplate import FILE, pod_template
from tests.e2e.webhook_requests import STRICT, Sender
from tests.kit.manifests import group, kueue
from tests.kit.often import ALL
from tests.kit.webhooks.cases import Case, cases

Json = dict[str, Any]
Change = Callable[[Json], None]

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
REPRIEVE: Final = "reprieve.dev/v1alpha1"
EXAMPLES: Final = Path(__file__).parent / "kueue_examples.yaml"
OWN_EXAMPLES: Final = MANIFESTS.parent / "examples"
MINUTE: Final = "spec.preemption.withinClusterQueueConfig.minAdmitDuration"

DEPARTURES: Final = {
    "workload-3251": "KEP-8303: the name of a gate is a qualified name",
    "workload-4959": "KEP-8303: the name of a gate is a qualified name",
    "workload-5864": "KEP-8303: a time that CEL cannot compare with the one before; Kueue's webhook cannot read it",
}
"""Cases that Kueue's schema takes and ours refuses, and why; there is none the other way round."""


def judged() -> list[Case]:
    """In `make test` those that the test of the webhooks leaves open, and each fifth one of the others. That test shows
    which requests are refused and why. It does not show that the schema alone accepts what the webhooks refuse."""
    return [
        case
        for number, case in enumerate(cases())
        if ALL or case.expect.stage == "webhook" or case.id in DEPARTURES or number % 5 == 0
    ]


def test_requests_are_judged_as_kueues_schema_does(
    api_plane: ControlPlane, say: Callable[[str], None]
) -> None:
    sender = Sender(api_plane)
    verdicts, fields = {}, {}
    for case in judged():
        expected = case.expect.stage != "schema"
        answer = sender.send(case)
        if answer.allowed != expected:
            verdicts[case.id] = answer.text
        elif not expected and answer.fields() != case.expect.fields():
            fields[case.id] = (answer.fields(), case.expect.fields())
    refused = sum(case.expect.stage == "schema" for case in judged())
    say(
        f"{len(judged()) - len(verdicts)} of {len(judged())} verdicts agree,"
        f" and the fields of {refused - len(fields)} of {refused} refusals"
    )
    assert set(verdicts) == set(DEPARTURES), verdicts
    assert fields == {}


def cluster_queue(**preemption: object) -> Json:
    spec = {"resourceGroups": [group(("cpu",), "default")], "cohortName": "all", "preemption": preemption}
    return kueue("ClusterQueue", "crds", spec=spec)


def timed(duration: object, policy: str = "LowerOrNewerEqualPriority") -> Json:
    return cluster_queue(withinClusterQueue=policy, withinClusterQueueConfig={"minAdmitDuration": duration})


def pod_group(**spec: Any) -> Json:
    return objects.pod_group("crds", min_count=2, **spec)


def workload(*gates: str, **status: object) -> Json:
    template = {"spec": {"containers": [{"name": "c", "image": "pause"}]}}
    spec = {"podSets": [{"name": "main", "count": 1, "template": template}]}
    if gates:
        spec["preemptionGates"] = [{"name": gate} for gate in gates]
    return kueue("Workload", "crds", "default", spec=spec, status=status)


def gate(position: str, time: str, name: str = "a") -> Json:
    return workload(
        "a",
        preemptionGates=[{"name": name, "position": position, "lastTransitionTime": f"2026-01-01T{time}Z"}],
    )


def check(**fields: object) -> Json:
    state = {"name": "a", "state": "Retry", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return workload(admissionChecks=[state | fields])


def faults(
    client: Client, body: Json, *, old: Json | None = None, subresource: str = ""
) -> list[tuple[str, str]]:
    """The (field, type) at fault when it is created, or put in the place of `old`; nothing is left."""
    found: list[tuple[str, str]] = []
    version, kind, meta = body["apiVersion"], body["kind"], body["metadata"]
    namespace, name = meta.get("namespace"), meta["name"]
    path = path_of(version, kind, namespace)
    try:
        if old is None:
            client.request("POST", f"{path}?{STRICT}", body)
            return found
        stored = client.create(old)
        if old.get("status"):
            stored = client.request("PUT", f"{path}/{name}/status", stored | {"status": old["status"]})
        body = copy.deepcopy(body)
        body["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
        client.request("PUT", f"{path}/{name}/{subresource}".rstrip("/") + f"?{STRICT}", body)
    except ApiError as error:
        found = [(cause["field"], cause["reason"]) for cause in error.causes]
        if not found:
            raise
    finally:
        client.delete(version, kind, name, namespace)
    return found


@pytest.mark.parametrize(
    "duration", ["1m", "60s", "90m", "1h30m", "24h", "1.5h", "+2m", "60000ms", "3600000000µs"]
)
def test_kep_8522_takes_durations_of_a_minute_or_more(api_plane: ControlPlane, duration: str) -> None:
    assert faults(api_plane.client, timed(duration)) == []
    assert faults(api_plane.client, timed(duration), old=timed("4h")) == []


@pytest.mark.parametrize(
    "duration",
    ["59s", "0", "0s", "-1h", "59999999999ns", "", "1", "1d", "1h 30m", "an hour", "1H", "9999999h"],
)
def test_kep_8522_refuses_others_by_name(api_plane: ControlPlane, duration: str) -> None:
    refused = [(MINUTE, "FieldValueInvalid")]
    assert faults(api_plane.client, timed(duration)) == refused
    assert faults(api_plane.client, timed(duration), old=timed("4h")) == refused


@pytest.mark.parametrize("policy", ["Never", "LowerPriority"])
@pytest.mark.parametrize("configured", [{}, {"minAdmitDuration": "4h"}])
def test_kep_8522_needs_equal_priorities_to_be_preempted(
    api_plane: ControlPlane, policy: str, configured: Json
) -> None:
    body = cluster_queue(withinClusterQueue=policy, withinClusterQueueConfig=configured)
    refused = [("spec.preemption.withinClusterQueueConfig", "FieldValueInvalid")]
    assert faults(api_plane.client, body) == refused
    assert faults(api_plane.client, body, old=timed("4h")) == refused


def test_kep_8522_lets_a_stored_fault_be(api_plane: ControlPlane) -> None:
    stored, unrelated, worse = timed("4h", "Never"), timed("4h", "Never"), timed("5h", "Never")
    unrelated["spec"]["preemption"]["reclaimWithinCohort"] = "Any"
    version = Sender(api_plane).store("ClusterQueue", stored)
    path = path_of(KUEUE, "ClusterQueue", None, "crds")
    try:
        for body in (unrelated, worse):
            body["metadata"]["resourceVersion"] = version
        api_plane.client.request("PUT", f"{path}?{STRICT}", unrelated)
        with pytest.raises(ApiError, match="withinClusterQueueConfig"):
            api_plane.client.request("PUT", f"{path}?{STRICT}", worse)
    finally:
        api_plane.client.delete(KUEUE, "ClusterQueue", "crds")


@pytest.mark.parametrize("reclaim", [{}, {"reclaimWithinCohort": "Never"}])
def test_kep_1337_borrows_by_preemption_only_where_it_may_reclaim(
    api_plane: ControlPlane, reclaim: Json
) -> None:
    borrow = {"borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100}}
    good = cluster_queue(reclaimWithinCohort="LowerPriority", **borrow)
    bad = cluster_queue(**reclaim, **borrow)
    refused = [("spec.preemption", "FieldValueInvalid")]
    assert faults(api_plane.client, good) == []
    assert faults(api_plane.client, bad) == refused
    assert faults(api_plane.client, bad, old=good) == refused


@pytest.mark.parametrize("name", ["a", "A.b_c-d", "example.com/gate", "kueue.x-k8s.io/multikueue"])
def test_kep_8303_takes_qualified_names(api_plane: ControlPlane, name: str) -> None:
    assert faults(api_plane.client, workload(name)) == []


@pytest.mark.parametrize("name", ["a b", "-a", "a/", "/a", "A.com/b", "a/b/c", "a\n"])
def test_kep_8303_refuses_other_names_but_lets_stored_ones_be(api_plane: ControlPlane, name: str) -> None:
    assert faults(api_plane.client, workload(name)) == [("spec.preemptionGates[0].name", "FieldValueInvalid")]
    version = Sender(api_plane).store("Workload", workload(name))
    body = workload("new", name)
    body["metadata"]["resourceVersion"] = version
    try:
        api_plane.client.request("PUT", f"{path_of(KUEUE, 'Workload', 'default', 'crds')}?{STRICT}", body)
    finally:
        api_plane.client.delete(KUEUE, "Workload", "crds", "default")


def test_kep_8303_refuses_duplicates_and_more_than_eight(api_plane: ControlPlane) -> None:
    assert faults(api_plane.client, workload("a", "a")) == [
        ("spec.preemptionGates[1]", "FieldValueDuplicate")
    ]
    nine = faults(api_plane.client, workload(*"abcdefghi"))
    assert ("spec.preemptionGates", "FieldValueTooMany") in nine


@pytest.mark.parametrize("position", ["Open", "Closed"])
@pytest.mark.parametrize("time", ["00:00:10", "00:00:10.000", "00:00:11"])
def test_kep_8303_positions_change_forward(api_plane: ControlPlane, position: str, time: str) -> None:
    old = gate("Closed", "00:00:10")
    assert faults(api_plane.client, gate(position, time), old=old, subresource="status") == []


def test_kep_8303_positions_do_not_change_before_they_did(api_plane: ControlPlane) -> None:
    refused = [("status.preemptionGates[0].lastTransitionTime", "FieldValueInvalid")]
    old = gate("Closed", "00:00:10")
    for position in ("Open", "Closed"):
        assert faults(api_plane.client, gate(position, "00:00:09"), old=old, subresource="status") == refused
    assert faults(api_plane.client, gate("Ajar", "00:00:11"), old=old, subresource="status")[0] == (
        "status.preemptionGates[0].position",
        "FieldValueNotSupported",
    )


@pytest.mark.parametrize("count", [{"retryCount": 2}, {"retryCount": 3}, {"retryCount": 0}, {}])
def test_kep_3258_retries_are_counted_up_or_from_nothing(api_plane: ControlPlane, count: Json) -> None:
    assert faults(api_plane.client, check(**count), old=check(retryCount=2), subresource="status") == []


def test_kep_3258_retries_are_not_uncounted(api_plane: ControlPlane) -> None:
    refused = [("status.admissionChecks[0].retryCount", "FieldValueInvalid")]
    assert (
        faults(api_plane.client, check(retryCount=1), old=check(retryCount=2), subresource="status")
        == refused
    )
    assert faults(api_plane.client, check(retryCount=2), old=check(), subresource="status") == []


@pytest.mark.parametrize("seconds", [0, 1, 2**31 - 1])
def test_kep_3258_waits_for_seconds(api_plane: ControlPlane, seconds: int) -> None:
    assert (
        faults(api_plane.client, check(requeueAfterSeconds=seconds), old=check(), subresource="status") == []
    )


@pytest.mark.parametrize("field", ["requeueAfterSeconds", "retryCount"])
@pytest.mark.parametrize("seconds", [-1, 2**31, "1m0s"])
def test_kep_3258_waits_for_nothing_else(api_plane: ControlPlane, field: str, seconds: object) -> None:
    assert faults(api_plane.client, check(**{field: seconds}), old=check(), subresource="status")


def test_kep_5710_only_gangs_are_disrupted_whole(api_plane: ControlPlane) -> None:
    basic: Json = {"schedulingPolicy": {"basic": {}}}
    assert faults(api_plane.client, pod_group(disruptionMode={"all": {}})) == []
    assert faults(api_plane.client, pod_group(disruptionMode={"single": {}}, **basic)) == []
    refused = [("spec.disruptionMode", "FieldValueInvalid")]
    assert faults(api_plane.client, pod_group(disruptionMode={"all": {}}, **basic)) == refused


def test_kep_5710_high_priorities_are_the_systems(api_plane: ControlPlane) -> None:
    refused = [("spec.priority", "FieldValueInvalid")]
    assert faults(api_plane.client, pod_group(priority=10**9, priorityClassName="high")) == []
    assert faults(api_plane.client, pod_group(priority=10**9 + 1, priorityClassName="high")) == refused
    system = pod_group(priority=2 * 10**9, priorityClassName="system-cluster-critical")
    assert faults(api_plane.client, system) == []


def test_kep_5710_priorities_come_from_classes(api_plane: ControlPlane) -> None:
    refused = [("spec.priority", "FieldValueInvalid")]
    assert faults(api_plane.client, pod_group(priority=5)) == refused
    assert faults(api_plane.client, pod_group(priority=5, priorityClassName="")) == refused
    assert faults(api_plane.client, pod_group(priority=0)) == []  # what a group without any class is given
    assert faults(api_plane.client, pod_group(priority=5, priorityClassName="high")) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("priority", 5),
        ("priorityClassName", "other"),
        ("preemptionPolicy", "Never"),
        ("disruptionMode", {"all": {}}),
        ("schedulingConstraints", {"topology": [{"key": "rack"}]}),
    ],
)
def test_kep_5710_what_was_decided_by_cannot_change(
    api_plane: ControlPlane, field: str, value: object
) -> None:
    old = pod_group(priorityClassName="high", priority=10)
    body = copy.deepcopy(old)
    body["spec"][field] = value
    assert faults(api_plane.client, body, old=old) == [("spec", "FieldValueInvalid")]
    more = pod_group(priorityClassName="high", priority=10, schedulingPolicy={"gang": {"minCount": 3}})
    assert faults(api_plane.client, more, old=old) == []


def cluster(**source: object) -> Json:
    spec = {"clusterSource": source}
    return kueue("MultiKueueCluster", "crds", spec=spec)


def test_a_cluster_is_reached_in_one_way(api_plane: ControlPlane) -> None:
    secret, profile = {"kubeConfig": {"location": "secret"}}, {"clusterProfileRef": {"name": "profile"}}
    refused = [("spec.clusterSource", "FieldValueInvalid")]
    for good, bad in ((secret, {}), (profile, {**secret, **profile})):
        assert faults(api_plane.client, cluster(**good)) == []
        assert faults(api_plane.client, cluster(**good), old=cluster(**profile)) == []
        assert faults(api_plane.client, cluster(**bad)) == refused
        assert faults(api_plane.client, cluster(**bad), old=cluster(**good)) == refused


def test_the_clusters_of_a_configuration_are_unique_and_their_order_counts(api_plane: ControlPlane) -> None:
    body = {"apiVersion": KUEUE, "kind": "MultiKueueConfig", "metadata": {"name": "crds"}}
    twice = {**body, "spec": {"clusters": ["one", "two", "one"]}}
    assert faults(api_plane.client, twice) == [("spec.clusters", "FieldValueInvalid")]
    assert faults(api_plane.client, {**body, "spec": {"clusters": ["b", "a"]}}) == []
    none = faults(api_plane.client, {**body, "spec": {"clusters": []}})
    assert ("spec.clusters", "FieldValueInvalid") in none


def test_defaults_are_put_in(api_plane: ControlPlane) -> None:
    body = cluster_queue()
    del body["spec"]["preemption"]
    stored = api_plane.client.request("POST", f"{path_of(KUEUE, 'ClusterQueue')}?{STRICT}", body)
    assert {key: stored["spec"][key] for key in ("queueingStrategy", "stopPolicy", "flavorFungibility")} == {
        "queueingStrategy": "BestEffortFIFO",
        "stopPolicy": "None",
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
    }
    assert stored["spec"]["preemption"] == {
        "reclaimWithinCohort": "Never",
        "borrowWithinCohort": {"policy": "Never"},
        "withinClusterQueue": "Never",
    }


def test_the_pod_template_is_that_of_the_pinned_version(api_plane: ControlPlane) -> None:
    assert pod_template(api_plane.client) == json.loads(FILE.read_text()), "run: python -m hack.podtemplate"


@pytest.mark.parametrize(
    "file", [EXAMPLES, *sorted(OWN_EXAMPLES.glob("quota-*.yaml"))], ids=lambda file: file.stem
)
def test_what_is_written_for_kueue_loads(api_plane: ControlPlane, file: Path) -> None:
    api_plane.client.warnings.clear()
    for body in yaml.safe_load_all(file.read_text()):
        if body["apiVersion"] == KUEUE:
            body["metadata"].pop("uid", None)  # the API server's own to give
            namespaced = RESOURCES[KUEUE, body["kind"]][1]
            body["metadata"] |= {"namespace": "default"} if namespaced else {}
            assert faults(api_plane.client, body) == [], body
    assert api_plane.client.warnings == []


@pytest.mark.parametrize(("folder", "count"), [("crds", 5), ("kueue-crds", 9)])
def test_kubectl_applies_them_from_the_client_too(api_plane: ControlPlane, folder: str, count: int) -> None:
    """With the object in an annotation of at most 256 KiB, which leaves the pod template short descriptions."""
    applied = kubectl(api_plane, "apply", "--dry-run=server", "-k", str(MANIFESTS / folder))
    assert applied.count("customresourcedefinition") == count


def test_kubectl_explains_them(api_plane: ControlPlane) -> None:
    text = kubectl(api_plane, "explain", "clusterqueues.spec.preemption.withinClusterQueueConfig")
    assert "minAdmitDuration" in text
    assert "before a workload of equal priority may take it" in " ".join(text.split())
    assert "containers" in kubectl(
        api_plane, "explain", "workloads.kueue.x-k8s.io.spec.podSets.template.spec"
    )
    for names in ("cq,lq,wl,rf,rpg,rplan", "kueue", "reprieve"):
        assert kubectl(api_plane, "get", names, "-A").startswith("No resources")


def kubectl(plane: ControlPlane, *arguments: str) -> str:
    """What kubectl prints. Fails the test with what it complains of."""
    command = [str(binaries(["kubectl"])["kubectl"]), f"--kubeconfig={plane.kubeconfig}", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout or result.stderr
