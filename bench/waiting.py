"""The waiting cluster: many gangs that cannot fit, a little churn, and ordinary pods that arrive all the time.

Every node is nearly full of pods of priority 1000. Gangs of eight pods of priority 100 ask for a whole node each, so
none of them fits. All of their pods have the scheduling gate, or half of them, and filter holds the others. One pod is
deleted and one created a second, and ordinary pods arrive at a steady rate, find room, and are deleted. The same load
runs several times on one cluster: with reprieve, with the gangs and without them; then reprieve ends, and another
kube-scheduler, which does not know it, serves the pods, without the gangs and with them. The pods of the gangs are
ordinary pods that wait then: what they cost is kube-scheduler's own.

REPRIEVE_BENCH_WAITING has the number of nodes, of pods on each, and of gangs, such as 5000,30,1000. That size needs
GOGC=60 in the environment on a machine with 23 GB of memory.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from api.groups import POD_GROUP_LABEL, SCHEDULING_GATE
from bench.metrics import Samples, grown, quantile, reprieve_metrics
from bench.place import REPRIEVE, Place
from bench.stored import store_pods
from bench.watching import Bindings, Plans
from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["MEMBERS", "PEER", "PRIORITIES", "Measured", "Size", "Waiting", "run", "tables"]

SIZES: Final = os.environ.get("REPRIEVE_BENCH_WAITING", "300,10,100")
WITHOUT_ALONE, WITHOUT, WITH_ALONE, WITH_GATED, WITH = (
    "without reprieve, no gangs",
    "without reprieve, the gangs' pods, half gated",
    "with reprieve, no gangs",
    "with reprieve and gangs, all gated",
    "with reprieve and gangs, half gated",
)
PEER: Final = "peer"
"""The kube-scheduler that does not know reprieve."""
MEMBERS: Final = 8
ORDINARY_PER_SECOND: Final = 20.0
SECONDS: Final = 60.0
NEW_GANGS: Final = 20
"""Feasible gangs that come one after the other, of each of two priorities."""
SETTLE_SECONDS: Final = 10.0
LIMIT_SECONDS: Final = 900.0
BIND_SECONDS: Final = 60.0
"""Ordinary pods that are not bound this long after the last one was created are counted and deleted."""
PRIORITIES: Final = {"lowest": 1, "middle": 100, "highest": 900}
RUNNING: Final = 1000
OPTIONS: Final = Options(
    reprieve=True,
    schedulers=[PEER],
    scheduler_settings={"percentageOfNodesToScore": 100},
    reprieve_settings={"planning": {"gates": "UntilPlanned"}},
)
HELD_BY_GATE: Final[dict[str, Any]] = {"schedulingGates": [{"name": SCHEDULING_GATE}]}


@dataclass(frozen=True)
class Size:
    """How large the cluster is."""

    nodes: int
    pods: int
    """On each node."""
    gangs: int

    @classmethod
    def of(cls, text: str) -> Size:
        """From numbers with commas. Raises ValueError."""
        return cls(*map(int, text.split(",")))


@dataclass(slots=True)
class Measured:
    """What was measured of one setting."""

    ordinary: list[float]
    """Seconds from creation to binding of each ordinary pod; to the end of the measurement if it was not bound."""
    unbound: int
    first_looks: dict[str, list[float]] = field(default_factory=dict)
    """By priority, the seconds from the last member of a new gang to its plan."""
    per_second: dict[str, float] = field(default_factory=dict)


def run(console: Console) -> bool:
    """Print the tables. Returns whether every ordinary pod and every new gang was served."""
    size = Size.of(SIZES)
    console.print(
        f"[bold]The waiting cluster[/]: {size.nodes:,} nodes, {size.nodes * size.pods:,} pods, {size.gangs:,} gangs"
    )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        plane = stack.enter_context(ControlPlane(folder, OPTIONS))
        status = stack.enter_context(console.status("the cluster fills"))
        measured = _measure_all(plane, size, status.update)
    table, looks = tables(measured)
    for one, other in ((WITH_GATED, WITHOUT_ALONE), (WITH, WITHOUT)):
        ours, theirs = measured[one].ordinary, measured[other].ordinary
        ratios = (f"{quantile(ours, at) / quantile(theirs, at):.2f}" for at in (0.5, 0.99))
        table.add_row(f"{one} / {other}", "", "", *ratios, "", "", "")
    console.print(table)
    console.print(looks)
    return all(each.ordinary for each in measured.values())


def _measure_all(plane: ControlPlane, size: Size, tell: Callable[[str], None]) -> dict[str, Measured]:
    """Each setting, one after the other on one cluster. `tell` is called with the name of each."""
    place = Place(plane.client, "waiting")
    ours = Waiting(place, size, partial(reprieve_metrics, plane))
    theirs = Waiting(place, size, None, scheduler=PEER)
    measured: dict[str, Measured] = {}
    ours.fill(plane.etcd)
    for name, load, gangs, ungated in (
        (WITH, ours, size.gangs, 2),
        (WITH_GATED, ours, size.gangs, 0),
        (WITH_ALONE, ours, 0, 0),
        (WITHOUT_ALONE, theirs, 0, 0),
        (WITHOUT, theirs, size.gangs, 2),
    ):
        tell(name)
        groups = load is ours
        if not groups:
            plane.reprieve.stop()
        load.wait_with(gangs, are_groups=groups, ungated=ungated)
        measured[name] = load.measure(groups=groups)
        load.remove_gangs()
    return measured


def tables(measured: dict[str, Measured]) -> tuple[Table, Table]:
    """What ordinary pods took, and the first looks at new gangs."""
    ordinary = Table(
        "", "ordinary pods", "not bound", "p50 s to bind", "p99", "filter calls/s", "searches/s", "writes/s"
    )
    looks = Table("", "new gang of priority", "gangs", "p50 s to its plan", "p99", title="First look")
    for name, each in measured.items():
        rates = [
            f"{each.per_second[key]:.1f}" if each.per_second else "" for key in ("filter", "search", "write")
        ]
        ordinary.add_row(name, str(len(each.ordinary)), str(each.unbound), *_quantiles(each.ordinary), *rates)
        for priority, seconds in each.first_looks.items():
            looks.add_row(name, priority, str(len(seconds)), *_quantiles(seconds))
    return ordinary, looks


def _quantiles(seconds: list[float]) -> tuple[str, str]:
    return f"{quantile(seconds, 0.5):.3f}", f"{quantile(seconds, 0.99):.3f}"


class Waiting:
    """A nearly full cluster, and gangs that wait."""

    def __init__(
        self,
        place: Place,
        size: Size,
        metrics: Callable[[], Samples] | None,
        scheduler: str = "default-scheduler",
        ordinary: int = PRIORITIES["lowest"],
    ) -> None:
        """`metrics` reads those of reprieve; None where it does not run or cannot be asked. `scheduler` serves the
        pods. `ordinary`: the priority of ordinary pods."""
        self._place, self._client, self._size, self._metrics = place, place.client, size, metrics
        self._scheduler, self._priority = scheduler, ordinary
        self._turn = 0
        """Gangs of each turn have names of their own: plans stay for a while."""
        self._nodes = place.node_names(size.nodes)
        self._cpu = 3600 // size.pods

    def fill(self, etcd: str | None = None) -> None:
        """Create the nodes and the pods that run on them. Returns when they run.

        With the URL of the cluster's etcd, pods are stored there (see bench.stored): that is quicker by far.
        """
        self._place.add_nodes(self._nodes, cpu="4")
        pods = (self._filler(node, number) for node in self._nodes for number in range(self._size.pods))
        if etcd is not None:
            store_pods(etcd, self._place, pods)
        else:
            self._client.create_all(pods)
            self._place.wait_played()

    def _filler(self, node: str, number: int) -> Json:
        return self._place.pod(f"{node}-{number}", priority=RUNNING, cpu=f"{self._cpu}m", node_name=node)

    def wait_with(self, gangs: int, *, are_groups: bool, ungated: int = 2) -> None:
        """Let `gangs` gangs wait. Returns when each was looked at. Without groups, their pods wait.

        The pods of every `ungated`-th gang have no scheduling gate; 0: all have one.
        """
        client, place = self._client, self._place
        self._turn += 1
        waits = f"w{self._turn}-"
        if are_groups:
            client.create_all(
                place.pod_group(f"{waits}{number}", min_count=MEMBERS, priority=PRIORITIES["middle"])
                for number in range(gangs)
            )
        client.create_all(
            place.pod(
                f"{waits}{number}-{member}",
                cpu="3900m",
                priority=PRIORITIES["middle"],
                group=f"{waits}{number}",
                schedulerName=self._scheduler,
                **(HELD_BY_GATE if not ungated or number % ungated else {}),
            )
            for number in range(gangs)
            for member in range(MEMBERS)
        )
        deadline = time.monotonic() + LIMIT_SECONDS
        while are_groups and self._planned(waits) < gangs:
            if time.monotonic() > deadline:
                raise TimeoutError("some gangs were not looked at")
            time.sleep(1.0)
        time.sleep(SETTLE_SECONDS)

    def _planned(self, prefix: str) -> int:
        """How many gangs whose names begin so were looked at."""
        plans = self._client.list(REPRIEVE, "PreemptionPlan", self._place.namespace)
        names = {plan["spec"]["preemptor"]["name"] for plan in plans}
        return sum(name.startswith(prefix) for name in names)

    def remove_gangs(self) -> None:
        """Delete what waits."""
        self._place.remove_groups()
        self._place.remove_pods(POD_GROUP_LABEL)
        time.sleep(SETTLE_SECONDS)

    def measure(self, *, groups: bool) -> Measured:
        """Run the load for a while. With `groups`, also gangs that fit come."""
        churn = threading.Event()
        churner = threading.Thread(target=self._churn, args=(churn,))
        churner.start()
        try:
            before = self._metrics() if self._metrics else {}
            began = time.monotonic()
            measured = Measured(*self._ordinary())
            if self._metrics:
                measured.per_second = _rates(before, self._metrics(), time.monotonic() - began)
            if groups:
                measured.first_looks = {name: self._first_looks(name) for name in ("lowest", "highest")}
            return measured
        finally:
            churn.set()
            churner.join()

    def _churn(self, stop: threading.Event) -> None:
        """Delete a pod and create it again, once a second."""
        turn = 0
        while not stop.wait(1.0):
            node, number = self._nodes[turn % self._size.nodes], turn // self._size.nodes % self._size.pods
            self._client.delete("v1", "Pod", f"{node}-{number}", self._place.namespace, grace_seconds=0)
            self._client.create(self._filler(node, number))
            turn += 1

    def _ordinary(self) -> tuple[list[float], int]:
        """Ordinary pods arrive at a steady rate, and are deleted once they are bound.

        Returns the seconds of each, and how many were not bound in time.
        """
        place = self._place
        with Bindings(self._client, place.namespace, "load=ordinary") as bindings:
            began, created = time.monotonic(), {}
            for number in range(round(SECONDS * ORDINARY_PER_SECOND)):
                time.sleep(max(0.0, began + number / ORDINARY_PER_SECOND - time.monotonic()))
                name = f"ordinary-{number}"
                created[name] = time.monotonic()
                self._client.create(
                    place.pod(
                        name,
                        cpu="100m",
                        priority=self._priority,
                        labels={"load": "ordinary"},
                        schedulerName=self._scheduler,
                    )
                )
                self._delete_bound(bindings)
            with suppress(TimeoutError):
                bindings.wait(created, BIND_SECONDS)
            end = time.monotonic()
            unbound = len(created.keys() - bindings.bound.keys())
            place.remove_pods("load=ordinary")
            return [bindings.bound.get(name, end) - at for name, at in created.items()], unbound

    def _delete_bound(self, bindings: Bindings) -> None:
        for name in bindings.take_new():
            self._client.delete("v1", "Pod", name, self._place.namespace, grace_seconds=0)

    def _first_looks(self, rank: str) -> list[float]:
        """The seconds from the last member of a gang that fits to its plan."""
        place, client, priority, seconds = self._place, self._client, PRIORITIES[rank], []
        with Plans(client, place.namespace) as plans:
            for number in range(NEW_GANGS):
                name = f"{rank}-{self._turn}-{number}"
                client.create(place.pod_group(name, min_count=2, priority=priority))
                for member in range(2):
                    client.create(place.pod(f"{name}-{member}", cpu="100m", priority=priority, group=name))
                complete = time.monotonic()
                seconds.append(plans.wait(name, LIMIT_SECONDS) - complete)
                self._remove_gang(name)
        return seconds

    def _remove_gang(self, name: str) -> None:
        namespace = self._place.namespace
        self._client.delete(REPRIEVE, "PodGroup", name, namespace)
        for member in range(2):
            self._client.delete("v1", "Pod", f"{name}-{member}", namespace, grace_seconds=0)


def _rates(before: Samples, after: Samples, seconds: float) -> dict[str, float]:
    writes = sum(grown(before, after, "reprieve_write_seconds_count", what=what) for what in _kinds(after))
    return {
        "filter": grown(before, after, "reprieve_extender_verb_seconds_count", verb="filter") / seconds,
        "search": grown(before, after, "reprieve_planning_seconds_count") / seconds,
        "write": writes / seconds,
    }


def _kinds(samples: Samples) -> set[str]:
    """The kinds of writes."""
    return {
        value
        for name, labels in samples
        if name == "reprieve_write_seconds_count"
        for label, value in labels
        if label == "what"
    }
