"""The marks of one term: it marks victims before they are evicted, and takes marks off the pods that stay.

See docs/decisions/0036.
"""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from api.plans import Victim, VictimPod
from controllers.gangs.evicting.refused_evictions import may_succeed_later
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.mirror.marked_pods import PREEMPTED, Mark, MarkedPods, Signature, reason_of_release
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.writing.pod_writer import Marked, PodWriter
from kube.errors import ApiError
from nodes.groups.keys import short_name

__all__ = ["Marking", "said"]

log = structlog.get_logger(__name__)


class Marking:
    """Writes and withdraws the condition DisruptionTarget of victims."""

    def __init__(self, pods: PodWriter, roster: Roster, shown: MarkedPods, signature: Signature) -> None:
        """`shown`: the marks that the mirror shows. `signature`: of this term."""
        self._pods, self._roster, self._shown, self._signature = pods, roster, shown, signature
        self._written: dict[str, str] = {}
        """Pods (UIDs) that may have a mark of this term, and whose deletion has not been accepted: the
        resourceVersion with the mark, empty if it is not known."""
        self._withdrawn: dict[str, Mark] = {}
        """Marks by UID that were withdrawn, and that the mirror may still show."""
        self._refused: set[str] = set()
        """Pods (UIDs) whose mark the API server does not let us withdraw."""

    def has(self, uid: str) -> bool:
        """Whether the pod may have our mark, of this term or of an earlier one."""
        shown = self._shown.find(uid)
        return uid in self._written or (shown is not None and shown != self._withdrawn.get(uid))

    def version(self, uid: str) -> str:
        """The pod's resourceVersion with the mark of this term; empty if that is not known."""
        return self._written.get(uid, "")

    def may_withdraw(self, namespace: str) -> bool:
        """Whether marks of pods in this namespace may be withdrawn."""
        return self._pods.may_write(namespace)

    def accepted(self, uid: str) -> None:
        """The API server has accepted the deletion of the pod."""
        self._written.pop(uid, None)

    def forget_gone(self) -> None:
        """Forget the pods that are gone."""
        evictable = self._roster.evictable
        self._written = {uid: version for uid, version in self._written.items() if evictable(uid) is not None}
        self._withdrawn = {uid: mark for uid, mark in self._withdrawn.items() if evictable(uid) is not None}

    async def mark(self, plan: ActivePlan, victim: Victim, pod: VictimPod) -> Marked | None:
        """Give the pod the mark of this term. None if it is not there. Raises ApiError."""
        self._written[pod.uid] = ""
        marked = await self._write(plan, victim, pod, dry_run=False)
        if marked is not None and not marked.leaves:
            self._written[pod.uid] = marked.version
        return marked

    async def rehearse(self, plan: ActivePlan, victim: Victim, pod: VictimPod) -> Marked | None:
        """Have the API server check the mark. None if the pod is not there. Raises ApiError."""
        return await self._write(plan, victim, pod, dry_run=True)

    async def mark_anew(self, plan: ActivePlan, units: Iterable[Victim]) -> None:
        """Replace the marks of earlier terms. Their deletes, which may still be on their way, fail from now on.

        Raises ApiError if the API server does not answer. What it refuses, the eviction meets again.
        """
        for victim in units:
            for pod in victim.pods:
                shown = self._shown.find(pod.uid)
                is_ours = shown is None or shown.signature == self._signature
                if is_ours or pod.uid in self._written or not self.has(pod.uid):
                    continue
                try:
                    await self.mark(plan, victim, pod)
                except ApiError as error:
                    if may_succeed_later(error):
                        raise

    def refused(self) -> set[str]:
        """Pods (UIDs) whose mark the API server did not let us withdraw. From now on they may have it again."""
        refused, self._refused = self._refused, set()
        for uid in refused:
            self._withdrawn.pop(uid, None)
        return refused

    async def withdraw(self, namespace: str, name: str, uid: str) -> bool:
        """Take our mark off a pod, if it may have one. Returns false if the API server did not answer."""
        if not self.has(uid):
            return True
        shown = self._shown.find(uid)
        try:
            await self._pods.unmark_disruption_target(namespace, name, uid)
        except ApiError as error:
            where = f"{namespace}/{name}"
            log.warning("the mark of a pod that stays is still there", pod=where, error=str(error))
            if may_succeed_later(error):
                return False
            self._refused.add(uid)
        self._written.pop(uid, None)
        if shown is not None:
            self._withdrawn[uid] = shown
        return True

    async def _write(
        self, plan: ActivePlan, victim: Victim, pod: VictimPod, *, dry_run: bool
    ) -> Marked | None:
        reason = reason_of_release(withdraws=plan.withdraws) if plan.releases else PREEMPTED
        message = self._signature.sign(said(plan, victim))
        where = pod.namespace, pod.name, pod.uid
        return await self._pods.mark_disruption_target(*where, reason, message, dry_run=dry_run)


def said(plan: ActivePlan, victim: Victim) -> str:
    """Why the victim is evicted: the message of its condition, without the signature."""
    if plan.releases:
        return plan.spec.reason
    preemptor = plan.spec.preemptor
    who = f"{preemptor.kind} {preemptor.namespace}/{preemptor.name}"
    message = f"{who} (priority {preemptor.priority}) preempts this pod"
    if victim.kind == "PodGroup":
        message += f" with all of PodGroup {victim.namespace}/{short_name(victim.name)}"
    return message
