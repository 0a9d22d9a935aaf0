"""The preemptions of one term: which of them begin, and what is remembered when they end without the quota."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from api.workloads import Workload
from controllers.quota.plans.mutual import Mutual
from controllers.quota.plans.passers import Passers
from controllers.quota.plans.plans import QuotaPlans
from controllers.quota.plans.proposals import Proposals
from controllers.quota.scheduling.agreement import Agreement
from controllers.quota.scheduling.held_back import HeldBack
from quota.cycle.entries import Entry
from quota.cycle.promises import Promise
from quota.state.snapshot import QuotaSnapshot
from quota.state.state import QuotaState
from quota.state.workloads import key_of
from runtime.exchange.placements import Placed

__all__ = ["Preemptions"]


class Preemptions:
    """Times are microseconds since 1970."""

    def __init__(
        self,
        state: QuotaState,
        plans: QuotaPlans,
        proposals: Proposals,
        passers: Passers,
        agreement: Agreement,
        now: Callable[[], int],
    ) -> None:
        """`plans`: those that are under way. `proposals`: of those who wait for a gate. `agreement`: what the
        nodes plane answered."""
        self._state, self._plans, self._passers = state, plans, passers
        self._proposals, self._agreement, self._now = proposals, agreement, now
        self._mutual = Mutual()
        self._held_back = HeldBack(plans.promised, passers, self._mutual, agreement, now, plans.why_paused)

    # ---- for a cycle

    def waits(self, key: str) -> bool:
        """Whether the Workload waits for its own preemption, or for the answer of the nodes plane: it is in no
        cycle."""
        return self._plans.waits(key) or self._agreement.is_asking(key)

    def promises(self) -> Sequence[Promise]:
        """The quota that belongs to preemptors: at most one promise each."""
        return self._plans.promises()

    @property
    def preferred(self) -> Mapping[str, Collection[str]]:
        """The Workloads to preempt first: see `quota.cycle.cycle.cycle`."""
        return self._agreement.preferred

    def held_back(self, entry: Entry, snapshot: QuotaSnapshot) -> Entry | None:
        """The entry of a preemptor that waits; None if nothing holds it back."""
        return self._held_back.entry(entry, snapshot)

    # ---- for what follows from a cycle

    def promised(self) -> Collection[str]:
        """The keys of the preemptors to whom quota is promised."""
        return self._plans.promised()

    def placed(self, entry: Entry, snapshot: QuotaSnapshot) -> Placed | None:
        """What the pods of a preemptor will find on nodes. None: it must not begin, nor say that a gate holds it back,
        because the nodes plane is still asked, or has just said that there is no place. The next cycle decides anew."""
        answer = self._agreement.answer(entry, snapshot)
        return answer if isinstance(answer, Placed) else None

    def begin(self, entry: Entry, snapshot: QuotaSnapshot, placed: Placed) -> None:
        """Carry out the decision of an entry whose outcome is Preempt. `placed`: what its pods will find."""
        self._mutual.begins(entry, self._now())
        self._plans.begin(entry, snapshot, placed.places)
        if entry.decision is not None:
            self._proposals.quota_taken(entry.decision.queue)

    def propose(self, entry: Entry, snapshot: QuotaSnapshot, placed: Placed) -> None:
        """Store what an entry would cost whose outcome is Gated. `placed`: what its pods would find."""
        self._proposals.propose(entry, snapshot, placed.evicts)

    def nothing_to_propose(self, entry: Entry) -> None:
        """The Workload would preempt nobody now. Where it has only lost its turn to others, the next cycle tells."""
        if entry.outcome != "Skip":
            self._proposals.withdraw(key_of(entry.workload))

    def no_way(self, workload: Workload) -> None:
        """A cycle found no way for the Workload. If it has a plan, that was in vain."""
        if self._plans.overtaken(key_of(workload)):
            self._passers.failed(workload)

    def admitted(self, workload: Workload, queue: str) -> None:
        """The Workload got quota of the ClusterQueue, beside the promises in its cohort tree."""
        known = (each for each in self._plans.promises() if each.queue in self._state.cluster_queues)
        tree = self._state.tree(queue)
        self._passers.admitted(workload, [each for each in known if self._state.tree(each.queue) == tree])
