"""Preemption gates: one cluster at a time may preempt for the Workload (KEP-8303).

A turn is a stored DispatchPlan. It begins before the gate opens, and its time is by the manager's clock: it survives a
restart, an eviction there, and a cluster that goes away. A gate that is open outside its turn is closed. The next turn
begins when the last one is over and its gate is seen closed, or its cluster is lost. A turn is over before its time if
its cluster refuses the Workload.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from api.workloads import BLOCKED_ON_PREEMPTION_GATES, EVICTED, QUOTA_RESERVED
from controllers.multikueue.life.belonging import all_clusters, belonging, find, present_copy
from controllers.multikueue.life.decision import (
    CloseGate,
    CreateCopy,
    DeleteCopy,
    EndTurn,
    FenceCopy,
    GiveTurn,
    OpenGate,
    There,
    Weighed,
)
from controllers.multikueue.life.leaving import remains
from controllers.multikueue.life.memory import Memory
from controllers.multikueue.life.messages import said
from controllers.multikueue.life.order import first, is_known, may_be_cheapest, why_first
from controllers.multikueue.life.seen import ClusterSeen, Copy, Seen, Settings, Turn

__all__ = ["Turns", "end_former_turns", "end_turns", "sync_turns"]

NOT_CONSIDERED: Final = "PendingEvaluation"
GATED: Final = frozenset({"AdmissionGated", NOT_CONSIDERED})
"""Reasons of QuotaReserved=False beside which BlockedOnPreemptionGates=True counts. Kueue overwrites the first with the
second, and leaves the condition True when the Workload waits for another reason by then."""


@dataclass(frozen=True, slots=True)
class Turns:
    """What follows for the gates."""

    memory: Memory
    there: dict[str, There] = field(default_factory=dict)
    give: GiveTurn | None = None
    again: int | None = None


def sync_turns(seen: Seen, memory: Memory, settings: Settings, now: int) -> Turns:
    """What follows for the gates of a Workload that no cluster has admitted.

    Copies that differ, or are to be deleted, do not matter here: their clusters get another act first.
    """
    candidates = [each for each in seen.clusters if _asks(each, seen, memory)]
    memory = _note(seen, memory, candidates, now)
    last = seen.turns[-1] if seen.turns else None
    there = _outside(seen, last)
    is_vain = last is not None and last.cluster in memory.out
    if last is not None and not is_vain and (now < last.until or _stays_open(seen, candidates, last)):
        return _in_turn(seen, memory, last, candidates, there, now)
    if last is not None and not _is_closed(seen, last):
        there |= _close(seen, last)
        return Turns(memory, there)
    if _is_open_elsewhere(seen, ""):
        return Turns(memory, there)  # first they are seen closed
    return _next(seen, memory, settings, candidates, now)


def is_candidate(cluster: ClusterSeen, seen: Seen) -> bool:
    """Whether the cluster says that it would preempt for the Workload, or holds quota for it.

    One that does not honour gates is always asked: it has no copy before its turn.
    """
    if cluster.reach != "Connected":
        return False
    copy = present_copy(cluster, seen)
    if copy is None:
        return not (cluster.honours_gates or cluster.copy is not None or remains(cluster, seen))
    if copy.is_true(EVICTED) or not copy.active:
        return False
    if not cluster.honours_gates or copy.is_true(QUOTA_RESERVED):
        return True
    reserved = copy.conditions.get(QUOTA_RESERVED)
    return copy.is_true(BLOCKED_ON_PREEMPTION_GATES) and (reserved is None or reserved.reason in GATED)


def end_turns(seen: Seen, name: str) -> EndTurn | None:
    """What DispatchPlans say once cluster `name` has the Workload. While the gate of the last turn may still be open in
    another cluster, that plan stays: a new process knows from it that no other gate may open."""
    last = seen.turns[-1] if seen.turns else None
    if (act := end_former_turns(seen)) is not None or last is None or last.is_over:
        return act
    if last.cluster != name and _may_be_open(last, seen):
        return None
    return EndTurn(last.name, "Admitted", f"{name} admitted the Workload.")


def end_former_turns(seen: Seen) -> EndTurn | None:
    """What a DispatchPlan says of a turn that another one has followed, or whose attempt is over."""
    for turn in seen.former_turns:
        if not _may_be_open(turn, seen):
            return EndTurn(turn.name, "Ended", "The Workload lost the quota that the turn was about.")
    for turn, following in pairwise(seen.turns):
        if not turn.is_over and following.began < turn.until:
            return EndTurn(turn.name, "Ended", f"{turn.cluster} could not take the Workload.")
        if not turn.is_over:
            return EndTurn(
                turn.name, "TimedOut", "No cluster had admitted the Workload when its time was over."
            )
    return None


# ---- the turn that lasts


def _in_turn(
    seen: Seen,
    memory: Memory,
    turn: Turn,
    candidates: Sequence[ClusterSeen],
    there: dict[str, There],
    now: int,
) -> Turns:
    """The gate of the turn's cluster is open, unless its copy was evicted in this very turn."""
    again = turn.until if now < turn.until else None
    cluster = find(seen, turn.cluster)
    if cluster is None or memory.spent == turn.number:
        return Turns(memory, there, again=again)
    act = _open(cluster, seen, turn) if cluster in candidates else None
    if act is not None and not _is_open_elsewhere(seen, cluster.name):
        unfenced = _fence(seen)
        there |= unfenced or {cluster.name: act}
    return Turns(memory, there, again=again)


