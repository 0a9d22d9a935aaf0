"""A Workload that no cluster has yet: its copies are made and kept right, and the first one that is Admitted wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from api.workloads import ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED, Workload
from controllers.multikueue.life.belonging import (
    belonging,
    differs,
    has_other_priority,
    present_copy,
)
from controllers.multikueue.life.decision import (
    CreateCopy,
    Decision,
    DeleteCopy,
    NeedsDigest,
    OpenGate,
    SetPriority,
    There,
    TryJob,
)
from controllers.multikueue.life.leaving import clear, remains
from controllers.multikueue.life.memory import Memory, Remade
from controllers.multikueue.life.messages import pending, said, throttled
from controllers.multikueue.life.seen import ClusterSeen, Copy, Seen, Settings
from controllers.multikueue.life.turns import end_former_turns, end_turns, sync_turns
from quota.state.workloads import reserved_at
from runtime.exchange.dispatch_reports import CheckReport, Dispatched

__all__ = ["offer"]

GAVE_UP: Final = "No cluster has admitted the workload in time"


def offer(seen: Seen, workload: Workload, memory: Memory, settings: Settings, now: int) -> Decision:
    """What follows for a Workload that holds quota here and has no cluster."""
    end = reserved_at(workload) + settings.give_up if settings.give_up is not None else None
    if not seen.is_configured:
        if end is not None and now >= end:
            return _given_up(seen, memory)
        return _waiting(seen, memory, {}, end, now)
    if seen.digest is None:
        return Decision(memory, here=NeedsDigest())
    memory, due = _note_admitted(seen, memory, now).shunning(now)
    there, memory, again = _sync_copies(seen, workload, memory, settings, now)
    again = _sooner(again, due)
    winner = _winner(seen, memory)
    if winner is not None:
        there = {name: act for name, act in there.items() if not isinstance(act, CreateCopy)}
    if winner is not None and winner.name in memory.tried and not remains(winner, seen):
        return Decision(memory, _has(seen, winner.name), here=end_turns(seen, winner.name), there=there)
    if end is not None and now >= end:
        return _given_up(seen, memory)
    again = _sooner(again, end)
    if winner is not None:
        if not remains(winner, seen):  # nothing else happens there before that is gone
            there[winner.name] = TryJob()
        return _waiting(seen, memory, there, again, now)
    if not settings.has_gates:
        return _waiting(seen, memory, there, again, now)
    turns = sync_turns(seen, memory, settings, now)
    waiting = _waiting(seen, turns.memory, {**turns.there, **there}, _sooner(again, turns.again), now)
    return replace(waiting, here=turns.give or end_former_turns(seen))


# ---- copies


def _sync_copies(
    seen: Seen, workload: Workload, memory: Memory, settings: Settings, now: int
) -> tuple[dict[str, There], Memory, int | None]:
    """What makes copies, and keeps them right. The third value is when the next one may be made anew."""
    acts, again = dict[str, There](), None
    for cluster in seen.clusters:
        act, memory, due = _sync_copy(cluster, seen, workload, memory, settings, now)
        again = _sooner(again, due)
        if act is not None:
            acts[cluster.name] = act
    for cluster in seen.others:
        act = clear(cluster, seen, "its cluster is not in the config")
        if act is not None:
            acts[cluster.name] = act
    return acts, memory, again


def _sync_copy(
    cluster: ClusterSeen, seen: Seen, workload: Workload, memory: Memory, settings: Settings, now: int
) -> tuple[There | None, Memory, int | None]:
    if cluster.reach != "Connected":
        return None, memory, None
    if cluster.name in memory.out:
        return clear(cluster, seen, memory.out[cluster.name].message), memory, None
    # Nothing else happens there before what is left of a former attempt is gone (11346).
    if (act := clear(cluster, seen, "it is of a former attempt", keep_present=True)) is not None:
        return act, memory, None
    if remains(cluster, seen):
        return None, memory, None
    copy = present_copy(cluster, seen)
    if copy is None:
        return _create(cluster, seen, memory, settings, now)
    if why := _why_anew(copy, seen) or _why_gate(cluster, copy, settings):
        remade = memory.remade.get(cluster.name, Remade()).once_more(copy.uid, now)
        memory = replace(
            memory, remade={**memory.remade, cluster.name: remade}, tried=memory.tried - {cluster.name}
        )
        return DeleteCopy(copy.uid, why), memory, None
    if has_other_priority(copy, workload):
        return SetPriority(copy.uid, copy.version), memory, None
    if not settings.has_gates and copy.has_gate and copy.gate != "Open":
        return OpenGate(copy.uid, copy.version, now), memory, None  # the feature was turned off
    return None, memory, None


def _create(
    cluster: ClusterSeen, seen: Seen, memory: Memory, settings: Settings, now: int
) -> tuple[There | None, Memory, int | None]:
    if cluster.copy is not None:
        if belonging(cluster.copy, seen, cluster.name) == "Foreign":
            return (
                None,
                memory.refused(cluster.name, "Foreign", "another manager has a copy of this name"),
                None,
            )
        return None, memory, None  # it is being deleted
    if settings.has_gates and not cluster.honours_gates:
        return None, memory, None  # in its turn
    remade = memory.remade.get(cluster.name)
    if remade is not None and now < remade.not_before:
        return None, memory, remade.not_before
    return CreateCopy(has_gate=settings.has_gates), memory, None


def _why_anew(copy: Copy, seen: Seen) -> str:
    """Why the copy has to be replaced by another one; empty if it is right."""
    if copy.is_true(FINISHED):
        return "it has ended without a Job"
    if copy.is_true(EVICTED) or not copy.active:
        return "it was evicted before its cluster was chosen"
    if differs(copy, seen):
        return "its spec is another one than here"
    return ""


def _why_gate(cluster: ClusterSeen, copy: Copy, settings: Settings) -> str:
    """Why a copy without a gate has to be replaced: the feature was off when it was made, or the cluster did not honour
    gates by then. One that holds quota preempts nobody any longer."""
    if not settings.has_gates or not cluster.honours_gates or copy.has_gate or copy.is_true(QUOTA_RESERVED):
        return ""
    return "it has no gate"


# ---- the choice


def _note_admitted(seen: Seen, memory: Memory, now: int) -> Memory:
    admitted = {
        each.name: memory.admitted.get(each.name, now) for each in seen.clusters if _is_admitted(each, seen)
    }
    return memory if admitted == memory.admitted else replace(memory, admitted=admitted)


def _is_admitted(cluster: ClusterSeen, seen: Seen) -> bool:
    copy = present_copy(cluster, seen)
    if copy is None or cluster.reach != "Connected":
        return False
    return copy.is_true(ADMITTED) and not _why_anew(copy, seen)


def _winner(seen: Seen, memory: Memory) -> ClusterSeen | None:
    """The cluster that was seen first to have admitted its copy; of several at once, the config's order decides."""
    found = [each for each in seen.clusters if each.name in memory.admitted and each.name not in memory.out]
    return min(found, key=lambda each: memory.admitted[each.name], default=None)


