"""Control planes for the scenarios: started by the tests, or the cluster of REPRIEVE_E2E_KUBECONFIG.

(`make test-e2e KUBECONFIG=...` sets that variable; a KUBECONFIG that happens to be in the environment is never used.)
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Final

import pytest

from hack.controlplane.binaries import binaries
from hack.controlplane.client import Client
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import Process
from tests.e2e.audit import AuditTrail
from tests.e2e.rules.gates_retries import GATE, OPENER
from tests.e2e.rules.podgroups import SYSTEM_NAMESPACE
from tests.e2e.support import FOREIGN, HERE, PlaneFactory, ReprieveFactory, Sandbox

LOG_LINES: Final = 60
LONGEST: Final = ("test_failures.py", "test_gangs.py", "test_stress.py", "test_webhooks.py")

running_planes = pytest.StashKey[list[ControlPlane]]()
trails = pytest.StashKey[AuditTrail]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is here as e2e.

    They come first, and of them the files that take longest: then two processes are done at about the same time. The
    audit of the whole run comes last.
    """
    here = [item for item in items if HERE in item.path.parents]
    for item in here:
        item.add_marker(pytest.mark.e2e)
    order = {HERE / name: number for number, name in enumerate(LONGEST)}
    order[HERE / "test_audit.py"] = len(items) + 1
    place = {item.path: order.get(item.path, len(LONGEST)) for item in here}
    items.sort(key=lambda item: place.get(item.path, len(items)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tell the audit that the test is over."""
    result = yield
    if (trail := item.session.stash.get(trails, None)) is not None:
        trail.end(item.nodeid)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what reprieve said beside a failed test."""
    report = yield
    if report.failed and report.when == "call":
        for plane in item.session.stash.get(running_planes, []):
            for name in ("reprieve", "kube-scheduler"):
                log = plane.layout.logs / f"{name}.log"
                if plane.options.reprieve and log.exists():
                    text = "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])
                    report.sections.append((f"{log}", text))
    return report


@pytest.fixture(scope="session")
def audit_trail(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AuditTrail:
    """What our identities asked for, on all planes of this run, in all of its processes."""
    folder = tmp_path_factory.getbasetemp()
    parallel = hasattr(request.config, "workerinput")
    trail = AuditTrail((folder.parent if parallel else folder) / "audit")
    request.session.stash[trails] = trail
    return trail


@pytest.fixture(autouse=True)
def followed(audit_trail: AuditTrail) -> None:
    """Every test here is waited for by the audit, also one without a plane."""


@pytest.fixture(scope="session")
def start_plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, audit_trail: AuditTrail
) -> Iterator[Callable[[Options], ControlPlane]]:
    """Start a plane that lasts until `stop_plane`, or until the session ends."""
    if FOREIGN:
        pytest.skip("stops processes or changes the cluster: only on a control plane of its own")
    running = request.session.stash.setdefault(running_planes, [])

    def start(options: Options) -> ControlPlane:
        plane = ControlPlane(tmp_path_factory.mktemp("plane"), options)
        running.append(plane)
        audit_trail.follow(plane.audit_log)
        return plane.up()

    yield start
    for plane in list(running):
        _stop(plane, running, audit_trail, keep=bool(request.session.testsfailed))


@pytest.fixture
def planes(
    request: pytest.FixtureRequest, start_plane: Callable[[Options], ControlPlane], audit_trail: AuditTrail
) -> Iterator[PlaneFactory]:
    """`planes(reprieve=True, ...)` (see Options) starts a plane for this test alone, whose processes it may kill."""
    running = request.session.stash[running_planes]
    mine: list[ControlPlane] = []
    failures = request.session.testsfailed

    def start(**options: object) -> ControlPlane:
        mine.append(start_plane(replace(Options(), **options)))  # type: ignore[arg-type]  # replace checks them
        return mine[-1]

    yield start
    for plane in mine:
        _stop(plane, running, audit_trail, keep=request.session.testsfailed > failures)


def _stop(plane: ControlPlane, running: list[ControlPlane], trail: AuditTrail, *, keep: bool) -> None:
    """Down; the folder goes with it unless its logs are wanted."""
    plane.down()
    trail.keep(plane.audit_log)
    running.remove(plane)
    if not keep:
        plane.discard()


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


@pytest.fixture(scope="session")
def control_plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """A plane without reprieve: its CRDs are there, the scheduler is alone. Shared by the session; leave no traces."""
    return start_plane(Options())


@pytest.fixture(scope="session")
def api_plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """etcd and an API server with our CRDs, and nobody else: for what it says of requests. Shared; leave no traces."""
    return start_plane(Options(api_only=True))


@pytest.fixture(scope="session")
def webhook_plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """The same with the webhooks, and a gate that is kept: kill nothing here, leave no traces."""
    settings = {"gateOpeners": {GATE: [OPENER]}, "systemNamespaces": [SYSTEM_NAMESPACE]}
    return start_plane(Options(api_only=True, webhooks=True, webhooks_settings={"webhooks": settings}))


@pytest.fixture(scope="session")
def reprieve_plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """A plane with reprieve, shared by the session: kill nothing here, use `planes` for that."""
    return start_plane(Options(reprieve=True))


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
def plane_without_reprieve(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """A plane that knows reprieve, which does not run: `reprieve_with` starts it."""
    return start_plane(Options(reprieve=True, start_reprieve=False))


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
        sandbox.remove()
        sandbox.wait_removed()


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