def _open(cluster: ClusterSeen, seen: Seen, turn: Turn) -> There | None:
    copy = present_copy(cluster, seen)
    if copy is None:
        return CreateCopy(has_gate=True) if not cluster.honours_gates and cluster.copy is None else None
    if not cluster.honours_gates or copy.gate == "Open" or copy.is_true(QUOTA_RESERVED):
        return None
    return OpenGate(copy.uid, copy.version, turn.until)


def _fence(seen: Seen) -> dict[str, There]:
    """A former leader may still write to these copies: their versions change before any gate opens."""
    return {
        each.name: FenceCopy(copy.uid, copy.version)
        for each in seen.clusters
        if each.reach == "Connected"
        and each.name not in seen.fenced
        and (copy := present_copy(each, seen)) is not None
    }


# ---- gates outside their turn


def _outside(seen: Seen, last: Turn | None) -> dict[str, There]:
    """What closes gates that are open outside their turn."""
    closing = dict[str, There]()
    for cluster in seen.clusters:
        if cluster.reach != "Connected" or (last is not None and last.cluster == cluster.name):
            continue
        if _has_open_gate(cluster, seen):
            closing[cluster.name] = _closing(cluster, seen, "its gate was open outside its turn")
    return closing


def _close(seen: Seen, last: Turn) -> dict[str, There]:
    """What closes the gate of a turn that is over. In a cluster that cannot be reached nothing can be closed."""
    cluster = find(seen, last.cluster)
    if cluster is None or cluster.reach != "Connected" or not _has_open_gate(cluster, seen):
        return {}
    return {cluster.name: _closing(cluster, seen, "its turn is over")}


def _closing(cluster: ClusterSeen, seen: Seen, why: str) -> There:
    copy = present_copy(cluster, seen)
    if copy is None:
        raise ValueError(f"{cluster.name} has no copy")
    has_gate = cluster.honours_gates and copy.has_gate
    return CloseGate(copy.uid, copy.version, why) if has_gate else DeleteCopy(copy.uid, why)


def _has_open_gate(cluster: ClusterSeen, seen: Seen) -> bool:
    """Whether the cluster may preempt for the present attempt now."""
    copy = present_copy(cluster, seen)
    return copy is not None and _may_preempt(copy, cluster)


def _may_preempt(copy: Copy, cluster: ClusterSeen) -> bool:
    """Without gates it may as soon as it has a copy. One that holds quota needs no preemption any longer."""
    if cluster.honours_gates and copy.has_gate:
        return copy.gate == "Open"
    return not copy.is_true(QUOTA_RESERVED)


def _is_open_elsewhere(seen: Seen, name: str) -> bool:
    """Whether another cluster than this one may preempt for the Workload, in this attempt or still for a former one. In
    a cluster that cannot be reached a gate stays as it was seen last, until the cluster counts as lost."""
    for cluster in all_clusters(seen):
        copy = cluster.copy
        if copy is None or copy.is_deleting or cluster.name == name or cluster.reach == "Lost":
            continue
        if belonging(copy, seen, cluster.name) != "Foreign" and copy.active and _may_preempt(copy, cluster):
            return True
    return any(_may_be_open(turn, seen) for turn in seen.former_turns if turn.cluster != name)


def _may_be_open(turn: Turn, seen: Seen) -> bool:
    """Whether the gate of a turn that is over may be open. A new process has not seen the copies in a cluster that
    it cannot reach."""
    cluster = find(seen, turn.cluster)
    if cluster is None or cluster.reach == "Lost":
        return False
    copy = cluster.copy
    if cluster.reach == "Away" and copy is None:
        return True
    is_ours = copy is not None and belonging(copy, seen, cluster.name) != "Foreign"
    return copy is not None and is_ours and not copy.is_deleting and _may_preempt(copy, cluster)


