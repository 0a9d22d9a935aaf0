"""Pods that preempt alone, in one term: each is a gang of one, from its wish for a plan until it is bound.

See docs/decisions/0035.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from api.clock import Clock
from api.core import Pod
from controllers.gangs.gangs import Gangs
from controllers.gangs.keys import GroupKey, key_of_pod
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.planning.singles import Singles

__all__ = ["LonePreemptors"]


class LonePreemptors:
    """Says which gang a pod belongs to, those of one pod included."""

    def __init__(self, gangs: Gangs, singles: Singles, roster: Roster, clock: Clock) -> None:
        self._gangs, self._roster, self._clock = gangs, roster, clock
        self.singles = singles

    def gang_of(self, pod: Pod) -> GroupKey | None:
        """The pod's gang: the pod itself if it preempts alone, else the PodGroup that its label names."""
        return self._alone(pod) or self._roster.gang_of(pod)

    def _alone(self, pod: Pod) -> GroupKey | None:
        key = self._gangs.alone(pod.metadata.uid)
        if key is None and len(self.singles) and self.singles.wants(key_of_pod(pod)):
            return key_of_pod(pod)
        return key

    def plan_of(self, pod: Pod) -> ActivePlan | None:
        """The plan of a pod that preempts alone; None if it has none."""
        key = self._gangs.alone(pod.metadata.uid)
        return self._gangs.life_of(key).plan if key is not None else None

    def wish(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> bool:
        """The scheduler would evict for a pod that is no member of a gang: victims (UIDs) by node.

        Whether a plan is made for the pod. If not, it goes on without one for now.
        """
        key = key_of_pod(pod)
        gang = self._gangs.get(key)
        if gang is not None and self._clock.monotonic() < gang.life.due:
            return False
        is_known = self._roster.preemptor_uid(key) is not None
        if is_known and self._roster.why_no_evictions(key):
            return False
        return self.singles.wish(key, candidates)

    def heard(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> None:
        """A scheduler evicts for the pod by one of these candidates, and nobody holds it up.

        If a group that is evicted whole is in the way of a single pod, Enforce would make a plan for it.
        """
        key = self._roster.gang_of(pod)
        is_member = key is not None and self._roster.minimum(key) is not None
        victims = (uid for uids in candidates.values() for uid in uids)
        if is_member or all(self._roster.all_mode_group(uid) is None for uid in victims):
            return
        if self.wish(pod, candidates):
            self._gangs.touch(key_of_pod(pod))

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """There is a newer state of a pod; None when it is gone, or has ended."""
        alone = self._alone(pod) if pod is not None else self._gangs.alone(uid)
        if alone is not None:
            self._gangs.touch(alone)
