"""What the account asks of the nodes plane: see `runtime.exchange.accounted.Roll`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable

from api.core import Pod
from api.plans import PreemptionPlanSpec
from controllers.gangs.controller import GangController
from controllers.gangs.keys import LonePod, key_of, lone_pod
from controllers.gangs.mirror.group_members import requests_of
from runtime.exchange.accounted import CallHook, Owner, OwnerKey, Requests, Standing, Stayed, Unit, Usage

__all__ = ["Accounted"]


class Accounted:
    """Answers from the tables as they are."""

    def __init__(self, gangs: GangController) -> None:
        self._gangs, self._known, self._roster = gangs, gangs.known, gangs.known.mirror.roster

    async def wait_synced(self) -> None:
        """See `Roll`."""
        await self._known.mirror.wait_synced()

    def is_trusted(self) -> bool:
        """See `Roll`."""
        return self._known.mirror.is_trusted()

    def unit_of(self, pod: Pod) -> Unit:
        """See `Roll`."""
        uid, roster = pod.metadata.uid, self._roster
        priority, planned = roster.unit_priority(uid), self._is_planned(uid)
        view = roster.view(uid)
        key = view.group if view is not None else None
        group = roster.preemptor_uid(key) if key is not None else None
        if key is None or group is None:
            return Unit(uid, 1, priority if priority is not None else pod.spec.priority, planned)
        if roster.all_mode_group(uid) is None:
            return Unit(uid, 1, priority, planned, group, key)
        return Unit(group, len({*roster.running_members(key), uid}), priority, planned, group, key)

    def _is_planned(self, uid: str) -> bool:
        """Whether a plan that goes on has the scheduler evict the pod."""
        specs = (plan.spec for plan in self._known.promises.stored if plan.spec is not None)
        mine = (spec for spec in specs if spec.evicted_by == "Scheduler" and spec.mode != "Observe")
        return any(pod.uid == uid for spec in mine for victim in spec.victims for pod in victim.pods)

    def owner_of(self, uid: str) -> Owner | None:
        """See `Roll`."""
        view = self._roster.view(uid)
        if view is None:
            return self._owner_of_group(uid)
        key = view.group
        if key is not None and self._roster.minimum(key) is not None:
            group_uid = self._roster.preemptor_uid(key)
            if group_uid is not None:
                return Owner(group_uid, "PodGroup", *key, key)
        pod = LonePod(view.namespace, view.name, uid)
        return Owner(uid, "Pod", view.namespace, view.name, pod.key)

    def _owner_of_group(self, uid: str) -> Owner | None:
        for key, group in self._roster.groups():
            if group.metadata.uid == uid:
                return Owner(uid, "PodGroup", *key, key)
        return None

    def planned_owner(self, spec: PreemptionPlanSpec) -> Owner:
        """See `Roll`."""
        its = spec.preemptor
        return Owner(its.uid, its.kind, its.namespace, its.name, key_of(its))

    def standing(self, owner: Owner) -> Standing | None:
        """See `Roll`."""
        alone = lone_pod(owner.key)
        if alone is not None:
            return self._standing_of_pod(alone)
        roster = self._roster
        minimum = roster.minimum(owner.key)
        if minimum is None or roster.preemptor_uid(owner.key) != owner.uid:
            return None
        members = roster.members(owner.key)
        if not members and not roster.succeeded(owner.key):
            minimum = max(1, minimum)  # of a gang that has run, nobody is awaited: then none would be enough
        nodes = [each.node for each in members if each.node is not None]
        newest = members[-1].created if members else 0
        said = Standing(frozenset(nodes), len(nodes), minimum, len(members) - len(nodes), newest=newest)
        if not said.is_in_pieces:
            return said
        return said._replace(held=_sum(each.requests for each in members if each.node is not None))

    def is_whole(self, owner: Owner) -> bool:
        """See `Roll`."""
        count = self._roster.count(owner.key)
        if count.minimum is None or self._roster.preemptor_uid(owner.key) != owner.uid:
            return False
        return 0 < count.bound >= count.minimum

    def _standing_of_pod(self, pod: LonePod) -> Standing | None:
        view = self._roster.view(pod.uid)
        if view is None:
            return None
        nodes = frozenset({view.node} if view.node is not None else ())
        return Standing(nodes, len(nodes), 1, 1 - len(nodes), newest=view.created)

    def usage(self, uid: str) -> Usage | None:
        """See `Roll`. A pod without a start has run since it was created, as for the search."""
        view = self._roster.view(uid)
        return (
            Usage(view.pod_class.requests, view.start) if view is not None and view.node is not None else None
        )

    def stayed(self, key: OwnerKey, group: str, but: Collection[str]) -> Stayed | None:
        """See `Roll`."""
        roster = self._roster
        known = roster.group(key)
        if known is None or known.metadata.uid != group:
            return None
        gang = known.spec.scheduling_policy.gang
        views = (roster.view(uid) for uid in roster.running_members(key) if uid not in but)
        running = [view for view in views if view is not None]
        placed = len(running) + len(roster.succeeded(key))
        minimum = gang.min_count if gang is not None else None
        return Stayed(_sum(requests_of(each) for each in running), placed, minimum)

    def on_pod(self, hook: Callable[[str, Pod | None], object]) -> None:
        """See `Roll`."""

        def heard(uid: str, pod: Pod | None) -> None:
            hook(uid, pod)

        self._known.mirror.watched.on_pod(heard)

    def on_preempt_call(self, hook: CallHook) -> None:
        """See `Roll`."""
        self._gangs.on_preempt_heard(hook)

    def on_group(self, hook: Callable[[OwnerKey], object]) -> None:
        """See `Roll`."""

        def touched(key: OwnerKey) -> None:
            hook(key)

        self._roster.on_touch(touched)


def _sum(each: Iterable[Requests]) -> Requests:
    total = Counter[str]()
    for requests in each:
        total.update(requests)
    return total
