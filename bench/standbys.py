"""The leader of two replicas goes: how long ordinary pods wait, and when the next leader goes on with a gang.

Two streams of ordinary pods run at the same time on one control plane. kube-scheduler binds the one, and calls
reprieve for each pod. A second kube-scheduler without an extender, the peer, binds the other one. Before each change,
the scheduler connects to the replica that leads, or to the other one. A change lasts from the fault until the replica
is back, and some seconds longer. In a rolling update each replica ends and starts again, the leader first. A Deployment
starts the new one before the old one ends, so it is kinder.

Then the leader goes in the middle of a gang preemption, each time on a control plane of its own.

REPRIEVE_BENCH_LEASE has the duration of the Lease in whole seconds. The default is the product's, 15.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench import standby_gang
from bench.place import Place
from bench.standby_faults import FAULTS, Fault, Leaders, Replicas, lease_settings
from bench.standby_gang import VICTIMS, Takeover
from bench.standby_stream import Pauses, Stream
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["run"]

LEASE_SECONDS: Final = int(os.environ.get("REPRIEVE_BENCH_LEASE", "15"))
WITHOUT: Final = "without-extender"
"""The schedulerName of the second kube-scheduler."""
AT_REST_SECONDS: Final = 15.0
SETTLE_SECONDS: Final = 5.0
"""How much longer a change lasts than the replica needs to come back."""


@dataclass(frozen=True)
class Change:
    """What was measured of one change."""

    name: str
    called: str
    """Which replica the scheduler was connected to."""
    leads: float | None
    """Seconds from the fault until another replica has the Lease. None if there is no single fault."""
    ours: Pauses
    theirs: Pauses
    """Those of the peer at the same time."""


def run(console: Console) -> bool:
    """Print the tables. Returns whether every ordinary pod was bound, each victim deleted once and each gang bound."""
    console.print(f"[bold]Standbys[/]: the leader of two replicas goes; a Lease of {LEASE_SECONDS} s")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        options = Options(
            reprieve=True,
            replicas=2,
            schedulers=[WITHOUT],
            reprieve_settings=lease_settings(LEASE_SECONDS),
        )
        plane = stack.enter_context(ControlPlane(folder, options))
        console.print(_changes_table(_Changes(plane, stack, console).measure()))
    takeovers = {}
    for fault in FAULTS:
        with console.status(f"a gang preemption, {fault.name}"):
            takeovers[fault.name] = standby_gang.measure(fault, LEASE_SECONDS)
    console.print(_takeovers_table(takeovers))
    return all(each.is_right for each in takeovers.values())


def _changes_table(changes: list[Change]) -> Table:
    table = Table(
        *("change", "calls go to", "next leader", "gap", "peer", "ratio", "wait", "peer"),
        title="Ordinary pods: seconds to the next leader, longest gap between two bindings, longest wait of a pod",
    )
    for each in changes:
        table.add_row(
            each.name,
            each.called,
            "" if each.leads is None else f"{each.leads:.1f}",
            f"{each.ours.gap:.2f}",
            f"{each.theirs.gap:.2f}",
            f"{each.ours.gap / each.theirs.gap:.1f}",
            f"{each.ours.wait:.2f}",
            f"{each.theirs.wait:.2f}",
        )
    return table


def _takeovers_table(takeovers: dict[str, Takeover]) -> Table:
    table = Table(
        *(
            "fault",
            "evicted before",
            "next leader",
            "its first eviction",
            "deleted once",
            "bound early",
            "bound",
        ),
        title=f"A gang preemption with {VICTIMS} victims: seconds from the fault",
    )
    for name, each in takeovers.items():
        table.add_row(
            name,
            str(each.before),
            f"{each.leads:.1f}",
            f"{each.evicts:.1f}",
            f"{each.once}/{VICTIMS}",
            str(each.early),
            f"{each.bound}/{VICTIMS}",
        )
    return table


class _Changes:
    """Both streams, and what happens to the replicas meanwhile."""

    def __init__(self, plane: ControlPlane, stack: ExitStack, console: Console) -> None:
        """What runs is entered into `stack`."""
        self._console = console
        self._replicas = stack.enter_context(Replicas(plane))
        self._leaders = stack.enter_context(Leaders(plane.client))
        self._ours = stack.enter_context(Stream(Place(plane.client, "ours"), "default-scheduler"))
        self._theirs = stack.enter_context(Stream(Place(plane.client, "theirs"), WITHOUT))

    def measure(self) -> list[Change]:
        """One change after the other."""
        time.sleep(SETTLE_SECONDS)
        changes = [self._measure("none", "the leader", lambda _: self._rest())]
        changes.extend(
            self._measure(fault.name, called, self._through(fault))
            for fault in FAULTS
            for called in ("the leader", "the other")
        )
        changes.append(self._measure("rolling update", "the leader", self._roll))
        return changes

    def _measure(self, name: str, called: str, change: Callable[[str], float | None]) -> Change:
        replicas = self._replicas
        leader = replicas.leader()
        replicas.connect(leader if called == "the leader" else replicas.other(leader))
        with self._console.status(f"ordinary pods, {name}; calls go to {called}"):
            began = time.monotonic()
            leads = change(leader)
            time.sleep(SETTLE_SECONDS)
            ended = time.monotonic()
            ours, theirs = self._ours.pauses(began, ended), self._theirs.pauses(began, ended)
        return Change(name, called, leads, ours, theirs)

    def _rest(self) -> None:
        time.sleep(AT_REST_SECONDS)

    def _through(self, fault: Fault) -> Callable[[str], float]:
        def change(leader: str) -> float:
            began = time.monotonic()
            fault.begin(self._replicas, leader)
            leads = self._leaders.wait_since(began) - began
            fault.end(self._replicas, leader)
            return leads

        return change

    def _roll(self, leader: str) -> None:
        for name in (leader, self._replicas.other(leader)):
            self._replicas.leave(name)
            self._replicas.start_again(name)
