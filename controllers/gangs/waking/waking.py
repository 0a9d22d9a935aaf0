"""Everything that brings pods back to the scheduler in one term, whoever turned them down, and why.

Pods that are held or kept out come back by a condition (`Waker`). Pods that are parked come back by a pulse, and
members of gangs are asked for (`Asking`). `KeptOut` says which pods freed room helps.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from math import inf
from typing import Final

from api.core import Pod
from controllers.gangs.gangs import Gangs
from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.observations import Nominated
from controllers.gangs.mirror.group_members import Requests
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.waiting import held_because
from controllers.gangs.waking.asking import Asking
from controllers.gangs.waking.kept_out import KeptOut, let_in
from controllers.gangs.waking.nominations import Nominations
from controllers.gangs.waking.parked import TurnedDown, Why
from controllers.gangs.waking.waker import Waker
from controllers.gangs.writing.writes import Key, Writes
from runtime.failpoints import failpoint, kill_here

__all__ = ["Waking"]

NOMINATIONS: Key = ("", "nominations")
"""Work of our own, which is not about one object. No namespace has an empty name."""
BOUND: Final = "bound pod"
"""What is written of a bound pod is called so. No object has a space in its name."""


class Waking:
    """Writes are put in order with those for the same gang."""

    def __init__(
        self,
        waker: Waker,
        kept_out: KeptOut,
        asking: Asking,
        nominations: Nominations,
        gangs: Gangs,
        roster: Roster,
        writes: Writes,
    ) -> None:
        self.waker, self.kept_out, self.asking, self._nominations = waker, kept_out, asking, nominations
        self._gangs, self._roster, self._writes = gangs, roster, writes

    async def run(self) -> None:
        """Bring back whoever is due, until cancelled."""
        await self.asking.run()

    # ---- pods that filter turns down

    def hold(self, group: GroupKey | None, pod: Pod) -> None:
        """Filter turned the pod down because of its own gang."""
        self.waker.hold(group, pod)

    def hold_outside(self, pod: Pod) -> None:
        """Filter kept the pod in the domain of its gang."""
        self.waker.hold_outside(self._roster.gang_of(pod), pod)

    def keep_out(self, pod: Pod, priority: int, requests: Requests, nodes: Collection[str]) -> None:
        """Filter kept the pod out of promised room on these nodes."""
        if self._roster.comes_by_backoff(pod):
            return
        if not self.waker.is_held(pod.metadata.uid):  # its gang may bring it back as well
            self.waker.hold(None, pod)
        self.kept_out.hold(pod, priority, requests, nodes)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """There is a newer state of a pod; None when it is gone, or has ended."""
        if pod is None or pod.metadata.deletion_timestamp or pod.spec.node_name:
            self.waker.forget(uid)
            self.kept_out.forget(uid)
            self.asking.forget(uid)
            if pod is not None and pod.spec.node_name:
                self._bound(pod)
        else:
            self.waker.recall(pod)
            if self.waker.is_kept_out(uid):
                self.kept_out.recall(pod)

    def _bound(self, pod: Pod) -> None:
        """The scheduler may have had another reason to try it again, and so did not wait for us to wake it."""
        meta = pod.metadata
        key = meta.namespace, f"{BOUND} {meta.uid}"
        if held_because(pod) and not meta.deletion_timestamp and self._writes.is_idle(key):
            self._writes.put(key, partial(self.waker.bound, pod))

    # ---- gangs

    def ask(self, group: GroupKey, members: Sequence[str]) -> None:
        """Bring members (UIDs) back to the scheduler. The answer comes as Asked."""
        self.asking.ask_members(group, self._roster.rank(group), members)

    def cancel(self, group: GroupKey) -> None:
        """Nobody wants to know any longer what the scheduler says of the members."""
        self.asking.cancel(group)

    def wake(self, group: GroupKey, reason: str, message: str) -> None:
        """Bring back the pods that were held because of the group."""
        self.asking.let_go(group)
        self._writes.put(group, partial(self.waker.wake, group, reason, message))

    def bring_back(self, plan: ActivePlan, *, nominate: bool) -> None:
        """The plan is Ready: every member that is not bound comes back. With a nomination, it finds its node first."""
        if plan.wave:
            kill_here("plan.next_wave")  # no member of this wave was offered its node yet
        self._writes.put(plan.group, partial(self._bring_back, plan, nominate=nominate))

    def nominate_first(self, plan: ActivePlan) -> None:
        """Nominate every member before the first eviction. The answer comes as Nominated."""
        self._writes.put(plan.group, partial(self._nominate_first, plan))

    async def _nominate_first(self, plan: ActivePlan) -> None:
        await self._nominations.withdraw_others(plan)
        done = await self.waker.nominate(plan)
        await failpoint("plan.nominated")
        self._gangs.report(plan.group, Nominated(done))

    async def _bring_back(self, plan: ActivePlan, *, nominate: bool) -> None:
        await self._nominations.withdraw_others(plan)
        if plan.is_native:
            await self.waker.nominate(plan)
        else:
            await self.waker.bring_back(plan, nominate=nominate)

    def forget_group(self, group: GroupKey) -> None:
        """The group is gone."""
        self.asking.forget_group(group)

    # ---- plans

    async def committed(self, plan: ActivePlan) -> None:
        """The plan is stored: only the members that it places keep nominations."""
        await self._nominations.withdraw_others(plan)

    def promised(self, plan: ActivePlan, is_promised: bool) -> None:
        """Room is promised to the plan's members, or is no longer: then whoever was kept out of it may come back."""
        if not is_promised:
            self.kept_out.plan_ended({member.node for member in plan.members.values()})

    def plan_ended(self) -> None:
        """A plan has ended, or has given its room back: whoever preempt turned down for promised room comes back."""
        self.asking.reason_passed(Why.RESERVED)

    async def ended(self, group: GroupKey, reason: str, message: str) -> None:
        """How the gang's plan has ended is written: the pods that were held because of the gang come back."""
        await self.waker.wake(group, reason, message)

    def let_in(self) -> None:
        """Wake the pods that filter would no longer keep out, whatever has freed the room."""
        let_in(self.kept_out, self.waker, self._writes)

    # ---- other processes

    def begin(self) -> None:
        """The term begins, and the mirror is synced. Bring back whoever was answered badly, or not at all."""
        self.asking.begin()

    def told(self, turned_down: TurnedDown) -> None:
        """Another process, which does not lead, has turned down these pods."""
        self.asking.told(turned_down)

    # ---- the clock

    def due_in(self) -> float:
        """See `controllers.gangs.timekeeping.Timed`."""
        asking = self.asking
        waits = self.waker.behind or asking.parks(Why.NOT_READY) or asking.parked_gangs
        return 0.0 if waits or len(self._nominations) else inf

    def tick(self, *, trusted: bool) -> bool:
        """Write again what was missed, and wake each pod that is turned down for no reason that still holds."""
        self.waker.retry(self._writes)
        if trusted:
            self._let_go()
            if self._writes.is_idle(NOMINATIONS):
                withdraw = partial(self._nominations.withdraw_left, self._gangs.keeps_nominations)
                self._writes.put(NOMINATIONS, withdraw)
        return False

    def _let_go(self) -> None:
        """Wake pods that were turned down and would pass now, but that no ended plan wakes: they came when the mirror
        could not be trusted, or the group changed between two looks.
        """
        self.asking.reason_passed(Why.NOT_READY)
        for key in self.waker.kept:
            if key is not None and self._gangs.lets_pass(key):
                wake = partial(self.waker.wake, key, "Released", "nothing holds it back any longer")
                self._writes.put(key, wake)
        for key in self.asking.parked_gangs:
            if self._gangs.lets_pass(key):
                self.asking.let_go(key)
