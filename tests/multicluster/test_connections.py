"""The manager's connections to real worker clusters: a new token, a network that fails, a second manager, gates."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable
from functools import partial

from prometheus_client.parser import text_string_to_metric_families

from api.kueue import API_VERSION
from api.multikueue import MANAGER_NAMESPACE
from api.times import rfc3339_micro
from hack.controlplane.client import Json
from hack.controlplane.fleet import ACCOUNT, CHECK, make_account
from hack.controlplane.processes import wait_until
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM
from tests.multicluster.trio import WORKERS, Trio

LEASE = "multikueue-multikueue"
GATES = "reprieve.dev/PreemptionGates"


def condition(trio: Trio, name: str, kind: str = "Active", of: str = "MultiKueueCluster") -> Json:
    found = trio.client("manager").get(API_VERSION, of, name)
    conditions = found.get("status", {}).get("conditions", [])
    missing: Json = {"status": "", "reason": "", "message": ""}
    return next((each for each in conditions if each["type"] == kind), missing)


def says(trio: Trio, name: str, reason: str, kind: str = "Active", of: str = "MultiKueueCluster") -> Json:
    """Wait for the reason."""

    def shown() -> str:
        return f"{name}: {condition(trio, name, kind, of)}"

    wait_until(lambda: condition(trio, name, kind, of)["reason"] == reason, PATIENCE_SECONDS, shown)
    return condition(trio, name, kind, of)


def counted(trio: Trio, metric: str, cluster: str) -> float:
    """The sum of a metric of the manager for Workloads in the worker."""
    with urllib.request.urlopen(f"{trio.fleet.manager.ops_url}/metrics") as response:  # noqa: S310 - http
        families = text_string_to_metric_families(response.read().decode())
    wanted = {"cluster": cluster, "kind": "workloads"}
    return sum(
        sample.value
        for family in families
        for sample in family.samples
        if sample.name == metric and wanted.items() <= sample.labels.items()
    )


def lists(trio: Trio, cluster: str) -> float:
    return counted(trio, "reprieve_reflector_lists_total", cluster)


def ends(trio: Trio, cluster: str) -> float:
    """How many watches have ended, or could not begin."""
    return counted(trio, "reprieve_reflector_stream_ends_total", cluster)


def _is_renewed(trio: Trio, since: str) -> bool:
    return renewed(trio, "alpha") != since


def renewed(trio: Trio, cluster: str) -> str:
    """When the Lease of the origin was renewed last."""
    lease = trio.client(cluster).get("coordination.k8s.io/v1", "Lease", LEASE, MANAGER_NAMESPACE)
    time_: str = lease["spec"]["renewTime"]
    return time_


def connected(trio: Trio) -> None:
    for name in WORKERS:
        says(trio, name, "Active")


def test_the_manager_connects_and_tries_gates(trio: Trio) -> None:
    connected(trio)
    for name in WORKERS:
        assert condition(trio, name)["message"] == "Connected"
        assert says(trio, name, "Honoured", GATES)["status"] == "True"
        assert trio.client(name).list(API_VERSION, "Workload", MANAGER_NAMESPACE) == []
        lease = trio.client(name).get("coordination.k8s.io/v1", "Lease", LEASE, MANAGER_NAMESPACE)
        here = trio.client("manager").get("v1", "Namespace", "kube-system")
        assert lease["spec"]["holderIdentity"] == here["metadata"]["uid"]
    assert says(trio, CHECK, "Active", of="AdmissionCheck")["status"] == "True"


@SELDOM
def test_a_rotated_token_is_used_without_a_restart(trio: Trio) -> None:
    """The old one is not valid any longer: its account was made anew. No other cluster loses a watch."""
    connected(trio)
    before, process = [(lists(trio, name), ends(trio, name)) for name in WORKERS], trio.process("manager").pid
    assert all(listed for listed, _ in before)
    alpha = trio.client("alpha")
    alpha.delete("v1", "ServiceAccount", ACCOUNT, MANAGER_NAMESPACE)
    make_account(alpha)
    trio.fleet.give_kubeconfig("alpha")
    lease = renewed(trio, "alpha")
    wait_until(lambda: renewed(trio, "alpha") > lease, PATIENCE_SECONDS, lambda: "the Lease is not renewed")
    connected(trio)
    assert [(lists(trio, name), ends(trio, name)) for name in WORKERS] == before
    assert trio.process("manager").pid == process


def test_a_secret_that_is_unsafe_is_refused_and_a_good_one_is_used_at_once(trio: Trio) -> None:
    connected(trio)
    trio.fleet.write_secret("alpha", {"kubeconfig": "users: [{name: a, user: {exec: {command: sh}}}]"})
    said = says(trio, "alpha", "InsecureKubeConfig")
    assert said["message"].startswith("load client config failed: users[0].user.exec: is not allowed")
    assert (
        says(trio, CHECK, "SomeActiveClusters", of="AdmissionCheck")["message"]
        == "Inactive clusters: [alpha]"
    )
    trio.fleet.give_kubeconfig("alpha")
    connected(trio)
    says(trio, CHECK, "Active", of="AdmissionCheck")


@SELDOM
def test_a_cluster_that_is_silent_is_inactive_and_comes_back(trio: Trio) -> None:
    connected(trio)
    trio.proxy("alpha").disturb("BlackHole")
    said = says(trio, "alpha", "ClientConnectionFailed")
    assert "; connection attempts: " in said["message"]
    assert ", next connection attempt: 20" in said["message"]
    assert condition(trio, "beta")["reason"] == "Active"
    trio.proxy("alpha").disturb("Pass")
    says(trio, "alpha", "Active")


def test_connections_that_are_reset_are_no_loss(trio: Trio) -> None:
    """12999: watches are resumed, and nothing is said."""
    connected(trio)
    before = condition(trio, "alpha")
    listed, ended = lists(trio, "alpha"), ends(trio, "alpha")
    trio.proxy("alpha").disturb("Reset")
    trio.proxy("alpha").disturb("Pass")
    wait_until(lambda: ends(trio, "alpha") > ended, PATIENCE_SECONDS, lambda: "no watch was interrupted")
    lease = renewed(trio, "alpha")
    wait_until(lambda: renewed(trio, "alpha") > lease, PATIENCE_SECONDS, lambda: "the Lease is not renewed")
    assert condition(trio, "alpha") == before
    assert lists(trio, "alpha") == listed


@SELDOM
def test_a_second_manager_of_the_origin_is_stopped(trio: Trio) -> None:
    connected(trio)
    client = trio.client("alpha")

    def hold() -> None:
        spec = {
            "holderIdentity": "another",
            "leaseDurationSeconds": 15,
            "renewTime": rfc3339_micro(time.time()),
        }
        client.patch("coordination.k8s.io/v1", "Lease", LEASE, {"spec": spec}, MANAGER_NAMESPACE)

    def held_until(condition_: Callable[[], bool]) -> bool:
        hold()
        return condition_()

    wait_until(
        lambda: held_until(lambda: condition(trio, "alpha")["reason"] == "OriginInUse"),
        PATIENCE_SECONDS,
        lambda: str(condition(trio, "alpha")),
    )
    assert "kube-system another uses the origin multikueue" in condition(trio, "alpha")["message"]
    assert condition(trio, "beta")["reason"] == "Active"
    says(trio, "alpha", "Active")  # once the other one has been silent for as long as its Lease lasts


@SELDOM
def test_the_time_in_a_lease_decides_nothing(trio: Trio) -> None:
    """Neither in ours, nor in one that nobody renews: it counts from when the manager saw it first."""
    connected(trio)
    client = trio.client("alpha")

    def write(**spec: object) -> float:
        client.patch("coordination.k8s.io/v1", "Lease", LEASE, {"spec": spec}, MANAGER_NAMESPACE)
        return time.monotonic()

    for hours in (-5, 5):
        write(renewTime=rfc3339_micro(time.time() + hours * 3600))
        lease = renewed(trio, "alpha")
        wait_until(partial(_is_renewed, trio, lease), PATIENCE_SECONDS, "not renewed".__str__)
        assert condition(trio, "alpha")["reason"] == "Active"
    for hours in (-5, 5):
        began = write(
            holderIdentity="another",
            leaseDurationSeconds=15,
            renewTime=rfc3339_micro(time.time() + hours * 3600),
        )
        says(trio, "alpha", "OriginInUse")
        says(trio, "alpha", "Active")
        assert time.monotonic() - began >= 15
