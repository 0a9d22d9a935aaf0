"""Whether Kueue's Lease is held, judged by what we see and by our own clock."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from api.times import rfc3339
from controllers.quota.kueue_lease import SURE_SECONDS, Alone, LeaseSeen, judge
from kube.client import ApiClient
from tests.kit.clock import ManualClock
from tests.kit.quota.objects import workload

Look = tuple[float, str, str]
"""When, holder, renewTime."""


def judged(*looks: Look) -> bool | None:
    """The answer after the last look."""
    seen: LeaseSeen | None = None
    held: bool | None = None
    for now, holder, renewed in looks:
        seen, held = judge(seen, holder, renewed, now)
    return held


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([(0.0, "", "")], False),
        ([(0.0, "kueue", "1")], None),
        ([(0.0, "kueue", "1"), (3.0, "kueue", "2")], True),
        ([(0.0, "kueue", "1"), (3.0, "kueue", "2"), (3.0 + SURE_SECONDS, "kueue", "2")], False),
        ([(0.0, "kueue", "1"), (SURE_SECONDS, "kueue", "1")], False),
        ([(0.0, "kueue", "1"), (3.0, "", "")], False),
        ([(0.0, "kueue", "1"), (3.0, "other", "1")], True),
        ([(0.0, "kueue", "1"), (SURE_SECONDS, "kueue", "1"), (SURE_SECONDS + 3, "kueue", "2")], True),
    ],
    ids=["free", "unknown", "renewed", "renewed no longer", "never renewed", "released", "taken", "back"],
)
def test_a_lease_is_held_while_it_is_seen_to_change(looks: list[Look], expected: bool | None) -> None:
    assert judged(*looks) is expected


def test_a_lease_that_is_renewed_seldom_is_held_for_as_long_as_it_says() -> None:
    """Kueue's Configuration sets duration and period."""
    seen, _ = judge(None, "kueue", "1", 0.0, 60.0)
    seen, held = judge(seen, "kueue", "1", 40.0, 60.0)
    assert held is None
    seen, held = judge(seen, "kueue", "2", 41.0, 60.0)
    assert held is True
    assert judge(seen, "kueue", "2", 100.9, 60.0)[1] is True
    assert judge(seen, "kueue", "2", 101.0, 60.0)[1] is False


class Stored(ApiClient):
    """An API server without Leases, and with one Workload."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._body = body

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        return json.dumps({"items": []} if path.endswith("/leases") else self._body).encode()


ORIGIN = {"kueue.x-k8s.io/multikueue-origin": "east"}


@pytest.mark.parametrize(
    ("manager", "age", "labels", "expected"),
    [
        ("kueue-admission", 10, {}, True),
        ("kueue-admission", 10, {"team": "a"}, True),
        ("kueue-admission", 10, ORIGIN, False),
        ("kueue-admission", 61, {}, False),
        ("kubectl", 10, {}, False),
    ],
    ids=["Kueue", "labelled", "a copy", "long ago", "another"],
)
async def test_a_fresh_write_of_kueue_shows_that_it_manages_but_on_copies(
    manager: str, age: float, labels: dict[str, str], expected: bool
) -> None:
    """Kueue's manager of several clusters writes to its copies in this cluster from another one."""
    clock = ManualClock()
    fields = [{"manager": manager, "time": rfc3339(clock.wall() - age)}]
    meta: dict[str, Any] = {"name": "w", "namespace": "ns", "labels": labels, "managedFields": fields}
    alone = Alone(Stored({"metadata": meta}), "lease", clock)
    alone.suspect(workload("w", "q", 1))
    running = asyncio.create_task(asyncio.sleep(60.0))
    watching = asyncio.create_task(alone.until_kueue_manages(running))
    for _ in range(20):
        await asyncio.sleep(0)
    assert watching.done() is expected
    for each in (running, watching):
        each.cancel()
    await asyncio.gather(running, watching, return_exceptions=True)
