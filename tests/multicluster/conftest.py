"""The trio of planes, and a box of each test's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.audit import AuditTrail
from tests.e2e.running import Planes
from tests.multicluster.box import Box, Boxes
from tests.multicluster.trio import Trio, options


@pytest.fixture(autouse=True)
def followed(audit_trail: AuditTrail) -> None:
    """Every test here is waited for by the audit."""


@pytest.fixture(scope="session")
def whole_trio(running: Planes) -> Trio:
    """The trio as it was started. Its planes stop after the last file of this folder."""
    trio = Trio(running.share_all(options()))
    trio.fleet.join()
    return trio


@pytest.fixture
def trio(whole_trio: Trio) -> Iterator[Trio]:
    """The trio, undisturbed. A test may take away what it likes: everything comes back afterwards."""
    whole_trio.rest()
    yield whole_trio
    whole_trio.rest()


@pytest.fixture
def boxes(trio: Trio) -> Iterator[Boxes]:
    """`boxes("name", alpha=2)` makes a box, which goes with the test."""
    made: list[Box] = []

    def make(name: str, **cpus: int) -> Box:
        made.append(Box(trio, name, cpus=cpus))
        return made[-1]

    yield make
    trio.rest()
    for box in made:
        box.remove()