# ---- what is reported


def _has(seen: Seen, name: str) -> Dispatched:
    """The cluster is chosen. It gets its Job when that is written."""
    return Dispatched(seen.attempt, cluster=name, may_run=False)


def _given_up(seen: Seen, memory: Memory) -> Decision:
    report = CheckReport(seen.check, "Retry", f'{GAVE_UP}, Previously: "Pending"')
    return Decision(replace(memory, verdict=report), Dispatched(seen.attempt, report, may_run=False))


def _waiting(seen: Seen, memory: Memory, there: Mapping[str, There], again: int | None, now: int) -> Decision:
    lines = [(each.name, said(each, seen, memory)) for each in seen.clusters]
    report, kinds = pending(seen.check, lines, seen.attempt)
    memory, report, due = throttled(memory, report, kinds, now)
    return Decision(
        memory,
        Dispatched(seen.attempt, report, _nominated(seen, memory), may_run=False),
        there=there,
        again=_sooner(again, due),
    )


def _nominated(seen: Seen, memory: Memory) -> tuple[str, ...]:
    """The clusters that may get it. One that was nominated stays so while it is away."""
    before = (seen.workload.status.nominated_cluster_names if seen.workload is not None else None) or ()
    return tuple(
        each.name
        for each in seen.clusters
        if each.name not in memory.out and (each.reach == "Connected" or each.name in before)
    )


def _sooner(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)
