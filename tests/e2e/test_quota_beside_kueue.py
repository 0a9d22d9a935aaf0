"""Enforce does not act while Kueue manages: its Lease is renewed, or it writes to Workloads."""

from __future__ import annotations

import itertools
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from hack.controlplane.client import Client
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.quota_sandbox import KUEUE, QUOTA, QuotaSandbox
from tests.e2e.support import wait_for

LEASE = "c1f6bfd2.kueue.x-k8s.io"
STANDS_ASIDE = "reason=KueueManages"
API = "coordination.k8s.io/v1"


@contextmanager
def managing(client: Client, namespace: str) -> Iterator[None]:
    """A manager that holds Kueue's Lease, and renews it."""
    ends = threading.Event()
    client.create(
        {
            "apiVersion": API,
            "kind": "Lease",
            "metadata": {"name": LEASE, "namespace": namespace},
            "spec": {"holderIdentity": "kueue-manager", "leaseDurationSeconds": 15},
        }
    )

    def renew() -> None:
        for number in itertools.count():
            if ends.wait(0.5):
                return
            time = f"2026-01-01T00:00:00.{number:06}Z"
            client.patch(API, "Lease", LEASE, {"spec": {"renewTime": time}}, namespace)

    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        yield
    finally:
        ends.set()
        renewing.join()
        client.delete(API, "Lease", LEASE, namespace)


def stands_aside(box: QuotaSandbox) -> float:
    """The metric."""
    with urllib.request.urlopen(f"{box.plane.ops_url}/metrics") as answer:  # noqa: S310  # our own URL
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("reprieve_quota_stands_aside "))


@pytest.fixture(scope="module")
def box(start_plane: Callable[[Options], ControlPlane]) -> QuotaSandbox:
    sharing = {"quota": {"mode": "Enforce", "fairSharing": {}}}
    made = QuotaSandbox(start_plane(Options(**{**QUOTA, "reprieve_settings": sharing})), "beside")
    made.cohort("team")
    made.queue("q", 4, cohort="team")
    return made


def test_a_cohort_says_its_share(box: QuotaSandbox) -> None:
    wait_for(lambda: box.client.get(KUEUE, "Cohort", box.of("team")).get("status", {}).get("fairSharing"))


def test_nothing_is_admitted_while_kueue_holds_its_lease(box: QuotaSandbox) -> None:
    box.workload("before", "q", 1)
    box.until_admitted("before")
    with managing(box.client, box.name):
        log = box.plane.layout.logs / "reprieve.log"
        wait_for(lambda: "the quota controller stops to act" in log.read_text())
        box.workload("beside", "q", 1)
        box.rest()
        assert not box.conditions("beside")
        assert stands_aside(box) == 1
        (event,) = wait_for(
            lambda: box.client.list("events.k8s.io/v1", "Event", box.name, fields=STANDS_ASIDE)
        )
        assert event["regarding"]["name"] == LEASE
    box.until_admitted("beside")
    assert stands_aside(box) == 0


def test_a_workload_that_kueue_admits_stops_us(box: QuotaSandbox) -> None:
    box.workload("theirs", "nowhere", 1)
    box.until("theirs", "QuotaReserved", "False")
    usage = {"name": "main", "count": 1, "flavors": {"cpu": box.flavor}, "resourceUsage": {"cpu": "1"}}
    path = f"/apis/{KUEUE}/namespaces/{box.name}/workloads/theirs/status"
    conditions = [
        {
            "type": "QuotaReserved",
            "status": "True",
            "reason": "QuotaReserved",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    status = {
        "admission": {"clusterQueue": box.of("q"), "podSetAssignments": [usage]},
        "conditions": conditions,
    }
    body = {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": "theirs", "namespace": box.name},
        "status": status,
    }
    box.client.request(
        "PATCH",
        f"{path}?fieldManager=kueue-admission&force=true",
        body,
        "application/apply-patch+yaml",
    )
    log = box.plane.layout.logs / "reprieve.log"
    wait_for(lambda: "kueue-admission wrote to" in log.read_text())
