"""What kube-scheduler has shown of a gang of its own kind: one member speaks for all of its class.

An attempt on such a gang presents few members, and stops when minCount is out of reach. It presents them twice, and
the second time with every pod of lower priority gone. So a node that it names is one that its filters take for the
class once victims have gone, and a node that it does not name shows nothing: the first list has free nodes only.
"""

from __future__ import annotations

from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.plan_seen import MemberProof
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.scheduler.configuration import SchedulerConfiguration
from controllers.gangs.scheduler.offers import Offers
from controllers.gangs.scheduler.proofs import Proof

__all__ = ["native_proofs"]


def native_proofs(
    plan: ActivePlan, roster: Roster, offers: Offers, scheduler: SchedulerConfiguration
) -> dict[str, MemberProof]:
    """What is proven of each planned member that is not bound: by UID, in the plan's order."""
    presented = _presented(plan, roster, offers)
    known = dict[tuple[bytes | None, str], MemberProof]()
    found = dict[str, MemberProof]()
    for uid, member in roster.waiting(plan).items():
        key = roster.class_key(uid), member.node
        if key not in known:
            view = roster.candidate(uid)
            is_kept_away = view is not None and scheduler.keeps_away(view.pod_class.resources)
            known[key] = _proof(member.node, presented.get(key[0], []), offers, cannot_tell=is_kept_away)
        found[uid] = known[key]
    return found


def _presented(plan: ActivePlan, roster: Roster, offers: Offers) -> dict[bytes | None, list[str]]:
    """The members (UIDs) that wait and that the scheduler has presented, by class; also those that are not planned."""
    found = dict[bytes | None, list[str]]()
    for uid in sorted(roster.gang_members(plan.group).unbound & offers.all_presented):
        found.setdefault(roster.class_key(uid), []).append(uid)
    return found


def _proof(node: str, alike: list[str], offers: Offers, *, cannot_tell: bool) -> MemberProof:
    ends = [at for uid in alike if (at := offers.attempted(uid)) is not None]
    attempted = max(ends, default=None)
    if any(offers.shown(uid, node).is_offered for uid in alike):
        seen = f"filter was offered {node} for a member like it"
        return MemberProof(Proof.CONFIRMED, seen, attempted, cannot_tell=cannot_tell)
    seen = f"the scheduler has not named {node} for a member like it"
    return MemberProof(Proof.UNKNOWN, seen, attempted, cannot_tell=cannot_tell)
