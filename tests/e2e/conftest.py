"""Control planes for the scenarios: started by the tests, or the cluster of REPRIEVE_E2E_KUBECONFIG.

(`make test-e2e KUBECONFIG=...` sets that variable; a KUBECONFIG that happens to be in the environment is never used.)
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from hack.controlplane.binaries import binaries
from hack.controlplane.client import Client
from hack.controlplane.components import QUOTA_FOLDERS
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import Process
from tests.e2e import native_modes
from tests.e2e.audit import AuditTrail
from tests.e2e.natives import Natives, Stub
from tests.e2e.quota_sandbox import QUOTA, QuotaSandbox
from tests.e2e.rules.gates_retries import GATE, OPENER
from tests.e2e.rules.podgroups import SYSTEM_NAMESPACE
from tests.e2e.running import Planes
from tests.e2e.support import FOREIGN, PlaneFactory, ReprieveFactory, Sandbox, SandboxFactory
from tests.kit.forks.client import REAL


@pytest.fixture(autouse=True)
def followed(audit_trail: AuditTrail) -> None:
    """Every test here is waited for by the audit, also one without a plane."""


@pytest.fixture(scope="module")
def start_plane(running: Planes) -> Iterator[Callable[[Options], ControlPlane]]:
    """Start a plane for the tests of one file."""
    with starting(running) as start:
        yield start


@pytest.fixture
def planes(running: Planes) -> Iterator[PlaneFactory]:
    """`planes(reprieve=True, ...)` (see Options) starts a plane for this test alone, whose processes it may kill."""
    with starting(running) as start:
        yield lambda **options: start(replace(Options(), **options))


@contextmanager
def starting(running: Planes) -> Iterator[Callable[[Options], ControlPlane]]:
    """Yields a function that starts planes. They stop in the end."""
    mine: list[ControlPlane] = []

    def start(options: Options) -> ControlPlane:
        mine.append(running.start(options))
        return mine[-1]

    yield start
    for plane in mine:
        running.stop(plane)


@pytest.fixture(scope="module")
def quota_plane(running: Planes) -> ControlPlane:
    """The shared plane whose reprieve admits Workloads."""
    return running.shared("quota_plane", replace(Options(), **QUOTA))


@pytest.fixture
def quotas(quota_plane: ControlPlane) -> Callable[[str], QuotaSandbox]:
    """`quotas(name)` gives a namespace and queues on the shared plane whose reprieve admits Workloads."""
    return lambda name: QuotaSandbox(quota_plane, name)


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client | None]:
    """A client of the cluster that was named, whatever its credentials; None when there is none."""
    if not FOREIGN:
        yield None
        return
    folder = tmp_path_factory.mktemp("proxy")
    socket = folder / "socket"
    command = [
        str(binaries(["kubectl"])["kubectl"]),
        f"--kubeconfig={FOREIGN}",
        "proxy",
        f"--unix-socket={socket}",
    ]
    proxy = Process("kubectl-proxy", command, folder / "proxy.log")
    client = Client(f"unix:{socket}")
    proxy.start()
    try:
        proxy.wait_healthy(client.ready, 30)
        yield client
    finally:
        client.close()
        proxy.stop()


@pytest.fixture(scope="module")
def control_plane(running: Planes) -> ControlPlane:
    """A plane without reprieve: its CRDs are there, the scheduler is alone. Shared by files; leave no traces."""
    return running.shared("control_plane", Options())


@pytest.fixture(scope="module")
def api_plane(running: Planes) -> ControlPlane:
    """etcd and an API server with our CRDs, and nobody else: for what it says of requests. Shared; leave no traces."""
    return running.shared("api_plane", Options(api_only=True))


@pytest.fixture(scope="module")
def webhook_plane(running: Planes) -> ControlPlane:
    """The same with the webhooks, and a gate that is kept: kill nothing here, leave no traces."""
    settings = {"gateOpeners": {GATE: [OPENER]}, "systemNamespaces": [SYSTEM_NAMESPACE], "queues": True}
    options = Options(
        api_only=True, webhooks=True, webhooks_settings={"webhooks": settings}, manifests=QUOTA_FOLDERS
    )
    return running.shared("webhook_plane", options)


@pytest.fixture(scope="module")
def reprieve_plane(running: Planes) -> ControlPlane:
    """A plane with the real command, shared by files: kill nothing here, use `planes` for that."""
    return running.shared("reprieve_plane", Options(reprieve=True, reprieve_command=[str(REAL)]))


@pytest.fixture(scope="module")
def native_plane(running: Planes) -> ControlPlane:
    """A plane whose scheduler places Kubernetes' own PodGroups. Shared by files, see `native_modes.use_mode`."""
    return running.shared("native_plane", native_modes.options())


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    """One after the other."""
    return itertools.count()


@pytest.fixture
def sandboxes(numbers: Iterator[int]) -> Iterator[Callable[[ControlPlane | Client], Sandbox]]:
    """`sandboxes(plane)` makes a sandbox on a plane of this test's; it is removed with the test where it is shared."""
    made: list[Sandbox] = []
    session = uuid.uuid4().hex[:5]

    def make(where: ControlPlane | Client) -> Sandbox:
        plane = where if isinstance(where, ControlPlane) else None
        client = where.client if isinstance(where, ControlPlane) else where
        made.append(Sandbox(client, f"t{next(numbers)}-{session}", plane))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.history.close()


@pytest.fixture(scope="module")
def plane_without_reprieve(running: Planes) -> ControlPlane:
    """A plane that knows reprieve, which does not run: `reprieve_with` starts it. Shared by files."""
    return running.shared("plane_without_reprieve", Options(reprieve=True, start_reprieve=False))


@pytest.fixture
def reprieve_with(
    plane_without_reprieve: ControlPlane, sandboxes: Callable[[ControlPlane | Client], Sandbox]
) -> Iterator[ReprieveFactory]:
    """`reprieve_with("evict.between=kill")` starts a process of reprieve with failpoints; kill it as you like."""
    plane, made = plane_without_reprieve, []

    def start(failpoints: str = "") -> tuple[ControlPlane, Sandbox]:
        plane.reprieve.environment = {"REPRIEVE_FAILPOINTS": failpoints} if failpoints else {}
        plane.start_reprieve()
        made.append(sandboxes(plane))
        return plane, made[-1]

    yield start
    plane.reprieve.kill()
    for sandbox in made:
        sandbox.clear()


@pytest.fixture
def sandbox(
    request: pytest.FixtureRequest,
    foreign: Client | None,
    sandboxes: Callable[[ControlPlane | Client], Sandbox],
) -> Iterator[Sandbox]:
    """A sandbox on a cluster with reprieve: the shared plane, or the cluster that was named."""
    made = sandboxes(foreign or request.getfixturevalue("reprieve_plane"))
    yield made
    made.remove()


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    """The extender of `stub_plane`, which answers as a test says."""
    with Stub.serving() as stub:
        yield stub


@pytest.fixture(scope="module")
def stub_plane(start_plane: Callable[[Options], ControlPlane], stub: Stub) -> ControlPlane:
    """A plane with GenericWorkload on, whose scheduler asks the stub. reprieve has no part in it."""
    return start_plane(stub.options)


@pytest.fixture
def natives(stub_plane: ControlPlane, stub: Stub, sandboxes: SandboxFactory) -> Iterator[Natives]:
    """A namespace of `stub_plane` for native groups."""
    sandbox = sandboxes(stub_plane)
    made = stub.sandboxes[sandbox.namespace] = Natives(sandbox)
    yield made
    sandbox.remove()
