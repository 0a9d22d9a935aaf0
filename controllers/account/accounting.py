"""The account of one term: it tells the ledger what is seen, and writes the result to plans."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from api.clock import Clock
from api.instead import Instead
from controllers.account.cases import Case, Decision
from controllers.account.decisions import Decisions, StoredDecision, current
from controllers.account.ledger import Counted, Ledger
from controllers.account.metrics import GROUPS_BROKEN, VICTIMS
from controllers.account.saying import is_news, later_than, said_of, together, written_over
from controllers.account.signs import MarkedPods, Said
from controllers.account.victims import Victim
from controllers.account.writing import Writing
from runtime.exchange.accounted import Owner, OwnerKey, Roll

__all__ = ["Accounting"]

STEP_SECONDS: Final = 0.5
FIRST_SECONDS: Final = 1.0
"""How long after the first thing that a scheduler did that is written: pods of one preemption come together."""
WRITE_SECONDS: Final = 10.0
"""The least time between two writes to one plan, but for the last one."""
UNSAID_SECONDS: Final = 60.0
"""A plan that says nothing counts although its preemptor runs when a term begins, if it is not older than that: the
leader that made it has died before it could say so, or nobody led when the preemptor was bound."""
UNHEARD_SECONDS: Final = 60.0
"""How long after a term begins preemptors are decided about for the first time that waited before."""
FATES: Final = {"Served": "true", "ServedNobody": "false"}


class _Page:
    """What was written of one plan."""

    __slots__ = ("before", "due", "written")

    def __init__(self, before: Instead | None) -> None:
        self.before = before
        """What a former leader said."""
        self.written: Instead | None = before
        self.due = 0.0
        """When it may be written again, in seconds since the epoch; 0: at any time."""


class Accounting:
    """All state of one term."""

    def __init__(
        self,
        ledger: Ledger,
        roll: Roll,
        decisions: Decisions,
        writing: Writing,
        clock: Clock,
        concluded: Callable[[Decision, Instead], object] = lambda _decision, _said: None,
    ) -> None:
        """`concluded` gets each decision that will not change, before its plan says so."""
        self._concluded = concluded
        self._ledger, self._roll, self._decisions = ledger, roll, decisions
        self.writing, self._clock = writing, clock
        self._owners: dict[OwnerKey, set[Owner]] = {}
        """The preemptors that have a case. One of the same name may have been there before."""
        self._dirty: dict[OwnerKey, None] = {}
        self._broken: dict[OwnerKey, str] = {}
        """Groups that have lost a part of their pods, by UID."""
        self._dirty_groups: dict[str, None] = {}
        self._pages: dict[str, _Page] = {}
        """By the UID of a plan whose case goes on."""
        self._unsaid: dict[Case, None] = {}
        """Cases that may have news."""
        self._all_again = 0.0
        """When all cases are looked at again, in seconds since the epoch."""
        self._ended: dict[str, float] = {}
        """By the UID of a preemptor that has a plan: plans that were made until then count no longer."""
        self._unheard: dict[str, list[tuple[Said, Victim | None]]] = {}
        """Preemptors that had no plan when the term began, and for which pods were preempted before, by UID."""
        self._unheard_until = 0.0
        """In seconds since the epoch."""

    # ---- what happens

    def take_over(self, marked: MarkedPods, said: list[Said]) -> None:
        """Begin with what is known: pods that are marked, and the events that the API server still has.

        A pod that is gone counts if an event names its preemptor, and if the plan of that preemptor is not concluded.
        One that nobody has seen here is known from its event alone.
        """
        for owner in self._decisions.owners():
            self._resume(owner)
        over = {each.victim for each in said if self._is_over(each)}
        for victim in marked:
            if victim.uid not in over:
                self.preempted(victim)
        for each in sorted(said, key=lambda each: each.at):
            if self._ledger.knows(each.victim) or self._concerns(each):
                self._hear(each, marked.find(each.victim))
            elif self._waits(each):
                self._unheard.setdefault(self._owner(each).uid, []).append((each, marked.find(each.victim)))
        self._unheard_until = self._clock.wall() + UNHEARD_SECONDS

    def _resume(self, owner: str) -> None:
        plan = current(self._decisions.of(owner))
        if plan is None:
            return
        if plan.instead is None and self._has_run(plan):
            self._ended[owner] = self._clock.wall()
        else:
            stored = self._decisions.of(owner)
            ended = max(each.ended for each in stored)
            first = min((each.created for each in stored if each.created > ended), default=plan.created)
            self._ledger.decided(plan.decision, min(first, self._clock.wall()))
            self.decided(owner)

    def _has_run(self, plan: StoredDecision) -> bool:
        """Whether the preemptor is gone, or may have run for long: it is not known what belongs to the plan."""
        standing = self._roll.standing(plan.decision.owner)
        if standing is None:
            return True
        return standing.is_whole and plan.created < self._clock.wall() - UNSAID_SECONDS

    def _waits(self, said: Said) -> bool:
        """Whether the preemptor may soon be decided about, for the first time."""
        standing = self._roll.standing(self._owner(said))
        return standing is not None and not standing.is_whole and not self._is_over(said)

    def _concerns(self, said: Said) -> bool:
        return self._ledger.has(self._owner(said).uid) and not self._is_over(said)

    def _is_over(self, said: Said) -> bool:
        """Whether a plan that is concluded has counted it."""
        plans = self._decisions.of(self._owner(said).uid)
        return said.at <= max((each.ended for each in plans), default=0.0)

    def preempted(self, victim: Victim) -> None:
        """A pod is newly marked."""
        self._look()
        self._ledger.preempted(victim, self._clock.wall())

    def heard(self, said: Said) -> None:
        """There is a new event."""
        self._hear(said, None)

    def _hear(self, said: Said, victim: Victim | None) -> None:
        """`victim`: the pod, if it was seen."""
        self._look()
        now = self._clock.wall()
        if not self._ledger.knows(said.victim):
            self._ledger.preempted(victim or said.as_victim(), now)
        self._ledger.named(said.victim, self._owner(said), now)

    def nominated(self, owner: Owner, node: str) -> None:
        """A pod of the preemptor is nominated to the node."""
        self._ledger.hinted((node,), owner, self._clock.wall())

    def placed(self, owner: Owner, node: str) -> None:
        """A pod of the preemptor is on the node. This counts also if it lasts for less than a step."""
        self._ledger.placed(owner.uid, node, self._clock.wall())
        is_new = any(case.whole_at is None for case in self._ledger.cases_of(owner.uid))
        if is_new and self._roll.is_whole(owner):
            self._dirty[owner.key] = None
            self._look()

    def called(self, owner: Owner, victims: list[str]) -> None:
        """A scheduler is about to preempt one of these sets of pods (UIDs) for the preemptor."""
        self._ledger.hinted(victims, owner, self._clock.wall())

    def decided(self, owner: str) -> None:
        """A plan of the preemptor (UID) is new, or has changed."""
        plan = current(self._decisions.of(owner))
        if plan is None or plan.created <= self._ended.get(owner, 0.0):
            return
        if plan.decision.uid not in self._pages:
            self._pages[plan.decision.uid] = _Page(plan.instead)
        self._ledger.decided(plan.decision, self._clock.wall())
        for said, victim in self._unheard.pop(owner, ()):
            if self._waited_since(plan.decision.owner, said.at):
                self._hear(said, victim)

    def _waited_since(self, owner: Owner, at: float) -> bool:
        """Whether the preemptor has the same pods since then. If not, it may have run while nobody looked."""
        standing = self._roll.standing(owner)
        return standing is not None and standing.newest <= at

    def touched(self, key: OwnerKey) -> None:
        """A group or one of its pods has changed."""
        if key in self._owners:
            self._dirty[key] = None
        if key in self._broken:
            self._dirty_groups[self._broken[key]] = None

    def pod_touched(self, uid: str) -> None:
        """A pod has changed, which may be a preemptor of its own."""
        for case in self._ledger.cases_of(uid):
            self._dirty[case.owner.key] = None

    # ---- what follows

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.writing.run(), name="account is written")
            while True:
                self.step()
                await asyncio.sleep(STEP_SECONDS)

    async def close(self) -> None:
        """The term ends: write what was seen, also what is not due yet, if that can be done soon."""
        self._look()
        now = self._clock.wall()
        for case in self._to_say(now):
            self._say(case, now, is_last=True)
        await self.writing.close()

    def step(self) -> Counted:
        """Look at what has changed, count what is over, and have written what is news."""
        self._look()
        now = self._clock.wall()
        self._look_at_groups(now)
        counted = self._ledger.settle(now)
        self._look()
        for case in self._to_say(now):
            self._say(case, now)
        for case in counted.cases:
            self._conclude(case, now)
        VICTIMS.labels("unknown").inc(len(counted.unattributed))
        self._forget()
        return counted

    def _to_say(self, now: float) -> list[Case]:
        """The cases that may have news. All of them now and then: victims cease to serve by time alone."""
        for case in self._ledger.changed():
            self._unsaid[case] = None
        if now >= self._all_again:
            self._all_again = now + WRITE_SECONDS
            self._unsaid.update(dict.fromkeys(self._ledger))
        unsaid, self._unsaid = self._unsaid, {}
        return list(unsaid)

    def _look(self) -> None:
        now = self._clock.wall()
        for owner in self._ledger.begun():
            self._owners.setdefault(owner.key, set()).add(owner)
            self._dirty[owner.key] = None
        dirty, self._dirty = self._dirty, {}
        for owner in [each for key in dirty for each in self._owners.get(key, ())]:
            self._ledger.stands(owner.uid, self._roll.standing(owner), now)

    def _look_at_groups(self, now: float) -> None:
        """What is left of groups that have lost pods. Only once a step: a scheduler takes their pods one by one."""
        for group, key in self._ledger.broken():
            self._broken[key] = group
            self._dirty_groups[group] = None
        dirty, self._dirty_groups = self._dirty_groups, {}
        for group in dirty:
            left = self._ledger.left(group)
            if left is not None:
                stayed = self._roll.stayed(left.key, group, left.gone)
                self._ledger.stays(group, stayed, now)
        self._broken = {
            key: group for key, group in self._broken.items() if self._ledger.left(group) is not None
        }

    def _forget(self) -> None:
        if self._clock.wall() > self._unheard_until:
            self._unheard.clear()
        has = self._ledger.has  # a case may also have ended because its only victim was another preemptor's
        owners = {key: {each for each in owners if has(each.uid)} for key, owners in self._owners.items()}
        self._owners = {key: each for key, each in owners.items() if each}
        self._ended = {uid: at for uid, at in self._ended.items() if self._decisions.of(uid)}
        alive = {each.decision.uid for each in self._ledger if each.decision is not None}
        self._pages = {uid: page for uid, page in self._pages.items() if uid in alive}

    def _owner(self, said: Said) -> Owner:
        """The preemptor that the event names. One that was gone before is known by its UID alone."""
        uid = said.preemption.preemptor
        return said.owner or self._roll.owner_of(uid) or Owner(uid, said.preemption.kind, "", "", ("", uid))

    def _say(self, case: Case, now: float, *, is_last: bool = False) -> None:
        page = self._page(case)
        if page is None or case.decision is None:
            return
        if now < page.due and not is_last:
            self._unsaid[case] = None
            return
        said = self._said(case, page, said_of(case, self._ledger.unattributed(case, now), now))
        if not is_news(said, page.written):
            return
        if page.written is None and not page.due and not is_last:
            page.due = now + FIRST_SECONDS
            self._unsaid[case] = None
            return
        self._write(page, case.decision, said, now)

    def _conclude(self, case: Case, now: float) -> None:
        self._ended[case.owner.uid] = now
        page = self._page(case)
        if page is None or case.decision is None:
            _count(case, now)
            return
        said = self._said(case, page, said_of(case, case.unattributed, now, concluded=True))
        self._concluded(case.decision, said)
        self._write(page, case.decision, said, now)
        # Another process may have to write it, and then counts.
        self.writing.after(case.decision, partial(_count, case, now))

    def _said(self, case: Case, page: _Page, said: Instead) -> Instead:
        """With what was said before."""
        return written_over(together(said, page.before, later_than(page.before, case)), page.written)

    def _page(self, case: Case) -> _Page | None:
        return self._pages.get(case.decision.uid) if case.decision is not None else None

    def _write(self, page: _Page, decision: Decision, said: Instead, now: float) -> None:
        page.written, page.due = said, now + WRITE_SECONDS
        self.writing.put(decision, said)


def _count(case: Case, now: float) -> None:
    for victim in case.victims.values():
        VICTIMS.labels(FATES[case.fate(victim, now)]).inc()
    GROUPS_BROKEN.labels("Scheduler").inc(case.broken())
