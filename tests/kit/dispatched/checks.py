"""What holds of each write and of each report of the manager, by the issue's words and not by the code's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from api.workloads import (
    BLOCKED_ON_PREEMPTION_GATES,
    EVICTED,
    QUOTA_RESERVED,
)
from controllers.multikueue.life.decision import (
    CreateCopy,
    CreateJob,
    Decision,
    GiveTurn,
    OpenGate,
    There,
)
from controllers.multikueue.life.life import decide
from controllers.multikueue.life.seen import ClusterSeen, Mark, Seen, Settings
from runtime.exchange.dispatch_reports import Dispatched
from tests.kit.dispatched.cluster import MANAGER, SECOND, Cluster

if TYPE_CHECKING:
    from tests.kit.dispatched.world import World

__all__ = ["Told", "asks", "message", "quota_given_back", "report", "same_again", "turn", "write"]

WAITS = (None, *(min(2**number, 300) for number in range(10)))
"""requeueAfterSeconds of a Workload that comes back, in their order."""
THROTTLE = 10 * SECOND


@dataclass
class Told:
    """What was reported last."""

    text: str = ""
    kinds: tuple[str, ...] = ()
    at: int = 0
    judged: set[str] = field(default_factory=set)
    """Attempts that came back."""
    wait: int | None = None
    """How long the Workload waited when it came back last."""

    def begin(self) -> None:
        """Another attempt, or another process."""
        self.text, self.kinds = "", ()


def same_again(seen: Seen, decision: Decision, settings: Settings, now: int) -> None:
    """Whoever decides twice gets the same: nothing is counted by how often somebody looks."""
    again = decide(seen, decision.memory, settings, now)
    assert again.memory == decision.memory
    assert (again.there, again.here, again.report) == (decision.there, decision.here, decision.report)


def message(world: World, decision: Decision) -> None:
    """Another text for the same reasons comes ten seconds after the last one, or later."""
    check = decision.report.check if decision.report is not None else None
    if check is None or check.state != "Pending":
        return
    told, kinds = world.told, decision.memory.said_kinds
    if told.text and check.message != told.text:
        assert kinds != told.kinds or world.now >= told.at + THROTTLE, (told, check)
    if check.message != told.text:
        told.text, told.kinds, told.at = check.message, kinds, world.now


def report(world: World, said: Dispatched) -> None:
    """A Workload that comes back waits twice as long as before, or not at all when it ran for a minute. What has ended
    does not come back."""
    check = said.check
    if check is None or check.state != "Retry" or world.attempt in world.told.judged:
        return
    world.told.judged.add(world.attempt)
    wait, before = check.requeue_after_seconds, world.told.wait
    assert wait in WAITS
    if wait is not None and before is not None and wait != 1:
        assert wait == min(2 * before, 300), (before, wait)
    if wait is not None:
        since = world.ready_since
        assert since is None or world.now - since < 60 * SECOND
        world.told.wait = wait


def quota_given_back(world: World) -> None:
    """No pod of it runs in the cluster that had it, unless that is lost."""
    cluster = world.clusters.get(world.chosen)
    if cluster is not None and cluster.reach != "Lost" and not cluster.excused:
        assert not cluster.has_pods, (world.chosen, world.log[-12:])


def asks(world: World, cluster: Cluster) -> bool:
    """Whether the cluster is a candidate, as far as the manager has seen it."""
    copy = cluster.seen_copy
    if cluster.reach != "Connected" or cluster.name in world.memory.out:
        return False
    if copy is None:
        return not cluster.honours_gates and cluster.seen_job is None
    if copy.mark != Mark(MANAGER, world.uid, world.attempt) or copy.is_deleting or not copy.active:
        return False
    if copy.is_true(EVICTED):
        return False
    if copy.is_true(QUOTA_RESERVED) or not cluster.honours_gates:
        return True
    said = copy.conditions.get(QUOTA_RESERVED)
    blocked = copy.is_true(BLOCKED_ON_PREEMPTION_GATES)
    return blocked and (said is None or said.reason in ("PendingEvaluation", "AdmissionGated"))


def turn(world: World, give: GiveTurn, seen: Seen) -> None:
    """Each turn comes after the last one, lasts its time, and is that of a candidate with the fewest turns."""
    assert world.settings.has_gates and not world.chosen
    before = [each for each in world.turns if world.turn_attempts[each.name] == seen.attempt]
    assert give.number == len(before) + 1
    assert (give.began, give.until) == (world.now, world.now + world.settings.turn)
    if before:
        assert before[-1].until <= give.began, (before[-1], give)
    candidates = [name for name in world.names if asks(world, world.clusters[name])]
    assert give.cluster in candidates, (give, candidates)
    turns = Counter(each.cluster for each in before)
    holders = [name for name in candidates if _holds(world.clusters[name]) and not turns[name]]
    assert turns[give.cluster] == min(turns[name] for name in holders or candidates)
    assert [each.name for each in give.clusters] == list(world.names)


def write(world: World, cluster: Cluster, act: There, seen: Seen) -> None:
    """No Job comes before its cluster was chosen, and no gate opens outside a turn."""
    chosen = seen.workload.status.cluster_name if seen.workload is not None else None
    if isinstance(act, CreateJob):
        assert chosen == cluster.name
        assert world.finished is None
        _no_other_job(world, cluster)
    if isinstance(act, CreateCopy | OpenGate) and world.settings.has_gates:
        if isinstance(act, CreateCopy) and cluster.honours_gates:
            assert act.has_gate
            return
        last = seen.turns[-1]
        assert last.cluster == cluster.name, (last, act)
        assert last.began <= world.now
        others = [each for each in world.clusters.values() if each is not cluster and not each.excused]
        assert not any(_seen_open(each.seen()) for each in others if each.reach != "Lost"), world.log[-12:]
    if isinstance(act, CreateCopy):
        assert cluster.seen_copy is None and not _is_former(world, cluster), world.log[-12:]


def _no_other_job(world: World, cluster: Cluster) -> None:
    for other in world.clusters.values():
        if other is not cluster and other.reach == "Connected" and other.seen_job is not None:
            is_ours = other.seen_job.mark is None or other.seen_job.mark.manager == MANAGER
            assert not (is_ours and other.seen_job.runs and not other.seen_job.is_deleting), world.log[-12:]


def _is_former(world: World, cluster: Cluster) -> bool:
    """Whether the Job that the manager has seen there is of a former attempt."""
    job = cluster.seen_job
    if job is None or (job.mark is not None and job.mark.manager != MANAGER):
        return False
    return job.mark != Mark(MANAGER, world.uid, world.attempt)


def _seen_open(cluster: ClusterSeen) -> bool:
    copy = cluster.copy
    if copy is None or copy.is_deleting or (copy.mark is not None and copy.mark.manager != MANAGER):
        return False
    if copy.is_true(QUOTA_RESERVED) or not copy.active:
        return False
    return copy.gate == "Open" if cluster.honours_gates else True


def _holds(cluster: Cluster) -> bool:
    return cluster.seen_copy is not None and cluster.seen_copy.is_true(QUOTA_RESERVED)
