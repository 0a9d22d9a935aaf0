"""When parked Workloads return: what the property test does not time."""

from __future__ import annotations

from api.workloads import AdmissionCheckState, Workload
from quota.cycle import Entry
from quota.pending import PendingQueues
from quota.workloads import key_of
from tests.kit.quota import at, us, workload

NOW = us(100)
STEP = 100_000
"""Parked Workloads of a tree return at most so often."""


def queues(*items: Workload) -> PendingQueues:
    made = PendingQueues()
    made.set_cluster_queue("q", strategy="BestEffortFIFO", active=True, tree="q")
    made.set_local_queue("ns/q", cluster_queue="q", active=True)
    for item in items:
        made.put(item, NOW)
    return made


def no_fit(item: Workload, *, flavor: int | None = None) -> Entry:
    tried = None if flavor is None else {"main": {"cpu": flavor}}
    when = "parked" if tried is None else "immediate"
    return Entry(item, "NoFit", None, "no room", "WaitingForQuota", when, "NoFit", tried)  # type: ignore[arg-type]


def keys(made: PendingQueues, now: int) -> list[str]:
    return [key_of(item) for item in made.heads(now)]


def test_parked_workloads_return_at_most_every_hundred_milliseconds() -> None:
    item = workload("w", "q", 1)
    made = queues(item)
    made.freed({"q"}, NOW)
    made.heads(NOW)
    made.answered(no_fit(item), NOW)
    assert keys(made, NOW) == []
    made.freed({"q"}, NOW + 1)
    assert made.next_due(NOW + 1) == NOW + STEP
    assert keys(made, NOW + STEP - 1) == []
    assert keys(made, NOW + STEP) == ["ns/w"]


def test_an_answer_that_is_older_than_freed_quota_parks_nobody() -> None:
    item = workload("w", "q", 1)
    made = queues(item)
    made.heads(NOW)
    made.freed({"q"}, NOW)
    made.answered(no_fit(item), NOW)
    assert keys(made, NOW) == ["ns/w"]


def test_an_answer_from_before_a_release_that_is_put_off_waits_for_it() -> None:
    item = workload("w", "q", 1)
    made = queues(item)
    made.freed({"q"}, NOW)
    made.heads(NOW)
    made.freed({"q"}, NOW + 1)
    made.answered(no_fit(item), NOW + 1)
    assert keys(made, NOW + 1) == []
    assert keys(made, NOW + STEP) == ["ns/w"]


def test_a_search_goes_on_with_the_next_flavor_until_quota_is_freed() -> None:
    item = workload("w", "q", 1)
    made = queues(item)
    made.heads(NOW)
    made.answered(no_fit(item, flavor=0), NOW)
    assert made.tried == {"ns/w": {"main": {"cpu": 0}}}
    assert keys(made, NOW) == ["ns/w"]
    made.freed({"q"}, NOW)
    assert made.tried == {}


def test_checks_that_no_longer_fail_bring_a_workload_back() -> None:
    item = workload("w", "q", 1)
    item.status.admission_checks = [AdmissionCheckState("a", "Retry", at(0), "")]
    made = queues(item)
    made.heads(NOW)
    entry = Entry(item, "Inadmissible", None, "failed checks", "PendingEvaluation", "parked", "Generic")
    made.answered(entry, NOW)
    assert keys(made, NOW) == []
    made.put(workload("w", "q", 1), NOW)
    assert keys(made, NOW) == ["ns/w"]


def test_a_workload_with_an_unreadable_time_stops_nobody() -> None:
    broken = workload("broken", "q", 1)
    broken.metadata.creation_timestamp = "yesterday"
    assert keys(queues(broken, workload("w", "q", 1)), NOW) == ["ns/w"]


def test_a_parked_line_takes_little_time_and_loses_nobody() -> None:
    items = [workload(f"w{number:03}", "q", 1, created=number) for number in range(200)]
    made = queues(*items)
    made.heads(NOW)
    made.answered(no_fit(items[0]), NOW)
    assert made.counts("q") == (0, 200)
    late = workload("late", "q", 1, created=300)
    made.put(late, NOW)
    assert keys(made, NOW) == ["ns/late"]
    made.answered(no_fit(late), NOW)
    for number in range(0, 200, 2):
        made.remove(f"ns/w{number:03}")
    assert made.counts("q") == (0, 101)
    made.freed({"q"}, NOW)
    assert keys(made, NOW) == ["ns/w001"]
    assert made.counts("q") == (101, 0)


def test_who_waits_for_its_own_preemptions_stays_first() -> None:
    item, urgent = workload("w", "q", 1), workload("urgent", "q", 1, priority=5)
    made = queues(item)
    made.heads(NOW)
    waits = Entry(item, "Preempt", None, "", "WaitingForPreemptedWorkloads", "immediate", "PendingPreemption")
    made.answered(waits, NOW)
    made.put(urgent, NOW)
    assert keys(made, NOW) == ["ns/w"]
    made.answered(no_fit(item), NOW)
    assert keys(made, NOW) == ["ns/urgent"]


def test_nobody_passes_those_who_are_about_to_return() -> None:
    old = workload("old", "q", 1, created=1)
    made = queues(old)
    made.set_cluster_queue("other", strategy="BestEffortFIFO", active=True, tree="q")
    made.set_local_queue("ns/other", cluster_queue="other", active=True)
    made.freed({"q"}, NOW)
    made.heads(NOW)
    made.answered(no_fit(old), NOW)
    made.freed({"q"}, NOW + 1)
    for queue in ("q", "other"):
        made.put(workload(f"new-{queue}", queue, 2, created=2), NOW + 1)
    made.put(workload("urgent", "other", 2, created=3, priority=1), NOW + 1)
    assert keys(made, NOW + 1) == ["ns/urgent"]
    made.remove("ns/urgent")
    assert keys(made, NOW + 1) == []
    assert keys(made, NOW + STEP) == ["ns/new-other", "ns/old"]
