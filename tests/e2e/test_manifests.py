"""What `kubectl apply -k` sends is taken by a real API server without a warning."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from extender.configuration import POD_IP, PeersConfiguration
from hack.controlplane.binaries import binaries
from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.manifests import BASE, MANIFESTS, SCHEDULER, WEBHOOK_KINDS, render
from hack.controlplane.plane import ControlPlane
from webhooks.registrations import SERVICE

CRDS = [MANIFESTS / "crds", MANIFESTS / "kueue-crds"]
OVERLAYS = MANIFESTS / "overlays"
ACTING = OVERLAYS / "kind"
OBSERVED = MANIFESTS / "components" / "extender" / "kube-scheduler.yaml"
"""The scheduler's file where reprieve observes and is called."""
FOREIGN_KINDS = frozenset({"Certificate", "Issuer"})
"""Of cert-manager, which does not run here."""


@pytest.fixture
def client(control_plane: ControlPlane) -> Iterator[Client]:
    """Of a plane that other tests use too: nothing is left that makes pods, or that another overlay cannot change."""
    client = control_plane.client
    client.warnings.clear()
    yield client
    for deployment in client.list("apps/v1", "Deployment", "reprieve-system"):
        client.delete("apps/v1", "Deployment", deployment["metadata"]["name"], "reprieve-system")
    for name in ("reprieve", "reprieve-webhooks"):
        client.delete("v1", "Service", name, "reprieve-system")
    for kind in WEBHOOK_KINDS:
        client.delete("admissionregistration.k8s.io/v1", kind, "reprieve")


def rendered(folder: Path) -> list[Json]:
    return render(binaries(["kubectl"])["kubectl"], folder)


@pytest.mark.parametrize("folder", [*CRDS, BASE, *sorted(OVERLAYS.iterdir())], ids=lambda folder: folder.name)
def test_it_applies_without_a_warning(client: Client, folder: Path) -> None:
    for body in rendered(folder):
        if body["kind"] not in FOREIGN_KINDS:
            client.apply(body)
    assert client.warnings == []


@pytest.mark.parametrize("folder", [BASE, *sorted(OVERLAYS.iterdir())], ids=lambda folder: folder.name)
def test_its_pods_are_admitted_under_restricted_pod_security(client: Client, folder: Path) -> None:
    for body in rendered(folder):
        if body["kind"] != "Deployment":
            continue
        labels = client.get("v1", "Namespace", body["metadata"]["namespace"])["metadata"]["labels"]
        assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
        pod = pod_of(body)
        client.create(pod)  # by itself, so that a refusal is ours to see and not a controller's
        client.delete("v1", "Pod", pod["metadata"]["name"], pod["metadata"]["namespace"], grace_seconds=0)
    assert client.warnings == []


def test_restricted_pod_security_is_in_force(client: Client) -> None:
    deployment = next(body for body in rendered(BASE) if body["kind"] == "Deployment")
    pod = pod_of(deployment)
    del pod["spec"]["containers"][0]["securityContext"]
    with pytest.raises(ApiError, match="violates PodSecurity"):
        client.create(pod)


def reprieve_of(objects: list[Json]) -> Json:
    return next(
        body for body in objects if body["kind"] == "Deployment" and body["metadata"]["name"] == "reprieve"
    )


def test_the_observer_needs_no_secret_no_service_and_no_webhook() -> None:
    objects = rendered(BASE)
    (volume,) = reprieve_of(objects)["spec"]["template"]["spec"]["volumes"]
    assert volume["configMap"]
    assert not {body["kind"] for body in objects} & {"Secret", "Service", *WEBHOOK_KINDS}


def test_the_deployment_finds_what_it_names() -> None:
    objects = rendered(ACTING)
    deployment = reprieve_of(objects)
    spec = deployment["spec"]["template"]["spec"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    maps = {body["metadata"]["name"]: body for body in objects if body["kind"] == "ConfigMap"}
    configuration = maps[volumes["configuration"]["configMap"]["name"]]
    files = [yaml.safe_load(text) for text in configuration["data"].values()]
    ours = {key: value for file in files for key, value in file.items()}
    container = spec["containers"][0]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert container["args"] == ["serve", "--config", mounts["configuration"]]
    assert all(path.startswith(f"{mounts['tls']}/") for path in ours["extender"]["tls"].values())
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"extender": ours["extender"]["port"], "ops": ours["ops"]["port"]}
    assert any(body["metadata"]["name"] == spec["serviceAccountName"] for body in objects)


