"""The interleaved case: kube-scheduler's own gang preemption, alone, steered and driven, beside ours. The same load on
equal control planes.

Each node of 4 CPU is full of ten 400m pods of priority 10. The pods form as many groups of ten in `all` mode as there
are nodes; group g is on the nodes 10g to 10g+9 modulo their number. Then comes a gang of pods of 3600m. A search that
picks nodes one by one breaks other groups on every node. But ten groups share each block of ten nodes, so nine groups
are enough for ten members.

The row with webhooks is the one that counts: every cluster that enforces has them, so its members have gates. On its
plane, the victims are created again for each bare client of `bench.floor`, which has as many requests in flight as one
plan. The last table is of a gang that has waited.

REPRIEVE_BENCH_GANG has the number of nodes and of members, such as 500,100 or 2000,400. REPRIEVE_BENCH_GANG_WAYS has
the ways to measure, such as alone,webhooks: then no gang is measured that has waited.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Self

from rich.console import Console
from rich.table import Table

from api.groups import POD_GROUP_LABEL
from bench import floor, waited
from bench.floor import Cost, Load, costs_table, measure
from bench.metrics import cpu_seconds_of, spent_since
from bench.place import NATIVE, REPRIEVE, Place
from bench.timeline import Timeline
from controllers.gangs.evicting.runs import AT_ONCE
from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane, Options

__all__ = [
    "ALONE",
    "DRIVEN",
    "MOST",
    "OURS",
    "OURS_GATED",
    "OURS_WITH_GATE",
    "STEERED",
    "WAYS",
    "Interleaved",
    "Result",
    "Size",
    "Way",
    "results_table",
    "run",
    "steps_table",
]

SIZE: Final = os.environ.get("REPRIEVE_BENCH_GANG", "500,100")
CHOSEN: Final = os.environ.get("REPRIEVE_BENCH_GANG_WAYS", "")
GROUP_SIZE: Final = 10
ENOUGH: Final = 9
"""Groups to evict for ten members."""
LOW, HIGH = 10, 100
GANG: Final = "gang"
VICTIMS: Final = "load=victim"
NATIVE_NAME: Final = "podgroups.scheduling.k8s.io:"
"""What the name of a native group begins with in plans."""


@dataclass(frozen=True)
class Way:
    """One way of preempting."""

    name: str
    api: str
    """The API version of all groups."""
    gate: bool
    """Whether the feature gate GenericWorkload is on."""
    native_groups: str = ""
    """`planning.nativeGroups`. The default if it is empty."""
    reprieve: bool = True
    """Whether reprieve is there."""
    webhooks: bool = False
    """Whether the webhooks are there. They give members our gate."""

    def options(self) -> Options:
        """Of the plane."""
        planning = {"nativeGroups": self.native_groups} if self.native_groups else {}
        return Options(
            reprieve=self.reprieve,
            webhooks=self.webhooks,
            reprieve_settings={"planning": planning} if planning else None,
            feature_gates={"GenericWorkload": True} if self.gate else None,
            runtime_config={NATIVE: True} if self.gate else None,
            scheduler_settings={"percentageOfNodesToScore": 100},
        )


ALONE: Final = Way("native, kube-scheduler alone", NATIVE, gate=True, reprieve=False)
STEERED: Final = Way("native, steered", NATIVE, gate=True, native_groups="Steer")
DRIVEN: Final = Way("native, driven", NATIVE, gate=True, native_groups="Drive")
OURS: Final = Way("ours", REPRIEVE, gate=False)
OURS_WITH_GATE: Final = Way("ours, GenericWorkload on", REPRIEVE, gate=True)
OURS_GATED: Final = Way("ours, webhooks and gates", REPRIEVE, gate=False, webhooks=True)
CHOICES: Final = {
    "alone": ALONE,
    "steered": STEERED,
    "driven": DRIVEN,
    "ours": OURS,
    "ours-generic": OURS_WITH_GATE,
    "webhooks": OURS_GATED,
}
"""By the names of REPRIEVE_BENCH_GANG_WAYS."""
WAYS: Final = tuple(CHOICES.values())
MOST: Final = {STEERED: 0.4, DRIVEN: 0.6, OURS_GATED: 0.4}
"""Of the time that kube-scheduler takes alone: the aim."""
LIMIT_SECONDS: Final = 600.0


@dataclass(frozen=True)
class Size:
    """How large the case is."""

    nodes: int
    members: int

    @classmethod
    def of(cls, text: str) -> Self:
        """From numbers with commas. Raises ValueError."""
        return cls(*map(int, text.split(",")))

    @property
    def enough(self) -> int:
        """The groups that have to be evicted."""
        return -(-self.members // GROUP_SIZE) * ENOUGH


@dataclass(frozen=True)
class Result:
    """The result of one way of preempting."""

    groups: int
    pods: int
    bound: int
    seconds: float
    steps: dict[str, float] = field(default_factory=dict)
    """Where the seconds go. Empty without plans."""
    evicting: float = 0.0
    """Seconds from the first deletion to the last."""


def run(console: Console) -> bool:
    """Print victims and seconds of each way, what each takes, and then what a gang takes that has waited
    (`bench.waited`).

    Returns whether ours evicted at most half and bound every member, and those that had waited were bound.
    """
    size = Size.of(SIZE)
    console.print(f"[bold]The interleaved case[/]: a gang of {size.members} on {size.nodes:,} full nodes")
    results, costs = dict[Way, Result](), dict[Way, list[Cost]]()
    for way in [CHOICES[name] for name in CHOSEN.split(",") if name] or WAYS:
        with console.status(way.name):
            results[way], costs[way] = _measure(way, size)
    console.print(results_table(results, size))
    for way, result in results.items():
        if result.steps:
            console.print(steps_table(result, way.name))
    console.print(costs_table(in_order(costs), title="Evictions, and CPU seconds until all are bound"))
    if CHOSEN:
        return all(result.bound == size.members for result in results.values())
    all_bound = waited.run(console)
    ours, theirs = results[OURS_GATED], results[ALONE]
    return all_bound and ours.bound == size.members and ours.pods * 2 <= theirs.pods


def in_order(costs: Mapping[Way, Sequence[Cost]]) -> list[Cost]:
    """The row that counts comes first, if it was measured."""
    ways = sorted(costs, key=lambda way: way is not OURS_GATED)
    return [cost for way in ways for cost in costs[way]]


def results_table(results: Mapping[Way, Result], size: Size) -> Table:
    """Victims and seconds of each way, and what would be enough."""
    columns = ("groups evicted", "pods evicted", "members bound", "seconds to bind")
    table = Table("", *columns, "of the time alone", "the aim")
    alone = results[ALONE].seconds if ALONE in results else 0.0
    for way, result in results.items():
        most = MOST.get(way)
        table.add_row(
            way.name,
            str(result.groups),
            str(result.pods),
            f"{result.bound}/{size.members}",
            f"{result.seconds:.1f}",
            f"{result.seconds / alone:.2f}" if alone else "",
            f"at most {most}" if most is not None else "",
        )
    enough = size.enough
    table.add_row("enough", str(enough), str(enough * GROUP_SIZE), f"{size.members}/{size.members}")
    return table


def steps_table(result: Result, name: str = "with reprieve") -> Table:
    """Where the seconds go."""
    table = Table(*result.steps, title=f"Seconds of each step: {name}")
    table.add_row(*(f"{seconds:.2f}" for seconds in result.steps.values()))
    return table


def _measure(way: Way, size: Size) -> tuple[Result, list[Cost]]:
    """What the way took; and where webhooks are, also what the bare clients take on the same plane."""
    with (
        tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder,
        ControlPlane(Path(folder), way.options()) as plane,
    ):
        case = Interleaved(Place(plane.client, "interleaved"), size, way.api, plans=way.reprieve)
        case.fill()
        spent = partial(cpu_seconds_of, plane)
        before = spent()
        result = case.preempt()
        costs = [Cost(way.name, result.pods, result.evicting, spent_since(before, spent()))]
        if way.webhooks:
            case.remove_gang()
            costs += measure(case.victims(plane.kubeconfig), case.restore, spent, (floor.OURS, floor.GO))
        return result, costs


class Interleaved:
    """The full nodes, and the gang that comes."""

    def __init__(self, place: Place, size: Size, group_api: str = REPRIEVE, *, plans: bool = True) -> None:
        """`plans`: whether reprieve is there, and makes plans."""
        self._place, self._size, self._api, self._plans = place, size, group_api, plans
        self._nodes = place.node_names(size.nodes)
        self._evicted = frozenset[str]()

    def fill(self) -> None:
        """Create nodes and groups. Returns when all pods run."""
        place, nodes = self._place, self._nodes
        # Nodes join in a shuffled order, because the scheduler takes nodes of equal score as they came.
        joining = random.Random(len(nodes)).sample(nodes, len(nodes))  # not for secrets
        place.add_nodes(joining, parallel=1)
        place.client.create_all(
            place.pod_group(_group(number), priority=LOW, min_count=1, mode="all", api_version=self._api)
            for number in range(len(nodes))
        )
        place.client.create_all(self._running())
        place.wait_running()

    def restore(self) -> None:
        """Create the pods again that were evicted for the gang. Returns when they run."""
        pods = (pod for pod in self._running({"load": "victim"}) if pod["metadata"]["name"] in self._evicted)
        self._place.client.create_all(pods)
        self._place.wait_running(VICTIMS)

    def victims(self, kubeconfig: Path) -> Load:
        """What `restore` creates, for bare clients."""
        return Load(self._place, kubeconfig, VICTIMS, AT_ONCE)

    def remove_gang(self) -> None:
        """Delete the gang and its pods. Returns when they are gone."""
        self._place.client.delete(self._api, "PodGroup", GANG, self._place.namespace)
        self._place.remove_pods(f"{POD_GROUP_LABEL}={GANG}")

    def preempt(self) -> Result:
        """The gang comes. Returns what it took until all members are bound, or until the limit."""
        with Timeline(self._place, self.preemptor, self.members, plans=self._plans) as timeline:
            self.create_group()
            self.create(self.members)
            timeline.complete()
            timeline.wait_bound(LIMIT_SECONDS)
        gone = self._evicted = frozenset(timeline.evicted)
        return Result(
            groups=len({name.rpartition("-")[0] for name in gone}),
            pods=len(gone),
            bound=len(timeline.bound),
            seconds=timeline.seconds,
            steps=timeline.steps(),
            evicting=timeline.evicting,
        )

    @property
    def members(self) -> list[str]:
        """The names of the gang's pods."""
        return [f"{GANG}-{i}" for i in range(self._size.members)]

    @property
    def preemptor(self) -> str:
        """The name of the gang in plans."""
        return GANG if self._api == REPRIEVE else NATIVE_NAME + GANG

    def create_group(self) -> None:
        """Create the group of the gang."""
        place, count = self._place, self._size.members
        place.client.create(place.pod_group(GANG, priority=HIGH, min_count=count, api_version=self._api))

    def create(self, members: Sequence[str]) -> None:
        """Create pods of the gang."""
        self._place.client.create_all(
            self._place.member(GANG, name, api_version=self._api, priority=HIGH, cpu="3600m")
            for name in members
        )

    def _running(self, labels: Mapping[str, str] | None = None) -> Iterable[Json]:
        """The pods of all groups that are there before the gang."""
        for number in range(len(self._nodes)):
            for i in range(GROUP_SIZE):
                yield self._place.member(
                    _group(number),
                    f"{_group(number)}-{i}",
                    api_version=self._api,
                    priority=LOW,
                    cpu="400m",
                    node_name=self._nodes[(GROUP_SIZE * number + i) % len(self._nodes)],
                    labels=labels,
                )


def _group(number: int) -> str:
    return f"g{number:04}"
