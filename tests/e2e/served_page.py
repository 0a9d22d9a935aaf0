"""The page as a process with the rights of its role, and readers with tokens of their own."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from hack.controlplane.client import Client, Json
from hack.controlplane.manifests import MANIFESTS
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import wait_for
from tests.kit.bare_page import program
from tests.kit.clock import PATIENCE_SECONDS

__all__ = [
    "OF_ALL",
    "OURS",
    "RBAC",
    "READS",
    "RECHECK_SECONDS",
    "Answer",
    "Page",
    "permitted",
    "serving",
    "token_of",
]

RBAC: Final = "rbac.authorization.k8s.io/v1"
OURS: Final = "reprieve-system"
ACCOUNT: Final = "reprieve-page"
ROLE: Final = MANIFESTS / "components" / "page" / "rbac.yaml"
LISTENS: Final = re.compile(r'"address": "(?P<address>[\d.]+)".*"port": (?P<port>\d+)')
HOST: Final = "127.0.0.1"
PROBES: Final = "127.0.0.2"
"""Where probes and metrics are served, so that the log shows which listener is which."""
RECHECK_SECONDS: Final = 2
READS: Final = ["get", "list", "watch"]
OF_ALL: Final = [{"apiGroups": ["*"], "resources": ["*"], "verbs": READS}]
"""The rules of a reader who may read everything."""


class Answer(NamedTuple):
    """An answer of the page, as it is sent."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """What the body says."""
        return json.loads(self.body)


@dataclass
class Page:
    """A process that serves the page."""

    client: Client
    """Of an administrator."""
    namespace: str
    """Of the readers."""
    folder: Path
    settings: Mapping[str, object]
    """The section `page` of its Configuration."""
    bare: bool
    """Whether its front end needs no build."""
    port: int = 0
    probes: int = 0
    """The port of metrics."""
    process: subprocess.Popen[bytes] | None = None
    made: list[tuple[str, str, str | None]] = field(default_factory=list)

    @property
    def log(self) -> str:
        """All that it has logged, also before it was started again."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("page-*.log")))

    @property
    def metrics(self) -> str:
        """What it tells Prometheus."""
        return self._asked(PROBES, self.probes, "GET", "/metrics", {}, None).body.decode()

    # ---- the process

    def start(self) -> None:
        """Start it, also for a second time: at the same port. Returns when it listens."""
        section = {"port": self.port, "recheckSeconds": RECHECK_SECONDS, **self.settings}
        settings = {
            "apiVersion": "reprieve.dev/v1alpha1",
            "kind": "Configuration",
            "kubeconfig": str(self.folder / "kubeconfig"),
            "extender": None,
            "planning": {"mode": "Off"},
            "ops": {"bindAddress": PROBES, "port": 0},
            "page": section,
        }
        (self.folder / "page.yaml").write_text(yaml.safe_dump(settings))
        log = self.folder / f"page-{len(list(self.folder.glob('page-*.log')))}.log"
        run = program("cli.serve", "page") if self.bare else "from cli.main import main\nmain()"
        with log.open("wb") as written:
            self.process = subprocess.Popen(
                [sys.executable, "-c", run, "serve", "--config", str(self.folder / "page.yaml")],
                env={**os.environ, "PYTHONPATH": str(MANIFESTS.parent)},
                stdout=subprocess.DEVNULL,
                stderr=written,
            )

        def listening() -> dict[str, int]:
            assert self.process is not None
            assert self.process.poll() is None, log.read_text()
            return {each["address"]: int(each["port"]) for each in LISTENS.finditer(log.read_text())}

        ports = wait_for(lambda: found if len(found := listening()) == 2 else None, what=log.read_text)
        self.port, self.probes = ports[HOST], ports[PROBES]

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE_SECONDS)

    @contextmanager
    def following(
        self, topics: str, namespaces: str, secret: str, heard: Callable[[bytes], object]
    ) -> Iterator[None]:
        """Read a stream of events until the end of the context. `heard` gets each line, in another thread."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE_SECONDS)
        path = f"/api/v1/events?topics={topics}&namespace={namespaces}"
        connection.request("GET", path, headers={"Authorization": f"Bearer {secret}"})
        stream, end = connection.getresponse(), threading.Event()
        assert stream.status == 200

        def read() -> None:
            while not end.is_set() and (line := stream.readline()):
                heard(line)

        thread = threading.Thread(target=read, name="a stream of the page")
        thread.start()
        try:
            yield
        finally:
            end.set()  # a heartbeat comes
            thread.join()
            connection.close()

    # ---- readers

    def reader(
        self, name: str, rules: Sequence[Json], *, everywhere: bool = False, space: str | None = None
    ) -> str:
        """The token of a new service account that has these rights: everywhere, or in `space`, by default in the
        namespace of the readers."""
        meta = {"name": name, "namespace": self.namespace}
        self.client.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
        whole, kind = f"{self.namespace}-{name}", "ClusterRole" if everywhere else "Role"
        where = {} if everywhere else {"namespace": space or self.namespace}
        role = {"apiVersion": RBAC, "kind": kind, "metadata": {"name": whole, **where}, "rules": [*rules]}
        subject = {"kind": "ServiceAccount", **meta}
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

    def clear(self) -> None:
        """Leave no traces beyond the namespace."""
        for kind, name, namespace in reversed(self.made):
            self.client.delete(RBAC, kind, name, namespace)

    # ---- requests

    def send(
        self,
        method: str,
        path: str,
        secret: str = "",
        body: bytes | None = None,
        media_type: str = "application/json",
    ) -> Answer:
        """A request, and its answer."""
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        headers |= {"Content-Type": media_type} if body is not None else {}
        return self._asked(HOST, self.port, method, f"/api/v1/{path}", headers, body)

    def _asked(
        self, host: str, port: int, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.headers), answer.read())
        finally:
            connection.close()

    def ask(self, path: str, secret: str = "", body: Json | None = None) -> tuple[int, Any]:
        """Status and JSON of an answer. With a body it is a POST."""
        text = json.dumps(body).encode() if body is not None else None
        answer = self.send("GET" if body is None else "POST", path, secret, text)
        return answer.status, answer.json

    def log_in(self, token: str) -> str:
        """A session. Ten logins a second are possible."""
        asked = self.ask("session", body={"token": token})
        while asked[0] == HTTPStatus.TOO_MANY_REQUESTS:
            time.sleep(0.1)
            asked = self.ask("session", body={"token": token})
        status, body = asked
        assert status == HTTPStatus.CREATED, body
        return str(body["session"])

    def named(self, secret: str, *namespaces: str) -> set[str]:
        """What waits, as NAMESPACE/NAME, as this reader sees it."""
        status, body = self.ask(f"waiting?namespace={','.join(namespaces)}", secret)
        assert status == 200, body
        rows = (*body["groups"], *body["pods"], *body["workloads"])
        return {f"{row['namespace']}/{row['name']}" for row in rows}


def token_of(client: Client, namespace: str, name: str) -> str:
    """A new token of a service account."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(client.request("POST", path, request)["status"]["token"])