def test_replicas_know_their_address_and_call_each_other_by_a_name_on_their_certificate() -> None:
    objects = rendered(OVERLAYS / "cert-manager")
    deployment = reprieve_of(objects)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    fields = {each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"] for each in container["env"]}
    assert fields == {POD_IP: "status.podIP"}
    certificates = {
        body["metadata"]["name"]: body["spec"] for body in objects if body["kind"] == "Certificate"
    }
    certificate = certificates["reprieve-extender"]
    assert certificate["usages"] == ["server auth", "client auth"]
    assert PeersConfiguration().server_name in certificate["dnsNames"]


def test_the_scheduler_leaves_time_for_an_answer_of_the_replica_that_it_calls() -> None:
    scheduler = yaml.safe_load(SCHEDULER.read_text())
    peers = PeersConfiguration()
    given = {"filterVerb": peers.filter_seconds, "preemptVerb": peers.preempt_seconds}
    for entry in scheduler["extenders"]:
        (seconds,) = (given[name] for name in given if name in entry)
        assert seconds <= float(entry["httpTimeout"].removesuffix("s")) / 2


@pytest.mark.parametrize(
    ("component", "ignorable"),
    [("enforce", {"filter": True, "preempt": False}), ("extender", {"filter": True, "preempt": True})],
)
def test_the_scheduler_is_told_the_service_and_a_name_on_its_certificate(
    component: str, ignorable: dict[str, bool]
) -> None:
    objects = rendered(ACTING)
    service = next(body for body in objects if body["kind"] == "Service")
    scheduler = yaml.safe_load((MANIFESTS / "components" / component / "kube-scheduler.yaml").read_text())
    host = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    port = next(port["port"] for port in service["spec"]["ports"] if port["name"] == "extender")
    assert [entry["urlPrefix"] for entry in scheduler["extenders"]] == [f"https://{host}:{port}/v1"] * 2
    assert {entry["tlsConfig"]["serverName"] for entry in scheduler["extenders"]} == {host}
    entries = scheduler["extenders"]
    verbs = {entry.get("filterVerb") or entry.get("preemptVerb"): entry["ignorable"] for entry in entries}
    assert verbs == ignorable


def test_an_observer_that_hangs_costs_the_scheduler_little() -> None:
    observed = yaml.safe_load(OBSERVED.read_text())
    assert {entry["httpTimeout"] for entry in observed["extenders"]} == {"200ms"}
    acting = yaml.safe_load(SCHEDULER.read_text())
    for each in (observed, acting):
        for entry in each["extenders"]:
            del entry["httpTimeout"], entry["ignorable"]
    del acting["percentageOfNodesToScore"]  # an observer gives back whatever comes
    assert observed == acting


def test_with_cert_manager_nobody_else_looks_after_certificates() -> None:
    """It puts the authority where there is no caBundle; we read the files, and have no right to anything else."""
    objects = rendered(OVERLAYS / "cert-manager")
    injected = "cert-manager.io/inject-ca-from"
    certificates = {
        f"{body['metadata']['namespace']}/{body['metadata']['name']}": body["spec"]
        for body in objects
        if body["kind"] == "Certificate"
    }
    configurations = [body for body in objects if body["kind"] in WEBHOOK_KINDS]
    (name,) = {configuration["metadata"]["annotations"][injected] for configuration in configurations}
    certificate = certificates[name]
    for client in (each["clientConfig"] for found in configurations for each in found["webhooks"]):
        assert "caBundle" not in client
        assert f"{client['service']['name']}.{client['service']['namespace']}.svc" in certificate["dnsNames"]
    deployment = next(
        body for body in objects if body["kind"] == "Deployment" and body["metadata"]["name"] == SERVICE
    )
    spec = deployment["spec"]["template"]["spec"]
    assert certificate["secretName"] in [each.get("secret", {}).get("secretName") for each in spec["volumes"]]
    roles = [body for body in objects if body["kind"] in ("Role", "ClusterRole")]
    ours = [role for role in roles if role["metadata"]["name"].startswith(SERVICE)]
    resources = {resource for role in ours for rule in role["rules"] for resource in rule["resources"]}
    assert not resources & {"secrets", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}


def pod_of(deployment: Json) -> Json:
    template = copy.deepcopy(deployment["spec"]["template"])
    name, namespace = deployment["metadata"]["name"], deployment["metadata"]["namespace"]
    metadata = {**template["metadata"], "name": f"{name}-admission", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def test_the_second_scheduler_asks_the_same() -> None:
    second = yaml.safe_load(
        (MANIFESTS / "components" / "second-scheduler" / "kube-scheduler.yaml").read_text()
    )
    first = yaml.safe_load(SCHEDULER.read_text())
    for field in ("extenders", "percentageOfNodesToScore"):
        assert second[field] == first[field]
