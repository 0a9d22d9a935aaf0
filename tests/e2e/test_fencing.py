"""A leader that stands still between mark and delete, and goes on when another process leads: it deletes nobody."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Final, NamedTuple

import pytest

from hack.controlplane.client import ApiError, Client, Json, path_of
from hack.controlplane.components import REPRIEVE_USER
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.support import Sandbox, SandboxFactory, condition, wait_for
from tests.kit.often import SELDOM

ADMISSION: Final = "admissionregistration.k8s.io/v1"
LEASE: Final = {"leaseDurationSeconds": 12, "renewDeadlineSeconds": 9, "retryPeriodSeconds": 1}
SECONDS: Final = 2
"""Between a mark and its delete: less than the time for which one renewal lets a process write."""
SIGNED: Final = re.compile(r" \[term (\d+) of (\S+)\]$")
FINALIZER: Final = "example.com/stays"
NODES: Final = 12
"""Dry runs leave a connection for each of their requests: the late delete needs one that is open."""
POLICIES: Final = ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy")


class Mark(NamedTuple):
    """What a victim says."""

    term: int
    holder: str
    version: str
    """The pod's resourceVersion."""


@pytest.fixture(scope="module")
def pair(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """A plane for two processes. None runs."""
    settings = {"leaderElection": LEASE}
    return start_plane(Options(reprieve=True, replicas=2, start_reprieve=False, reprieve_settings=settings))


@pytest.fixture
def plane(pair: ControlPlane) -> ControlPlane:
    """Both processes are slow between a mark and its delete."""
    for process in pair.replicas:
        process.environment = {"REPRIEVE_FAILPOINTS": f"evict.marked={SECONDS}s"}
    return pair


@pytest.fixture
def sandbox(plane: ControlPlane, sandboxes: SandboxFactory) -> Iterator[Sandbox]:
    """Afterwards no process runs, and nothing is left of it in the cluster."""
    made = sandboxes(plane)
    yield made
    plane.networks["reprieve"].disturb("Pass")
    for process in plane.replicas:
        process.stop()
    for kind in POLICIES:
        made.client.delete(ADMISSION, kind, made.namespace)
    made.clear()


def marks(sandbox: Sandbox) -> dict[str, Mark]:
    """The victims that are marked, by name."""
    found = {}
    for pod in sandbox.list_pods():
        said = SIGNED.search((condition(pod, "DisruptionTarget") or {}).get("message", ""))
        if said is not None:
            meta = pod["metadata"]
            found[meta["name"]] = Mark(int(said[1]), said[2], meta["resourceVersion"])
    return found


def deletions(plane: ControlPlane) -> Iterator[tuple[str, str, int]]:
    """The deletions of pods that reprieve has asked for: name, resourceVersion, answer."""
    for line in plane.audit_log.read_text().splitlines(keepends=True):
        event: Json = json.loads(line) if line.endswith("\n") else {"verb": ""}
        options = event.get("requestObject") or {}
        is_pod = (event.get("objectRef") or {}).get("resource") == "pods"
        if event["verb"] != "delete" or not is_pod or event["user"]["username"] != REPRIEVE_USER:
            continue
        if not options.get("dryRun"):
            version = options["preconditions"].get("resourceVersion", "")
            yield event["objectRef"]["name"], version, event["responseStatus"]["code"]


def have_all_tried(sandbox: Sandbox) -> None:
    """A policy allows every eviction. So all of them are tried by dry runs."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}
    specs: tuple[Json, Json] = (
        {"policyName": sandbox.namespace, "validationActions": ["Deny"]},
        {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}]},
    )
    for kind, spec in zip(POLICIES, specs, strict=True):
        meta = {"name": sandbox.namespace}
        sandbox.client.create({"apiVersion": ADMISSION, "kind": kind, "metadata": meta, "spec": spec})


def stopped_between_mark_and_delete(plane: ControlPlane, sandbox: Sandbox) -> tuple[str, Mark]:
    """The first process stands still, and its first delete is on its way. Returns the victim and its mark."""
    have_all_tried(sandbox)
    plane.start_reprieve("reprieve")
    for number, node in enumerate(sandbox.nodes(NODES, cpu="1")):
        sandbox.filler(f"low-{number}", node, 1, finalizers=[FINALIZER])
    sandbox.gang("hero", NODES, priority=100)
    ((victim, mark),) = wait_for(lambda: marks(sandbox), what=sandbox.report).items()
    plane.networks["reprieve"].disturb("Hold")
    time.sleep(2 * SECONDS)  # now its delete is in the network
    plane.processes["reprieve"].pause()
    return victim, mark


def arrives_late(plane: ControlPlane, sandbox: Sandbox, victim: str, mark: Mark) -> None:
    """What the first process has sent arrives, and is refused. Then it goes on.

    A busy machine may have stopped it before it sent its delete. So the same delete is sent once more in its name.
    """
    network, uid = plane.networks["reprieve"], (sandbox.get_pod(victim) or {})["metadata"]["uid"]
    network.disturb("Pass")
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid, "resourceVersion": mark.version},
    }
    client = Client.of_kubeconfig(plane.layout.kubeconfig_of("reprieve"))
    with closing(client), pytest.raises(ApiError, match="409"):
        client.request("DELETE", path_of("v1", "Pod", sandbox.namespace, victim), options)
    late = (victim, mark.version, 409)
    wait_for(lambda: late in deletions(plane), what=lambda: f"{late} is not among {list(deletions(plane))}")
    assert (victim, mark.version, 200) not in deletions(plane)
    plane.processes["reprieve"].resume()


@SELDOM
def test_a_late_delete_of_a_plan_that_has_ended_is_refused(plane: ControlPlane, sandbox: Sandbox) -> None:
    """The gang is deleted. The second process withdraws the mark that it has never written itself."""
    victim, mark = stopped_between_mark_and_delete(plane, sandbox)
    sandbox.delete_group("hero")
    plane.start_reprieve("reprieve-2", wait=False)
    sandbox.wait_plan("hero", "Aborted")
    wait_for(lambda: not marks(sandbox), what=sandbox.report)
    arrives_late(plane, sandbox, victim, mark)
    sandbox.watch_quietly(3)
    assert not marks(sandbox)


def test_a_late_delete_of_a_plan_that_goes_on_is_refused(plane: ControlPlane, sandbox: Sandbox) -> None:
    """The second process marks the victim anew, and every victim goes once."""
    victim, mark = stopped_between_mark_and_delete(plane, sandbox)
    plane.processes["reprieve-2"].environment = {}
    plane.start_reprieve("reprieve-2")
    wait_for(lambda: len(sandbox.history.evicted()) == NODES, what=sandbox.report)
    again = marks(sandbox)
    assert {each.term for each in again.values()} == {mark.term + 1}
    assert mark.holder not in {each.holder for each in again.values()}
    arrives_late(plane, sandbox, victim, mark)
    plane.processes["reprieve"].stop()  # the scheduler may still be connected to it
    for name in again:
        sandbox.release(name)
    sandbox.wait_bound(*(f"hero-{number}" for number in range(NODES)))
    accepted = [name for name, _, code in deletions(plane) if code == 200]
    assert sorted(accepted) == sorted(again)
