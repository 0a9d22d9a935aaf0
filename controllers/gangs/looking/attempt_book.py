"""The attempts of kube-scheduler on groups of its own kind, as filter calls show them.

No member comes twice in a pass, so a pass begins with a member that the last one has had. The scheduler tries a
nominated node first and alone: a call with one name and the next one for the same member count as one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from api.clock import Clock
from api.core import Pod
from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.observations import NeverNamed
from controllers.gangs.lifecycle.stored_plan import seconds_of
from controllers.gangs.metrics import NATIVE_PASSES
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.scheduler.attempts import Attempts, Backoffs, Estimate
from nodes.groups.keys import is_native_name

__all__ = ["AttemptBook", "tries_nominated"]


def tries_nominated(pod: Pod, names: Iterable[str]) -> bool:
    """Whether the scheduler tries the pod's nominated node alone. If that fails, it asks about all nodes."""
    return [*names] == [pod.status.nominated_node_name]


@dataclass(slots=True)
class _Group:
    """What was seen of one group."""

    attempts: Attempts
    bound: int = 0
    """Members that were bound at the last call."""
    called: set[str] = field(default_factory=set)
    """Members (UIDs) that this pass has had."""
    alone: str = ""
    """The member of the last call, if that had the name of its nominated node only."""
    missed: set[str] = field(default_factory=set)
    """Members for which the first pass of the attempt did not name the planned node."""
    offered: bool = False
    """A member was offered a node in this pass."""
    began: float = 0.0
    """When the attempt began, in monotonic seconds."""
    simulated: bool = False
    """This pass is the second one of its attempt: the scheduler supposes that pods of lower priority are gone."""

    def count_pass(self) -> None:
        """The pass is over, if there was one."""
        if self.called:
            NATIVE_PASSES.labels("offered" if self.offered else "held").inc()
        self.offered = False


class AttemptBook:
    """Attempts since this term began. Earlier ones are not known."""

    def __init__(
        self,
        roster: Roster,
        gated: GatedPods,
        backoffs: Backoffs,
        clock: Clock,
        plan_of: Callable[[GroupKey], ActivePlan | None],
        never_named: Callable[[GroupKey, NeverNamed], object],
    ) -> None:
        """`never_named` hears of members whose planned node a whole attempt has not named."""
        self._roster, self._gated, self._backoffs, self._clock = roster, gated, backoffs, clock
        self._plan_of, self._never_named = plan_of, never_named
        self._since, self._began = clock.monotonic(), clock.wall()
        self._groups: dict[GroupKey, _Group] = {}

    def called(self, pod: Pod, nodes: Collection[str]) -> None:
        """Filter was called for a pod, with these names."""
        key, uid, now = self._roster.gang_of(pod), pod.metadata.uid, self._clock.monotonic()
        if key is None or not is_native_name(key[1]):
            return
        group = self._group(key)
        bound = self._roster.count(key).bound
        if bound > group.bound:
            group.attempts = group.attempts.succeed(now)
        group.bound = bound
        if not group.attempts.count or (uid in group.called and group.alone != uid):
            self._begin_pass(key, group, now)
        else:
            group.attempts = group.attempts.call(now)
        group.called.add(uid)
        group.alone = uid if tries_nominated(pod, nodes) and group.alone != uid else ""
        self._note_missed(key, group, pod, nodes)

    def offered(self, key: GroupKey) -> None:
        """A member of the group was offered its planned node in the pass that goes on."""
        if (group := self._groups.get(key)) is not None:
            group.offered = True

    def simulates(self, key: GroupKey) -> bool:
        """Whether the scheduler has found no room for the group in this attempt, and evicts for what it is offered now.

        An attempt that follows another one comes no sooner than the shortest backoff after it, except after a success.
        So a pass that begins sooner belongs to the same attempt. One that begins later may do so, too.
        """
        group = self._groups.get(key)
        return group is not None and group.simulated

    def ungated(self, key: GroupKey) -> None:
        """The last of our gates of the group is gone. The scheduler has not tried it before, and does so at once."""
        if not is_native_name(key[1]) or self._roster.group(key) is None:
            return
        group = self._group(key)
        if not group.attempts.count:
            group.attempts = replace(group.attempts, since=self._clock.monotonic())

    def estimate(self, key: GroupKey, opened: float | None) -> Estimate:
        """When the next attempt on the group begins. `opened`: since when its plan offers nodes, in monotonic seconds.

        Before, attempts may have shown us nothing. None: it does not offer any yet.
        """
        at = self._clock.monotonic() if opened is None else opened
        return self._group(key).attempts.estimate(at, self._members(key), self._backoffs)

    def forget(self, key: GroupKey) -> None:
        """The group is gone."""
        if (group := self._groups.pop(key, None)) is not None:
            group.count_pass()

    def _group(self, key: GroupKey) -> _Group:
        """What was seen of the group. While a member has our gate, the scheduler does not try it."""
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group(self._first(key))
        if not group.attempts.count and self._gated.has(key):
            tried = len(self._gated.of(key)) < self._members(key)
            group.attempts = Attempts(self._clock.monotonic(), group.attempts.missed if tried else 0)
        return group

    def _first(self, key: GroupKey) -> Attempts:
        """It is tried once it and minCount members exist. Of one that is younger than this term, every attempt is seen.

        Creation times are in whole seconds.
        """
        group, minimum = self._roster.group(key), self._roster.minimum(key)
        created = seconds_of(group.metadata.creation_timestamp) if group is not None else None
        members = self._roster.gang_members(key).ordered
        if created is None or minimum is None or len(members) < minimum:
            return Attempts(self._since)
        complete = max(created, members[minimum - 1].created)
        if complete <= self._began + 1.0:
            return Attempts(self._since)
        return Attempts(self._since + complete - self._began, missed=0)

    def _begin_pass(self, key: GroupKey, group: _Group, now: float) -> None:
        group.count_pass()
        before, last = group.attempts.count, group.attempts.called
        group.simulated = before > 0 and now < last + self._backoffs.first and not group.simulated
        group.attempts = group.attempts.begin_pass(now, self._members(key), self._backoffs)
        group.called.clear()
        if group.attempts.count != before:
            group.missed.clear()
            group.began = now

    def _note_missed(self, key: GroupKey, group: _Group, pod: Pod, nodes: Collection[str]) -> None:
        plan, uid = self._plan_of(key), pod.metadata.uid
        member = plan.members.get(uid) if plan is not None else None
        if plan is None or member is None or plan.opened is None or plan.opened > group.began:
            return
        if member.node in nodes:
            group.missed.discard(uid)
        elif group.attempts.passes == 1:
            group.missed.add(uid)
        elif uid in group.missed and not group.alone:
            self._never_named(key, NeverNamed(uid, member.name))

    def _members(self, key: GroupKey) -> int:
        return len(self._roster.gang_members(key).unbound)
