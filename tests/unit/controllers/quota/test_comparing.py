"""Whole lives of queues: whoever decides as we do agrees with us, whatever is parked, tried or on its way out."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec
import pytest

from api.kueue import ClusterQueue, FlavorFungibility
from api.workloads import Workload
from controllers.quota.comparing import Before, Written, compare, preemptor_written
from controllers.quota.life.admitting import admission_of
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.search.decision import Options
from quota.state.snapshot import QuotaSnapshot
from tests.kit.quota.objects import cluster_queue, evicted, held, snapshot, us, workload
from tests.kit.simulation import World

END = 150


@dataclass
class Compared(World):
    """Its decisions are somebody else's. Each is compared on the state before it."""

    answers: list[tuple[bool | None, str]] = field(default_factory=list)

    def _schedule(self) -> bool:
        self._snapshot: QuotaSnapshot = self.state.snapshot()
        self._pending = tuple(self.workloads.values())
        return super()._schedule()

    def _carry_out(self, entry: Entry) -> bool:
        written = _written(entry)
        if written is not None:
            before = Before(self._snapshot, entry.workload, self._pending, us(self.now), {})
            found = compare(before, written, self.options)
            self.answers.append((found.agrees, f"{self.now} s: {written}, ours: {found.ours}"))
        return super()._carry_out(entry)


def _written(entry: Entry) -> Written | None:
    if entry.decision is None:
        return None
    if entry.outcome == "Admit":
        return Written(admission_of(entry.decision), frozenset())
    victims = frozenset(each.holder.key for each in entry.decision.targets if not each.holder.evicting)
    return Written(None, victims) if entry.outcome == "Preempt" and victims else None


def life(random: Random) -> Compared:
    flavors = ("first", "second")[: random.choice((1, 2, 2))]
    queues = [_queue(random, name, flavors) for name in "abc"[: random.choice((1, 2, 3))]]
    arrivals: dict[int, list[Workload]] = {}
    lengths: dict[str, int] = {}
    for number in range(random.choice((8, 15, 25))):
        time, name = random.randint(0, 60), f"w{number}"
        queue = random.choice(queues).metadata.name
        asked = workload(
            name, queue, random.choice((1, 1, 2, 3)), priority=random.randint(0, 2), created=time
        )
        arrivals.setdefault(time, []).append(asked)
        if random.random() < 0.9:
            lengths[f"ns/{name}"] = random.randint(1, 30)
    options = Options(fair_sharing=random.random() < 0.3)
    return Compared(queues, arrivals, options, grace=random.choice((0, 2, 5)), lengths=lengths)


def _queue(random: Random, name: str, flavors: tuple[str, ...]) -> ClusterQueue:
    quotas: Any = {
        flavor: {"cpu": (random.choice((1, 2, 3, 4)), random.choice((None, None, 1, 3)), None)}
        for flavor in flavors
    }
    within: Any = random.choice(("LowerOrNewerEqualPriority", "LowerPriority", "Never"))
    reclaim: Any = random.choice(("Any", "LowerPriority", "Never"))
    made = cluster_queue(name, quotas, "team", within=within, reclaim=reclaim, strict=random.random() < 0.4)
    borrow: Any = random.choice(("MayStopSearch", "TryNextFlavor"))
    preempt: Any = random.choice(("MayStopSearch", "TryNextFlavor"))
    made.spec.flavor_fungibility = FlavorFungibility(borrow, preempt)
    return made


# In the last four, heads of two queues want the same victims.
@pytest.mark.parametrize("seed", [*range(8), 98, 131, 171, 377])
def test_whoever_decides_as_we_do_agrees(seed: int) -> None:
    world = life(Random(seed))  # it is repeated
    world.run(END)
    assert world.answers
    assert [text for agrees, text in world.answers if not agrees] == []


def test_a_search_that_goes_on_after_a_flavor_agrees() -> None:
    """The driver takes the first flavor, and its workers do not fit. The next cycle begins with the second one."""
    queue = cluster_queue("q", {"first": {"cpu": (2, None, None)}, "second": {"cpu": (1, None, None)}})
    both = workload("both", "q", 1)
    workers = msgspec.structs.replace(workload("workers", "q", 2).spec.pod_sets[0], name="workers")
    both.spec.pod_sets.append(workers)
    world, options = snapshot(queue, both), Options()
    (entry,) = cycle(world, [both], us(10), options)
    (again,) = cycle(world, [both], us(10), options, tried={"ns/both": entry.tried or {}})
    assert (entry.outcome, again.outcome) == ("NoFit", "Admit")
    written = _written(again)
    assert written is not None
    assert compare(Before(world, both, [both], us(10), {}), written, options).agrees


@pytest.mark.parametrize(
    ("message", "uid"),
    [
        ("Preempted to accommodate a workload (UID: 5f-1, JobUID: UNKNOWN) due to prioritization", "5f-1"),
        ("Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN)", "UNKNOWN"),
        ("Preempted by hand", ""),
    ],
)
def test_the_preemptor_is_named_by_the_message(message: str, uid: str) -> None:
    holder = held(workload("w", "q", 1), 0)
    gone = evicted(holder, 10)
    for each in gone.status.conditions or ():
        if each.type == "Evicted":
            each.message = message
    assert preemptor_written(holder, gone) == uid
    assert preemptor_written(gone, gone) is None
    assert preemptor_written(holder, evicted(holder, 10, "Deactivated")) is None
