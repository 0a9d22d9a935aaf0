"""What holds of each write and of each report of the manager, by the issue's words and not by the code's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from api.workloads import BLOCKED_ON_PREEMPTION_GATES, EVICTED, QUOTA_RESERVED
from controllers.multikueue.life.decision import (
    CloseGate,
    CreateCopy,
    CreateJob,
    Decision,
    GiveTurn,
    OpenGate,
    There,
    TryJob,
)
from controllers.multikueue.life.life import decide
from controllers.multikueue.life.seen import ClusterSeen, Copy, Mark, RemoteJob, Seen, Settings
from runtime.exchange.dispatch_reports import Dispatched
from tests.kit.dispatched.cluster import MANAGER, SECOND, Cluster

if TYPE_CHECKING:
    from tests.kit.dispatched.world import World

__all__ = ["Told", "asks", "look", "message", "quota_given_back", "report", "same_again", "turn", "write"]

LONGEST: Final = 300
THROTTLE: Final = 10 * SECOND
MINUTE: Final = 60 * SECOND
DECIDES: Final = ("PendingEvaluation", "AdmissionGated")
"""Reasons of QuotaReserved=False of a copy that may be gated."""


@dataclass
class Told:
    """What one process has said and seen."""

    text: str = ""
    kinds: tuple[str, ...] = ()
    at: int = 0
    judged: set[str] = field(default_factory=set)
    """Attempts that came back."""
    wait: int = 0
    """How many seconds the Workload waited when it came back last."""
    tried: set[tuple[str, str]] = field(default_factory=set)
    """Attempts and clusters of dry runs."""
    spent: tuple[str, int] = ("", 0)
    """The attempt and the turn in which a copy was evicted."""
    asked: int | None = None
    """Since when there is a candidate."""

    def begin(self) -> None:
        """Another attempt."""
        self.text, self.kinds, self.asked = "", (), None


# ---- what is seen and decided


def same_again(seen: Seen, decision: Decision, settings: Settings, now: int) -> None:
    """Whoever decides twice gets the same: nothing is counted by how often somebody looks."""
    again = decide(seen, decision.memory, settings, now)
    assert again.memory == decision.memory
    assert (again.there, again.here, again.report) == (decision.there, decision.here, decision.report)


def look(world: World, seen: Seen) -> None:
    """What the manager sees now, and must not forget."""
    told, out = world.told, world.memory.out
    if not any(asks(each, seen, out) for each in seen.clusters):
        told.asked = None
    elif told.asked is None:
        told.asked = world.now
    last = seen.turns[-1] if seen.turns else None
    for cluster in seen.clusters:
        copy = cluster.copy
        if last is None or last.cluster != cluster.name or copy is None or world.chosen:
            continue
        if _is_present(copy, seen) and copy.is_true(EVICTED):
            told.spent = seen.attempt, last.number


def message(world: World, decision: Decision) -> None:
    """Another text for the same reasons comes ten seconds after the last one, or later."""
    check = decision.report.check if decision.report is not None else None
    if check is None or check.state != "Pending":
        return
    told, kinds = world.told, decision.memory.said_kinds
    if check.message == told.text:
        return
    assert not told.text or kinds != told.kinds or world.now >= told.at + THROTTLE, (told, check)
    told.text, told.kinds, told.at = check.message, kinds, world.now


def report(world: World, said: Dispatched) -> None:
    """A cluster is chosen after a dry run. An end is reported when the Job here shows it. OutOfSync: no end (13047)."""
    if said.cluster and not world.chosen and world.attempt and not world.evicted:
        assert (world.attempt, said.cluster) in world.told.tried, world.log[-12:]
    if said.finished is not None:
        job = world.clusters[said.cluster].seen_job
        assert said.finished[0] != "OutOfSync"
        assert job is None or not world.has_job or world.mirrored == (job.uid, job.version), world.log[-12:]
    if said.check is not None and said.check.state == "Retry" and world.attempt not in world.told.judged:
        world.told.judged.add(world.attempt)
        _comes_back(world, said.check.message, said.check.requeue_after_seconds)


def _comes_back(world: World, why: str, wait: int | None) -> None:
    """A Workload that its cluster sends back waits twice as long as before, or not at all when it ran for a minute."""
    told, since = world.told, world.ready_since
    if "remote lost" in why or "in the configuration" in why or "No cluster has admitted" in why:
        assert wait is None
    elif since is not None and world.now - since >= MINUTE:
        assert wait is None, (why, wait)
        told.wait = 0
    else:
        assert wait == min(2 * told.wait or 1, LONGEST), (why, wait, told.wait)
        told.wait = wait


def quota_given_back(world: World) -> None:
    """No pod of it runs in the cluster that had it, unless that is lost."""
    cluster = world.clusters.get(world.chosen)
    if cluster is not None and cluster.reach != "Lost" and not cluster.excused:
        assert not cluster.has_pods, (world.chosen, world.log[-12:])


# ---- turns


def asks(cluster: ClusterSeen, seen: Seen, out: object) -> bool:
    """Whether the cluster is a candidate, as far as the manager has seen it. `out`: clusters that are out."""
    copy = cluster.copy
    assert hasattr(out, "__contains__")
    if cluster.reach != "Connected" or cluster.name in out:
        return False
    if copy is None:
        return not cluster.honours_gates and not _is_former(cluster.job, seen)
    if not _is_present(copy, seen) or not copy.active or copy.is_true(EVICTED):
        return False
    if copy.is_true(QUOTA_RESERVED) or not cluster.honours_gates:
        return True
    said = copy.conditions.get(QUOTA_RESERVED)
    return copy.is_true(BLOCKED_ON_PREEMPTION_GATES) and (said is None or said.reason in DECIDES)


def turn(world: World, give: GiveTurn, seen: Seen) -> None:
    """Each turn comes after the last one, lasts its time, and is that of a candidate with the fewest turns. The first
    one waits for the window."""
    assert world.settings.has_gates
    assert not world.chosen
    before = seen.turns
    assert give.number == len(before) + 1
    assert (give.began, give.until) == (world.now, world.now + world.settings.turn)
    is_vain = bool(before) and before[-1].cluster in world.memory.out
    assert not before or is_vain or before[-1].until <= give.began, (before[-1], give)
    candidates = [each for each in seen.clusters if asks(each, seen, world.memory.out)]
    assert give.cluster in [each.name for each in candidates], (give, candidates)
    turns = Counter(each.cluster for each in before)
    holders = [each for each in candidates if _holds(each) and not turns[each.name]]
    assert turns[give.cluster] == min(turns[each.name] for each in holders or candidates)
    assert [each.name for each in give.clusters] == list(world.names)
    if not before and not holders:
        assert world.told.asked is not None
        _waits_for_window(world, seen, candidates)


def _waits_for_window(world: World, seen: Seen, candidates: list[ClusterSeen]) -> None:
    """A turn before the end of the window comes when every reachable copy was considered (15547), and all costs are
    known."""
    assert world.told.asked is not None
    if world.now >= world.told.asked + world.settings.window:
        return
    for cluster in seen.clusters:
        if cluster.reach != "Connected" or cluster in candidates or cluster.name in world.memory.out:
            continue
        said = cluster.copy.conditions.get(QUOTA_RESERVED) if cluster.copy is not None else None
        assert said is not None, (cluster, world.log[-12:])
        assert said.reason != "PendingEvaluation", (cluster, world.log[-12:])
    if world.settings.by_cost:
        assert all(each.cost is not None and each.cost.seen > each.last_opened for each in candidates)


# ---- writes in clusters


def write(world: World, cluster: Cluster, act: There, seen: Seen) -> None:
    """No Job comes before its cluster was chosen and the other copies are gone, and no gate opens outside a turn."""
    now = next(each for each in (*seen.clusters, *seen.others) if each.name == cluster.name)
    match act:
        case TryJob():
            world.told.tried.add((seen.attempt, cluster.name))
            assert not _is_former(now.job, seen), world.log[-12:]
        case CreateJob():
            _creates_job(world, now, seen)
        case CreateCopy():
            assert now.copy is None, world.log[-12:]
            assert not _is_former(now.job, seen), world.log[-12:]
            assert act.has_gate == world.settings.has_gates
            if world.settings.has_gates and not cluster.honours_gates:
                _opens(world, now, seen)
        case OpenGate() if world.settings.has_gates:
            _opens(world, now, seen)
        case CloseGate() if seen.turns and seen.turns[-1].cluster == cluster.name:
            others = [each for each in seen.clusters if each.name != cluster.name]
            assert any(asks(each, seen, world.memory.out) for each in others), "nobody else asks"
            assert world.now >= seen.turns[-1].until


def _creates_job(world: World, cluster: ClusterSeen, seen: Seen) -> None:
    assert seen.workload is not None
    assert seen.workload.status.cluster_name == cluster.name
    assert world.finished is None
    for other in (*seen.clusters, *seen.others):
        if other.name == cluster.name or other.reach != "Connected":
            continue
        is_left = other.copy is not None and not other.copy.is_deleting and not _is_foreign(other.copy)
        assert not (is_left and other.is_prompt), world.log[-12:]
        if other.job is not None and not _is_foreign(other.job):
            assert not other.job.runs or other.job.is_deleting, world.log[-12:]


def _opens(world: World, cluster: ClusterSeen, seen: Seen) -> None:
    last = seen.turns[-1]
    assert last.cluster == cluster.name, (last, world.log[-12:])
    assert last.began <= world.now, (last, world.log[-12:])
    assert world.told.spent != (seen.attempt, last.number), "it was evicted in this turn"
    for other in (*seen.clusters, *seen.others):
        if other.name != cluster.name and other.reach != "Lost" and not world.clusters[other.name].excused:
            assert not _is_open(other), (other.name, world.log[-12:])


def _is_open(cluster: ClusterSeen) -> bool:
    copy = cluster.copy
    if copy is None or copy.is_deleting or _is_foreign(copy) or not copy.active:
        return False
    return copy.gate == "Open" if cluster.honours_gates else not copy.is_true(QUOTA_RESERVED)


def _is_foreign(thing: Copy | RemoteJob) -> bool:
    return thing.mark is not None and thing.mark.manager != MANAGER


def _is_former(thing: Copy | RemoteJob | None, seen: Seen) -> bool:
    return thing is not None and not _is_foreign(thing) and not _has_mark(thing, seen)


def _is_present(thing: Copy, seen: Seen) -> bool:
    return _has_mark(thing, seen) and not thing.is_deleting


def _has_mark(thing: Copy | RemoteJob, seen: Seen) -> bool:
    if thing.mark is None:
        return seen.workload is not None and bool(seen.workload.status.cluster_name)
    return seen.workload is not None and thing.mark == Mark(MANAGER, seen.workload.metadata.uid, seen.attempt)


def _holds(cluster: ClusterSeen) -> bool:
    return cluster.copy is not None and cluster.copy.is_true(QUOTA_RESERVED)
