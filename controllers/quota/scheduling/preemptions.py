"""The preemptions of one term: which of them begin, and what is remembered when they end without the quota."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from api.workloads import Workload
from controllers.quota.plans.mutual import Mutual
from controllers.quota.plans.passers import Passers
from controllers.quota.plans.plans import QuotaPlans
from controllers.quota.scheduling.agreement import Agreement
from controllers.quota.scheduling.held_back import HeldBack
from quota.cycle.entries import Entry
from quota.cycle.promises import Promise
from quota.state.snapshot import QuotaSnapshot
from quota.state.state import QuotaState
from quota.state.workloads import key_of
from runtime.exchange.placements import Place, Placed

__all__ = ["Preemptions"]


class Preemptions:
    """Times are microseconds since 1970."""

    def __init__(
        self,
        state: QuotaState,
        plans: QuotaPlans,
        passers: Passers,
        agreement: Agreement,
        now: Callable[[], int],
    ) -> None:
        """`plans`: those that are under way. `agreement`: what the nodes plane answered."""
        self._state, self._plans, self._passers = state, plans, passers
        self._agreement, self._now = agreement, now
        self._mutual = Mutual()
        self._held_back = HeldBack(plans.promised, passers, self._mutual, agreement, now)

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
        """Who goes first: see `quota.cycle.cycle.cycle`."""
        return self._agreement.preferred

    def held_back(self, entry: Entry, snapshot: QuotaSnapshot) -> Entry | None:
        """The entry of a preemptor that waits; None if nothing holds it back."""
        return self._held_back.entry(entry, snapshot)

    # ---- for what follows from a cycle

    def promised(self) -> Collection[str]:
        """The keys of the preemptors to whom quota is promised."""
        return self._plans.promised()

    def places(self, entry: Entry, snapshot: QuotaSnapshot) -> Sequence[Place] | None:
        """The nodes that the pods of a preemptor will find. None: it must not begin, because the nodes plane is still
        asked, or has just said that there are none. The next cycle decides anew."""
        answer = self._agreement.answer(entry, snapshot)
        return answer.places if isinstance(answer, Placed) else None

    def begin(self, entry: Entry, snapshot: QuotaSnapshot, places: Sequence[Place]) -> None:
        """Carry out the decision of an entry whose outcome is Preempt. `places`: the nodes that its pods will find."""
        self._mutual.begins(entry, self._now())
        self._plans.begin(entry, snapshot, places)

    def no_way(self, workload: Workload) -> None:
        """A cycle found no way for the Workload. If it has a plan, that was in vain."""
        if self._plans.overtaken(key_of(workload)):
            self._passers.failed(workload)

    def admitted(self, workload: Workload, queue: str) -> None:
        """The Workload got quota of the ClusterQueue, beside the promises in its cohort tree."""
        known = (each for each in self._plans.promises() if each.queue in self._state.cluster_queues)
        tree = self._state.tree(queue)
        self._passers.admitted(workload, [each for each in known if self._state.tree(each.queue) == tree])
