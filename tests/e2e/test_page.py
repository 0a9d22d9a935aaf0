"""The page on a real API server: each reader sees what their own token may list, and only as long as it may."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from hack.controlplane.client import Client, Json
from hack.controlplane.manifests import MANIFESTS
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import Sandbox, wait_for
from tests.kit.bare_page import program
from tests.kit.clock import PATIENCE_SECONDS

RBAC: Final = "rbac.authorization.k8s.io/v1"
OURS: Final = "reprieve-system"
PORT: Final = re.compile(r'"port": (?P<port>\d+)')
RUN: Final = program("cli.serve", "page")
RECHECK_SECONDS: Final = 2
LISTED: Final = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    {"apiGroups": ["reprieve.dev"], "resources": ["podgroups"], "verbs": ["list"]},
]


@dataclass
class Page:
    """A process that serves the page with the rights of its role, and readers with tokens of their own."""

    client: Client
    namespace: str
    port: int
    made: list[tuple[str, str, str | None]] = field(default_factory=list)

    def reader(self, name: str, rules: list[Json], *, everywhere: bool = False) -> str:
        """The token of a new service account that has these rights."""
        self.client.apply(
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": name, "namespace": self.namespace},
            }
        )
        whole, kind = f"{self.namespace}-{name}", "ClusterRole" if everywhere else "Role"
        where = {} if everywhere else {"namespace": self.namespace}
        role = {"apiVersion": RBAC, "kind": kind, "metadata": {"name": whole, **where}, "rules": rules}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": self.namespace}
        binding = {
            "apiVersion": RBAC,
            "kind": f"{kind}Binding",
            "metadata": {"name": whole, **where},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": whole},
            "subjects": [subject],
        }
        for body in (role, binding):
            self.client.apply(body)
            self.made.append((str(body["kind"]), whole, where.get("namespace")))
        return token_of(self.client, self.namespace, name)

    def ask(self, path: str, secret: str = "", body: Json | None = None) -> tuple[int, Any]:
        """Status and JSON of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            headers = {"Authorization": f"Bearer {secret}"} if secret else {}
            if body is None:
                connection.request("GET", f"/api/v1/{path}", headers=headers)
            else:
                headers["Content-Type"] = "application/json"
                connection.request("POST", f"/api/v1/{path}", json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.load(answer)
        finally:
            connection.close()

    def log_in(self, token: str) -> str:
        """A session."""
        status, body = self.ask("session", body={"token": token})
        assert status == 201, body
        return str(body["session"])

    def named(self, secret: str, *namespaces: str) -> set[str]:
        """What waits, as NAMESPACE/NAME, as this reader sees it."""
        status, body = self.ask(f"waiting?namespace={','.join(namespaces)}", secret)
        assert status == 200, body
        rows = (*body["groups"], *body["pods"], *body["workloads"])
        return {f"{row['namespace']}/{row['name']}" for row in rows}

    def clear(self) -> None:
        """Leave no traces beyond the namespace."""
        for kind, name, namespace in reversed(self.made):
            self.client.delete(RBAC, kind, name, namespace)


def token_of(client: Client, namespace: str, name: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(client.request("POST", path, request)["status"]["token"])


@pytest.fixture
def page(
    control_plane: ControlPlane, sandboxes: Callable[[ControlPlane], Sandbox], tmp_path: Path
) -> Iterator[tuple[Page, Sandbox]]:
    sandbox = sandboxes(control_plane)
    client = sandbox.client
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OURS}})
    shipped = list(yaml.safe_load_all((MANIFESTS / "components" / "page" / "rbac.yaml").read_text()))
    for body in shipped:
        client.apply(body)
    process = serve(control_plane, client, tmp_path)
    made: Page | None = None
    try:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        port = next(
            int(found["port"]) for line in lines if '"tls": false' in line and (found := listens(line))
        )
        made = Page(client, sandbox.namespace, port)
        yield made, sandbox
    finally:
        process.terminate()
        process.communicate()
        if made is not None:
            made.clear()
        for body in reversed(shipped):
            meta = body["metadata"]
            client.delete(body["apiVersion"], body["kind"], meta["name"], meta.get("namespace"))


def listens(line: str) -> re.Match[str] | None:
    """The line of the page's listener, not that of the probes."""
    return PORT.search(line) if '"address": "127.0.0.1"' in line else None


def serve(plane: ControlPlane, client: Client, folder: Path) -> subprocess.Popen[str]:
    """The process with the token of the shipped service account."""
    kubeconfig = yaml.safe_load(plane.kubeconfig.read_text())
    for user in kubeconfig["users"]:
        user["user"] = {"token": token_of(client, OURS, "reprieve-page")}
    (folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    settings = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "Configuration",
        "kubeconfig": str(folder / "kubeconfig"),
        "extender": None,
        "planning": {"mode": "Off"},
        "ops": {"bindAddress": "127.0.0.2", "port": 0},
        "page": {"port": 0, "recheckSeconds": RECHECK_SECONDS},
    }
    (folder / "page.yaml").write_text(yaml.safe_dump(settings))
    return subprocess.Popen(
        [sys.executable, "-c", RUN, "serve", "--config", str(folder / "page.yaml")],
        env={**os.environ, "PYTHONPATH": str(MANIFESTS.parent)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


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
