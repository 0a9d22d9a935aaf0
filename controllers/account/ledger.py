"""The account: pods that schedulers preempted, whom they were preempted for, and what was decided in their place.

Pure: it gets what was seen and when, in the order of time (seconds since the epoch). Whatever it keeps has an end: a
victim ends with its case, or `episode` seconds after its preemption; a case when it is concluded; evidence after a
while. Nothing is kept by a name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from math import inf
from typing import Final, NamedTuple

from controllers.account.cases import LATE_SECONDS, Case, Decision
from controllers.account.remainders import Remainder, Remainders
from controllers.account.victims import Victim
from runtime.exchange.accounted import Owner, OwnerKey, Standing, Stayed

__all__ = ["HINT_SECONDS", "Counted", "Ledger"]

HINT_SECONDS: Final = 30.0
"""How long a preempt call, or a nomination, speaks for a pod that is preempted."""


class Counted(NamedTuple):
    """Pods that need not be watched any longer."""

    cases: list[Case]
    """Concluded."""
    unattributed: list[Victim]
    """Their preemptor is not known."""


class _Hints:
    """Weak evidence: who is about to get room on a node. It ends by itself."""

    def __init__(self) -> None:
        self._by_place: dict[str, dict[Owner, float]] = {}
        """By node, or by the UID of a pod that may be preempted: preemptors, and when that was last seen."""
        self._ends: list[tuple[float, str, Owner]] = []

    def __len__(self) -> int:
        return len(self._by_place)

    def add(self, place: str, owner: Owner, now: float) -> None:
        self._by_place.setdefault(place, {})[owner] = now
        heappush(self._ends, (now + HINT_SECONDS + LATE_SECONDS, place, owner))

    def at(self, place: str, since: float) -> set[Owner]:
        return {owner for owner, seen in self._by_place.get(place, {}).items() if seen >= since}

    def forget(self, now: float) -> None:
        while self._ends and self._ends[0][0] < now:
            end, place, owner = heappop(self._ends)
            owners = self._by_place.get(place, {})
            if owners.get(owner, end) + HINT_SECONDS + LATE_SECONDS <= end:
                owners.pop(owner, None)
            if not owners:
                self._by_place.pop(place, None)


class Ledger:
    """All open cases, and the pods that may belong to one."""

    def __init__(self, episode: float) -> None:
        """`episode`: how long after its preemption a victim may still serve, in seconds."""
        self._episode = episode
        self._cases: dict[str, list[Case]] = {}
        """By the preemptor's UID, in the order in which they began. Only the last one may be open."""
        self._victims: dict[str, Victim] = {}
        self._loose: dict[str, Victim] = {}
        """Those that have no case."""
        self._case_of: dict[str, Case] = {}
        """By the UID of a victim."""
        self._named: set[str] = set()
        """Victims whose event has named the preemptor."""
        self._remainders = Remainders()
        self._remainder_of: dict[str, Remainder] = {}
        """By the UID of the pod that was preempted first."""
        self._hints = _Hints()
        self._judged: list[tuple[float, str]] = []
        """When the evidence about a victim (UID) is in."""
        self._forgotten: list[tuple[float, str]] = []
        """When a victim (UID) is forgotten if it has no case."""
        self._lost: list[Victim] = []
        """Victims that were forgotten since `settle`."""
        self._begun: list[Owner] = []
        self._changed: dict[Case, None] = {}

    def __len__(self) -> int:
        """How much it keeps."""
        cases = sum(map(len, self._cases.values()))
        return cases + len(self._victims) + len(self._remainders) + len(self._hints)

    def __iter__(self) -> Iterator[Case]:
        """The cases."""
        return (case for cases in self._cases.values() for case in cases)

    def has(self, owner: str) -> bool:
        """Whether a preemptor (UID) has a case."""
        return owner in self._cases

    def cases_of(self, owner: str) -> Sequence[Case]:
        """Those of a preemptor (UID)."""
        return self._cases.get(owner, ())

    def knows(self, victim: str) -> bool:
        """Whether a victim (UID) is known."""
        return victim in self._victims

    # ---- what is seen

    def decided(self, decision: Decision, now: float) -> None:
        """There is an observed plan. It counts unless a scheduler has begun after an earlier one.

        A plan may be seen after the end of the case in which it was made. Whatever is written to a plan brings it here
        once more, also after that end.
        """
        self._pass(now)
        if any(
            each.decision is not None and each.decision.uid == decision.uid
            for each in self.cases_of(decision.owner.uid)
        ):
            return
        case = self._case_at(decision.owner, decision.created) or self._begin(decision.owner, now)
        if case.decision is None or (case.is_untouched and case.decision.uid != decision.uid):
            case.decision = decision
            self._changed[case] = None
            case.complete = now if case.complete is None else case.complete

    def stands(self, owner: str, standing: Standing | None, now: float) -> None:
        """The newest state of a preemptor (UID); None if it is gone."""
        self._pass(now)
        for case in self._cases.get(owner, ()):
            case.stands(standing, now)
            self._changed[case] = None

    def placed(self, owner: str, node: str, now: float) -> None:
        """A pod of the preemptor (UID) is on the node."""
        self._pass(now)
        for case in self.cases_of(owner):
            if node not in case.ran_on:
                case.ran_on[node] = now
                self._changed[case] = None

    def preempted(self, victim: Victim, now: float) -> None:
        """A scheduler preempts the pod: its condition says so, or an event."""
        self._pass(now)
        known = self._victims.get(victim.uid)
        if known is not None:
            if victim.seen and not known.seen:
                self._keep(victim)
            return
        self._keep(victim)
        heappush(self._judged, (victim.at + LATE_SECONDS, victim.uid))
        heappush(self._forgotten, (victim.at + self._episode, victim.uid))

    def named(self, victim: str, owner: Owner, now: float) -> None:
        """An event names the preemptor of the victim (UID). No other evidence is stronger.

        It counts first, also for a pod that was preempted long ago: a new leader hears of that now.
        """
        if victim in self._victims and victim not in self._named:
            self._named.add(victim)
            self._attribute(self._victims[victim], owner)
        self._pass(now)

    def broken(self) -> list[tuple[str, OwnerKey]]:
        """The groups (UIDs) that have lost pods since the last call. Who tells the ledger says what is left."""
        return self._remainders.begun()

    def left(self, group: str) -> Remainder | None:
        """What is left of the group (UID); None if it is not followed."""
        return self._remainders.open(group)

    def stays(self, group: str, stayed: Stayed | None, now: float) -> None:
        """What is left of the group (UID) that has lost pods; None if the group is gone."""
        self._pass(now)
        left = self._remainders.open(group)
        if left is not None:
            left.stays(stayed, now)
            self._counts_elsewhere(left, now)

    def hinted(self, places: Collection[str], owner: Owner, now: float) -> None:
        """The preemptor may be about to get room: on these nodes, or that of these pods (UIDs)."""
        self._pass(now)
        for place in places:
            self._hints.add(place, owner, now)

    # ---- what follows

    def changed(self) -> list[Case]:
        """The cases that something was seen of since the last call. What time alone changes is not in them."""
        changed, self._changed = self._changed, {}
        return [case for case in changed if case in self._cases.get(case.owner.uid, ())]

    def begun(self) -> list[Owner]:
        """The preemptors whose cases have begun since the last call. Who tells the ledger says how they stand."""
        begun, self._begun = self._begun, []
        return begun

    def unattributed(self, case: Case, now: float) -> int:
        """How many pods that belong to nobody were preempted on nodes of the preemptor in its time. All evidence about
        them is in."""
        judged = (each for each in self._loose.values() if each.at + LATE_SECONDS <= now)
        return case.unattributed + sum(_may_be_of(each, case) for each in judged)

    def settle(self, now: float) -> Counted:
        """Time has passed. Returns what is over, and forgets it."""
        self._pass(now)
        lost, self._lost = self._lost, []
        concluded = [case for case in self if case.is_concluded(now)]
        for case in concluded:
            case.unattributed = self.unattributed(case, now)
        for case in concluded:
            self._end(case)
            for uid in case.victims:
                self._drop(uid)
        return Counted(concluded, lost)

    # ---- inside

    def _open(self, owner: str) -> Case | None:
        cases = self._cases.get(owner)
        return cases[-1] if cases and cases[-1].end is None else None

    def _begin(self, owner: Owner, at: float) -> Case:
        self._begun.append(owner)
        case = Case(owner, at, self._episode, is_remainder=self._remainders.open(owner.uid) is not None)
        self._cases.setdefault(owner.uid, []).append(case)
        return case

    def _end(self, case: Case) -> None:
        cases = self._cases[case.owner.uid]
        cases.remove(case)
        if not cases:
            del self._cases[case.owner.uid]

    def _keep(self, victim: Victim) -> None:
        victim = replace(victim, idle_since=self._idle_since(victim))
        self._victims[victim.uid] = victim
        left = self._remainders.lost(victim)
        if left is not None:
            self._remainder_of[victim.uid] = left
            self._counts_elsewhere(left, victim.at)
        if (case := self._case_of.get(victim.uid)) is not None:
            self._put(victim, case)
        else:
            self._loose[victim.uid] = victim

    def _put(self, victim: Victim, case: Case) -> None:
        case.victims[victim.uid] = victim
        if victim.uid in self._remainder_of:
            case.remainders[victim.uid] = self._remainder_of[victim.uid]
        self._changed[case] = None

    def _idle_since(self, victim: Victim) -> float:
        """Since when what the pod held counts as that of a group that did not run."""
        left, case = self._remainders.open(victim.group), self._open(victim.group)
        broken = left.breaker.at if left is not None else inf
        return min(broken, case.idle_since if case is not None and case.idle_since is not None else inf)

    def _counts_elsewhere(self, left: Remainder, now: float) -> None:
        """A gang in pieces is not counted a second time while it is followed as the remainder of a group."""
        for case in self._cases.get(left.breaker.unit, ()):
            case.counts_elsewhere(left.over is None, now)

    def _drop(self, uid: str) -> None:
        victim = self._victims.pop(uid, None)
        if victim is not None:
            self._remainders.drop(victim)
        self._remainder_of.pop(uid, None)
        self._loose.pop(uid, None)
        self._case_of.pop(uid, None)
        self._named.discard(uid)

    def _attribute(self, victim: Victim, owner: Owner) -> None:
        before = self._case_of.get(victim.uid)
        if before is not None:
            if before.owner.uid == owner.uid:
                return
            del before.victims[victim.uid]
            before.remainders.pop(victim.uid, None)
            self._changed[before] = None
            if not before.victims and before.decision is None:
                self._end(before)
        case = self._of_time(owner, victim.at)
        self._case_of[victim.uid] = case
        self._loose.pop(victim.uid, None)
        self._put(victim, case)

    def _of_time(self, owner: Owner, at: float) -> Case:
        """The preemptor's case at this time. What is preempted after its end begins another one."""
        case = self._case_at(owner, at) or self._begin(owner, at)
        case.began = min(case.began, at)
        return case

    def _case_at(self, owner: Owner, at: float) -> Case | None:
        """The preemptor's case that had not ended at this time."""
        return next((case for case in self.cases_of(owner.uid) if case.end is None or at <= case.end), None)

    def _pass(self, now: float) -> None:
        """Judge the victims whose evidence is in, and forget those that belong to nobody."""
        while self._judged and self._judged[0][0] <= now:
            _, uid = heappop(self._judged)
            self._judge(uid)
        while self._forgotten and self._forgotten[0][0] <= now:
            end, uid = heappop(self._forgotten)
            left = self._remainder_of.get(uid)
            if left is not None and left.over is None:
                left.end(end)
                self._counts_elsewhere(left, end)
            if uid in self._victims and uid not in self._case_of:
                victim = self._victims[uid]
                for case in self:
                    case.unattributed += _may_be_of(victim, case)
                self._lost.append(victim)
                self._drop(uid)
        self._hints.forget(now)

    def _judge(self, uid: str) -> None:
        victim = self._victims.get(uid)
        if victim is None or uid in self._case_of:
            return
        since = victim.at - HINT_SECONDS
        owners = self._hints.at(uid, since) or self._hints.at(victim.node, since)
        if len(owners) == 1:
            self._attribute(victim, *owners)


def _may_be_of(victim: Victim, case: Case) -> bool:
    within = case.began <= victim.at and (case.end is None or victim.at <= case.end)
    return within and victim.node in case.ran_on
