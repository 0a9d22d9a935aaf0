"""Small worlds of Kueue's objects: ClusterQueues that lend one another quota, who holds it, and who waits."""

from __future__ import annotations

from typing import Any, Final, Literal

from hypothesis import strategies as st

from api.kueue import ClusterQueue, FlavorFungibility
from api.workloads import Workload
from quota.search.decision import Options
from tests.kit.quota.objects import Object, cluster_queue, cohort, evicted, held, us, workload

__all__ = ["NOW", "OPTIONS", "heads", "holders", "worlds"]

NOW = us(1000)
OPTIONS = st.builds(Options, fair_sharing=st.booleans())
ASKED: Final = (
    (2, 1, None),
    (3, 1, None),
    (1, 1, None),
    (4, 1, None),
    (5, 1, None),
    (0, 1, None),
    (1, 5, 1),
    (1, 8, 2),
    (2, 3, 1),
)
"""CPUs of a pod, pods, minCount."""
FUNGIBILITY: st.SearchStrategy[Literal["MayStopSearch", "TryNextFlavor"]] = st.sampled_from(
    ("MayStopSearch", "TryNextFlavor")
)


@st.composite
def worlds(draw: st.DrawFn, flavors: tuple[str, ...] = ("default",), memory: bool = False) -> list[Object]:
    """Some hold quota, and most ClusterQueues have one that waits."""
    names = "abcd"[: draw(st.sampled_from((3, 2, 4, 1)))]
    queues = [draw(_cluster_queues(name, flavors, memory)) for name in names]
    objects: list[Object] = [*queues, cohort("team", "all", draw(_quotas(flavors, memory, st.none())))]
    count = draw(st.sampled_from((8, 10, 6, 4, 2, 0)))
    objects += [draw(_held(f"h{number}", queues, flavors, memory)) for number in range(count)]
    for queue in queues:
        if draw(st.integers(0, 4)):
            name = queue.metadata.name
            cpus, count, least = draw(st.sampled_from(ASKED))
            asker = workload(
                f"w-{name}",
                name,
                cpus,
                count=count,
                least=least,
                memory=draw(st.integers(0, 2)) if memory else None,
                priority=draw(st.sampled_from((2, 1, 3, 0))),
                created=draw(st.integers(0, 3)),
                gates=draw(st.sampled_from(((), (), (), ("gate",)))),
            )
            objects.append(asker)
    return objects


@st.composite
def _held(
    draw: st.DrawFn, name: str, queues: list[ClusterQueue], flavors: tuple[str, ...], memory: bool
) -> Workload:
    who = workload(
        name,
        draw(st.sampled_from(queues)).metadata.name,
        draw(st.sampled_from((2, 1, 3))),
        memory=draw(st.integers(0, 2)) if memory else None,
        priority=draw(st.integers(0, 2)),
    )
    flavor = draw(st.sampled_from(flavors))
    holder = held(who, draw(st.integers(0, 900)), flavors={"cpu": flavor, "memory": flavor})
    return evicted(holder, 950) if draw(st.integers(0, 5)) == 0 else holder


@st.composite
def _quotas(
    draw: st.DrawFn, flavors: tuple[str, ...], memory: bool, limits: st.SearchStrategy[int | None]
) -> dict[str, dict[str, Any]]:
    quotas: dict[str, dict[str, Any]] = {}
    for flavor in flavors:
        quotas[flavor] = {"cpu": (draw(st.sampled_from((2, 3, 1, 4, 0))), draw(limits), None)}
        if memory:
            quotas[flavor]["memory"] = draw(st.sampled_from((6, 4, 2, 0))), draw(limits), None
    return quotas


@st.composite
def _cluster_queues(draw: st.DrawFn, name: str, flavors: tuple[str, ...], memory: bool) -> ClusterQueue:
    reclaim: Any = draw(st.sampled_from(("Any", "LowerPriority", "Any", "Never")))
    within: Any = draw(st.sampled_from(("LowerOrNewerEqualPriority", "LowerPriority", "Never")))
    parent = draw(st.sampled_from(("team", "all", "all", "")))
    limits = st.sampled_from((None, None, 1, 3)) if parent else st.none()
    queue = cluster_queue(
        name,
        draw(_quotas(flavors, memory, limits)),
        parent,
        within=within,
        reclaim=reclaim,
        borrow=reclaim != "Never" and draw(st.booleans()),
        min_admit=draw(st.sampled_from((None, "10m"))),
        strict=draw(st.booleans()),
        weight=draw(st.sampled_from((1, 1, 2, 0))),
    )
    if len(flavors) > 1:
        queue.spec.flavor_fungibility = FlavorFungibility(draw(FUNGIBILITY), draw(FUNGIBILITY))
    return queue


def heads(objects: list[Object]) -> list[Workload]:
    """Those that wait for quota, one a ClusterQueue at most."""
    return [thing for thing in objects if isinstance(thing, Workload) and thing.status.admission is None]


def holders(objects: list[Object]) -> list[Workload]:
    """Those that hold some."""
    return [thing for thing in objects if isinstance(thing, Workload) and thing.status.admission is not None]
