"""What users see without asking: events, the PodGroup's conditions, and why a member waits."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Literal, NamedTuple

import structlog

from api.clock import Clock
from api.core import Pod
from api.disruption import DISRUPTION_TARGET
from api.groups import INITIALLY_SCHEDULED, PodGroup, has_run
from api.meta import Condition
from api.owner_annotations import GANG_ANNOTATION
from api.plans import Victim, VictimPod
from api.words import counted
from controllers.gangs.gangs import Gangs
from controllers.gangs.keys import lone_pod
from controllers.gangs.lifecycle.effects import CannotSchedule
from controllers.gangs.lifecycle.endings import SAID
from controllers.gangs.lifecycle.life import ActivePlan, Ending, GangPhase, GroupKey, phase_text
from controllers.gangs.mirror.marked_pods import reason_of_release
from controllers.gangs.mirror.misread import faults_of
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.waiting import WaitingPods, held_condition
from controllers.gangs.telling.causes import Causes
from controllers.gangs.writing.pod_writer import PodWriter
from controllers.gangs.writing.writer import Reference, Writer, reference_of
from kube.errors import ApiError
from kube.recorder import Event
from nodes.groups.forms import is_basic, is_native
from nodes.groups.keys import is_foreign, is_native_name, short_name
from nodes.groups.registry import groups_of
from runtime.exchange.owner_stops import PodOwner

__all__ = ["Reporter"]

log = structlog.get_logger(__name__)


NAMED: Final = 3
"""Pods that an event names."""


class _Told(NamedTuple):
    """Pods whose conditions say that nothing is evicted for their gang."""

    phase: GangPhase
    pods: AbstractSet[str]
    """UIDs."""


class Reporter:
    """Writes what was decided where its readers look. Nothing here is needed to go on: faults are logged."""

    def __init__(
        self,
        writer: Writer,
        pods: PodWriter | None,
        roster: Roster,
        waiting: WaitingPods,
        clock: Clock,
        gangs: Gangs,
    ) -> None:
        """`pods`: None where nothing is written to pods."""
        self._gangs = gangs
        self._writer, self._pods, self._roster = writer, pods, roster
        self._waiting, self._clock = waiting, clock
        self._causes = Causes(clock)
        self._told: dict[GroupKey, _Told] = {}

    def _is_followed(self, key: GroupKey) -> bool:
        """Whether there still is such a gang. Only of such gangs something is remembered: what is written about others
        was on its way when they were forgotten."""
        return self._gangs.get(key) is not None

    def astray(self, group: GroupKey, message: str) -> None:
        """Members of the gang are bound outside of its domain."""
        self._event(group, "Warning", "GangInSeveralDomains", "Binding", message)

    def preempting(self, plan: ActivePlan) -> None:
        """The first eviction is about to be asked for."""
        pods = sum(len(victim.pods) for victim in plan.spec.victims)
        who = f"kube-scheduler evicts by plan {plan.name}:" if plan.is_steered else f"plan {plan.name} evicts"
        note = f"{who} {pods} pods of lower priority"
        self._event(plan.group, "Normal", "Preempting", "Preempting", note)

    def unplanned(self, plan: ActivePlan, pods: int) -> None:
        """kube-scheduler has evicted pods that the plan does not name."""
        note = f"kube-scheduler has evicted {counted(pods, 'pod')} that plan {plan.name} does not name"
        self._event(plan.group, "Warning", "UnplannedEvictions", "Preempting", note)

    def releasing(self, plan: ActivePlan) -> None:
        """The bound members of the gang are about to be evicted."""
        self._event(
            plan.group,
            "Warning",
            reason_of_release(withdraws=plan.withdraws),
            "Releasing",
            f"{plan.spec.reason} (plan {plan.name})",
        )

    def kept(self, group: GroupKey, reason: str) -> None:
        """The gang is in pieces, and its bound members stay."""
        note = f"the gang never ran whole and is bound in part, and its bound members stay: {reason}"
        self._event(group, "Warning", "PartialGangKept", "Planning", note)

    def preempted(self, plan: ActivePlan, evicted: Container[str]) -> None:
        """These pods (UIDs) were evicted. Each gets an event, which names the preemptor and the plan."""
        pods = ((victim, pod) for victim in plan.spec.victims for pod in victim.pods if pod.uid in evicted)
        self._writer.events(_preempted(plan, victim, pod) for victim, pod in pods)

    def left_in_pieces(self, plan: ActivePlan, victim: Victim, left: Sequence[VictimPod], why: str) -> str:
        """A unit was not evicted whole. Returns what its PodGroup has to say (`write_stopped`).

        Of a group of another kind, an event on one of its pods says it.
        """
        message = f"plan {plan.name} stopped: {why}; still there: {', '.join(pod.name for pod in left)}"[
            :1024
        ]
        reason, action = "PreemptionStopped", "Preempting"
        if is_foreign(victim.name):
            regarding = Reference.of("v1", "Pod", left[0])
            self._writer.event(regarding, "Warning", reason, action, message)
        else:
            self._event((victim.namespace, victim.name), "Warning", reason, action, message)
        return message

    def unit_broken(self, group: GroupKey, evicted: list[str], running: int) -> None:
        """kube-scheduler has evicted these pods of a group that is evicted whole or not at all, and no plan did.

        Of a group whose object is not known, an event on one of the pods that run says it.
        """
        there = self._roster.group(group)
        if there is None:
            return
        named = ", ".join(evicted[:NAMED]) + (f" and {len(evicted) - NAMED} more" if evicted[NAMED:] else "")
        note = (
            f"kube-scheduler evicted {named} of {short_name(group[1])}, which is evicted whole or not at all; "
            f"no plan of reprieve says so, and {counted(running, 'pod')} of it stayed"
        )
        views = (self._roster.view(uid) for uid in self._roster.running_members(group))
        first = min(((view.name, view.uid) for view in views if view is not None), default=None)
        regarding = reference_of(there)
        if not there.api_version and first is not None:
            regarding = Reference("v1", "Pod", group[0], *first)
        self._writer.event(regarding, "Warning", "UnitBroken", "Preempting", note)

    async def write_stopped(self, victim: Victim, message: str) -> bool:
        """Have the unit's PodGroup say which pods remain. Returns false if that could not be written."""
        group = self._roster.group((victim.namespace, victim.name))
        if group is None or is_foreign(victim.name) or group.metadata.uid != victim.uid:
            return True  # the group is gone, or its own controller says what is with it
        return await self._write(group, DISRUPTION_TARGET, "False", "PreemptionStopped", message)

    def preemption_cycle(self, group: GroupKey, owner: PodOwner | None, *, mutual: bool) -> None:
        """The group evicts no pod of this owner for a while. Both get an event."""
        there = self._roster.group(group)
        if there is None or owner is None:
            return
        ours = reference_of(there)
        theirs = Reference(*owner)
        why = "they evicted each other" if mutual else "it evicted pods of it in three plans"
        for one, other in ((ours, theirs), (theirs, ours)):
            preemptor, spared = _spoken_to(one, ours), _spoken_to(one, theirs)
            note = f"{preemptor} evicts no pods of {spared} for a while: {why}"
            related = other if other.namespace == one.namespace else None
            self._writer.event(one, "Warning", "PreemptionCycle", "Planning", note, related=related)

    def unknown_group(self, pod: Pod, group: GroupKey) -> None:
        """The pod's label names no PodGroup."""
        note = f"label names PodGroup {'/'.join(group)}, which does not exist: the pod waits for it"
        self._pod_event(pod, "PodGroupNotFound", note)

    def ambiguous_group(self, pod: Pod) -> None:
        """Say it if the pod names groups of several kinds. Nothing is said of another pod.

        A group of kube-scheduler's own kind counts once it is known that it is a gang.
        """
        names = groups_of(pod)
        if len(names) > 1 and pod.spec.scheduling_group is not None:
            native = self._roster.group((pod.metadata.namespace, names[0]))
            if not is_native(native) or is_basic(native):
                names = names[1:]
        if len(names) > 1:
            note = (
                f"the pod names several groups: it belongs to {names[0]}, and not to {', '.join(names[1:])}"
            )
            self._pod_event(pod, "PodGroupAmbiguous", note)

    def misread(self, regarding: Reference, text: str) -> None:
        """An owner or a namespace says something of groups that cannot be read."""
        self._writer.event(regarding, "Warning", "InvalidAnnotation", "Scheduling", text)

    def misread_pod(self, pod: Pod) -> None:
        """Say it if the pod's annotation cannot be read that says whether it has a group."""
        if text := faults_of(pod.metadata.annotations, GANG_ANNOTATION):
            self._pod_event(pod, "InvalidAnnotation", text)

    def mixed_priorities(self, key: GroupKey) -> None:
        """Pods of a group of another kind differ. The one that lowers the priority of all says so."""
        views = (self._roster.view(uid) for uid in self._roster.running_members(key))
        pods = sorted((view.priority, view.name, view.uid) for view in views if view is not None)
        if not pods:
            return
        lowest, name, uid = pods[0]
        others = [(pod, priority) for priority, pod, _ in pods if priority > lowest]
        named = ", ".join(f"{pod} has {priority}" for pod, priority in others[:NAMED])
        more = f", and {len(others) - NAMED} more differ" if len(others) > NAMED else ""
        note = (
            f"{short_name(key[1])} is evicted whole at priority {lowest}, that of pod {name}: {named}{more}"
        )
        regarding = Reference("v1", "Pod", key[0], name, uid)
        self._writer.event(regarding, "Warning", "PodGroupPriorityDiffers", "Scheduling", note)

    def nothing_to_evict(self, pod: Pod, reasons: list[str]) -> None:
        """Every node on which the scheduler would have evicted for this ordinary pod was struck out."""
        self._pod_event(
            pod, "PreemptionRefused", f"no pod is evicted for this one: {'; '.join(sorted(set(reasons)))}"
        )

    async def scheduled(self, group: GroupKey) -> None:
        """minCount members are bound."""
        await self._condition(group, "True", "Scheduled", "minCount pods are bound")

    async def ended(self, plan: ActivePlan, ending: Ending) -> None:
        """A plan is over."""
        if ending.phase == "Bound":
            self._causes.forget(plan.group)
            self._event(plan.group, "Normal", "Bound", "Binding", f"{ending.message} (plan {plan.name})")
            await self.scheduled(plan.group)
        elif ending.reason not in SAID and ending.phase != "Released":  # these were said
            note = f"plan {plan.name} ended: {ending.message}"
            self._warn(plan.group, ending.reason, note, cause=ending.message)
        # Its pods are woken, and the watch may not show that yet.
        self._remember(plan.group, _Told("Gathering", frozenset()))

    async def cannot_schedule(self, key: GroupKey, effect: CannotSchedule) -> None:
        """Nothing is evicted for this gang: its PodGroup says why. Its pods name the phase, once.

        Where nothing is done for gangs, this is nothing special: see `controllers.gangs.telling.group_status`.
        """
        if self._gangs.modes.observes(key[0]):
            return
        if not effect.repeated:
            self._warn(key, effect.reason, effect.message, cause=effect.message)
        if lone_pod(key) is not None:
            return  # it is not held: its next attempt goes on without a plan
        reason = "Unschedulable" if effect.reason == "Blocked" else effect.reason
        await self._condition(key, "False", reason, effect.message)
        await self._tell_pods(key, effect.phase)

    async def gathers(self, key: GroupKey) -> None:
        """The gang waits for members. Its pods say so, once: what the scheduler says of them is not why they wait."""
        await self._tell_pods(key, "Gathering")

    async def _tell_pods(self, key: GroupKey, phase: GangPhase) -> None:
        """Each pod that waits names the phase. Each write to a pod that is held brings it back to the scheduler, so it
        says nothing that changes often.

        Pods of the scheduler's own groups say nothing: nobody would withdraw it, because no condition brings them back.
        """
        if self._pods is None or self._gangs.modes.observes(key[0]) or is_native_name(key[1]):
            return
        text = phase_text(key, phase)
        told = self._told.get(key)
        if told is None:
            told = _Told(phase, self._told_before(key, text))
        elif told.phase != phase:
            told = _Told(phase, frozenset())
        condition, changes = (
            held_condition("True", phase, text, self._clock.wall()),
            self._gangs.modes.changes,
        )
        waiting = {member.uid: member.name for member in self._roster.members(key) if member.node is None}
        said = await asyncio.gather(
            *(
                self._say(self._pods, key[0], name, uid, condition)
                for uid, name in waiting.items()
                if uid not in told.pods
            )
        )
        pods = told.pods & waiting.keys() | {uid for uid in said if uid is not None}
        if changes == self._gangs.modes.changes:  # otherwise it may have been withdrawn meanwhile
            self._remember(key, _Told(phase, pods))

    def _remember(self, key: GroupKey, told: _Told) -> None:
        if self._is_followed(key):
            self._told[key] = told

    def _told_before(self, key: GroupKey, text: str) -> frozenset[str]:
        """The gang's pods (UIDs) that a former process has told just this."""
        pods = (self._waiting.find(member.uid) for member in self._roster.members(key))
        return frozenset(pod.uid for pod in pods if pod is not None and pod.held == text)

    def mode_changed(self, namespace: str) -> None:
        """What was written to its pods is withdrawn where nothing is enforced. Where it is, it is written again."""
        self._told = {key: told for key, told in self._told.items() if key[0] != namespace}

    def forget(self, key: GroupKey) -> None:
        """The group is gone."""
        self._told.pop(key, None)
        self._causes.forget(key)

    async def _say(
        self, pods: PodWriter, namespace: str, name: str, uid: str, condition: Condition
    ) -> str | None:
        """The pod's UID once its condition is written."""
        try:
            await pods.patch_pod_status(namespace, name, uid, conditions=[condition])
        except ApiError as error:
            log.warning(
                "a pod's condition could not be written", namespace=namespace, pod=name, error=str(error)
            )
            return None
        return uid

    async def _condition(
        self, key: GroupKey, status: Literal["True", "False"], reason: str, message: str
    ) -> None:
        group = self._roster.group(key)
        if group is None or is_foreign(key[1]):
            return  # nothing is written to groups of other kinds: events say it
        if has_run(group):
            return  # True is terminal
        await self._write(group, INITIALLY_SCHEDULED, status, reason, message)

    async def _write(
        self, group: PodGroup, type_: str, status: Literal["True", "False"], reason: str, message: str
    ) -> bool:
        try:
            await self._writer.write_group_condition(group, type_, status, reason, message)
        except ApiError as error:
            key = f"{group.metadata.namespace}/{group.metadata.name}"
            log.warning("a PodGroup's condition could not be written", group=key, error=str(error))
            return False
        return True

    def _event(
        self, key: GroupKey, type_: Literal["Normal", "Warning"], reason: str, action: str, note: str
    ) -> None:
        if (alone := lone_pod(key)) is not None:
            self._writer.event(Reference("v1", "Pod", *alone), type_, reason, action, note)
        elif (group := self._roster.group(key)) is not None:
            regarding = reference_of(group)
            self._writer.event(regarding, type_, reason, action, note)

    def _warn(self, key: GroupKey, reason: str, note: str, *, cause: str) -> None:
        """One event for each cause: a repetition has the note of the first one, so that it becomes a series."""
        if self._is_followed(key):
            note = self._causes.note(key, reason, cause, note)
        self._event(key, "Warning", reason, "Planning", note)

    def _pod_event(self, pod: Pod, reason: str, note: str) -> None:
        regarding = Reference.of("v1", "Pod", pod.metadata)
        self._writer.event(regarding, "Warning", reason, "Scheduling", note)


def _preempted(plan: ActivePlan, victim: Victim, pod: VictimPod) -> Event:
    preemptor = plan.spec.preemptor
    note = f"Preempted by {preemptor.kind} {preemptor.namespace}/{preemptor.name} on node {pod.node}"
    if victim.kind == "PodGroup":
        note += f", with all of PodGroup {victim.namespace}/{short_name(victim.name)}"
    if plan.releases:
        note = plan.spec.reason
    return Event(
        Reference.of("v1", "Pod", pod),
        "Normal",
        reason_of_release(withdraws=plan.withdraws) if plan.releases else "Preempted",
        "Releasing" if plan.releases else "Preempting",
        f"{note} (plan {plan.name})",
        related=Reference.of(preemptor.api_version, preemptor.kind, preemptor),
    )


def _spoken_to(reader: Reference, owner: Reference) -> str:
    """An owner as an event in the reader's namespace names it: another namespace's only by its UID."""
    if owner.namespace == reader.namespace:
        return f"{owner.kind} {owner.namespace}/{owner.name}"
    return f"{owner.kind} {owner.uid}"
