"""A pause among the victims of a plan, on a real control plane: it stops within a second, and its end decides anew."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from click.testing import CliRunner

from api.pauses import PAUSED
from cli.main import reprieve
from hack.controlplane.components import REPRIEVE_USER
from tests.e2e.support import Sandbox, wait_for
from tests.kit.often import SELDOM

Json = dict[str, Any]

PAUSE_SECONDS = 1.0
"""After this time no deletion arrives."""
BUSY_SECONDS = 2.0
"""What a machine with other tests on it may add until a watch shows the annotation."""
QUIET_SECONDS = 2.0
MEMBERS = 2


@dataclass
class Paused:
    """When the namespace was paused, once a victim was seen to leave."""

    sandbox: Sandbox
    at: float = 0.0

    def pause(self) -> None:
        """As soon as a deletion is seen. The command is too slow where it runs for the first time."""
        for event in self.sandbox.client.watch("v1", "Pod", self.sandbox.namespace):
            if event["type"] == "DELETED" or event["object"]["metadata"].get("deletionTimestamp"):
                break
        body = {"metadata": {"annotations": {PAUSED: "storage is moved"}}}
        self.sandbox.client.patch("v1", "Namespace", self.sandbox.namespace, body)
        self.at = time.time()


def command(sandbox: Sandbox, name: str, *arguments: str) -> str:
    """`reprieve pause` or `resume` for the sandbox's namespace."""
    assert sandbox.plane is not None
    options = ["-n", sandbox.namespace, "--kubeconfig", str(sandbox.plane.kubeconfig)]
    result = CliRunner().invoke(reprieve, [name, *options, *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def deletions(sandbox: Sandbox) -> dict[str, float]:
    """When the API server received reprieve's deletion of each pod of the namespace, in seconds since the epoch."""
    assert sandbox.plane is not None
    found: dict[str, float] = {}
    for event in _events(sandbox):
        reference = event.get("objectRef") or {}
        if (reference.get("resource"), reference.get("namespace")) != ("pods", sandbox.namespace):
            continue
        if (
            event["verb"] == "delete"
            and event["responseStatus"]["code"] < 300
            and "dryRun" not in json.dumps(event)
        ):
            received = datetime.fromisoformat(event["requestReceivedTimestamp"].replace("Z", "+00:00"))
            found.setdefault(reference["name"], received.timestamp())
    return found


def _events(sandbox: Sandbox) -> Iterator[Json]:
    assert sandbox.plane is not None
    for line in sandbox.plane.audit_log.read_text().splitlines():
        if sandbox.namespace in line and REPRIEVE_USER in line:
            yield json.loads(line)


def leaving(sandbox: Sandbox) -> set[str]:
    """Victims that terminate or are gone."""
    states = sandbox.history.all()
    gone = {pod["metadata"]["name"] for kind, pod in states if kind == "DELETED"}
    return gone | {pod["metadata"]["name"] for _, pod in states if pod["metadata"].get("deletionTimestamp")}


def stops(sandbox: Sandbox, victims: int) -> None:
    if sandbox.plane is None:
        pytest.skip("the audit log of this cluster is not ours to read")
    each = victims // MEMBERS
    nodes = sandbox.nodes(MEMBERS, cpu=str(each), pods=each + 10)
    low = [f"low-{number}-{k}" for number in range(MEMBERS) for k in range(each)]
    bodies = (
        sandbox.pod_body(name, priority=10, node_name=nodes[int(name.split("-")[1])], cpu="1") for name in low
    )
    sandbox.client.create_all(bodies)
    sandbox.wait_running(*low)
    paused = Paused(sandbox)
    thread = threading.Thread(target=paused.pause)
    thread.start()
    members = sandbox.gang("hero", MEMBERS, priority=100, cpu=str(each))
    thread.join()
    assert len(leaving(sandbox)) < victims, "the pause came too late to show anything"
    sandbox.wait_reason("PodGroup", "hero", "reprieve.dev/Scheduled", "Paused")
    first = leaving(sandbox)
    time.sleep(QUIET_SECONDS)
    assert leaving(sandbox) == first, "nobody leaves while it is paused"
    print(f"{len(first)} of {victims} victims had left")
    assert first
    received = deletions(sandbox)
    assert first <= received.keys()
    assert max(received.values()) < paused.at + PAUSE_SECONDS + BUSY_SECONDS
    (old,) = sandbox.plans("hero")
    assert old["status"]["phase"] == "Evicting"

    assert "is not paused any longer" in command(sandbox, "resume")
    resumed = time.time()
    sandbox.wait_bound(*members)
    old, *newer = sorted(sandbox.plans("hero"), key=lambda plan: plan["metadata"]["creationTimestamp"])
    assert (old["status"]["phase"], reason(old)) == ("Aborted", "Paused")
    later = {name for name, at in deletions(sandbox).items() if at > paused.at + PAUSE_SECONDS + BUSY_SECONDS}
    assert later == leaving(sandbox) - first, "what was on its way had arrived"
    assert later <= {victim["name"] for plan in newer for victim in plan["spec"]["victims"]}
    assert min(at for name, at in deletions(sandbox).items() if name in later) >= resumed - PAUSE_SECONDS


def reason(plan: Json) -> str:
    """Why the plan has ended."""
    return next(str(each["reason"]) for each in plan["status"]["conditions"] if each["type"] == "Aborted")


def test_a_pause_among_victims_stops_them_and_its_end_decides_anew(sandbox: Sandbox) -> None:
    stops(sandbox, 60)


@SELDOM
def test_a_pause_among_400_victims_stops_them(sandbox: Sandbox) -> None:
    stops(sandbox, 400)


def test_a_pause_keeps_a_gang_waiting_and_says_why(sandbox: Sandbox) -> None:
    sandbox.full_nodes(1)
    command(sandbox, "pause", "--for", "1h", "a deadline")
    members = sandbox.gang("hero", 1, priority=100)
    said = sandbox.wait_reason("PodGroup", "hero", "reprieve.dev/Scheduled", "Paused")
    assert f"evictions in namespace {sandbox.namespace} are paused until" in said["message"]
    assert said["message"].endswith(": a deadline")
    assert sandbox.plans("hero") == []
    assert sandbox.history.evictions() == {}
    command(sandbox, "resume")
    sandbox.wait_bound(*members)
    wait_for(lambda: sandbox.history.evictions() == {"low-0-0": 1}, what="it is not evicted")
