"""Quota that is given back is free once the API server has accepted that, and not before."""

from __future__ import annotations

import msgspec

from api.workloads import ReclaimablePod, Workload
from controllers.quota.life.draft import Draft
from controllers.quota.life.evicting import evict, give_back, until_written
from quota.state.state import QuotaState
from quota.state.workloads import holds_quota, is_evicting
from tests.kit.quota import objects as kit


def holder(cpus: int = 2) -> Workload:
    """It holds quota, and is not admitted."""
    return kit.set_condition(kit.held(kit.workload("low", "q", cpus), 5), "Admitted", "False", "NoChecks", 5)


def evicted(before: Workload) -> Workload:
    draft = Draft(before, kit.us(9))
    evict(draft, "AdmissionCheck", "a check wants another try")
    if not draft.is_true("Admitted"):
        give_back(draft, "a check wants another try")
    return draft.step().workload


def test_an_eviction_that_is_being_written_holds_its_quota() -> None:
    before = holder()
    after = evicted(before)
    assert not holds_quota(after)
    counted = until_written(before, after)
    assert holds_quota(counted)
    assert is_evicting(counted), "victims that go already are taken first"
    state = QuotaState()
    for each in kit.completed([kit.cluster_queue("q", {"default": {"cpu": (2, None, None)}})]):
        state.apply(each)
    state.apply(counted)
    state.apply(kit.held(kit.workload("next", "q", 1), 9))
    assert not state.fits_beside_others("ns/next")


def test_an_end_that_is_being_written_holds_its_quota() -> None:
    """Found by random load on Jobs: the write was a conflict, and another Workload had the quota already."""
    ended = kit.set_condition(holder(), "Finished", "True", "Succeeded", 7)
    assert until_written(holder(), ended) == holder()


def test_reclaimable_pods_that_are_being_written_hold_their_quota() -> None:
    def reclaimed(count: int) -> Workload:
        pods = [ReclaimablePod("main", count)]
        return msgspec.structs.replace(
            holder(), status=msgspec.structs.replace(holder().status, reclaimable_pods=pods)
        )

    assert until_written(holder(), reclaimed(1)) == holder()
    assert until_written(reclaimed(1), reclaimed(2)) == reclaimed(1)


def test_other_changes_count_at_once() -> None:
    waits = kit.workload("low", "q", 2)
    assert until_written(waits, holder()) == holder(), "an admission takes its quota at once"
    admitted = kit.set_condition(holder(), "Admitted", "True", "Admitted", 6)
    assert until_written(admitted, evicted(admitted)) == evicted(admitted)
    ended = kit.set_condition(holder(), "Finished", "True", "Succeeded", 7)
    assert until_written(ended, evicted(holder())) == evicted(holder())


def test_conditions_that_a_state_has_not_are_no_hindrance() -> None:
    bare = kit.held(kit.workload("low", "q", 2), 5)
    gone = msgspec.structs.replace(
        bare, status=msgspec.structs.replace(bare.status, conditions=None, admission=None)
    )
    assert holds_quota(until_written(bare, gone))
