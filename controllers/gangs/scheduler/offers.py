"""Offers: what a scheduler's attempts on a pod showed of the nodes.

An attempt is a filter call together with the preempt call or the message that follows. A filter call is missing if the
filters before ours let the pod on no node. What an attempt showed is kept in two forms:

- A *showing* is a list of nodes that filter named, or of candidates that preempt named. Showings add up over attempts.
- An *absence* is the end of a complete attempt: each node that it did not show was refused.

Both speak of a node until the node or its pods change, at most `offer_seconds`. Changes are counted for all nodes
together (`NodeChanges.last_change`), so one number says for every node whether it has changed since.

A scheduler works on a copy of the cluster that is a little older than our mirror. An absence therefore does not speak
of nodes that changed in the last `settle_seconds` before the attempt: the scheduler may not have seen the change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from api.clock import Clock
from api.core import Pod
from controllers.gangs.scheduler.configuration import SchedulerConfiguration
from controllers.gangs.scheduler.messages import PreemptionOutcome, filter_was_called, preemption_outcome
from controllers.gangs.scheduler.node_sets import Numbering, Sought

__all__ = ["OFFER_SECONDS", "Absence", "Ended", "NodeChanges", "Offers", "Shown"]

OFFER_SECONDS: Final = 60.0
"""How long the model relies on what a scheduler's call showed of a node, unless the node changes before."""
SETTLE_SECONDS: Final = 1.0
SAMPLES_PER_SETTLING: Final = 10
LINK_SECONDS: Final = 30.0
"""A preempt call or message later than this after a filter call does not belong to the same attempt."""
NUMBERING_LIVES: Final = 2
"""How long a numbering is used, in multiples of `offer_seconds`."""


class NodeChanges(Protocol):
    """Counts of changes, all from one sequence: each change of any of them is a new highest number."""

    @property
    def last_change(self) -> int:
        """The highest number so far, of any node."""

    def node_changes(self, node: str) -> int:
        """The number of the last change of labels, taints, unschedulable or allocatable."""

    def node_pod_changes(self, node: str) -> int:
        """The number of the last change of the pods on the node."""

    def nomination_changes(self, node: str) -> int:
        """The number of the last change of nominations to the node."""


class Absence(NamedTuple):
    """A complete attempt that did not show the node."""

    at: float
    """In monotonic seconds: its filter call if there was one, else its end."""
    change: int
    """Changes up to this number were known to the scheduler."""


class Ended(NamedTuple):
    """How an attempt ended."""

    at: float
    is_complete: bool
    """Every node that it did not show was refused."""
    outcome: PreemptionOutcome | None
    """What the message said; None if it ended with a preempt call."""
    known: int | None = None
    """Changes up to this number were known to the scheduler; None if nobody can tell."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What attempts on a pod showed of one node, as far as it still counts."""

    is_offered: bool = False
    """A filter call named the node."""
    candidates: tuple[frozenset[str], ...] = ()
    """The victims (UIDs) of each candidate that was this node."""
    absence: Absence | None = None
    """The newest complete attempt, if neither it nor another attempt that counts showed the node."""
    last: Ended | None = None
    """The last attempt that ended, also if it does not count any longer."""


@dataclass(slots=True)
class _Showing:
    at: float
    change: int
    numbering: Numbering
    bits: int


class _FilterCall(NamedTuple):
    at: float
    known: int | None
    """Changes up to this number were known to the scheduler; None if nobody can tell."""
    is_complete: bool
    is_cut: bool
    """The list was as long as the scheduler lets it be."""


@dataclass(slots=True)
class _Attempts:
    """What is kept for one pod."""

    presented: float | None = None
    last: Ended | None = None
    found: bool | None = None
    """The pod's message, which was there before we saw the pod, says that there are no candidates. Whether its attempt
    called no filter, so that every node was refused. None: it says something else."""
    filter_call: _FilterCall | None = None
    """The last one that no preempt call has followed."""
    offered: list[_Showing] = field(default_factory=list)
    candidates: list[_Showing] = field(default_factory=list)
    absence: Absence | None = None
    cut: int = 0
    """Number of attempts with a list that was cut short."""


