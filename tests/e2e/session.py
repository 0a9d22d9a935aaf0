"""The planes of a test session, and what they say. `tests/conftest.py` has all of it, so each process has it once."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import pytest

from hack.controlplane.states import States
from tests.e2e.audit import AuditTrail
from tests.e2e.order import LAST, LONGEST, MATRIX, group_of, is_live, place_of
from tests.e2e.running import RUNNING, Planes
from tests.e2e.support import FOREIGN

__all__ = [
    "audit_trail",
    "pytest_collection_modifyitems",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "running",
]

LOG_LINES: Final = 60

trails = pytest.StashKey[AuditTrail]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the scenarios as e2e, and some as matrix, and put them first. The audit of the whole run comes last."""
    places: dict[Path, tuple[int, str]] = {}
    for item in items:
        if is_live(item.path):
            item.add_marker(pytest.mark.e2e)
            if item.path in MATRIX:
                item.add_marker(pytest.mark.matrix)
            places[item.path] = place_of(item.path)
    others = (len(LONGEST) + 1, "")
    places[LAST] = (len(LONGEST) + 2, "")
    items.sort(key=lambda item: places.get(item.path, others))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Stop the shared planes after the last file of a group, and tell the audit that the test is over."""
    result = yield
    stash = item.session.stash
    if RUNNING in stash and (nextitem is None or group_of(nextitem.path) != group_of(item.path)):
        stash[RUNNING].stop_shared()
    if (trail := stash.get(trails, None)) is not None:
        trail.end(item.nodeid)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what reprieve said beside a failed test."""
    report = yield
    if report.failed and report.when == "call":
        for plane in item.session.stash.get(RUNNING, ()):
            for name in (*plane.layout.replicas, "kube-scheduler"):
                log = plane.layout.logs / f"{name}.log"
                if plane.options.reprieve and log.exists():
                    text = "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])
                    report.sections.append((f"{log}", text))
    return report


def shared_folder(request: pytest.FixtureRequest, folders: pytest.TempPathFactory) -> Path:
    """A folder of all processes of this run."""
    folder = folders.getbasetemp()
    return folder.parent if hasattr(request.config, "workerinput") else folder


@pytest.fixture(scope="session")
def audit_trail(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AuditTrail:
    """What our identities asked for, on all planes of this run, in all of its processes."""
    trail = AuditTrail(shared_folder(request, tmp_path_factory) / "audit")
    request.session.stash[trails] = trail
    return trail


@pytest.fixture(scope="session")
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, audit_trail: AuditTrail
) -> Iterator[Planes]:
    """The planes of this process."""
    if FOREIGN:
        pytest.skip("stops processes or changes the cluster: only on a control plane of its own")
    states = States(shared_folder(request, tmp_path_factory) / "states")
    made = request.session.stash[RUNNING] = Planes(request.session, tmp_path_factory, audit_trail, states)
    yield made
    made.stop_all()
