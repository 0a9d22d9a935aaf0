"""The answers to the scheduler's filter and preempt calls: lookups in what is known, no I/O and no planning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from api.core import Pod
from controllers.gangs.answering import (
    HOLD_MARK,
    PROMISED,
    RESERVED,
    ROOM_IS_RESERVED,
    SPARED,
    UNKNOWN_VICTIM,
    VICTIM_LEAVES,
    AnyOf,
    BoundPod,
    FreeRoom,
    Hold,
    InPass,
    Offer,
    Within,
)
from extender.wire import (
    ExtenderArgs,
    ExtenderPreemptionArgs,
    MetaVictims,
    Verb,
    candidates_decoder,
    filter_all,
    filter_decoder,
    filter_none,
    filter_only,
    names_decoder,
    offered_to,
    preemption_all,
    preemption_decoder,
    preemption_result,
    uids_of,
)

__all__ = ["Face", "Verbs"]

OUTSIDE = HOLD_MARK + "the pod group runs in another domain"
NOT_PLANNED = HOLD_MARK + "another node is planned for this pod"

NO_FREE_ROOM = HOLD_MARK + "nothing is evicted for this pod, and no node has free room for it"

EVICTED_WHOLE = "a victim's group is evicted whole or not at all"
STAYS = "a victim is a static pod, or a pod of a DaemonSet"
ANOTHER_DOMAIN = "the pod group runs in another domain"


class Face(Protocol):
    """What the verbs may ask of the gang room, and what they report to it."""

    @property
    def decides(self) -> bool:
        """Whether this process leads, and its mirror may be trusted."""

    @property
    def follows(self) -> bool:
        """Whether the mirror may be trusted, and another process may lead: only what is safe is answered."""

    @property
    def promises_room(self) -> bool:
        """Whether room is promised anywhere."""

    def is_promised(self, node: str, *, at_least: int | None = None) -> bool:
        """Whether plans of priority `at_least` or more claim room on the node; None: any plans."""

    def is_awaited(self, uid: str, *, at_least: int | None = None) -> bool:
        """Whether the pod is to leave for a plan of priority `at_least` or more; None: for any plan."""

    def answered_in_vain(self, pod: Pod) -> None:
        """The pod was answered by a process that does not decide: it must be brought back later."""

    def observes(self, pod: Pod) -> bool:
        """Whether the pod is left to its scheduler, because its namespace is observed."""

    def heard(self, pod: Pod, candidates: Mapping[str, Collection[str]] | None) -> None:
        """A scheduler has called about a pod that is left to it. `candidates`: those of a preempt call (victims' UIDs
        by node). They cannot change the answer."""

    def verdict(self, pod: Pod) -> Hold | Offer | AnyOf | InPass | Within | FreeRoom | None:
        """What to do with a pod of a gang; None for a pod that is to be treated as an ordinary one."""

    def free_node(self, pod: Pod, names: Collection[str]) -> str | None:
        """One of these nodes that has free room for the pod, which is promised to nobody else; None if there is none.

        The pod counts as on its way there from now on.
        """

    def in_pass(self, pod: Pod, tried: InPass, nodes: list[str]) -> Hold | Offer:
        """What a pod gets in the pass that goes on, if `verdict` leaves it to that. `nodes`: the names in the call.

        The call counts as one of this pass.
        """

    def offered(self, pod: Pod, *, among: bool) -> None:
        """The pod's room is ready; `among`: the scheduler had its node to offer, and may use it now."""

    def held(self, pod: Pod) -> None:
        """Filter turned the pod down because of its own gang: it must be woken when the gang goes on."""

    def outside(self, pod: Pod) -> None:
        """Filter kept the pod in its gang's domain: it must be woken when that is another one."""

    def attempted(self, pod: Pod) -> None:
        """The scheduler tries the pod: the result of an earlier attempt is void, or this one has found no node."""

    def let_through(self, pod: Pod, nodes: Collection[str]) -> None:
        """The scheduler may put the pod on one of these nodes now, or nominate it there. None named: on any node."""

    def barred(self, pod: Pod, names: Iterable[str]) -> list[str]:
        """On which of these nodes the pod, of whatever group, would take promised room.

        It must be woken when that room comes back. It counts as on its way to the other nodes from now on. A process
        that does not lead promises nothing: there every node is barred that has promised room.
        """

    def taken(self, pod: Pod, names: Iterable[str]) -> list[str]:
        """The same for a pod that is left to its scheduler. Nobody brings it back."""

    def spares(self, pod: Pod, names: Sequence[str]) -> list[str]:
        """On which of these nodes the pod's scheduler would break a unit for it that it does not know.

        That is so for members of its own kind of groups: preempt is never called for them. What such a pod may take on
        the other nodes is offered to it from now on.
        """

    def priority(self, pod: Pod) -> int:
        """The pod's priority; of a member that differs from its group, the lower one of both."""

    def why_no_evictions(self, pod: Pod) -> str:
        """Why nothing may be evicted for a member of a gang; empty for any other pod, and if something may."""

    def bound(self, uid: str) -> BoundPod | None:
        """The pod of this UID, which the scheduler counts as bound. None if there is none, or it is not known."""

    def filter_called(self, pod: Pod, nodes: list[str]) -> None:
        """These nodes pass every filter of the scheduler's own for a pod of a gang."""

    def evicts_for(self, pod: Pod) -> bool:
        """Whether evictions for the pod go on. Until they have ended, it does not matter whom its scheduler would
        evict."""

    def preempt_called(self, pod: Pod, candidates: Mapping[str, Collection[str]] | None) -> None:
        """The scheduler wants to preempt for a pod of a gang: victims (UIDs) by node. None: they were not read."""

    def preempts_alone(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> bool:
        """A candidate (victims' UIDs by node) has a pod of a group that is evicted whole, and has a lower priority.

        Whether a plan is made for this pod, so that there is no node for it now. Never for a member of a gang.
        """

    def nothing_to_evict(self, pod: Pod, reasons: Mapping[str, str]) -> None:
        """Every node that the scheduler offered was struck out (reason per node)."""


class Verbs:
    """filter and preempt, from request to answer."""

    def __init__(self, face: Face, saw: Callable[[str], None] = lambda _: None) -> None:
        """`saw`: gets the schedulerName of the pod of each call."""
        self._face, self._saw = face, saw

    def answer(self, verb: Verb, body: bytes) -> bytes:
        """See `extender.server.Answers`."""
        if verb == "filter":
            return self.filter(filter_decoder.decode(body))
        return self.preempt(preemption_decoder.decode(body))

    def filter(self, args: ExtenderArgs) -> bytes:
        """Which of the offered nodes the pod may use (kube-scheduler calls this after its own filters)."""
        self._saw(args.pod.spec.scheduler_name)
        self._face.attempted(args.pod)
        if self._face.observes(args.pod):
            return self._filter_observed(args)
        verdict = self._face.verdict(args.pod)
        if verdict is None:
            return self._filter_ordinary(args)
        if isinstance(verdict, AnyOf):
            self._face.filter_called(args.pod, names_decoder.decode(args.node_names) or [])
            within = Within(verdict.nodes) if verdict.nodes is not None else None
            return self._filter_ordinary(args) if within is None else self._filter_within(args, within)
        if isinstance(verdict, Within):
            return self._filter_within(args, verdict)
        if isinstance(verdict, FreeRoom):
            return self._filter_free(args, verdict)
        names = names_decoder.decode(args.node_names) or []
        self._face.filter_called(args.pod, names)
        if isinstance(verdict, InPass):
            verdict = self._face.in_pass(args.pod, verdict, names)
        if isinstance(verdict, Hold):
            self._face.held(args.pod)
            return filter_none(names, verdict.text)
        is_among = verdict.node in names
        self._face.offered(args.pod, among=is_among)
        if not is_among:
            return filter_none(names, NOT_PLANNED)
        self._face.let_through(args.pod, [verdict.node])
        return filter_only([verdict.node], {})

    def _filter_observed(self, args: ExtenderArgs) -> bytes:
        """What came, less the nodes with room that is promised to others. Those are as full for preempt."""
        self._face.heard(args.pod, None)
        names, taken = list[str](), list[str]()
        if self._face.promises_room:
            names = names_decoder.decode(args.node_names) or []
            taken = self._face.taken(args.pod, names)
        if taken:
            return self._leave(args.pod, names, dict.fromkeys(taken, PROMISED))
        self._face.let_through(args.pod, ())
        return filter_all(args.node_names, args.nodes)

    def _filter_within(self, args: ExtenderArgs, verdict: Within) -> bytes:
        """One node outside of the domain gets the reason for all: the scheduler needs none for the others."""
        names = names_decoder.decode(args.node_names) or []
        inside = [name for name in names if name in verdict.nodes]
        if len(inside) == len(names):
            return self._filter_ordinary(args)
        self._face.outside(args.pod)
        first = next(name for name in names if name not in verdict.nodes)
        return self._leave(args.pod, inside, {first: OUTSIDE, **self._rejected(args.pod, inside)})

    def _filter_free(self, args: ExtenderArgs, verdict: FreeRoom) -> bytes:
        names, nodes = names_decoder.decode(args.node_names) or [], verdict.nodes
        inside = names if nodes is None else [name for name in names if name in nodes]
        node = self._face.free_node(args.pod, inside)
        return filter_none(names, NO_FREE_ROOM) if node is None else filter_only([node], {})

    def _filter_ordinary(self, args: ExtenderArgs) -> bytes:
        names, rejected = list[str](), dict[str, str]()
        if self._face.promises_room or args.pod.spec.scheduling_group is not None:
            names = names_decoder.decode(args.node_names) or []
            rejected = self._rejected(args.pod, names)
        if rejected:
            return self._leave(args.pod, names, rejected)
        self._face.let_through(args.pod, ())
        return filter_all(args.node_names)

    def _leave(self, pod: Pod, names: list[str], rejected: dict[str, str]) -> bytes:
        """Those of the named nodes that are not rejected."""
        kept = [name for name in names if name not in rejected]
        if kept:
            self._face.let_through(pod, kept)
        return filter_only(kept, rejected)

    def _rejected(self, pod: Pod, names: list[str]) -> dict[str, str]:
        """The nodes that an ordinary pod must not use, and why."""
        barred = self._face.barred(pod, names) if self._face.promises_room else []
        rejected = dict.fromkeys(barred, RESERVED)
        if pod.spec.scheduling_group is not None:
            others = [name for name in names if name not in rejected]
            rejected.update(dict.fromkeys(self._face.spares(pod, others), SPARED))
        return rejected

    def preempt(self, args: ExtenderPreemptionArgs) -> bytes:
        """Where the scheduler may evict what its dry run found; gangs' victims are never evicted by the scheduler."""
        self._saw(args.pod.spec.scheduler_name)
        self._face.attempted(args.pod)
        if self._face.observes(args.pod):
            return self._preempt_observed(args)
        if not self._face.decides:
            self._face.answered_in_vain(args.pod)
            return self._preempt_safely(args)
        verdict = self._face.verdict(args.pod)
        if verdict is not None and not isinstance(verdict, Within):
            self._face.preempt_called(args.pod, self._candidates_of_member(args))
            return preemption_result({})
        offered = candidates_decoder.decode(args.node_name_to_meta_victims) or {}
        priority = self._face.priority(args.pod)
        if offered and (why := self._face.why_no_evictions(args.pod)):
            self._face.nothing_to_evict(args.pod, dict.fromkeys(offered, why))
            return preemption_result({})
        struck = {
            node: reason
            for node, victims in offered.items()
            if (reason := self._strikes(node, victims, priority, verdict))
        }
        if _needs_plan(offered, struck) and self._face.preempts_alone(args.pod, uids_of(offered)):
            return preemption_result({})
        kept = {node: victims for node, victims in offered.items() if node not in struck}
        if kept:
            self._face.let_through(args.pod, kept)
        elif offered:
            self._face.nothing_to_evict(args.pod, struck)
        return (
            preemption_result(kept)
            if struck or not offered
            else preemption_all(args.node_name_to_meta_victims)
        )

    def _candidates_of_member(self, args: ExtenderPreemptionArgs) -> Mapping[str, Collection[str]] | None:
        """The scheduler tries each member again at every deletion, and 5,000 candidates take 7 ms to read."""
        if self._face.evicts_for(args.pod):
            return None
        return uids_of(candidates_decoder.decode(args.node_name_to_meta_victims) or {})

    def _preempt_observed(self, args: ExtenderPreemptionArgs) -> bytes:
        offered = offered_to(args)
        self._face.heard(args.pod, offered)
        if offered:
            self._face.let_through(args.pod, offered)
        return preemption_all(args.node_name_to_meta_victims)

    def _preempt_safely(self, args: ExtenderPreemptionArgs) -> bytes:
        """What every leader would allow, now and soon: for ordinary pods, candidates that touch nothing of ours."""
        if not self._face.follows or self._face.verdict(args.pod) is not None:
            return preemption_result({})
        offered = candidates_decoder.decode(args.node_name_to_meta_victims) or {}
        priority = self._face.priority(args.pod)
        safe = {node: each for node, each in offered.items() if self._is_untouched(node, each, priority)}
        return preemption_result(safe)

    def _is_untouched(self, node: str, victims: MetaVictims, priority: int) -> bool:
        """Whether no room is promised there, and all victims are ordinary pods of lower priority that nobody plans
        to evict."""
        if self._face.is_promised(node):
            return False
        for victim in victims.pods or ():
            pod = self._face.bound(victim.uid)
            if pod is None or pod.node != node or self._face.is_awaited(victim.uid):
                return False
            if not pod.leaving and (pod.in_group or pod.kept or pod.priority >= priority):
                return False
        return True

    def _strikes(self, node: str, victims: MetaVictims, priority: int, within: Within | None) -> str | None:
        """Why the scheduler must not evict on this node for a pod of this priority; None if it may."""
        if within is not None and node not in within.nodes:
            return ANOTHER_DOMAIN
        if self._face.is_promised(node, at_least=priority):
            return ROOM_IS_RESERVED
        # After kubernetes PR 135486, a candidate may come without victims: another extender's filter refused the node.
        for victim in victims.pods or ():
            pod = self._face.bound(victim.uid)
            if pod is None or (pod.node not in (None, node) and not pod.unit_is_group):
                return UNKNOWN_VICTIM  # of a group that goes whole, pods on other nodes are victims, too
            if self._face.is_awaited(victim.uid, at_least=priority):
                return VICTIM_LEAVES
            if pod.leaving:
                continue
            if pod.priority >= priority:
                return "a victim's group has no lower priority"
            if pod.kept:
                return STAYS
            if pod.unit_is_group:
                return EVICTED_WHOLE
        return None


def _needs_plan(offered: Mapping[str, MetaVictims], struck: Mapping[str, str]) -> bool:
    """Whether a plan may find other victims than the scheduler did: whole groups, or pods beside those that stay."""
    reasons = set(struck.values())
    return EVICTED_WHOLE in reasons or (STAYS in reasons and len(struck) == len(offered))
