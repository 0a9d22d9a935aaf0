"""One control plane. It is up in about two seconds, many can run at once, and `down` removes it."""

from __future__ import annotations

import http
import http.client
import os
import shutil
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hack.controlplane.binaries import binaries, renderer
from hack.controlplane.client import ApiError, Client, path_of
from hack.controlplane.components import HOST, OUTSIDE, SERVICE, Layout, Options
from hack.controlplane.manifests import (
    MANIFESTS,
    apply_cluster_objects,
    apply_webhooks,
    render_once,
    write_configurations,
)
from hack.controlplane.modules import PLANE
from hack.controlplane.objects import pod_group
from hack.controlplane.ports import Ports
from hack.controlplane.processes import Process, stop_recorded, wait_until, write_records
from hack.controlplane.proxy import Proxy
from kube.lease import ADDRESS

__all__ = ["RECORDS", "ControlPlane", "Options", "take_down", "up_together"]

START_SECONDS: Final = 120.0
RECORDS: Final = "processes.json"
"""The file in a plane's folder with its processes."""
DONE: Final = object()
COLLECTS_SELDOM: Final = {"GOGC": os.environ.get("GOGC", "400")}
"""For programs in Go: less garbage collection for more memory. It takes a quarter of the CPU time of a start.
A very large cluster needs a lower number, from the environment."""
HEALTH: Final = {"kube-controller-manager": "/healthz", "kube-scheduler": "/readyz"}
"""A scheduler is ready when its caches are filled."""


