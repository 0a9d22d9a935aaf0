"""The scheduling gate of members: the webhook adds it, reprieve removes it, and a cluster can be left without it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest
import yaml

from api.groups import SCHEDULING_GATE
from hack.controlplane.binaries import binaries
from hack.controlplane.client import Client, path_of
from hack.controlplane.manifests import MANIFESTS, apply_webhooks, render
from hack.controlplane.plane import ControlPlane, Options
from kube.client import JSON_PATCH
from tests.e2e.pages import shell
from tests.e2e.support import Sandbox, wait_for
from tests.e2e.webhook_server import ADMISSION
from tests.kit.connected import connected
from tests.kit.pod_writes import pod_writer

PAGE: Final = (Path(__file__).parents[2] / "docs" / "gates.md").read_text()
OTHER_GATE: Final = "example.com/wait"
CERTIFICATES: Final = {"certificates": {"pollSeconds": 0.2}}
"""A webhook configuration that was applied again is soon trusted."""


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """A plane with reprieve and the webhooks."""
    return start_plane(Options(reprieve=True, webhooks=True, webhooks_settings={"webhooks": CERTIFICATES}))


@pytest.fixture
def sandbox(plane: ControlPlane, sandboxes: Callable[[ControlPlane | Client], Sandbox]) -> Iterator[Sandbox]:
    """A sandbox on a plane whose webhooks and reprieve run."""
    if not plane.processes["reprieve-webhooks"].running:
        plane.start_webhooks()
    if not plane.reprieve.running:
        plane.start_reprieve()
    made = sandboxes(plane)
    if plane.client.find(ADMISSION, "MutatingWebhookConfiguration", "reprieve") is None:
        apply_webhooks(
            plane.client, render(binaries(["kubectl"])["kubectl"], MANIFESTS / "webhooks"), plane.layout
        )
    wait_for(lambda: gets_a_gate(made), what="new members get no gate")
    yield made
    made.remove()


@pytest.fixture
def until_planned(plane: ControlPlane) -> Iterator[None]:
    """reprieve runs with `planning.gates: UntilPlanned`."""
    restart(plane, "UntilPlanned")
    yield
    restart(plane, "Gathering")


def restart(plane: ControlPlane, mode: str) -> None:
    file = plane.layout.directory / "reprieve.yaml"
    configuration = yaml.safe_load(file.read_text())
    configuration.setdefault("planning", {})["gates"] = mode
    file.write_text(yaml.safe_dump(configuration))
    plane.reprieve.stop()
    plane.start_reprieve()


def gets_a_gate(sandbox: Sandbox) -> bool:
    """Whether a new member would get the gate."""
    body = sandbox.pod_body("probe", group="probe")
    path = path_of("v1", "Pod", sandbox.namespace)
    return "schedulingGates" in sandbox.client.request("POST", f"{path}?dryRun=All", body)["spec"]


def gates_of(sandbox: Sandbox, name: str) -> list[str]:
    found = sandbox.client.get("v1", "Pod", name, sandbox.namespace)
    return [gate["name"] for gate in found["spec"].get("schedulingGates", ())]


def gated(sandbox: Sandbox) -> set[str]:
    names = (pod["metadata"]["name"] for pod in sandbox.list_pods())
    return {name for name in names if SCHEDULING_GATE in gates_of(sandbox, name)}


def test_members_are_gated_until_min_count_exist_and_then_run(sandbox: Sandbox) -> None:
    node = sandbox.node("node", cpu="8")
    sandbox.group("gang", min_count=2, priority=100)
    sandbox.pod("gang-0", group="gang", priority=100)
    third = [{"name": OTHER_GATE}]
    sandbox.pod("gang-1", group="gang", priority=100, schedulingGates=third)
    sandbox.pod("alone", priority=100)
    assert gates_of(sandbox, "gang-0") == [SCHEDULING_GATE]
    assert gates_of(sandbox, "gang-1") == [OTHER_GATE, SCHEDULING_GATE]
    sandbox.wait_bound("alone")
    assert gated(sandbox) == {"gang-0", "gang-1"}, "a pod with the gate of others is no member"
    sandbox.pod("gang-2", group="gang", priority=100)
    assert sandbox.wait_bound("gang-0", "gang-2")["gang-2"] == node
    wait_for(lambda: gates_of(sandbox, "gang-1") == [OTHER_GATE], what="the gate of others does not stay")
    sandbox.client.patch("v1", "Pod", "gang-1", {"spec": {"schedulingGates": None}}, sandbox.namespace)
    sandbox.pod("gang-3", group="gang", priority=100)
    sandbox.wait_bound("gang-1", "gang-3")


async def test_only_our_gate_of_just_this_pod_is_removed(plane: ControlPlane, sandbox: Sandbox) -> None:
    """Whoever else removes gates at the same time, and how often it is asked for."""
    sandbox.group("gang", min_count=2)
    sandbox.pod("pod", group="gang", schedulingGates=[{"name": "example.com/a"}, {"name": "example.com/b"}])
    uid = sandbox.client.get("v1", "Pod", "pod", sandbox.namespace)["metadata"]["uid"]
    async with connected(plane.kubeconfig) as client:
        pods = pod_writer(client)
        assert not await pods.remove_gate(sandbox.namespace, "pod", "another")
        assert not await pods.remove_gate(sandbox.namespace, "other", uid)
        assert gates_of(sandbox, "pod") == ["example.com/a", "example.com/b", SCHEDULING_GATE]
        first = {"op": "remove", "path": "/spec/schedulingGates/0"}
        path = f"/api/v1/namespaces/{sandbox.namespace}/pods/pod"
        await asyncio.gather(
            client.request("PATCH", path, body=msgspec.json.encode([first]), content_type=JSON_PATCH),
            *(pods.remove_gate(sandbox.namespace, "pod", uid) for _ in range(3)),
        )
    assert gates_of(sandbox, "pod") == ["example.com/b"]


@pytest.mark.usefixtures("until_planned")
def test_until_planned_a_gang_that_fits_nowhere_stays_gated_and_is_placed_by_eviction_later(
    sandbox: Sandbox,
) -> None:
    nodes = sandbox.nodes(2, cpu="1", unschedulable=True)
    for number, node in enumerate(nodes):
        sandbox.filler(f"low-{number}", node, 1)
    members = sandbox.gang("gang", 2, priority=100)
    said = sandbox.wait_condition("PodGroup", "gang", "PodGroupInitiallyScheduled", "False")
    assert said["reason"] == "Unschedulable"
    sandbox.wait_condition("Pod", "gang-0", "reprieve.dev/Held", "True")
    assert gated(sandbox) == set(members)
    for node in nodes:
        sandbox.client.patch("v1", "Node", node, {"spec": {"unschedulable": None}})
    sandbox.wait_bound(*members)
    assert sandbox.history.evicted() == ["low-0-0", "low-1-0"]
    sandbox.wait_plan("gang", "Bound")
    (plan,) = [plan for plan in sandbox.plans("gang") if plan["spec"].get("victims")]
    confirmed = next(each for each in plan["status"]["conditions"] if each["type"] == "Confirmed")
    assert confirmed["message"] == "the scheduler offers all 2 members their nodes"


def test_pods_without_a_gang_are_released(plane: ControlPlane, sandbox: Sandbox) -> None:
    """Their group is deleted, never comes, or is basic; while reprieve runs, and while it did not.

    Filter turns down a pod whose group does not exist, with or without a gate.
    """
    sandbox.node("node", cpu="8")
    for name in ("gone", "lost"):
        sandbox.group(name, min_count=2)
        sandbox.pod(f"of-{name}", group=name)
    assert gated(sandbox) == {"of-gone", "of-lost"}
    sandbox.delete_group("gone")
    wait_for(lambda: gated(sandbox) == {"of-lost"}, what=sandbox.report)
    plane.reprieve.stop()
    sandbox.delete_group("lost")
    sandbox.pod("of-basic", group="basic")
    sandbox.group("basic")
    sandbox.pod("of-none", group="none")
    assert gated(sandbox) == {"of-lost", "of-basic", "of-none"}
    plane.start_reprieve()
    sandbox.wait_bound("of-basic")
    wait_for(lambda: not gated(sandbox), what=sandbox.report)


@pytest.mark.parametrize("webhook", ["installed", "unreachable", "absent"])
def test_with_and_without_the_webhook_the_same_load_has_the_same_end(
    plane: ControlPlane, sandbox: Sandbox, webhook: str
) -> None:
    sandbox.full_nodes(3)
    sandbox.group("fits", min_count=2, priority=100)
    sandbox.group("large", min_count=4, priority=200)
    if webhook == "unreachable":
        plane.processes["reprieve-webhooks"].stop()
    elif webhook == "absent":
        plane.client.delete(ADMISSION, "MutatingWebhookConfiguration", "reprieve")
        wait_for(lambda: not gets_a_gate(sandbox), what="new members still get the gate")
    large = sandbox.pods("large", 4, group="large", priority=200)
    fits = sandbox.pods("fits", 2, group="fits", priority=100)
    sandbox.pod("alone", priority=50)
    bound = sandbox.wait_bound(*fits, "alone")
    assert not set(large) & bound.keys()
    assert gated(sandbox) == set()
    assert sandbox.history.evicted() == ["low-0-0", "low-1-0", "low-2-0"]


def test_leaving_by_the_page_leaves_no_pod_gated(plane: ControlPlane, sandbox: Sandbox) -> None:
    members = [sandbox.gang(f"gang-{number}", 1, min_count=2)[0] for number in range(20)]
    assert gated(sandbox) == set(members)
    remove, scale, ungate, check = re.findall(
        r"^(?:kubectl|reprieve) .*$", PAGE.partition("## How to leave")[2], re.M
    )
    assert "scale deployment reprieve --replicas 0" in scale  # it runs outside of the cluster here
    removed = shell(plane, remove)
    assert removed.returncode == 0, removed.stderr
    plane.reprieve.stop()
    wait_for(lambda: not gets_a_gate(sandbox), what="new members still get the gate")
    before = shell(plane, check)
    assert {line.split()[1] for line in before.stdout.splitlines()} == set(members)
    result = shell(plane, ungate)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith("The gate is removed from 20 pods; 0 still have it.\n")
    assert gated(sandbox) == set()
    after = shell(plane, check)
    assert (after.returncode, after.stdout) == (1, "")
