"""What a scheduler has shown of one member counts for the members that are like it. See docs/decisions/0145.

Two members are alike if the search says so, and if they have the same class, labels, priority and scheduler now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import replace
from typing import Final

from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.mirror.probes import Kind, kind_of
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.scheduler.offers import Offers, Shown
from controllers.gangs.scheduler.proofs import Doubt, PlannedMember, Proof, Verdict, prove

__all__ = ["WITNESSES", "AlikeMembers", "heard"]

WITNESSES: Final = 4
"""The refusals of this number of members are asked for, those that the scheduler tried last. More would say the
same."""

_Kind = tuple[int, Kind]
"""Equal for members that are alike: the place of their shape in `ActivePlan.alike`, and their kind."""


class AlikeMembers:
    """The members of one plan by kind, and the planned nodes that the scheduler has offered to each of them."""

    def __init__(self, plan: ActivePlan, roster: Roster, offers: Offers) -> None:
        self._group, self._roster, self._offers = plan.group, roster, offers
        self._shapes = {uid: shape for shape, members in enumerate(plan.alike) for uid in members}
        self._kinds: dict[str, _Kind] = {}
        """By member (UID) that waits."""
        self._members: dict[_Kind, set[str]] = {}
        self._offered: dict[str, Set[str]] = {}
        """Nodes by member (UID)."""
        self._offered_to: dict[tuple[_Kind, str], set[str]] = {}
        """Members (UIDs) by kind and node."""
        self._witnesses: dict[_Kind, list[str]] = {}
        """The members of a kind (UIDs) that the scheduler tried last, if that was asked for."""

    def renew(
        self, uids: Collection[str], nodes: Set[str], leaving: Mapping[str, Collection[str]]
    ) -> set[str]:
        """Look again at these members, and at what was shown of these nodes. Returns the members of their kinds.

        `leaving`: all planned nodes, and the pods (UIDs) that will be gone from each.
        """
        if not self._shapes:
            return set()
        again = [uid for uid in uids if uid in self._shapes]
        others = [uid for uid in self._kinds.keys() - set(again) if nodes]
        kinds = {self._kinds[uid] for uid in again if uid in self._kinds}
        for uid in again:
            self._sort(uid)
        for uid, offered in self._offers.offers(again, leaving).items():
            self._note(uid, leaving.keys(), offered)
        changed = {node: leaving[node] for node in nodes}
        for uid, offered in self._offers.offers(others, changed).items() if changed else ():
            self._note(uid, nodes, offered)
        kinds.update(self._kinds[uid] for uid in again if uid in self._kinds)
        for kind in kinds:
            self._witnesses.pop(kind, None)
        return {uid for kind in kinds for uid in self._members.get(kind, ())}

    def _sort(self, uid: str) -> None:
        """Find out the kind that the member has now. What was shown of it is read anew."""
        former = self._kinds.pop(uid, None)
        if former is not None:
            self._members[former].discard(uid)
            for node in self._offered.pop(uid, ()):
                self._offered_to[former, node].discard(uid)
        its_kind = kind_of(self._roster, uid)
        if its_kind is None or not self._roster.waits(self._group, uid):
            return
        kind = self._kinds[uid] = self._shapes[uid], its_kind
        self._members.setdefault(kind, set()).add(uid)

    def _note(self, uid: str, nodes: Set[str], offered: Set[str]) -> None:
        """Of these nodes, these are offered to the member."""
        kind = self._kinds.get(uid)
        if kind is None:
            return
        before = self._offered.get(uid, frozenset())
        for node in (before & nodes) - offered:
            self._offered_to[kind, node].discard(uid)
        for node in offered - before:
            self._offered_to.setdefault((kind, node), set()).add(uid)
        self._offered[uid] = before - nodes | offered

    def verdict(self, uid: str, own: Verdict, planned: PlannedMember) -> Verdict:
        """What is proven of the member with what was shown of others. `own`: by what was shown of itself."""
        kind = self._kinds.get(uid)
        if kind is None or own.proof is not Proof.UNKNOWN or own.is_refusal:
            return own
        offered_to = self._offered_to.get((kind, planned.node), ())
        is_offered = len(offered_to) > (uid in offered_to)
        witnesses = self._tried_last(kind) if self._offers.attempted(uid) is None else []
        shown = [self._offers.shown(each, planned.node) for each in witnesses]
        return heard(own, planned, shown, is_offered=is_offered)

    def _tried_last(self, kind: _Kind) -> list[str]:
        if kind not in self._witnesses:
            ended = ((self._offers.attempted(uid), uid) for uid in self._members[kind])
            tried = sorted((at, uid) for at, uid in ended if at is not None)
            self._witnesses[kind] = [uid for _, uid in tried[-WITNESSES:]]
        return self._witnesses[kind]


def heard(own: Verdict, planned: PlannedMember, shown: Iterable[Shown], *, is_offered: bool) -> Verdict:
    """What others prove of a member. Nothing is proven of the member itself.

    `shown`: what attempts on members like it showed of its node, if the scheduler has not tried the member itself.
    `is_offered`: the scheduler offered the node to one of them. That is no answer to a complete attempt that did not
    show the node and still counts. It is one to an attempt that does not count, because the node has changed since.
    """
    verdicts = [prove(each, planned) for each in shown]
    for verdict in verdicts:
        if verdict.proof is Proof.CONTRADICTED:
            return replace(verdict, seen=f"{verdict.seen}: that was a pod like it")
    if is_offered:
        return Verdict(Proof.CONFIRMED, f"the scheduler offered {planned.node} to a pod like it")
    for doubt in (Doubt.STANDS, Doubt.STALE):
        for verdict in verdicts:
            if verdict.doubt is doubt:
                return replace(verdict, seen=f"{verdict.seen}: that was a pod like it")
    return own
