"""What live queues add to the rules: answers that come late, times, and who is asked again."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from api.workloads import AdmissionCheckState, PreemptionGateState, RequeueState, Workload
from quota.cycle.entries import Entry
from quota.cycle.pending import RELEASE_INTERVAL, PendingQueues
from quota.cycle.queues import PARKS_EQUALS, RequeueReason, requeue
from quota.state.workloads import key_of
from tests.kit.quota.objects import at, held, set_condition, us, workload

NOW = us(1000)
Strategy = Literal["BestEffortFIFO", "StrictFIFO"]


def queues(*pending: Workload, strategy: Strategy = "BestEffortFIFO") -> PendingQueues:
    """ClusterQueue and LocalQueue `queue` in the tree `tree`."""
    made = PendingQueues()
    made.set_cluster_queue("queue", strategy=strategy, active=True, tree="tree")
    made.set_local_queue("ns/queue", cluster_queue="queue", active=True)
    for each in pending:
        made.put(each, NOW)
    return made


def waiting(name: str, created: int = 0, **options: int) -> Workload:
    return workload(
        name, "queue", options.get("cpus", 1), created=created, priority=options.get("priority", 0)
    )


def names(workloads: list[Workload]) -> list[str]:
    return [each.metadata.name for each in workloads]


def answer(
    head: Workload,
    reason: RequeueReason,
    strategy: Strategy = "BestEffortFIFO",
    retry_at: int | None = None,
    flavor: int | None = None,
) -> Entry:
    when = requeue(strategy, reason, pending_flavors=flavor is not None, backing_off=False)
    tried = None if flavor is None else {"main": {"cpu": flavor}}
    return Entry(head, "NoFit", None, "", "", when, reason, tried, retry_at)


def decide(live: PendingQueues, reason: RequeueReason, now: int = NOW, retry_at: int | None = None) -> str:
    """Ask for the head and answer so. The name of the head."""
    (head,) = live.heads(now)
    live.answered(answer(head, reason, retry_at=retry_at), now)
    return head.metadata.name


def turns(live: PendingQueues, reason: RequeueReason = "Generic", now: int = NOW) -> list[str]:
    """Who is asked until nobody is left, if each gets this answer."""
    asked = []
    while live.heads(now):
        asked.append(decide(live, reason, now))
    return asked


def with_requeue_at(thing: Workload, second: int) -> Workload:
    status = msgspec.structs.replace(thing.status, requeue_state=RequeueState(1, at(second)))
    return msgspec.structs.replace(thing, status=status)


@pytest.mark.parametrize(("priority", "returns"), [(1, True), (0, False)])
def test_who_is_passed_by_a_borrower_returns(priority: int, returns: bool) -> None:
    """A head without candidates was parked. Then another one borrows: there is somebody to reclaim from."""
    live = queues(waiting("first", 1, cpus=3, priority=priority), waiting("borrower", 0))
    if not returns:
        live.remove("ns/first")
        live.put(waiting("first", 2, cpus=3), NOW)
        assert turns(live) == ["borrower", "first"]
        live.put(waiting("borrower", 0, cpus=2), NOW)
    else:
        assert decide(live, "PreemptionNoCandidates") == "first"
    assert names(live.heads(NOW)) == ["borrower"]
    live.passed("ns/borrower", NOW)
    live.remove("ns/borrower")
    assert names(live.heads(NOW)) == (["first"] if returns else [])


def test_those_apart_are_not_parked_with_a_head() -> None:
    live = queues(waiting("a"), waiting("b", 1), waiting("c", 2))
    (head,) = live.heads(NOW)
    live.answered(answer(head, "NoFit"), NOW, ["ns/b", "ns/nobody"])
    assert turns(live, "NoFit") == ["b"]
    assert live.counts("queue") == (0, 3)


def test_those_apart_that_are_parked_stay_so() -> None:
    live = queues(waiting("b", 1), waiting("c", 2))
    assert turns(live, "Generic") == ["b", "c"]
    live.put(waiting("a"), NOW)
    (head,) = live.heads(NOW)
    live.answered(answer(head, "NoFit"), NOW, ["ns/b"])
    assert live.heads(NOW) == []


def test_equals_that_stand_behind_are_parked_with_a_head() -> None:
    live = queues(waiting("a"), waiting("b", 1), waiting("c", 2), waiting("large", 3, cpus=2))
    assert turns(live, "NoFit") == ["a", "large"]
    assert live.counts("queue") == live.local_counts("ns/queue") == (0, 4)
    live.freed({"tree"}, NOW)
    assert live.counts("queue") == live.local_counts("ns/queue") == (4, 0)
    assert turns(live) == ["a", "b", "c", "large"]


def test_an_older_equal_that_came_meanwhile_is_asked() -> None:
    """It may preempt those that are younger than it and older than the other."""
    live = queues(waiting("b", 1), waiting("c", 2))
    (head,) = live.heads(NOW)
    live.put(waiting("a", 0), NOW)
    live.answered(answer(head, "PreemptionNoCandidates"), NOW)
    assert turns(live) == ["a"]


def test_a_parked_one_stays_parked_until_it_changes_in_a_way_that_counts() -> None:
    one = waiting("one")
    live = queues(one)
    assert turns(live) == ["one"]
    message = set_condition(one, "QuotaReserved", "False", "WaitingForQuota", 5)
    live.put(message, NOW)
    assert turns(live) == []
    live.put(set_condition(message, "Requeued", "True", "BackoffFinished", 6), NOW)
    assert turns(live) == ["one"]


def test_an_opened_gate_brings_it_back() -> None:
    gated = workload("gated", "queue", 1, gates=["gate"])
    live = queues(gated, waiting("other", 1))
    assert decide(live, "PreemptionGated") == "gated"
    assert turns(live) == ["other"]
    opened = [PreemptionGateState("gate", "Open", at(5))]
    status = msgspec.structs.replace(gated.status, preemption_gates=opened)
    live.put(msgspec.structs.replace(gated, status=status), NOW)
    assert turns(live) == ["gated"]


def test_a_check_that_is_reset_brings_it_back() -> None:
    """Kueue forgets it."""
    one = waiting("one")
    check = AdmissionCheckState("check", "Retry", at(5), "")
    failed = msgspec.structs.replace(
        one, status=msgspec.structs.replace(one.status, admission_checks=[check])
    )
    live = queues(failed)
    assert turns(live) == ["one"]
    live.put(one, NOW)
    assert turns(live) == ["one"]


def test_under_strict_fifo_the_head_blocks() -> None:
    live = queues(workload("gated", "queue", 1, gates=["gate"]), waiting("other", 1), strategy="StrictFIFO")
    for reason in ("PreemptionGated", "NoFit", "Generic"):
        (head,) = live.heads(NOW)
        live.answered(answer(head, reason, "StrictFIFO"), NOW)
        assert names(live.heads(NOW)) == ["gated"]


def test_under_strict_fifo_no_equals_are_parked() -> None:
    live = queues(waiting("a"), waiting("b", 1), strategy="StrictFIFO")
    (head,) = live.heads(NOW)
    live.answered(Entry(head, "NoFit", None, "", "", "parked", "NoFit"), NOW)
    assert turns(live) == ["b"]


def test_a_queue_that_changes_brings_its_workloads_back() -> None:
    live = queues(waiting("a"))
    assert turns(live) == ["a"]
    live.set_cluster_queue("queue", strategy="BestEffortFIFO", active=True, tree="other")
    assert turns(live) == ["a"]
    live.set_local_queue("ns/queue", cluster_queue="queue", active=True)
    assert turns(live) == [], "it did not change"
    live.set_cluster_queue("new", strategy="BestEffortFIFO", active=True, tree="other")
    live.set_local_queue("ns/queue", cluster_queue="new", active=True)
    assert turns(live) == ["a"]


# ---- answers that come late


@pytest.mark.parametrize("reason", ["NoFit", "Generic"])
def test_quota_that_came_back_during_the_cycle_is_not_missed(reason: RequeueReason) -> None:
    live = queues(waiting("a"), waiting("b", 1))
    (head,) = live.heads(NOW)
    live.freed({"tree"}, NOW)
    live.answered(answer(head, reason), NOW)
    assert turns(live, reason) == (["a"] if reason in PARKS_EQUALS else ["a", "b"])


def test_what_was_tried_before_quota_came_back_is_forgotten() -> None:
    live = queues(waiting("a"))
    (head,) = live.heads(NOW)
    live.freed({"tree"}, NOW)
    live.answered(answer(head, "NoFit", flavor=0), NOW)
    assert names(live.heads(NOW)) == ["a"]
    assert live.tried == {}


def test_what_was_tried_after_quota_came_back_outlives_the_return_of_others() -> None:
    live = queues(waiting("a"))
    for _ in range(2):
        live.heads(NOW)
        live.freed({"tree"}, NOW)
    (head,) = live.heads(NOW)
    live.answered(answer(head, "NoFit", flavor=0), NOW)
    assert names(live.heads(NOW + RELEASE_INTERVAL)) == ["a"]
    assert live.tried == {"ns/a": {"main": {"cpu": 0}}}


def test_a_return_that_is_put_off_brings_back_who_is_parked_before_it() -> None:
    """Quota that is freed again and again during cycles does not make them endless."""
    live = queues(waiting("a"))
    live.heads(NOW)
    live.freed({"tree"}, NOW)
    (head,) = live.heads(NOW)
    live.freed({"tree"}, NOW + 1)
    live.answered(answer(head, "Generic"), NOW + 1)
    assert live.heads(NOW + 1) == []
    assert live.next_due(NOW + 1) == NOW + RELEASE_INTERVAL
    assert turns(live, now=NOW + RELEASE_INTERVAL) == ["a"]


def test_an_answer_is_to_the_last_call() -> None:
    live = queues(waiting("a"))
    live.heads(NOW)
    live.freed({"tree"}, NOW)
    assert turns(live) == ["a"]


def test_an_answer_about_an_older_state_has_no_effect() -> None:
    live = queues(waiting("a"))
    (head,) = live.heads(NOW)
    live.put(waiting("a", cpus=2), NOW)
    live.answered(answer(head, "Generic"), NOW)
    assert names(live.heads(NOW)) == ["a"]
    live.answered(answer(head, "Generic"), NOW)
    assert turns(live) == ["a"]


def test_a_message_that_is_written_during_the_cycle_does_not_matter() -> None:
    live = queues(waiting("a"))
    (head,) = live.heads(NOW)
    live.put(set_condition(head, "QuotaReserved", "False", "WaitingForQuota", 5), NOW)
    live.answered(answer(head, "Generic"), NOW)
    assert live.heads(NOW) == []


def test_what_was_tried_counts_until_quota_is_freed() -> None:
    live = queues(waiting("a"))
    (head,) = live.heads(NOW)
    live.answered(answer(head, "NoFit", flavor=2), NOW)
    assert names(live.heads(NOW)) == ["a"]
    assert live.tried == {"ns/a": {"main": {"cpu": 2}}}
    live.freed({"other"}, NOW)
    assert live.tried
    live.freed({"tree"}, NOW)
    assert not live.tried


# ---- sticky


def test_the_preemptor_is_first_until_it_is_admitted() -> None:
    live = queues(waiting("preemptor"))
    assert decide(live, "PendingPreemption") == "preemptor"
    live.put(waiting("urgent", priority=5), NOW)
    (head,) = live.heads(NOW)
    assert head.metadata.name == "preemptor"
    live.answered(Entry(head, "Admit", None, "", ""), NOW)
    assert names(live.heads(NOW)) == ["preemptor"], "the write may still fail"
    live.put(held(head, 1000), NOW)
    assert names(live.heads(NOW)) == ["urgent"]


def test_the_preemptor_is_first_when_quota_came_back_meanwhile_or_it_changes() -> None:
    live = queues(waiting("preemptor"))
    (head,) = live.heads(NOW)
    live.freed({"tree"}, NOW)
    live.answered(answer(head, "PendingPreemption"), NOW)
    live.put(waiting("urgent", priority=5), NOW)
    live.put(set_condition(head, "Requeued", "True", "Preempted", 6), NOW)
    assert decide(live, "NoFit") == "preemptor"
    assert turns(live) == ["urgent"]


def test_under_strict_fifo_no_preemptor_is_sticky() -> None:
    live = queues(waiting("preemptor"))
    decide(live, "PendingPreemption")
    live.put(waiting("urgent", priority=5), NOW)
    live.set_cluster_queue("queue", strategy="StrictFIFO", active=True, tree="tree")
    assert names(live.heads(NOW)) == ["urgent"]


def test_a_new_place_leaves_it_parked() -> None:
    live = queues(waiting("a"), waiting("b", 1, cpus=2))
    assert turns(live) == ["a", "b"]
    later = waiting("a")
    later = set_condition(later, "Preempted", "True", "InClusterQueueTimeBased", 500)
    live.put(later, NOW)
    assert live.heads(NOW) == []
    live.freed({"tree"}, NOW)
    assert turns(live) == ["b", "a"]


def test_a_preemptor_that_found_nobody_is_one_of_many() -> None:
    live = queues(waiting("preemptor"))
    decide(live, "PendingPreemption")
    decide(live, "NoFit")
    live.put(waiting("urgent", priority=5), NOW)
    live.freed({"tree"}, NOW)
    assert names(live.heads(NOW)) == ["urgent"]


def test_another_workload_of_the_same_name_is_not_the_preemptor() -> None:
    live = queues(waiting("preemptor"))
    decide(live, "PendingPreemption")
    live.put(workload("preemptor", "queue", 1, uid="new"), NOW)
    live.put(waiting("urgent", priority=5), NOW)
    assert names(live.heads(NOW)) == ["urgent"]


def test_the_preemptor_of_a_queue_that_stopped_is_one_of_many() -> None:
    live = queues(waiting("preemptor"))
    decide(live, "PendingPreemption")
    live.put(waiting("urgent", priority=5), NOW)
    for active in (False, True):
        live.set_local_queue("ns/queue", cluster_queue="queue", active=active)
    assert names(live.heads(NOW)) == ["urgent"]


# ---- times


def test_parked_ones_of_a_tree_return_at_most_every_100_ms() -> None:
    live = queues(waiting("a"))
    assert turns(live) == ["a"]
    live.freed({"tree"}, NOW)
    assert turns(live) == ["a"]
    for later in (1, RELEASE_INTERVAL - 1):
        live.freed({"tree"}, NOW + later)
        assert live.heads(NOW + later) == []
        assert live.next_due(NOW + later) == NOW + RELEASE_INTERVAL
    assert turns(live, now=NOW + RELEASE_INTERVAL) == ["a"]
    assert live.next_due(NOW + RELEASE_INTERVAL) is None


def test_nobody_passes_those_who_are_about_to_return() -> None:
    live = queues(waiting("old", 1))
    live.set_cluster_queue("other", strategy="BestEffortFIFO", active=True, tree="tree")
    live.set_local_queue("ns/other", cluster_queue="other", active=True)
    for _ in range(2):
        assert turns(live) == ["old"]
        live.freed({"tree"}, NOW)
    for name, queue, priority in (("new", "queue", 0), ("new-other", "other", 0), ("urgent", "other", 1)):
        live.put(workload(name, queue, 2, created=2, priority=priority), NOW)
    assert names(live.heads(NOW)) == ["urgent"]
    live.remove("ns/urgent")
    assert live.heads(NOW) == []
    assert names(live.heads(NOW + RELEASE_INTERVAL)) == ["new-other", "old"]


def test_a_release_of_nobody_does_not_put_off_the_next_one() -> None:
    live = queues(waiting("a"))
    live.freed({"tree"}, NOW)
    assert turns(live) == ["a"]
    live.freed({"tree"}, NOW)
    assert turns(live) == ["a"]


def test_equals_come_back_when_an_hour_of_another_one_is_over() -> None:
    """KEP-8522. Also if the one that was asked has gone by then."""
    live = queues(waiting("a"), waiting("b", 1))
    assert decide(live, "PreemptionNoCandidates", retry_at=NOW + 50) == "a"
    live.remove("ns/a")
    assert live.next_due(NOW) == NOW + 50
    assert live.heads(NOW + 49) == []
    assert turns(live, now=NOW + 50) == ["b"]


def test_of_two_times_the_earlier_one_counts() -> None:
    live = queues(waiting("a"))
    decide(live, "PreemptionNoCandidates", retry_at=NOW + 50)
    live.put(waiting("b", 1), NOW)
    decide(live, "PreemptionNoCandidates", retry_at=NOW + 80)
    assert live.next_due(NOW) == NOW + 50


def test_a_time_that_is_over_when_the_cycle_ends() -> None:
    live = queues(waiting("a"))
    (head,) = live.heads(NOW)
    live.answered(answer(head, "PreemptionNoCandidates", retry_at=NOW + 50), NOW + 60)
    assert turns(live, now=NOW + 60) == ["a"]


def test_the_time_of_a_head_that_blocks_is_known() -> None:
    """Its ClusterQueue has the same head then, but a cycle may answer otherwise."""
    live = queues(waiting("a"), strategy="StrictFIFO")
    (head,) = live.heads(NOW)
    live.answered(answer(head, "PreemptionNoCandidates", "StrictFIFO", retry_at=NOW + 50), NOW)
    assert live.next_due(NOW) == NOW + 50
    live.heads(NOW + 50)
    assert live.next_due(NOW + 50) is None


def test_requeue_at_is_a_time_at_which_it_comes() -> None:
    live = queues(with_requeue_at(waiting("a"), 1001))
    assert live.counts("queue") == (0, 1)
    assert live.next_due(NOW) == us(1001)
    assert live.heads(us(1001) - 1) == []
    assert turns(live, now=us(1001)) == ["a"]


def test_a_clock_that_goes_back() -> None:
    live = queues(with_requeue_at(waiting("a"), 1001), waiting("b", 1))
    assert names(live.heads(us(1001))) == ["a"]
    assert turns(live, now=us(1000)) == ["b"]
    assert live.next_due(us(1000)) == us(1001)
    assert turns(live, now=us(1001)) == ["a"]


def test_a_clock_that_goes_back_does_not_put_off_a_release() -> None:
    live = queues(waiting("a"))
    for now in (NOW, NOW - 500_000_000, NOW - 500_000_000 + RELEASE_INTERVAL):
        assert turns(live, now=now) == ["a"]
        live.freed({"tree"}, now)
    live.freed({"tree"}, now)
    assert turns(live, now=now) == ["a"]
    live.freed({"tree"}, now)
    assert live.next_due(now) == now + RELEASE_INTERVAL
    assert live.next_due(now - 1) == now - 1
    assert turns(live, now=now - 1) == ["a"]


# ---- queues


def test_a_time_that_cannot_be_read_stops_only_its_workload() -> None:
    bad = waiting("bad", priority=5)
    live = queues(bad, waiting("good"))
    bad = msgspec.structs.replace(
        bad, metadata=msgspec.structs.replace(bad.metadata, creation_timestamp="yesterday")
    )
    live.put(bad, NOW)
    assert turns(live) == ["good"]


def test_workloads_wait_for_queues_that_do_not_exist() -> None:
    live = PendingQueues()
    live.put(waiting("a"), NOW)
    assert live.local_counts("ns/queue") == (0, 1)
    live.set_local_queue("ns/queue", cluster_queue="queue", active=True)
    assert live.heads(NOW) == []
    assert live.counts("queue") == live.local_counts("ns/queue") == (0, 1)
    live.set_cluster_queue("queue", strategy="BestEffortFIFO", active=False, tree="queue")
    assert live.heads(NOW) == []
    live.set_cluster_queue("queue", strategy="BestEffortFIFO", active=True, tree="queue")
    assert live.counts("queue") == live.local_counts("ns/queue") == (1, 0)
    assert turns(live) == ["a"]
    live.set_local_queue("ns/queue", cluster_queue="queue", active=False)
    assert (live.counts("queue"), live.local_counts("ns/queue")) == ((0, 0), (0, 1))


def test_nothing_is_left_of_what_went() -> None:
    live = queues(with_requeue_at(waiting("a"), 2000), waiting("b"))
    decide(live, "PreemptionNoCandidates", retry_at=NOW + 50)
    for key in ("ns/a", "ns/b"):
        live.remove(key)
    live.put(waiting("c"), NOW)
    for _ in range(2):
        decide(live, "Generic")
        live.freed({"tree"}, NOW)
    live.remove("ns/c")
    assert live._put_off
    live.drop_cluster_queue("queue")
    live.drop_local_queue("ns/queue")
    live.drop_local_queue("ns/queue")
    assert live.counts("queue") == live.local_counts("ns/queue") == (0, 0)
    assert live.next_due(NOW) is None
    stores = (live._waiting, live._clusters, live._locals, live._open, live._put_off)
    assert not any(stores)


def test_old_entries_of_heaps_do_not_pile_up() -> None:
    live = queues(waiting("a"))
    for number in range(1000):
        live.put(with_requeue_at(waiting("a", cpus=1 + number % 2), 2000 + number), NOW)
        live.put(waiting("a", number), NOW)
        assert decide(live, "Generic") == "a"
        live.freed({"tree"}, NOW + number * RELEASE_INTERVAL)
    cluster = live._clusters["queue"]
    (alike,) = cluster.classes.values()
    sizes = [len(heap._entries) for heap in (live._timers, cluster._order, alike.ready, alike.parked)]
    assert max(sizes) <= 20


def test_heads_are_the_objects_that_were_put() -> None:
    one = waiting("one")
    (head,) = queues(one).heads(NOW)
    assert head is one
    assert key_of(head) == "ns/one"
