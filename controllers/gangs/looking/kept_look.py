"""What was seen of one plan, and how it is brought up to date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controllers.gangs.lifecycle.life import ActivePlan, Offer
from controllers.gangs.looking.comparison import BEFORE_EVICTING, difference, steered_difference, strayed
from controllers.gangs.looking.plan_changes import PlanChanges
from controllers.gangs.looking.plan_parts import MemberParts, MessageParts, NodeParts, VictimParts
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.account import Account

__all__ = ["KeptLook"]


class KeptLook:
    """What was seen of a plan. It is looked at again where something has changed."""

    def __init__(
        self, plan: ActivePlan, roster: Roster, account: Account, changes: PlanChanges, claimed: set[str]
    ) -> None:
        """`claimed`: nodes on which the group has claims."""
        self._plan, self._roster, self._changes = plan, roster, changes
        self.group = plan.group
        self.members = MemberParts(plan, roster)
        self.nodes = NodeParts(plan, roster, account)
        self._victims = VictimParts(plan, roster)
        self._messages = MessageParts(plan.group, roster)
        self.unseen = changes.begin({*self.nodes.names, *claimed}, [*plan.members, *self._victims.pods])
        changes.watch_groups(self.unseen, self._victims.groups)
        self._claimed = claimed
        self._classes = -1
        """The last change of PriorityClasses that was followed."""

    def is_about(self, plan: ActivePlan) -> bool:
        """Whether this is the plan, in whatever phase."""
        return plan.spec is self._plan.spec and plan.members is self._plan.members

    def watch(self, nodes: Iterable[str]) -> None:
        """The group has claims on these nodes."""
        nodes = list(nodes)
        self._claimed.update(nodes)
        self._changes.watch_nodes(self.unseen, nodes)

    def end(self) -> None:
        """The plan has ended."""
        self._changes.end(self.unseen)

    # ---- following what has changed

    def follow(self, plan: ActivePlan) -> str:
        """Look again at what was unseen. Returns what has changed about the plan: see `PlanSeen.changed`."""
        self._plan = plan
        again, nodes = self._take()
        nodes |= self.members.renew(again | self.members.ended())
        own, lowest = plan.spec.preemptor.priority, self.members.priority
        priority = own if lowest is None else min(own, lowest)
        if priority != self.nodes.priority:
            nodes = {*self.nodes.names, *self._claimed}
        if not plan.releases:
            self.nodes.renew(nodes, self.members.waiting, priority)
        return self._changed(plan)

    def _take(self) -> tuple[set[str], set[str]]:
        """Members (UIDs) and nodes to look at again."""
        unseen, planned = self.unseen, self._plan.members
        if self._classes != self._roster.changes.classes:
            self._classes = self._roster.changes.classes
            self._victims.all_again()
        if unseen.everything:
            self._victims.all_again()
            self._messages.all_again()
            again, nodes = set(planned), {*self.nodes.names, *self._claimed}
        else:
            self._victims.again(unseen.pods, unseen.groups)
            self._messages.again(unseen.pods)
            again = {uid for uid in unseen.pods if uid in planned}
            again.update(uid for node in unseen.nodes for uid in self.nodes.planned(node))
            nodes = unseen.nodes.copy()
        unseen.clear()
        return again, nodes

    def _changed(self, plan: ActivePlan) -> str:
        if plan.is_steered and not plan.begun:
            return steered_difference(plan, self._roster, self)
        if plan.phase in BEFORE_EVICTING or (plan.releases and plan.resumed):
            return difference(plan, self._roster, self)
        return "" if plan.releases else strayed(plan, self._roster, self)

    # ---- see `comparison.Parts`

    def member_differs(self) -> str:
        """See `comparison.Parts`."""
        return self.members.differ.first()

    def member_strays(self) -> str:
        """See `comparison.Parts`."""
        return self.members.stray.first()

    def member_elsewhere(self) -> str:
        """See `comparison.Parts`."""
        return self.members.elsewhere

    def victim_changed(self) -> str:
        """See `comparison.Parts`."""
        known = len(self._victims.groups)
        changed = self._victims.changed(self._plan)
        if len(self._victims.groups) != known:
            self._changes.watch_groups(self.unseen, self._victims.groups)
        return changed

    # ---- what the scheduler says

    def messages(self, offered: Mapping[str, Offer]) -> Mapping[str, tuple[str, str]]:
        """What the scheduler says of members that were offered their node; its words, not ours."""
        if new := self._messages.follow(offered):
            self._changes.watch_pods(self.unseen, new)
        return self._messages.said
