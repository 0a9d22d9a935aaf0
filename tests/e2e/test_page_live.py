"""The page beside a reprieve that acts: each phase of a preemption reaches whoever looks.

In the end it shows what the API server says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from hack.controlplane.plane import ControlPlane
from tests.e2e.served_page import OF_ALL, Page, serving
from tests.e2e.support import REPRIEVE, History, Sandbox, wait_for

LINGER: Final = ["reprieve.dev/linger"]
MILLI: Final = 1000


@dataclass
class Looking:
    """Somebody with an open page: after each event of the stream they ask anew."""

    page: Page
    secret: str
    namespace: str
    states: set[str] = field(default_factory=set)
    """Of the gang, as the list of what waits says it."""
    phases: set[str] = field(default_factory=set)
    """Of its plan, as the list of plans says it."""
    rooms: list[Any] = field(default_factory=list)
    """The columns of nodes of the maps."""

    def looking(self) -> AbstractContextManager[None]:
        """Look until the end of the context."""
        return self.page.following("waiting,plans", self.namespace, self.secret, self._heard)

    def _heard(self, line: bytes) -> None:
        if line.startswith(b"event: waiting"):
            self.look()

    def look(self) -> None:
        """Ask once."""
        where = f"namespace={self.namespace}"
        status, found = self.page.ask(f"waiting?{where}", self.secret)
        if status == 200:
            self.states |= {row["state"] for row in found["groups"] if row["name"] == "hero"}
        status, found = self.page.ask(f"plans?{where}", self.secret)
        if status == 200:
            self.phases |= {row["phase"] for row in found["plans"] if row["preemptor"]["name"] == "hero"}
        status, found = self.page.ask(f"map?{where}&resource=cpu", self.secret)
        if status == 200:
            self.rooms.append(found["nodes"])

    def saw(self, **amounts: int) -> bool:
        """Whether a map had a node of the namespace with these amounts of CPU."""
        return any(
            name.startswith(self.namespace)
            and all(rooms[key][at] == amount * MILLI for key, amount in amounts.items())
            for rooms in list(self.rooms)
            for at, name in enumerate(rooms["name"])
        )


@pytest.fixture
def sandbox(reprieve_plane: ControlPlane, sandboxes: Callable[[ControlPlane], Sandbox]) -> Iterator[Sandbox]:
    made = sandboxes(reprieve_plane)
    yield made
    made.remove()


@pytest.fixture
def looking(reprieve_plane: ControlPlane, sandbox: Sandbox, tmp_path: Path) -> Iterator[Looking]:
    with serving(reprieve_plane, sandbox.namespace, tmp_path) as page:
        secret = page.log_in(page.reader("admin", OF_ALL, everywhere=True))
        wait_for(lambda: page.ask("waiting", secret)[0] == 200)
        found = Looking(page, secret, sandbox.namespace)
        with found.looking():
            yield found


def test_each_phase_of_a_preemption_reaches_an_open_page(sandbox: Sandbox, looking: Looking) -> None:
    plans = History(sandbox.client, sandbox.namespace, version=REPRIEVE, kind="PreemptionPlan")
    first, second = sandbox.nodes(2, cpu="1")
    sandbox.filler("low-0", first, 1, finalizers=LINGER)
    sandbox.filler("low-1", second, 1)
    sandbox.group("hero", min_count=2, priority=100)
    members = [sandbox.pod("hero-0", group="hero", priority=100)]
    wait_for(lambda: "Gathering" in looking.states, what=lambda: looking.states)
    members.append(sandbox.pod("hero-1", group="hero", priority=100))
    wait_for(lambda: "Evicting" in looking.phases, what=lambda: looking.phases)
    wait_for(lambda: looking.saw(leaving=1, promised=1), what="the map does not show who leaves")
    sandbox.release("low-0-0")
    sandbox.wait_bound(*members)
    wait_for(lambda: "Bound" in looking.phases, what=lambda: looking.phases)
    wait_for(lambda: looking.saw(used=1, leaving=0, promised=0), what="the map does not come to rest")
    expect_its_phases(sandbox, looking, plans)
    expect_the_same_map(sandbox, looking)


def expect_its_phases(sandbox: Sandbox, looking: Looking, plans: History) -> None:
    """The view of the plan has each phase that the API server had, with its time."""
    plan = sandbox.wait_plan("hero", "Bound")
    passed = {body["status"]["phase"] for _, body in plans.all() if "phase" in body.get("status", {})}
    plans.close()

    def shown() -> set[str]:
        path = f"plans/{sandbox.namespace}/{plan['metadata']['name']}"
        status, found = looking.page.ask(path, looking.secret)
        assert status == 200, found
        assert all(each["time"] for each in found["phases"])
        return {each["name"] for each in found["phases"]}

    wait_for(lambda: "Bound" in shown())
    assert {"Evicting", "Bound"} <= passed
    assert passed - {"Planned"} <= shown(), "a plan begins as Planned"


def expect_the_same_map(sandbox: Sandbox, looking: Looking) -> None:
    """Map and panels say what the API server says."""
    pods = Counter(sandbox.bound().values())
    where = f"namespace={sandbox.namespace}"
    _, found = looking.page.ask(f"map?{where}&resource=cpu", looking.secret)
    at = {name: number for number, name in enumerate(found["nodes"]["name"])}
    for node, count in pods.items():
        column = {key: values[at[node]] for key, values in found["nodes"].items() if key != "name"}
        assert (column["used"], column["free"], column["promised"]) == (count * MILLI, 0, 0)
        _, panel = looking.page.ask(f"nodes/{node}?{where}", looking.secret)
        bound = {name for name, place in sandbox.bound().items() if place == node}
        assert {each["name"] for each in panel["pods"]} == bound
    _, waits = looking.page.ask(f"waiting?{where}", looking.secret)
    assert (waits["groups"], waits["pods"]) == ([], [])
