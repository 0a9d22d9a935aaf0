"""The trio itself: each worker has its proxy, its account and its queue, and a test leaves nothing behind."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.multikueue import MANAGER_NAMESPACE
from hack.controlplane.access import access_of
from hack.controlplane.client import Client
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import may
from tests.kit.often import SELDOM
from tests.multicluster.box import Boxes
from tests.multicluster.trio import CLUSTERS, WORKERS, Trio


@pytest.fixture
def clients(trio: Trio, tmp_path: Path) -> Iterator[dict[str, Client]]:
    """What the manager's Secrets lead to."""
    made = {}
    for name in WORKERS:
        secret = trio.client("manager").get("v1", "Secret", name, MANAGER_NAMESPACE)
        file = tmp_path / name
        file.write_bytes(base64.b64decode(secret["data"]["kubeconfig"]))
        made[name] = Client(*access_of(file))
    yield made
    for client in made.values():
        client.close()


# Python's ssl leaves a socket open that was reset before it is wrapped, and tells of it when it is forgotten.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_secrets_lead_through_the_proxies(trio: Trio, clients: dict[str, Client]) -> None:
    for name, client in clients.items():
        assert client.list(KUEUE, "Workload") == []
        assert not may(client, "list", "secrets")
        trio.proxy(name).disturb("Reset")
        with pytest.raises(ConnectionError):
            client.list(KUEUE, "Workload")
        trio.proxy(name).disturb("Pass")
        assert client.list(KUEUE, "Workload") == []


def test_a_workers_own_jobs_run_and_are_gone_with_the_box(boxes: Boxes, trio: Trio) -> None:
    box = boxes("own", alpha=2)
    for name in WORKERS:
        box.fill(name, "fill", 2)
        assert len(box.places[name].admitted()) == 1
    box.remove()
    for name in CLUSTERS:
        assert trio.client(name).list("v1", "Pod", box.name) == []


@SELDOM
def test_processes_come_back_after_a_test(trio: Trio) -> None:
    for name in CLUSTERS:
        trio.kill(name)
    trio.start("manager-2")
    with trio.paused("manager-2"):
        assert not trio.process("manager").running
    trio.rest()
    assert [trio.process(name).running for name in (*CLUSTERS, "manager-2")] == [True, True, True, False]
