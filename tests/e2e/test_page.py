"""The page on a real API server: each reader sees what their own token may list, and only as long as it may."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from hack.controlplane.plane import ControlPlane
from tests.e2e.served_page import OURS, RBAC, Page, serving
from tests.e2e.support import Sandbox, wait_for
from tests.kit.clock import PATIENCE_SECONDS

LISTED: Final = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    {"apiGroups": ["reprieve.dev"], "resources": ["podgroups"], "verbs": ["list"]},
]


@pytest.fixture
def page(
    control_plane: ControlPlane, sandboxes: Callable[[ControlPlane], Sandbox], tmp_path: Path
) -> Iterator[tuple[Page, Sandbox]]:
    sandbox = sandboxes(control_plane)
    with serving(control_plane, sandbox.namespace, tmp_path) as served:
        yield served, sandbox


def test_each_reader_sees_what_their_token_may_list(page: tuple[Page, Sandbox]) -> None:
    served, sandbox = page
    space = sandbox.namespace
    sandbox.pod("lost", schedulerName="nobody")
    sandbox.group("gang", minCount=3)
    administrator = served.log_in(
        served.reader("admin", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}], everywhere=True)
    )
    lost = f"{space}/lost"
    wait_for(lambda: served.ask("waiting", administrator)[0] == 200 or None)
    wait_for(lambda: lost in served.named(administrator) or None)
    status, about = served.ask("session", administrator)
    assert (status, about["missing"], about["namespaces"]["all"]) == (200, [], True)
    assert about["user"] == f"system:serviceaccount:{space}:admin"

    tenant = served.log_in(served.reader("tenant", LISTED))
    assert served.named(tenant) == set()
    assert lost in served.named(tenant, space)
    assert served.ask(f"why/pod/{space}/lost", tenant)[0] == 200
    for name in ("reprieve-page-1", "nothing"):
        status, body = served.ask(f"why/pod/{OURS}/{name}", tenant)
        assert (status, body["right"]) == (403, f"list pods in {OURS}"), "whether or not there is such a pod"
    status, body = served.ask(f"why/job/{space}/nothing", tenant)
    assert (status, body["right"]) == (403, f"list jobs in {space}")

    nobody = served.log_in(served.reader("nobody", []))
    assert served.named(nobody, space) == set()
    assert served.ask(f"why/pod/{space}/lost", nobody)[0] == 403
    text = json.dumps(
        [served.ask(path, nobody) for path in ("session", "waiting", f"waiting?namespace={OURS}")]
    )
    assert lost not in text


def test_a_binding_that_goes_and_a_token_that_is_revoked_reach_open_streams(
    page: tuple[Page, Sandbox],
) -> None:
    served, sandbox = page
    space = sandbox.namespace
    sandbox.pod("lost", schedulerName="nobody")
    secret = served.log_in(served.reader("tenant", LISTED))
    wait_for(lambda: served.ask(f"waiting?namespace={space}", secret)[0] == 200 or None)
    wait_for(lambda: f"{space}/lost" in served.named(secret, space) or None)
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_SECONDS)
    try:
        headers = {"Authorization": f"Bearer {secret}"}
        connection.request("GET", f"/api/v1/events?topics=waiting&namespace={space}", headers=headers)
        stream = connection.getresponse()
        marks = [version(stream).rpartition("-")[2]]
        served.client.delete(RBAC, "RoleBinding", f"{space}-tenant", space)
        while (mark := version(stream).rpartition("-")[2]) == marks[0]:
            pass  # something else has changed
        assert served.named(secret, space) == set()
        served.client.delete("v1", "ServiceAccount", "tenant", space)
        while (line := stream.readline()) and line != b"event: ended\n":
            pass
        assert json.loads(stream.readline().removeprefix(b"data: ")) == {"reason": "Unauthorized"}
        assert stream.readline() == b"\n"
        assert stream.read() == b""
    finally:
        connection.close()
    assert mark != marks[0]
    assert served.ask("session", secret)[0] == 401


def version(stream: http.client.HTTPResponse) -> str:
    """Of the next event that has one."""
    while not (line := stream.readline()).startswith(b"id: "):
        assert line, "the stream goes on"
    return line.decode().removeprefix("id: ").strip()
