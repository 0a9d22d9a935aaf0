"""Trees of quota, workloads that hold some of it and one that wants some, as nobody would set them up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from native.codes import ANY, LOWER_OR_NEWER, LOWER_PRIORITY, NEVER, UNSET
from native.quota._quota import Ledger as Compiled
from native.quota.quotas import UNLIMITED, Ask, Quotas
from tests.twins.quota.quota import Ledger as Plain

__all__ = [
    "Compiled",
    "Holder",
    "Ledger",
    "LedgerType",
    "Plain",
    "Scene",
    "admit",
    "asks",
    "filled",
    "holders",
    "quotas",
    "release",
    "scenes",
    "state",
    "strategies",
]

Ledger = Plain | Compiled
LedgerType = type[Plain] | type[Compiled]

RESOURCES = ((0,), (0, 0), (0, 1), (0, 1, 0), (0, 1, 1))
TIMES = st.integers(0, 7)
PRIORITIES = st.sampled_from((1, 0, 2))


@dataclass(frozen=True, slots=True)
class Holder:
    """A workload that holds quota."""

    queue: int
    priority: int
    reserved: int
    queued: int
    order: int
    evicting: bool
    frs: tuple[int, ...]
    amounts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a search depends on."""

    quotas: Quotas
    holders: list[Holder]
    ask: Ask


# ---- a ledger of them


def filled(kind: LedgerType, quotas: Quotas, holders: Iterable[Holder]) -> Ledger:
    """A ledger in which these have been admitted, in this order."""
    ledger = kind(quotas)
    for holder in holders:
        admit(ledger, holder)
    return ledger


def admit(ledger: Ledger, who: Holder) -> None:
    """The holder stands for itself."""
    ledger.admit(
        who.queue,
        who,
        who.priority,
        who.reserved,
        who.queued,
        who.order,
        who.evicting,
        who.frs,
        who.amounts,
    )


def release(ledger: Ledger, who: Holder) -> object:
    """Who is there under the holder's key."""
    return ledger.release(who.queue, who.priority, who.reserved, who.order, who.evicting)


def state(ledger: Ledger, quotas: Quotas) -> dict[str, Any]:
    """All that can be asked of the ledger without an ask."""
    nodes, queues, frs = range(len(quotas.parent)), range(quotas.queues), range(len(quotas.resource))
    return {
        "holders": [ledger.holders(queue) for queue in queues],
        "usage": [[ledger.usage(node, fr) for fr in frs] for node in nodes],
        "quota": [[ledger.quota(node, fr) for fr in frs] for node in nodes],
        "potential": [[ledger.potential(node, fr) for fr in frs] for node in nodes],
        "available": [[ledger.available(queue, fr) for fr in frs] for queue in queues],
        "share": [ledger.share(node) for node in nodes],
    }


# ---- strategies


def often(usual: st.SearchStrategy[int], seldom: st.SearchStrategy[int]) -> st.SearchStrategy[int]:
    """The usual three times of four."""
    return st.one_of(usual, usual, usual, seldom)


