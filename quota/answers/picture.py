"""What the state of quota had at one moment."""

from __future__ import annotations

from collections.abc import Mapping

from api.checks import AdmissionCheck
from api.kueue import ClusterQueue, LocalQueue, ResourceFlavor
from api.workloads import Workload
from quota.answers.places import Places
from quota.state.amounts import QuotaError
from quota.state.snapshot import QuotaSnapshot
from quota.state.state import QuotaState
from quota.state.surroundings import Surroundings
from quota.state.workloads import key_of

__all__ = ["OwnQuota", "QuotaPicture"]


class QuotaPicture:
    """A copy of a state that nobody else has. Later events do not change it. Not safe for several threads."""

    __slots__ = ("_state",)

    def __init__(self, state: QuotaState) -> None:
        self._state = state.copied()

    @property
    def workloads(self) -> Mapping[str, Workload]:
        """Every Workload by `namespace/name`."""
        return self._state.workloads

    @property
    def local_queues(self) -> Mapping[str, LocalQueue]:
        """Every LocalQueue by `namespace/name`."""
        return self._state.local_queues

    @property
    def cluster_queues(self) -> Mapping[str, ClusterQueue]:
        """Every ClusterQueue by name."""
        return self._state.cluster_queues

    @property
    def flavors(self) -> Mapping[str, ResourceFlavor]:
        """Every ResourceFlavor by name."""
        return self._state.flavors

    @property
    def checks(self) -> Mapping[str, AdmissionCheck]:
        """Every AdmissionCheck by name."""
        return self._state.checks

    @property
    def surroundings(self) -> Surroundings:
        """The LimitRanges and RuntimeClasses."""
        return self._state.surroundings

    def snapshot(self) -> QuotaSnapshot:
        """A snapshot with a ledger of its own. Raises QuotaError if the usage is too much to be counted."""
        return self._state.snapshot()

    def with_workloads(self, *workloads: Workload) -> QuotaPicture:
        """Another picture, in which these Workloads are there as well, or in place of those of the same names.

        Raises QuotaError for one that cannot be counted.
        """
        other = QuotaPicture(self._state)
        for each in workloads:
            other._state.apply(each)
        return other

    def own(self) -> OwnQuota:
        """The same, for somebody who changes it again and again."""
        return OwnQuota(self._state)


class OwnQuota(QuotaPicture):
    """A picture that its owner changes, and hands to nobody who keeps it. A change costs no copy."""

    __slots__ = ("_places",)

    def __init__(self, state: QuotaState) -> None:
        super().__init__(state)
        self._places: Places | None = None

    def places(self) -> Places | None:
        """The places of all that wait, as long as nothing changes; None if the usage is too much to be counted."""
        if self._places is None:
            try:
                self._places = Places(self.snapshot(), self.workloads.values())
            except QuotaError:
                return None
        return self._places

    def put(self, *workloads: Workload) -> None:
        """From now on these Workloads are there as well, or in place of those of the same names.

        Raises QuotaError for one that cannot be counted. Then nothing has changed.
        """
        state, done = self._state, list[tuple[str, Workload | None, Workload]]()
        try:
            for each in workloads:
                key = key_of(each)
                before = state.workloads.get(key)
                state.apply(each)
                done.append((key, before, each))
        except QuotaError:
            for key, before, _ in reversed(done):
                if before is None:
                    state.delete("Workload", key)
                else:
                    state.apply(before)
            raise
        if self._places is not None:
            for _, before, after in done:
                self._places.replace(before, after)
