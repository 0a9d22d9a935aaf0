"""Observe beside a Kueue that manages: decisions are compared, and no object of Kueue is written."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Sequence

import pytest

from hack.controlplane.binaries import binaries
from hack.controlplane.client import Json
from hack.controlplane.components import REPRIEVE_USER
from hack.controlplane.manifests import MANIFESTS, render
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.audit import READS, beyond_an_observer
from tests.e2e.quota_sandbox import KUEUE, QuotaSandbox
from tests.e2e.support import wait_for

OVERLAY = "overlays/kueue-observe"
SEEN = 'reprieve_mirror_objects{{cluster="",kind="workloads"}} {}.0'
PREEMPTS = {"withinClusterQueue": "LowerPriority"}


class Kueue:
    """Who manages: it admits and preempts, with the field manager of Kueue."""

    def __init__(self, box: QuotaSandbox) -> None:
        self._box = box
        self._seconds = 0

    def admit(self, name: str, queue: str, flavor: str) -> None:
        assignment = {"name": "main", "count": 1, "flavors": {"cpu": flavor}, "resourceUsage": {"cpu": "1"}}
        self._apply(
            name,
            [self._condition("QuotaReserved", "QuotaReserved"), self._condition("Admitted", "Admitted")],
            admission={"clusterQueue": self._box.of(queue), "podSetAssignments": [assignment]},
        )

    def preempt(self, name: str, preemptor: str) -> None:
        found = self._box.get(name)["status"]
        uid = self._box.get(preemptor)["metadata"]["uid"]
        message = (
            f"Preempted to accommodate a workload (UID: {uid}, JobUID: UNKNOWN) due to prioritization in the "
            "ClusterQueue; preemptor path: /q; preemptee path: /q"
        )
        gone = [
            self._condition("Preempted", "InClusterQueue", message),
            self._condition("Evicted", "Preempted", message),
        ]
        self._apply(name, [*found["conditions"], *gone], admission=found["admission"])

    def _condition(self, kind: str, reason: str, message: str = "") -> Json:
        self._seconds += 1
        time = f"2026-01-01T00:{self._seconds // 60:02}:{self._seconds % 60:02}Z"
        return {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastTransitionTime": time,
        }

    def _apply(self, name: str, conditions: Sequence[Json], **status: Json) -> None:
        path = f"/apis/{KUEUE}/namespaces/{self._box.name}/workloads/{name}/status"
        body = {
            "apiVersion": KUEUE,
            "kind": "Workload",
            "metadata": {"name": name, "namespace": self._box.name},
            "status": {"conditions": conditions, **status},
        }
        self._box.client.request(
            "PATCH", f"{path}?fieldManager=kueue-admission&force=true", body, "application/apply-patch+yaml"
        )


@pytest.fixture(scope="module")
def box(start_plane: Callable[[Options], ControlPlane]) -> QuotaSandbox:
    """Queues of two flavors, each in a tree of its own."""
    observing = {"planning": {"mode": "Observe"}, "quota": {"mode": "Observe"}}
    plane = start_plane(
        Options(reprieve=True, reprieve_settings=observing, manifests=("crds", "kueue-crds", OVERLAY))
    )
    made = QuotaSandbox(plane, "observe")
    made.client.create(
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": made.of("other")}, "spec": {}}
    )
    quota = [{"name": "cpu", "nominalQuota": 2}]
    flavors = [{"name": name, "resources": quota} for name in (made.flavor, made.of("other"))]
    both = [{"coveredResources": ["cpu"], "flavors": flavors}]
    made.queue("wrong", 0, resourceGroups=both)
    for name in ("few", "others"):
        made.queue(name, 2, preemption=PREEMPTS)
    made.queue("right", 0, resourceGroups=both)
    return made


def metrics(box: QuotaSandbox) -> list[str]:
    with urllib.request.urlopen(f"{box.plane.ops_url}/metrics") as answer:  # noqa: S310  # our own URL
        text: str = answer.read().decode()
    return text.splitlines()


def counted(box: QuotaSandbox) -> dict[str, int]:
    """The decisions that were compared."""
    name = "reprieve_observer_decisions_total{"
    found = (line.removeprefix(name).split() for line in metrics(box) if line.startswith(name))
    return {label.split('"')[1]: round(float(value)) for label, value in found}


def test_decisions_are_compared(box: QuotaSandbox) -> None:
    kueue = Kueue(box)
    log = box.plane.layout.logs / "reprieve.log"
    wait_for(lambda: "decisions of others are compared" in log.read_text())

    def until(**expected: int) -> None:
        wait_for(lambda: counted(box) == expected, what=lambda: f"{counted(box)}, not {expected}")

    for name in ("right", "wrong"):
        box.workload(name, name, 1)
    for queue in ("few", "others"):
        box.workload(f"{queue}-old", queue, 1)
        box.workload(f"{queue}-new", queue, 1)
        box.workload(f"{queue}-high", queue, 1, priority=5)
    wait_for(lambda: SEEN.format(len(box.names())) in metrics(box))
    # The same decisions agree, whatever else happens at that time.
    kueue.admit("right", "right", box.flavor)
    for name in ("few-old", "few-new", "others-old", "others-new"):
        kueue.admit(name, name.partition("-")[0], box.flavor)
    until(true=5, false=0, unknown=0)
    kueue.preempt("few-new", "few-high")
    until(true=6, false=0, unknown=0)
    # Others do not, if nothing else happens.
    box.rest()
    kueue.admit("wrong", "wrong", box.of("other"))
    kueue.preempt("others-old", "others-high")
    until(true=6, false=2, unknown=0)


def test_nothing_of_kueue_is_written(box: QuotaSandbox) -> None:
    """Runs after the other test: everything has been looked at. The nodes plane keeps its account of the day."""
    events = [json.loads(line) for line in box.plane.audit_log.read_text().splitlines()]
    ours = [each for each in events if each["user"]["username"] == REPRIEVE_USER]
    assert any(_group(each) == "kueue.x-k8s.io" and each["verb"] == "watch" for each in ours)
    assert beyond_an_observer(box.plane.audit_log) == []
    assert {_group(each) for each in ours if each["verb"] not in READS} <= {"reprieve.dev"}
    for queue in box.client.list(KUEUE, "ClusterQueue"):
        assert "finalizers" not in queue["metadata"]
        assert "conditions" not in queue.get("status", {})


def test_no_metric_has_kueues_name(box: QuotaSandbox) -> None:
    assert [line for line in metrics(box) if "kueue_" in line] == []


def test_no_mutating_webhook_is_called() -> None:
    objects = render(binaries(["kubectl"])["kubectl"], MANIFESTS / OVERLAY)
    assert [each for each in objects if each["kind"] == "MutatingWebhookConfiguration"] == []


def _group(event: Json) -> str:
    reference: Json = event.get("objectRef") or {}
    return str(reference.get("apiGroup", ""))
