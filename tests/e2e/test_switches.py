"""Both switches of the mode in each phase of a life: by a roll-out of two replicas, and by the label of a namespace.

At rest nothing is held, marked, gated, nominated or reserved, and no unit is in pieces by us. Most of these take half
a minute each; a shorter one is in test_way_back.py. Without a cluster: tests/unit/controllers/gangs/undoing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import pytest

from api.pauses import PAUSED
from api.published import HOLDS
from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import Process
from tests.e2e.stress.recorder import look_around
from tests.e2e.support import Sandbox, SandboxFactory, condition, wait_for
from tests.e2e.switches import (
    ENFORCES,
    OBSERVES,
    configure,
    grant,
    is_ours,
    lease,
    of_enforce,
    revoke,
    traces,
    wait_mode,
    wait_nothing_held,
)
from tests.kit.forks.client import forking
from tests.kit.often import SELDOM
from tests.kit.stress.rest import CHECKS

pytestmark = SELDOM

SELECTED: Final = {"canary": "yes"}
SMALL: Final = {"size": "small"}
STAYS: Final = "example.com/stays"
"""A finalizer: the pod terminates until the test lets it go."""
IGNORED: Final = {
    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
}
"""The Job does not count pods that are evicted, and creates them again at once."""
LONG, SHORT = "60s", "6s"
"""How long a phase lasts: longer than a roll-out; and long enough to see it, and to change a label."""
PARTIAL_SECONDS: Final = 3
"""After this time a gang in pieces is released that never ran whole."""


class Phase(NamedTuple):
    """Where in a life the switch happens."""

    failpoint: str
    """It makes the phase last. Without one, the phase lasts while the scheduler stands still."""
    plan: str
    """The phase that the plan says."""
    marked: bool = False
    """Whether a victim bears our mark, and nobody has gone."""
    gone: int = 0
    """How many victims have gone."""
    nominated: bool = False
    """Whether the members have their nominations."""

    @property
    def is_ready(self) -> bool:
        """Whether the room is free: the scheduler would bind the gang there."""
        return self.plan == "Ready"

    def failpoints(self, lasts: str) -> str:
        """What makes the phase last this long. Empty if it has no failpoint."""
        return f"{self.failpoint}={lasts}" if self.failpoint else ""

    def is_reached(self, sandbox: Sandbox) -> bool:
        """Whether the plan for `hero` is there."""
        if [
            plan.get("status", {}).get("phase", "Planned") for plan in of_enforce(sandbox) if is_now(plan)
        ] != [self.plan]:
            return False
        pods = sandbox.list_pods()
        marks = [pod for pod in pods if condition(pod, "DisruptionTarget")]
        heroes = [pod for pod in pods if pod["metadata"]["name"].startswith("hero-")]
        nominated = all(pod.get("status", {}).get("nominatedNodeName") for pod in heroes)
        if self.nominated and not nominated:
            return False
        return len(sandbox.history.evictions()) >= self.gone and (bool(marks) or not self.marked)


PHASES: Final = {
    "planned": Phase("plan.committed", "Planned"),
    "confirmed": Phase("plan.confirmed", "Confirmed"),
    "before the first mark": Phase("evict.before_first", "Evicting"),
    "between mark and deletion": Phase("evict.marked", "Evicting", marked=True),
    "in the middle of a unit": Phase("evict.between", "Evicting", gone=1),
    "ready": Phase("plan.ready", "Ready", gone=3),
    "ready and nominated": Phase("", "Ready", gone=3, nominated=True),
}
MIDDLE: Final = PHASES["in the middle of a unit"]
ALL: Final = pytest.mark.parametrize("phase", PHASES.values(), ids=PHASES.keys())
Way = Callable[["Switch"], None]


def is_now(plan: Json) -> bool:
    phase: str = plan.get("status", {}).get("phase", "")
    return phase != "Aborted"


class Switch:
    """Two replicas, a namespace that is enforced, and a gang in some phase of its life."""

    def __init__(self, plane: ControlPlane, sandbox: Sandbox) -> None:
        self.plane, self.sandbox = plane, sandbox
        self.members: list[str] = []

    def label(self, value: str | None = "yes", sandbox: Sandbox | None = None) -> None:
        """The label by which a namespace is enforced."""
        name = (sandbox or self.sandbox).namespace
        self.plane.client.patch("v1", "Namespace", name, {"metadata": {"labels": {"canary": value}}})

    def reach(self, phase: Phase, lasts: str) -> None:
        """A unit of three is in the way of `hero`. Two of three members of `late` are held, for whom there is room.

        If the scheduler had to preempt for both on one node, it would now and then leave one of them parked: it may
        nominate a pod once more for a victim that is gone already, and then no event comes (kubernetes#141694).

        The unit runs before anybody enforces: a plan of its own would stop at the failpoint, too.
        """
        sandbox = self.sandbox
        sandbox.nodes(3, cpu="2")
        sandbox.node("small", cpu="1500m", labels=SMALL)
        stays = [STAYS] if phase.is_ready else []
        unit = sandbox.gang("low", 3, priority=1, cpu="2", mode="all", finalizers=stays)
        sandbox.wait_bound(*unit)
        self.enforce(phase.failpoints(lasts))
        sandbox.group("late", min_count=3, priority=50)
        late = [self.late(number) for number in range(2)]
        wait_for(lambda: all(condition(sandbox.get_pod(name) or {}, "reprieve.dev/Held") for name in late))
        heroes = sandbox.gang("hero", 2, priority=100, cpu="2")
        if phase.is_ready:
            self.free_the_room(unit)
        wait_for(lambda: phase.is_reached(sandbox), what=sandbox.report)
        if phase.marked:  # if the scheduler evicted a part of the unit now, reprieve would evict the rest
            self.scheduler.pause()
        self.members = [*heroes, *late]

    def late(self, number: int) -> str:
        """A member of `late`, on a node where it is in nobody's way: the scheduler would preempt it for `hero`."""
        selected = {"nodeSelector": SMALL}
        return self.sandbox.pod(f"late-{number}", priority=50, cpu="500m", group="late", **selected)

    def free_the_room(self, unit: list[str]) -> None:
        """The victims are gone, and the scheduler stands still before: nobody is bound in their room."""
        wait_for(lambda: {*unit} <= self.sandbox.history.evictions().keys(), what=self.sandbox.report)
        self.scheduler.pause()
        for name in unit:
            self.sandbox.release(name)

    @property
    def scheduler(self) -> Process:
        """The process of the scheduler."""
        return self.plane.processes["kube-scheduler"]

    def wait_withdrawn(self) -> None:
        """Until nothing of Enforce is left. After that the scheduler may act again."""
        wait_for(lambda: not self.to_withdraw(), what=lambda: f"left: {self.to_withdraw()}")
        self.scheduler.resume()

    def to_withdraw(self) -> list[str]:
        """What the scheduler has no part in."""
        return [each for each in traces(self.sandbox) if not each.endswith("is not bound")]

    def enforce(self, failpoints: str = "") -> None:
        """One replica enforces the namespaces with the label; nobody else runs."""
        for process in self.plane.replicas:
            if process.running:
                process.stop(60)
        self.plane.processes[ENFORCES].environment = {"REPRIEVE_FAILPOINTS": failpoints} if failpoints else {}
        self.plane.start_reprieve(ENFORCES)
        wait_for(lambda: self.plane.leader() == ENFORCES, what="nobody leads")
        wait_mode(self.plane, "Enforce")
        self.label()

    def check(self) -> None:
        """At rest nothing of Enforce is left, and everybody runs."""
        wait_nothing_held(self.plane)
        self.sandbox.wait_bound(*self.members)
        wait_for(lambda: not traces(self.sandbox), what=lambda: f"left: {traces(self.sandbox)}")
        wait_for(lambda: not self.wrong(), what=lambda: f"{self.wrong()}")
        assert not self.is_broken_by_us()

    def wrong(self) -> list[str]:
        """What the judges of the histories say."""
        rest = look_around(self.plane.client)
        return [each for check in CHECKS for each in check(rest)]

    def is_broken_by_us(self) -> bool:
        """Whether we have deleted a part of the unit, and a part stays."""
        there = [pod for pod in self.sandbox.list_pods() if pod["metadata"]["name"].startswith("low-")]
        return bool(there) and "us" in evicted_by(self.sandbox).values()


def evicted_by(sandbox: Sandbox) -> dict[str, str]:
    """Whose mark the victims had last."""
    marks = {
        pod["metadata"]["name"]: mark
        for _, pod in sandbox.history.all()
        if (mark := condition(pod, "DisruptionTarget")) is not None
    }
    return {
        name: "us" if name in marks and is_ours(marks[name]) else "the scheduler"
        for name in sandbox.history.evictions()
    }


def by_us(sandbox: Sandbox) -> set[str]:
    """The victims that we have deleted."""
    return {name for name, by in evicted_by(sandbox).items() if by == "us"}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Two replicas. None runs yet."""
    options = Options(reprieve=True, replicas=2, start_reprieve=False)
    with ControlPlane(tmp_path_factory.mktemp("switches"), forking(options)) as made:
        selector = {"matchLabels": SELECTED}
        configure(
            made,
            ENFORCES,
            mode="Enforce",
            enforcedNamespaceSelector=selector,
            partialGangSeconds=PARTIAL_SECONDS,
        )
        configure(made, OBSERVES, mode="Observe")
        yield made


@pytest.fixture
def switch(plane: ControlPlane, sandboxes: SandboxFactory) -> Iterator[Switch]:
    sandbox = sandboxes(plane)
    made = Switch(plane, sandbox)
    yield made
    made.scheduler.resume()
    sandbox.remove()


def roll_out(switch: Switch) -> None:
    """The replica that observes is there already when the other one ends."""
    switch.plane.start_reprieve(OBSERVES)
    switch.plane.processes[ENFORCES].stop(60)
    wait_mode(switch.plane, "Observe")


def by_label(switch: Switch) -> None:
    switch.label(None)


WAYS: Final = pytest.mark.parametrize(
    ("way", "lasts"), [(roll_out, LONG), (by_label, SHORT)], ids=["by a roll-out", "by label"]
)


@ALL
@WAYS
def test_from_enforce_to_observe(switch: Switch, phase: Phase, way: Way, lasts: str) -> None:
    switch.reach(phase, lasts)
    way(switch)
    switch.wait_withdrawn()
    switch.check()
    ends = [plan["status"]["conditions"][-1]["reason"] for plan in of_enforce(switch.sandbox)]
    assert ends == ["ModeChanged"]
    assert phase.gone or not by_us(switch.sandbox), "no unit begins"


@ALL
def test_there_and_back_by_label(switch: Switch, phase: Phase) -> None:
    """The namespace is enforced again before all is withdrawn. The gang is decided about anew, and runs."""
    switch.reach(phase, SHORT)
    switch.label(None)
    switch.label()
    switch.scheduler.resume()
    switch.members.append(switch.late(2))
    switch.check()


@WAYS
def test_while_it_is_paused(switch: Switch, way: Way, lasts: str) -> None:
    """Nobody is deleted until the pause ends, and then the begun unit is finished.

    The scheduler would preempt the rest of the unit, so it stands still meanwhile.
    """
    switch.reach(MIDDLE, lasts)
    switch.scheduler.pause()
    pause(switch, "storage is moved")
    gone = by_us(switch.sandbox)
    way(switch)
    wait_for(lambda: "units" in lease(switch.plane)[HOLDS], what=lambda: lease(switch.plane)[HOLDS])
    assert by_us(switch.sandbox) == gone
    pause(switch, None)
    wait_for(lambda: by_us(switch.sandbox) == {"low-0", "low-1", "low-2"}, what=switch.sandbox.report)
    switch.wait_withdrawn()
    switch.check()


def pause(switch: Switch, why: str | None) -> None:
    body = {"metadata": {"annotations": {PAUSED: why}}}
    switch.plane.client.patch("v1", "Namespace", switch.sandbox.namespace, body)


@WAYS
def test_without_rights(switch: Switch, way: Way, lasts: str) -> None:
    """What is held stays so, and the Lease says why, until the rights are there again.

    The scheduler would preempt the rest of the unit and bind whoever is held, so it stands still meanwhile.
    """
    switch.reach(MIDDLE, lasts)
    switch.scheduler.pause()
    revoke(switch.plane)
    try:
        way(switch)
        wait_for(lambda: "lacksRights" in lease(switch.plane)[HOLDS], what=lambda: lease(switch.plane)[HOLDS])
    finally:
        grant(switch.plane)
    wait_for(lambda: by_us(switch.sandbox) == {"low-0", "low-1", "low-2"}, what=switch.sandbox.report)
    switch.wait_withdrawn()
    switch.check()


@pytest.mark.parametrize("way", ["by a roll-out", "by label"])
def test_from_observe_to_enforce(switch: Switch, sandboxes: SandboxFactory, way: str) -> None:
    """Gangs are decided about anew. One that ran whole keeps its members; one that never did is released.

    Only members that a controller creates again are.
    """
    plane, sandbox = switch.plane, switch.sandbox
    switch.enforce()
    switch.label(None)
    if way == "by a roll-out":
        roll_out(switch)
    sandbox.nodes(3, cpu="2")
    sandbox.node("small", cpu="500m")
    sandbox.wait_bound(*sandbox.gang("ran", 2, priority=100, cpu="1"))
    sandbox.wait_condition("PodGroup", "ran", "PodGroupInitiallyScheduled", "True")
    sandbox.wait_bound(*sandbox.pods("low", 3, priority=1, cpu="1"), sandbox.pod("last", priority=1, cpu="1"))
    pieces = in_pieces(sandbox)
    switch.label()
    if way == "by a roll-out":
        plane.start_reprieve(ENFORCES)
        plane.processes[OBSERVES].stop(60)
        wait_mode(plane, "Enforce")
    # Nobody is released whose scheduler has not called since the process began.
    sandbox.wait_bound(sandbox.pod("calls", priority=1, cpu="100m"))
    wait_for(lambda: not pieces & sandbox.bound().keys(), what=sandbox.report)
    for name in pieces:  # then its Job lets the pod go, as with a kubelet
        sandbox.end_pod(name, "Failed")
    switch.members = sandbox.gang("hero", 2, priority=200, cpu="2")
    sandbox.wait_bound(*switch.members)
    assert "ran-0" in sandbox.bound(), "it has run whole"


def in_pieces(sandbox: Sandbox) -> set[str]:
    """Room for two of three members comes free, and one of a gang that ran whole goes. Returns the names of the two."""
    sandbox.group("never", min_count=3, priority=1)
    sandbox.job("never", priority=1, group="never", parallelism=3, completions=3, podFailurePolicy=IGNORED)
    sandbox.wait_condition("PodGroup", "never", "reprieve.dev/Scheduled", "False")
    sandbox.delete_pod("ran-1")
    sandbox.delete_pod("last")

    def bound() -> set[str]:
        return {name for name in sandbox.bound() if name.startswith("never-")}

    wait_for(lambda: len(bound()) == 2, what=sandbox.report)
    return bound()