def _is_closed(seen: Seen, last: Turn) -> bool:
    """Whether nothing is preempted any longer in the cluster of a turn that is over."""
    cluster = find(seen, last.cluster)
    if cluster is None or cluster.reach == "Lost":
        return True
    return cluster.reach == "Connected" and not _has_open_gate(cluster, seen)


# ---- the next turn


def _next(seen: Seen, memory: Memory, settings: Settings, candidates: list[ClusterSeen], now: int) -> Turns:
    if not candidates:
        return Turns(memory)
    turns = Counter(each.cluster for each in seen.turns)
    # A holder's turn begins with its reservation. After it, the others have theirs.
    holders = [each for each in candidates if _holds_quota(each, seen) and each.name not in turns]
    if not holders and (due := _window_end(seen, memory, settings, candidates, now)) is not None:
        return Turns(memory, again=due)
    asking = holders or candidates
    winner = first(asking, turns, memory.signals, by_cost=settings.by_cost)
    reason = why_first(winner, asking, turns, by_cost=settings.by_cost)
    if holders:
        reason = f"{winner.name} holds quota for it, and waits for its own admission checks."
    weighed = tuple(
        Weighed(each.name, said(each, seen, memory).text, turns.get(each.name, 0)) for each in seen.clusters
    )
    number = seen.turns[-1].number + 1 if seen.turns else 1
    give = GiveTurn(number, winner.name, reason, now, now + settings.turn, weighed)
    return Turns(memory, give=give)


def _window_end(
    seen: Seen, memory: Memory, settings: Settings, candidates: Sequence[ClusterSeen], now: int
) -> int | None:
    """Until when the first gate waits; None if it may open now.

    A cluster that needs no preemption may win meanwhile, and every cluster may say what its preemption costs. A gate
    that opens for the same ClusterQueue, in a cluster that cannot say it therefore, begins the window anew: its quota
    controller first carries out that preemption. Without this, all others follow the one cluster that has spoken. It is
    not waited for if what it said last is no less than what another one says now, nor after the time of one turn.
    """
    if seen.turns:
        return None
    silent = [each for each in seen.clusters if not _has_said(each, seen, memory, settings)]
    began = min(memory.signals[each.name] for each in candidates)
    anew = max((each.last_opened for each in silent if may_be_cheapest(each, candidates)), default=0)
    end = min(max(began, anew), began + settings.turn) + settings.window
    return end if silent and now < end else None


def _has_said(cluster: ClusterSeen, seen: Seen, memory: Memory, settings: Settings) -> bool:
    """Whether there is nothing to wait for: the cluster has looked at its copy, and its cost is known, if it has to
    preempt."""
    if cluster.reach != "Connected":
        return True
    if not _is_considered(cluster, seen, memory):
        return False
    return not (settings.by_cost and _asks(cluster, seen, memory)) or is_known(cluster)


def _is_considered(cluster: ClusterSeen, seen: Seen, memory: Memory) -> bool:
    """Whether the cluster has looked at its copy. PendingEvaluation carries no decision (15547)."""
    if cluster.name in memory.out or is_candidate(cluster, seen):
        return True
    copy = present_copy(cluster, seen)
    reserved = copy.conditions.get(QUOTA_RESERVED) if copy is not None else None
    return reserved is not None and (reserved.status or reserved.reason != NOT_CONSIDERED)


# ---- what is noticed


def _asks(cluster: ClusterSeen, seen: Seen, memory: Memory) -> bool:
    return cluster.name not in memory.out and is_candidate(cluster, seen)


def _holds_quota(cluster: ClusterSeen, seen: Seen) -> bool:
    copy = present_copy(cluster, seen)
    return copy is not None and copy.is_true(QUOTA_RESERVED)


def _stays_open(seen: Seen, candidates: Sequence[ClusterSeen], last: Turn) -> bool:
    """Whether the gate of a turn that is over stays open: no other cluster waits for a turn."""
    cluster = find(seen, last.cluster)
    is_open = cluster is not None and cluster.reach == "Connected" and _has_open_gate(cluster, seen)
    return is_open and all(each.name == last.cluster for each in candidates)


def _note(seen: Seen, memory: Memory, candidates: Sequence[ClusterSeen], now: int) -> Memory:
    """Since when each cluster is a candidate, and whether the copy was evicted in its turn."""
    signals = {each.name: memory.signals.get(each.name, now) for each in candidates}
    if signals != memory.signals:
        memory = replace(memory, signals=signals)
    last = seen.turns[-1] if seen.turns else None
    cluster = find(seen, last.cluster) if last is not None else None
    copy = present_copy(cluster, seen) if cluster is not None else None
    if last is not None and copy is not None and copy.is_true(EVICTED) and memory.spent != last.number:
        memory = replace(memory, spent=last.number)
    return memory