class ControlPlane:
    """A control plane in its own folder. As a context manager it is up inside, and down afterwards."""

    def __init__(self, directory: Path, options: Options | None = None) -> None:
        """Nothing starts yet. The folder is created if it does not exist."""
        self.options = options or Options()
        self._ports = Ports()
        self.layout = Layout(directory, self.options, self._ports)
        self.processes: dict[str, Process] = {}
        self._client: Client | None = None
        self.service: Proxy | None = None
        """Between the scheduler and several processes of reprieve. None if there is only one."""
        self.outside: Proxy | None = None
        """Between other clusters and the API server, once `open_outside` was called."""
        self.networks: dict[str, Proxy] = {}
        """Between each of several processes of reprieve and the API server, by the name of the process."""
        self.selected: Collection[str] | None = None
        """Which of several processes of reprieve the Service selects; None: all that are ready."""

    @property
    def directory(self) -> Path:
        """The folder of certificates, data and logs."""
        return self.layout.directory

    @property
    def kubeconfig(self) -> Path:
        """The path of the administrator's kubeconfig."""
        return self.layout.kubeconfig

    @property
    def etcd(self) -> str:
        """The URL of etcd. It has no certificates, and listens on loopback."""
        return f"http://{HOST}:{self.layout.port['etcd']}"

    @property
    def audit_log(self) -> Path:
        """The path of the audit log: one JSON object a line, for each request of reprieve and of KWOK."""
        return self.layout.audit_log

    @property
    def client(self) -> Client:
        """A client with the administrator's rights."""
        if self._client is None:
            self._client = Client.of_kubeconfig(self.kubeconfig)
        return self._client

    @property
    def reprieve(self) -> Process:
        """The process of `reprieve serve`. Tests kill, pause and restart it."""
        return self.processes["reprieve"]

    @property
    def replicas(self) -> list[Process]:
        """The processes of `reprieve serve`. The first one is `reprieve`."""
        return [self.processes[name] for name in self.layout.replicas]

    @property
    def ops_url(self) -> str:
        """The URL below which reprieve has /livez, /readyz and /metrics."""
        return self.ops_url_of("reprieve")

    def ops_url_of(self, name: str) -> str:
        """The same URL for a process of this name."""
        return f"http://{HOST}:{self.layout.port[f'{name}-ops']}"

    @property
    def webhooks_ops_url(self) -> str:
        """The same URL for the webhooks."""
        return f"http://{HOST}:{self.layout.port['reprieve-webhooks-ops']}"

    def up(self) -> Self:
        """Start everything, and return when it is ready. Raises ProcessFailedError or BinariesError, after stopping
        everything."""
        up_together([self])
        return self

    def down(self) -> None:
        """Stop all processes, in reverse order. The folder stays."""
        if self._client is not None:
            self._client.close()
            self._client = None
        for process in reversed(self.processes.values()):
            process.stop()
        for proxy in (self.service, self.outside, *self.networks.values()):
            if proxy is not None:
                proxy.close()
        self.service, self.outside, self.networks = None, None, {}
        (self.directory / RECORDS).unlink(missing_ok=True)
        self._ports.release()

    def discard(self) -> None:
        """Stop everything, and remove the folder with its logs."""
        self.down()
        shutil.rmtree(self.directory)

    def open_outside(self) -> Proxy:
        """A proxy through which other clusters reach the API server. It runs until `down`."""
        port = self.layout.port
        self.outside = Proxy(port[OUTSIDE], lambda: [port["kube-apiserver"]]).__enter__()
        return self.outside

    def wait_api_server(self) -> None:
        """Wait until the API server says that it is ready."""
        self.processes["kube-apiserver"].wait_healthy(self.client.ready, START_SECONDS)

    def start_reprieve(self, name: str = "reprieve", *, wait: bool = True) -> None:
        """Start `reprieve serve`, also for a second time. With `wait`, return when it is ready."""
        self._start(name)
        if wait:
            self.wait_reprieve(name)

    def wait_reprieve(self, name: str = "reprieve") -> None:
        """Wait until a process of reprieve says that it is ready."""
        self.processes[name].wait_healthy(lambda: self.is_ready(name), START_SECONDS)

    def is_ready(self, name: str) -> bool:
        """Whether a process of reprieve says that it is ready."""
        return _answers(f"{self.ops_url_of(name)}/readyz")

    def leader(self) -> str:
        """Which of several processes of reprieve has the Lease; empty if none has it, by its address."""
        lease = self.client.get("coordination.k8s.io/v1", "Lease", "reprieve", "reprieve-system")
        address = (lease["metadata"].get("annotations") or {}).get(ADDRESS, "")
        ports = {f"{HOST}:{self.layout.port[name]}": name for name in self.layout.replicas}
        return ports.get(address, "") if lease["spec"].get("holderIdentity") else ""

    def start_webhooks(self) -> None:
        """Start the webhooks, also for a second time. Returns when the API server gets answers from them."""
        self._start("reprieve-webhooks")
        process = self.processes["reprieve-webhooks"]
        process.wait_healthy(lambda: _answers(f"{self.webhooks_ops_url}/readyz"), START_SECONDS)
        process.wait_healthy(self._webhooks_are_asked, START_SECONDS)

    def __enter__(self) -> Self:
        return self.up()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    def stages(self) -> Iterator[None]:
        """Start everything. Each step returns while something starts that the next step waits for, so several planes
        can start together (`up_together`)."""
        program = renderer()
        paths = binaries((*PLANE, program), self.options.version)
        self.layout.write()
        write_configurations(self.layout)
        self._describe(paths)
        restored = self._restore()
        self._start("etcd")
        yield
        # After a refused connection the API server would wait for a second.
        self.processes["etcd"].wait_healthy(self._etcd_is_healthy, START_SECONDS)
        self._start("kube-apiserver")
        yield
        folders = () if restored and not self.options.webhooks else self.options.manifests
        objects = [body for each in folders for body in render_once(paths[program], MANIFESTS / each)]
        self.wait_api_server()
        if not restored:
            apply_cluster_objects(self.client, objects)
            self._keep()
        if not self.options.api_only:
            self._start("kube-controller-manager", *self._schedulers)
        if self.options.webhooks:
            apply_webhooks(self.client, objects, self.layout)
            self.start_webhooks()
        if not self.options.api_only:
            yield from self._last_stages()

    def _last_stages(self) -> Iterator[None]:
        """What runs beside the API server."""
        if self.options.nodes:
            self._start("kwok")
        starts_reprieve = self.options.reprieve and self.options.start_reprieve
        if self.options.replicas > 1:
            self._start_proxies()
        if starts_reprieve:
            for name in self.layout.replicas:
                self.start_reprieve(name, wait=False)
        yield
        for name in ("kube-controller-manager", *self._schedulers):
            self.processes[name].wait_healthy(partial(self._serves, name), START_SECONDS)
        if starts_reprieve:
            for name in self.layout.replicas:
                self.wait_reprieve(name)
        wait_until(self._has_default_account, START_SECONDS, "there is no default service account".__str__)

    def _restore(self) -> bool:
        """Whether etcd begins with what was applied to an earlier plane."""
        states = self.options.states
        return states is not None and states.restore(self.options.state, self.layout.data)

    def _keep(self) -> None:
        """Keep what has been applied for later planes. The controllers have not seen it yet."""
        if self.options.states is not None:
            etcd = self.processes["etcd"]
            etcd.pause()
            self.options.states.keep(self.options.state, self.layout.data)
            etcd.resume()

    @property
    def _schedulers(self) -> tuple[str, ...]:
        """Those that run."""
        return ("kube-scheduler", *self.options.schedulers) if self.options.nodes else ()

    def _start_proxies(self) -> None:
        port = self.layout.port
        for name in self.layout.replicas:
            network = Proxy(port[f"{name}-network"], lambda: [port["kube-apiserver"]])
            self.networks[name] = network.__enter__()
        self.service = Proxy(port[SERVICE], self._ready_ports).__enter__()

    def _ready_ports(self) -> list[int]:
        """Where the replicas that are ready serve the scheduler, as the Service would select them."""
        if self.selected is not None:
            return [self.layout.port[name] for name in self.selected]
        return [self.layout.port[name] for name in self.layout.replicas if self.is_ready(name)]

    def _webhooks_are_asked(self) -> bool:
        """Whether the API server calls the webhooks and trusts their certificate."""
        group = pod_group("asked", min_count=1)
        path = f"{path_of(group['apiVersion'], 'PodGroup', 'default')}?dryRun=All"
        try:
            made = self.client.request("POST", path, group)
        except ApiError as error:
            if "failed calling webhook" not in str(error):
                raise
            return False
        return "priority" in made["spec"]  # only the webhooks fill this in

    def _describe(self, paths: Mapping[str, Path]) -> None:
        """The processes to start, with their commands."""
        layout = self.layout
        for name, arguments in layout.arguments().items():
            program = "kube-scheduler" if name in self.options.schedulers else name
            self._add(name, [str(paths[program]), *arguments])
            self.processes[name].environment = COLLECTS_SELDOM
        reprieve = [str(Path(sys.executable).with_name("reprieve"))]
        replica = self.options.reprieve_command or reprieve
        for name, command in {
            **dict.fromkeys(layout.replicas, replica),
            "reprieve-webhooks": reprieve,
        }.items():
            self._add(name, [*command, "serve", "--config", str(layout.directory / f"{name}.yaml")])
            if command is reprieve:
                self.processes[name].starter = self.options.reprieve_starter
        for process in self.replicas:
            process.environment = self.options.reprieve_environment or {}

    def _add(self, name: str, command: list[str]) -> None:
        log = self.layout.logs / f"{name}.log"
        self.processes[name] = Process(name, command, log, detached=self.options.detached)

    def _start(self, *names: str) -> None:
        for name in names:
            self.processes[name].start()
        self._record()

    def _record(self) -> None:
        write_records(self.directory / RECORDS, list(self.processes.values()))

    def _serves(self, name: str) -> bool:
        """Whether the component's server says that it is healthy. Its certificate must be the plane's."""
        path = HEALTH.get(name, HEALTH["kube-scheduler"])
        url = f"https://{HOST}:{self.layout.port[name]}{path}"
        return _answers(url, self.layout.authority.pair.certificate)

    def _etcd_is_healthy(self) -> bool:
        return _answers(f"{self.etcd}/health")

    def _has_default_account(self) -> bool:
        return self.client.find("v1", "ServiceAccount", "default", "default") is not None


def up_together(planes: Sequence[ControlPlane]) -> None:
    """Start several planes at the same time. Raises ProcessFailedError or BinariesError, after stopping all of them.

    All processes are started in this thread: the kernel ends them with the thread that started them.
    """
    starting = [plane.stages() for plane in planes]
    try:
        while starting:
            starting = [each for each in starting if next(each, DONE) is not DONE]
    except BaseException:
        for plane in planes:
            plane.down()
        raise


def take_down(directory: Path) -> list[str]:
    """End the plane of a folder, even one that another process started. Returns the names of what ran.

    Raises FileNotFoundError if there is no plane.
    """
    return stop_recorded(directory / RECORDS)


def _answers(url: str, authority: Path | None = None) -> bool:
    context = ssl.create_default_context(cafile=authority) if authority else None
    try:
        with urllib.request.urlopen(url, timeout=1, context=context) as answer:  # noqa: S310  # loopback, and our own URL
            return bool(answer.status == http.HTTPStatus.OK)
    except (OSError, urllib.error.URLError, http.client.HTTPException):
        return False