def _is_known(last: Ended | None, now: float) -> bool:
    """Whether a preempt call has told of the attempt that ends with a message about our empty answer."""
    return last is not None and last.outcome is None and now - last.at <= LINK_SECONDS


class Offers:
    """Attempts on unbound pods of gangs, by UID. Who calls decides which pods are noted, and when one is forgotten."""

    def __init__(
        self,
        clock: Clock,
        changes: NodeChanges,
        scheduler: SchedulerConfiguration,
        *,
        offer_seconds: float = OFFER_SECONDS,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        self._clock, self._changes, self._scheduler = clock, changes, scheduler
        self._offer_seconds, self._settle_seconds = offer_seconds, settle_seconds
        self._pods: dict[str, _Attempts] = {}
        self._presented: set[str] = set()
        self._numbering = Numbering(clock.monotonic())
        self._samples: deque[tuple[float, int]] = deque()
        self._sample(clock.monotonic())

    def __len__(self) -> int:
        """Number of pods with something known."""
        return len(self._pods)

    # ---- what happens

    def filter_called(self, pod: Pod, nodes: Sequence[str]) -> None:
        """The scheduler named nodes for the pod in a filter call. Whatever we answer, they were offered."""
        attempts, now = self._present(pod.metadata.uid)
        bits = self._numbering.nodes(nodes)
        self._show(attempts.offered, now, bits)
        # With one node it may be the probe of the pod's nominated node.
        is_probe = len(nodes) == 1 and bool(pod.status.nominated_node_name)
        limits = self._scheduler.limits_of(pod.spec.scheduler_name)
        is_cut = not limits.is_filter_complete(len(nodes))
        attempts.filter_call = _FilterCall(now, self._known(now), not (is_probe or is_cut), is_cut)

    def preempt_called(self, pod: Pod, candidates: Mapping[str, Collection[str]] | None) -> None:
        """The scheduler named candidates for the pod: the UIDs of the victims by node.

        None: they were not read. Then an attempt has ended, and it shows nothing.
        """
        attempts, now = self._present(pod.metadata.uid)
        if candidates is None:
            attempts.last, attempts.filter_call = Ended(now, False, None), None
            return
        self._show(attempts.candidates, now, self._numbering.candidates(candidates))
        limits = self._scheduler.limits_of(pod.spec.scheduler_name)
        complete = limits.are_candidates_complete(len(candidates))
        self._count_cut(attempts, now, candidates_cut=not complete)
        self._end(attempts, pod, now, None, complete)
        attempts.filter_call = None

    def message_seen(self, pod: Pod, message: str, *, arrived: bool) -> None:
        """The pod's condition PodScheduled is False with reason Unschedulable and this message.

        `arrived`: we saw the message change to this. Nobody knows when a message was written that was there before, so
        it shows no attempt. But the scheduler does not write a condition again that has not changed.
        """
        outcome = preemption_outcome(message)
        if not arrived:
            if outcome is PreemptionOutcome.NO_CANDIDATES:
                attempts = self._pods.setdefault(pod.metadata.uid, _Attempts())
                limits = self._scheduler.limits_of(pod.spec.scheduler_name)
                attempts.found = not filter_was_called(message) and limits.is_filter_complete(0)
            return
        attempts, now = self._present(pod.metadata.uid)
        if outcome is PreemptionOutcome.EMPTY_ANSWER and _is_known(attempts.last, now):
            return
        call = self._last_filter_call(attempts, now)
        # Watches and calls race: the message may be that of the attempt before, and a preempt call may follow. So the
        # filter call stays.
        is_missing = call is None and filter_was_called(message)
        complete = outcome is PreemptionOutcome.NO_CANDIDATES and not is_missing
        if outcome is PreemptionOutcome.NO_CANDIDATES:
            self._count_cut(attempts, now, candidates_cut=False)
        self._end(attempts, pod, now, outcome, complete)

    def sign_seen(self, uid: str) -> None:
        """A scheduler works on the pod, by another sign than a call or a message: it cleared a nomination of ours."""
        self._present(uid)

    def forget(self, uid: str) -> None:
        """The pod is bound or gone, or its spec has changed."""
        self._pods.pop(uid, None)
        self._presented.discard(uid)

    def expire(self) -> None:
        """Drop what has lapsed. To be called about once a second: absences need it to tell what has settled."""
        now = self._clock.monotonic()
        self._sample(now)
        for attempts in self._pods.values():
            for showings in (attempts.offered, attempts.candidates):
                showings[:] = [each for each in showings if self._lasts(each.at, now)]

    # ---- what is known

    def presented(self, uid: str) -> float | None:
        """When a scheduler was last seen to work on the pod, in monotonic seconds; None: never."""
        attempts = self._pods.get(uid)
        return attempts.presented if attempts is not None else None

    def attempted(self, uid: str) -> float | None:
        """When the last attempt on the pod ended, in monotonic seconds; None if no end was seen."""
        attempts = self._pods.get(uid)
        return attempts.last.at if attempts is not None and attempts.last is not None else None

    def cut(self, uid: str) -> int:
        """How many attempts on the pod showed only a part of the nodes, because the scheduler's lists have limits."""
        attempts = self._pods.get(uid)
        return attempts.cut if attempts is not None else 0

    def is_current(self, uid: str, node: str) -> bool:
        """Whether the last attempt ended with a preempt call, and nothing has changed on the node since it began.

        Then another attempt would show the same of the node, or the scheduler's lists have limits.
        """
        attempts = self._pods.get(uid)
        last = attempts.last if attempts is not None else None
        if last is None or last.outcome is not None or last.known is None:
            return False
        changes = self._changes
        changed = max(
            changes.node_changes(node), changes.node_pod_changes(node), changes.nomination_changes(node)
        )
        return changed <= last.known and self._lasts(last.at, self._clock.monotonic())

    @property
    def all_presented(self) -> Set[str]:
        """The pods (UIDs) that a scheduler was seen to work on. Good until the next event."""
        return self._presented

    def lapses_first(self, uid: str) -> float | None:
        """When the oldest thing was shown of the pod that will lapse, in monotonic seconds; None if nothing will."""
        attempts, now = self._pods.get(uid), self._clock.monotonic()
        if attempts is None:
            return None
        seen = [each.at for showings in (attempts.offered, attempts.candidates) for each in showings]
        seen += [each.at for each in (attempts.absence, attempts.last) if each is not None]
        return min((at for at in seen if self._lasts(at, now)), default=None)

    def lasts(self, at: float) -> bool:
        """Whether what was shown then, in monotonic seconds, has not lapsed."""
        return self._lasts(at, self._clock.monotonic())

    def shown(self, uid: str, node: str) -> Shown:
        """What the attempts on the pod showed of the node."""
        attempts = self._pods.get(uid)
        if attempts is None:
            return Shown()
        now = self._clock.monotonic()
        changed = max(self._changes.node_changes(node), self._changes.node_pod_changes(node))

        def counts(seen: _Showing | Absence) -> bool:
            return changed <= seen.change and self._lasts(seen.at, now)

        offered = any(each.numbering.has_node(each.bits, node) for each in attempts.offered if counts(each))
        candidates = tuple(
            victims
            for each in attempts.candidates
            if counts(each)
            for victims in each.numbering.victims(each.bits, node)
        )
        absence = attempts.absence
        if absence is not None and (offered or candidates or not counts(absence)):
            absence = None
        return Shown(offered, candidates, absence, attempts.last or _found(attempts))

    def offers(self, uids: Iterable[str], leaving: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
        """Which nodes attempts offered to which pod (UID), as far as that still counts.

        `leaving`: the nodes in question, and the pods (UIDs) that will be gone from each. A candidate is an offer if
        all its victims are among these.
        """
        now = self._clock.monotonic()
        changed = {
            node: max(self._changes.node_changes(node), self._changes.node_pod_changes(node))
            for node in leaving
        }
        empty = {node: pods for node, pods in leaving.items() if pods}
        sought: dict[int, tuple[Sought, Sought]] = {}

        def found(showing: _Showing, place: int) -> Iterator[str]:
            numbering = showing.numbering
            if id(numbering) not in sought:
                sought[id(numbering)] = (numbering.seek_nodes(leaving), numbering.seek_candidates(empty))
            if self._lasts(showing.at, now):
                nodes = sought[id(numbering)][place].within(showing.bits)
                yield from (node for node in nodes if changed[node] <= showing.change)

        offers = {}
        for uid in uids:
            attempts = self._pods.get(uid)
            if attempts is not None:
                offers[uid] = {node for each in attempts.offered for node in found(each, 0)}
                offers[uid].update(node for each in attempts.candidates for node in found(each, 1))
        return offers

    # ---- inside

    def _present(self, uid: str) -> tuple[_Attempts, float]:
        now = self._clock.monotonic()
        self._sample(now)
        attempts = self._pods.get(uid)
        if attempts is None:
            attempts = self._pods[uid] = _Attempts()
        attempts.presented = now
        self._presented.add(uid)
        if now - self._numbering.born > NUMBERING_LIVES * self._offer_seconds:
            self._numbering = Numbering(now)
        return attempts, now

    def _show(self, showings: list[_Showing], now: float, bits: int) -> None:
        """Add a showing. What it shows is taken out of older ones: they lapse before it."""
        new = _Showing(now, self._changes.last_change, self._numbering, bits)
        kept: list[_Showing] = []
        for each in showings:
            if each.numbering is new.numbering:
                each.bits &= ~new.bits
            if each.bits and self._lasts(each.at, now):
                kept.append(each)
        kept.append(new)
        showings[:] = kept

    def _end(
        self, attempts: _Attempts, pod: Pod, now: float, outcome: PreemptionOutcome | None, complete: bool
    ) -> None:
        """An attempt has ended. `complete`: so are its candidates."""
        call = self._last_filter_call(attempts, now)
        if call is None:
            limits = self._scheduler.limits_of(pod.spec.scheduler_name)
            is_cut = not limits.is_filter_complete(0)
            call = _FilterCall(now, self._known(now), not is_cut, is_cut)
        complete = complete and call.is_complete
        attempts.last = Ended(now, complete, outcome, call.known)
        if complete and call.known is not None:
            attempts.absence = Absence(call.at, call.known)

    def _count_cut(self, attempts: _Attempts, now: float, *, candidates_cut: bool) -> None:
        call = self._last_filter_call(attempts, now)
        attempts.cut += candidates_cut or (call is not None and call.is_cut)
        if call is not None:
            attempts.filter_call = call._replace(is_cut=False)  # an attempt counts once

    def _last_filter_call(self, attempts: _Attempts, now: float) -> _FilterCall | None:
        call = attempts.filter_call
        return call if call is not None and now - call.at <= LINK_SECONDS else None

    def _lasts(self, at: float, now: float) -> bool:
        return now - at <= self._offer_seconds

    def _sample(self, now: float) -> None:
        """Remember how far changes are counted now."""
        if not self._samples or now - self._samples[-1][0] >= self._settle_seconds / SAMPLES_PER_SETTLING:
            self._samples.append((now, self._changes.last_change))
        while len(self._samples) > 1 and now - self._samples[1][0] >= self._settle_seconds:
            self._samples.popleft()

    def _known(self, now: float) -> int | None:
        """Up to which number a scheduler knows the changes by now; None in the first moments of this object."""
        at, change = self._samples[0]
        return change if now - at >= self._settle_seconds else None


def _found(attempts: _Attempts) -> Ended | None:
    """The attempt of the message that was there before we saw the pod. A held pod's is complete if its list is now."""
    if attempts.found is None:
        return None
    call = attempts.filter_call
    complete = attempts.found or (call is not None and call.is_complete)
    return Ended(float("-inf"), complete, PreemptionOutcome.NO_CANDIDATES)
