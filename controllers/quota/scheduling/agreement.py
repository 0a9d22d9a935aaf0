"""Whether quota and nodes agree: nobody is evicted for a Workload whose pods would then find no node.

A cycle decides to preempt others for a Workload. Before it does, the nodes plane is asked whether the Workload's pods
would find places once the pods of the victims are gone. While the question runs, the Workload is in no cycle. Then a
cycle decides anew, and the answer counts if the decision is the same.

If there is no place, or only one for which the nodes plane would evict yet others, it is asked once more, with the pods
of all that may be preempted. If there is a place then, the Workloads on its nodes are preempted first in the next
decision, before others of lower priority.

A Workload without places waits. It is asked about again when nodes or pods have changed, and when another decision is
made about it. So is a Workload with places that waits for a closed preemption gate: it says that it would preempt
others only as long as its pods would find places.

The nodes plane is not asked about a Workload that a manager sends to other clusters: its pods do not run here.

See docs/decisions/0050.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

import structlog

from api.clock import Clock
from api.workloads import Workload
from controllers.quota.life.admitting import admission_of
from controllers.quota.scheduling.asking import asking_of, asks_for, owner_of
from quota.cycle.entries import Entry, put_off
from quota.cycle.queues import is_queued
from quota.search.asks import Options, ask_for
from quota.search.candidates import candidates
from quota.search.decision import Decision
from quota.state.snapshot import Holder, QuotaSnapshot
from quota.state.workloads import key_of
from runtime.exchange.placements import Answer, NoPlace, Owner, Placed, Placements
from runtime.work.background import Background

__all__ = ["Agreement", "without_place"]

log = structlog.get_logger(__name__)

FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 30.0
"""Seconds. A Workload that found no place is asked about again, after changes of nodes, at first soon, then seldom."""


class _Question(NamedTuple):
    """What an answer is about."""

    uid: str
    generation: int
    flavors: object
    """By pod set."""
    counts: tuple[int, ...]
    """Of each pod set: fewer than it asks for in a partial admission."""
    victims: frozenset[str]
    """UIDs of Workloads."""


class _Case(NamedTuple):
    """A decision to preempt others for a Workload."""

    workload: Workload
    owner: Owner
    decision: Decision
    snapshot: QuotaSnapshot
    """On which it was made."""


@dataclass(slots=True)
class _Asked:
    question: _Question
    queue: str
    answer: Answer | None = None
    """None while the question runs."""
    changes: int = -1
    """`Placements.changes` when it was asked."""
    again: float = 0.0
    """From then on it may be asked again, in monotonic seconds."""
    due: float = 0.0
    """From then on its Workload is brought back into its queue."""
    waits: float = FIRST_WAIT
    kept: bool = False
    """Places were found, and nobody acts on that yet: a preemption gate is closed."""


class _Second(NamedTuple):
    """A second decision is due, with other victims."""

    preferred: frozenset[str]
    """Holders of quota (keys) whose preemption would make room on nodes."""
    first: _Question
    """What was asked about the first decision."""
    answer: Answer
    """What was answered. It counts if the second decision finds no place."""
    waits: float


class Agreement:
    """The questions of one term. Everything runs on the event loop."""

    def __init__(
        self,
        placements: Placements | None,
        options: Options,
        now: Callable[[], int],
        answered: Callable[[], None],
        changed: Callable[[str], None],
        moved: Callable[[], None],
        clock: Clock,
    ) -> None:
        """`placements`: None: there is no nodes plane here, and nobody is asked.

        `answered`: another cycle may have another answer. `changed`: Workloads that wait in the tree of this
        ClusterQueue may have another answer. `moved`: nodes or pods have changed.
        """
        self._placements, self._options, self._now, self._clock = placements, options, now, clock
        self._answered, self._queue_changed, self._nodes_changed = answered, changed, moved
        self._asked: dict[str, _Asked] = {}
        """By key of the Workload."""
        self._second: dict[str, _Second] = {}
        """By key of the Workload."""
        self._one = asyncio.Lock()
        self._moved = asyncio.Event()
        self._questions = Background()

    def is_asking(self, key: str) -> bool:
        """Whether the question about the Workload runs."""
        asked = self._asked.get(key)
        return asked is not None and asked.answer is None

    @property
    def preferred(self) -> Mapping[str, frozenset[str]]:
        """For the next cycle: see `quota.cycle.cycle.cycle`."""
        return {key: each.preferred for key, each in self._second.items()}

    def answer(self, entry: Entry, snapshot: QuotaSnapshot) -> Answer | None:
        """The answer about an entry whose outcome is Preempt or Gated, of a cycle on this snapshot. None: the question
        runs.

        That places were found is said once to a preemptor: the caller acts on it at once. While a preemption gate is
        closed it counts until nodes or pods have changed.
        """
        owner, decision = asks_for(entry.workload), entry.decision
        if self._placements is None or decision is None or owner is None or _is_elsewhere(entry, snapshot):
            return Placed(())
        key, question = key_of(entry.workload), _question(entry.workload, decision)
        asked = self._asked.get(key)
        if asked is not None and asked.question == question:
            if asked.answer is None:
                return None
            if isinstance(asked.answer, Placed) and (found := self._placed(entry, asked, asked.answer)):
                return found
            if isinstance(asked.answer, NoPlace) and self._still_counts(asked, self._placements):
                return asked.answer
        waits = asked.waits if asked is not None and asked.question == question else FIRST_WAIT
        self._asked[key] = asked = _Asked(question, decision.queue, waits=waits)
        case = _Case(entry.workload, owner, decision, snapshot)
        self._questions.start(self._ask(key, asked, self._placements, case))
        return None

    def _placed(self, entry: Entry, asked: _Asked, answer: Placed) -> Placed | None:
        """The answer, if it counts for this entry."""
        if self._placements is None:
            return None
        if entry.outcome != "Gated":
            if asked.kept and asked.changes != self._placements.changes:
                return None  # its gate has opened long after the answer
            self._forget(key_of(entry.workload))
            return answer
        if not asked.kept:
            asked.kept = True
            self._wait(asked)
        return answer if self._still_counts(asked, self._placements) else None

    def refused(self, entry: Entry, snapshot: QuotaSnapshot) -> NoPlace | None:
        """What was answered about an entry whose outcome is Preempt or Gated, of a cycle on this snapshot, if there was
        no place and the answer still counts. Nobody is asked."""
        if self._placements is None or entry.decision is None or asks_for(entry.workload) is None:
            return None
        if _is_elsewhere(entry, snapshot):
            return None
        asked = self._asked.get(key_of(entry.workload))
        if asked is None or asked.question != _question(entry.workload, entry.decision):
            return None
        if isinstance(asked.answer, NoPlace) and self._still_counts(asked, self._placements):
            return asked.answer
        return None

    def _still_counts(self, asked: _Asked, placements: Placements) -> bool:
        """Whether nodes and pods are as they were when it was asked, or it is too early to ask again."""
        return asked.changes == placements.changes or self._clock.monotonic() < asked.again

    def workload_changed(self, key: str, after: Workload | None) -> None:
        """The Workload changed or went."""
        asked = self._asked.get(key)
        if asked is not None and (
            after is None or after.metadata.uid != asked.question.uid or not is_queued(after)
        ):
            self._forget(key)

    def _forget(self, key: str) -> None:
        self._asked.pop(key, None)
        self._second.pop(key, None)

    async def run(self) -> None:
        """Bring back those without a place when nodes or pods have changed. Runs until cancelled."""
        if self._placements is None:
            return
        seconds: float | None = None
        with self._placements.told(self._moved.set):
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._moved.wait()
                self._moved.clear()
                self._nodes_changed()
                seconds = self._bring_back(self._placements)

    async def close(self) -> None:
        """The term is over."""
        await self._questions.close()

    def _bring_back(self, placements: Placements) -> float | None:
        """Returns in how many seconds there are others to bring back; None: there are no others."""
        now, changes = self._clock.monotonic(), placements.changes
        known = [each for each in self._asked.values() if each.kept or isinstance(each.answer, NoPlace)]
        stale = [each for each in known if each.changes != changes]
        due = [each for each in stale if each.due <= now]
        for each in due:
            each.due = now + each.waits
        for queue in {each.queue for each in due}:
            self._queue_changed(queue)
        return min((each.due - now for each in stale), default=None)

    async def _ask(self, key: str, asked: _Asked, placements: Placements, case: _Case) -> None:
        """One question at a time: gangs wait for the same search."""
        second, preferred = self._second.get(key), frozenset[str]()
        async with self._one:
            asked.changes = placements.changes
            try:
                answer = await _find(placements, case, [each.holder for each in case.decision.targets])
                if second is None and (isinstance(answer, NoPlace) or answer.evicts):
                    answer, preferred = await self._find_other(placements, case, answer)
            except Exception as error:
                log.exception("the nodes plane could not be asked", workload=key)
                answer = NoPlace(f"internal error: {error!r}")
        if self._asked.get(key) is not asked:
            return  # the Workload has changed
        if second is not None and isinstance(answer, NoPlace):
            asked.question, asked.waits, answer = second.first, second.waits, second.answer
            del self._second[key]  # the next decision is a first one
        asked.answer = answer
        if preferred:
            self._second[key] = _Second(preferred, asked.question, answer, asked.waits)
            asked.answer, asked.changes = NoPlace(""), -1  # the same decision is asked about once more
        elif isinstance(answer, NoPlace):
            self._wait(asked)
            log.info("no place on nodes", workload=key, why=answer.why)
        self._answered()

    def _wait(self, asked: _Asked) -> None:
        """It counts, and is asked about again later."""
        asked.again = asked.due = self._clock.monotonic() + asked.waits
        asked.waits = min(LONGEST_WAIT, 2 * asked.waits)
        self._moved.set()

    async def _find_other(
        self, placements: Placements, case: _Case, first: Answer
    ) -> tuple[Answer, frozenset[str]]:
        """Whether other victims would make room. Returns the answer about these victims, and the holders of quota
        (keys) that use the nodes where the preemption of all candidates would make room."""
        snapshot, decision = case.snapshot, case.decision
        queue = snapshot.queues[decision.queue]
        ask = ask_for(snapshot, queue, case.workload, self._now(), self._options, decision.assignment)
        known = candidates(snapshot, queue, ask, self._options.fair_sharing)
        answer = await _find(placements, case, known)
        if isinstance(answer, NoPlace):
            return (answer if isinstance(first, NoPlace) else first), frozenset()
        owners = ((each.key, owner_of(each.workload)) for each in known)
        preferred = frozenset(
            key for key, owner in owners if owner is not None and owner.uid in answer.in_use
        )
        return first, frozenset() if answer.evicts else preferred


def without_place(entry: Entry, why: str, strategy: str) -> Entry:
    """The entry of a preemptor that waits because its pods would find no node. `strategy`: of its ClusterQueue."""
    said = f"it does not preempt, because its pods would find no place on nodes: {why}"
    return put_off(entry, said, strategy, "PreemptionNoCandidates")


def _is_elsewhere(entry: Entry, snapshot: QuotaSnapshot) -> bool:
    """Whether its pods would run in another cluster."""
    return entry.decision is not None and snapshot.queues[entry.decision.queue].dispatches


def _question(workload: Workload, decision: Decision) -> _Question:
    meta, victims = workload.metadata, (each.holder.workload.metadata.uid for each in decision.targets)
    counts = tuple(each.count for each in decision.assignment.pod_sets)
    return _Question(meta.uid, meta.generation, decision.flavors, counts, frozenset(victims))


async def _find(placements: Placements, case: _Case, victims: Sequence[Holder]) -> Answer:
    snapshot, admission = case.snapshot, admission_of(case.decision)
    try:
        asking = asking_of(case.workload, case.owner, snapshot.surroundings, snapshot.flavors, admission)
    except ValueError as error:
        return NoPlace(str(error))
    owners = [owner_of(each.workload) for each in victims]
    known = [each for each in owners if each is not None]
    answer = await placements.find(asking, known)
    if isinstance(answer, NoPlace) and len(known) < len(owners):
        # It is not known which pods leave with the other victims: they may leave enough room.
        return Placed(())
    return answer