@contextmanager
def permitted(plane: ControlPlane, folder: Path, port: int = 0) -> Iterator[Path]:
    """The kubeconfig of the shipped service account of the page, with a token. Its rights go with the context.

    `port`: of a proxy to the API server; 0 without one.
    """
    client = plane.client
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OURS}})
    shipped = [body for body in yaml.safe_load_all(ROLE.read_text()) if body]
    for body in shipped:
        client.apply(body)
    kubeconfig = yaml.safe_load(plane.kubeconfig.read_text())
    for user in kubeconfig["users"]:
        user["user"] = {"token": token_of(client, OURS, ACCOUNT)}
    for cluster in kubeconfig["clusters"] if port else ():
        cluster["cluster"]["server"] = f"https://{HOST}:{port}"
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(kubeconfig))
    try:
        yield path
    finally:
        for body in reversed(shipped):
            meta = body["metadata"]
            client.delete(body["apiVersion"], body["kind"], meta["name"], meta.get("namespace"))


@contextmanager
def serving(
    plane: ControlPlane,
    namespace: str,
    folder: Path,
    *,
    bare: bool = True,
    api_port: int = 0,
    **settings: object,
) -> Iterator[Page]:
    """The page of this plane. `settings`: of the section `page`. `api_port`: see `permitted`."""
    page = Page(plane.client, namespace, folder, settings, bare)
    with permitted(plane, folder, api_port):
        try:
            page.start()
            yield page
        finally:
            page.stop()
            page.clear()