@st.composite
def quotas(draw: st.DrawFn, huge: bool = True) -> Quotas:
    """Trees up to four cohorts high; few FRs, small quotas, with `huge` also some near and beyond 64 bits."""
    queues, cohorts = draw(st.integers(1, 5)), draw(st.integers(0, 4))
    resource = draw(st.sampled_from(RESOURCES))
    shape = queues + cohorts, len(resource)
    some = st.sampled_from((0, 0, 1, 2, 3, 4, 6, 9))
    if huge:
        some = often(some, often(some, st.sampled_from((2**62, UNLIMITED - 1, UNLIMITED))))
    limit = often(st.just(UNSET), some)

    def table(values: st.SearchStrategy[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
        size = shape[0] * shape[1]
        return np.array(draw(st.lists(values, min_size=size, max_size=size)), np.int64).reshape(shape)

    defined = table(often(st.just(1), st.sampled_from((1, 0))))
    weights = st.sampled_from((1.0, 1.0, 1.0, 2.0, 0.5, 0.0))
    return Quotas(
        parent=np.array(_parents(draw, queues, cohorts), np.int32),
        queues=queues,
        defined=defined.astype(np.uint8),
        nominal=np.where(defined, table(some), 0),
        borrowing_limit=np.where(defined, table(limit), UNSET),
        lending_limit=np.where(defined, table(limit), UNSET),
        resource=np.array(resource, np.int32),
        weight=np.array(draw(st.lists(weights, min_size=shape[0], max_size=shape[0]))),
    )


def _parents(draw: st.DrawFn, queues: int, cohorts: int) -> list[int]:
    """Mostly one tree, its cohorts in any order of names; no cohort has more than three above it."""
    names = draw(st.permutations(range(queues, queues + cohorts)))
    parent, depth = [-1] * (queues + cohorts), {-1: 0}
    for index, cohort in enumerate(names):
        above = [name for name in names[:index] if depth[name] < 3]
        parent[cohort] = draw(often(st.sampled_from(above or [-1]), st.just(-1)))
        depth[cohort] = depth[parent[cohort]] + 1
    for queue in range(queues):
        parent[queue] = draw(often(st.sampled_from(names or [-1]), st.sampled_from([*names[:1], -1])))
    return parent


@st.composite
def holders(draw: st.DrawFn, quotas: Quotas) -> list[Holder]:
    """Many of them alike but for their UIDs, some with 0 of what they are said to use, together often over quota."""
    frs = tuple(range(len(quotas.resource)))
    found = []
    count = draw(st.integers(0, 12))
    for order in draw(st.permutations(range(count))):
        used = draw(st.one_of(st.just(frs), st.lists(st.sampled_from(frs), unique=True)))
        amounts = draw(st.lists(st.sampled_from((1, 2, 0, 1, 3)), min_size=len(used), max_size=len(used)))
        found.append(
            Holder(
                queue=draw(st.integers(0, quotas.queues - 1)),
                priority=draw(PRIORITIES),
                reserved=draw(TIMES),
                queued=draw(TIMES),
                order=order,
                evicting=draw(st.sampled_from((False, False, False, False, True))),
                frs=tuple(used),
                amounts=tuple(amounts),
            )
        )
    return found


@st.composite
def asks(draw: st.DrawFn, quotas: Quotas, single: bool = False) -> Ask:
    """For one FR or several, mostly no more than there can be, with every combination of policies of the API."""
    frs = range(len(quotas.resource))
    queue = draw(st.integers(0, quotas.queues - 1))
    wanted = draw(st.lists(st.sampled_from(frs), min_size=1, max_size=1 if single else None, unique=True))
    empty = Plain(quotas)
    amounts = [
        draw(often(st.integers(1, min(9, max(1, empty.potential(queue, fr)))), st.integers(1, 9)))
        for fr in wanted
    ]
    contested = draw(
        st.one_of(
            st.just([True] * len(wanted)),
            st.lists(st.booleans(), min_size=len(wanted), max_size=len(wanted)).filter(any),
        )
    )
    if not single and contested[-1] and draw(st.sampled_from((False, False, False, True))):
        amounts[-1] = 0
    reclaim = draw(st.sampled_from((ANY, LOWER_PRIORITY, ANY, LOWER_PRIORITY, NEVER)))
    return Ask(
        queue=queue,
        priority=draw(st.sampled_from((2, 1, 3, 0))),
        queued=draw(TIMES),
        now=draw(st.integers(6, 9)),
        within=draw(st.sampled_from((LOWER_OR_NEWER, LOWER_PRIORITY, LOWER_OR_NEWER, NEVER))),
        reclaim=reclaim,
        borrow=reclaim != NEVER and draw(st.booleans()),
        threshold=draw(st.one_of(st.none(), PRIORITIES)),
        min_admit=draw(st.one_of(st.none(), TIMES)),
        frs=tuple(wanted),
        amounts=tuple(amounts),
        contested=tuple(contested),
        closed=tuple(
            draw(st.lists(st.integers(0, quotas.queues - 1), max_size=draw(st.sampled_from((0, 0, 0, 2)))))
        ),
    )


@st.composite
def scenes(draw: st.DrawFn, single: bool = False) -> Scene:
    """A tree, who holds quota, and who wants it."""
    tree = draw(quotas())
    return Scene(tree, draw(holders(tree)), draw(asks(tree, single)))


def strategies() -> st.SearchStrategy[tuple[int, ...] | None]:
    """Without fair sharing, and with it in each way that Kueue allows."""
    return st.sampled_from((None, (0, 1), None, (0,), (1,)))
