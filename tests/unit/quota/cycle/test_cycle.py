"""What becomes of the heads of queues in one cycle."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import msgspec
import pytest

from api.kueue import ClusterQueue
from api.meta import LabelSelector
from api.workloads import AdmissionCheckState, Workload
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.search.decision import Options
from tests.kit.quota.objects import (
    Object,
    at,
    cluster_queue,
    cohort,
    cpu,
    held,
    local_queue,
    snapshot,
    us,
    workload,
)

NOW = us(1000)


def run(
    *objects: Object,
    options: Options | None = None,
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Entry]:
    """The cycle in which every pending workload is a head. The order of the heads does not matter."""
    world = snapshot(*objects)
    waiting = [thing for thing in objects if isinstance(thing, Workload) and thing.status.admission is None]
    entries = cycle(world, waiting, NOW, options, namespaces=namespaces)
    for order in itertools.islice(itertools.permutations(waiting), 24):
        assert summary(cycle(world, order, NOW, options, namespaces=namespaces)) == summary(entries)
    return entries


def summary(entries: list[Entry]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(entry.workload.metadata.name, entry.outcome, targets(entry)) for entry in entries]


def outcomes(entries: list[Entry]) -> dict[str, str]:
    """By workload, in order."""
    return {entry.workload.metadata.name: entry.outcome for entry in entries}


def targets(entry: Entry) -> tuple[str, ...]:
    if entry.decision is None:
        return ()
    return tuple(target.holder.workload.metadata.name for target in entry.decision.targets)


def consequence(entry: Entry) -> tuple[str | None, str | None, str]:
    return entry.requeue, entry.requeue_reason, entry.quota_reserved_reason


# ---- order


def pool(size: int) -> ClusterQueue:
    """Quota that anybody in the cohort `all` may borrow."""
    return cluster_queue("pool", cpu(size), "all")


def borrower(name: str, nominal: int = 0, **options: object) -> ClusterQueue:
    return cluster_queue(name, cpu(nominal), "all", **options)  # type: ignore[arg-type]  # as given


def test_who_borrows_less_comes_first_then_priority_then_time_then_uid() -> None:
    queues = [borrower("home", 1), *(borrower(f"q{number}") for number in range(4))]
    waiting = [
        workload("at-home", "home", 1, priority=0, created=100),
        workload("urgent", "q0", 1, priority=2, created=100),
        workload("early", "q1", 1, priority=1, created=10, uid="z"),
        workload("late", "q2", 1, priority=1, created=20, uid="b"),
        workload("late-too", "q3", 1, priority=1, created=20, uid="a"),
    ]
    entries = run(pool(100), *queues, *waiting)
    assert outcomes(entries) == dict.fromkeys(["at-home", "urgent", "early", "late-too", "late"], "Admit")


@pytest.mark.parametrize("options", [Options(), Options(fair_sharing=True)])
def test_who_has_no_uid_goes_by_name(options: Options) -> None:
    objects: list[Object] = [pool(2), borrower("a"), borrower("b")]
    for name in ("b", "a"):
        head = workload(name, name, 1)
        head.metadata.uid = ""
        objects.append(head)
    assert list(outcomes(run(*objects, options=options))) == ["a", "b"]


def test_a_nearer_cohort_is_a_lower_level() -> None:
    """Who finds enough in its own team comes before who needs the whole company."""
    cohorts = [cohort("company", quotas=cpu(10)), cohort("near", "company", cpu(5)), cohort("far", "company")]
    queues = [cluster_queue("a", cpu(0), "near"), cluster_queue("b", cpu(0), "far")]
    entries = run(
        *cohorts,
        *queues,
        workload("near", "a", 1, created=10),
        workload("far", "b", 1, priority=9, created=0),
    )
    assert [entry.decision.borrowing for entry in entries if entry.decision] == [1, 2]
    assert list(outcomes(entries)) == ["near", "far"]


# ---- fair sharing: the tournament

FAIR = Options(fair_sharing=True)


def test_the_smaller_share_comes_first_whatever_the_priority() -> None:
    entries = run(
        pool(10),
        borrower("rich"),
        borrower("poor"),
        held(workload("running", "rich", 3), 0),
        workload("urgent", "rich", 1, priority=9),
        workload("modest", "poor", 1, created=10),
        options=FAIR,
    )
    assert list(outcomes(entries)) == ["modest", "urgent"]


def test_what_is_asked_for_counts_in_the_share() -> None:
    entries = run(
        pool(10),
        borrower("a"),
        borrower("b"),
        workload("much", "a", 4, priority=9),
        workload("little", "b", 2, created=10),
        options=FAIR,
    )
    assert list(outcomes(entries)) == ["little", "much"]


def test_equal_shares_go_by_priority_then_time_then_uid() -> None:
    entries = run(
        pool(10),
        *(borrower(name) for name in "abcd"),
        workload("late", "a", 1, created=10, uid="a"),
        workload("urgent", "b", 1, priority=1, created=50),
        workload("twin", "c", 1, created=5, uid="2"),
        workload("early", "d", 1, created=5, uid="1"),
        options=FAIR,
    )
    assert list(outcomes(entries)) == ["urgent", "early", "twin", "late"]


def test_a_share_is_divided_by_its_weight_and_weight_zero_comes_last() -> None:
    entries = run(
        pool(20),
        borrower("heavy", weight=4),
        borrower("light", weight=1),
        borrower("none", weight=0),
        workload("three", "heavy", 3),
        workload("one", "light", 1, priority=5),
        workload("zero", "none", 1, priority=9),
        options=FAIR,
    )
    assert list(outcomes(entries)) == ["three", "one", "zero"]


def test_cohorts_play_against_cohorts() -> None:
    """The team that uses more waits, though its other queue uses nothing."""
    teams = [cohort("all"), cohort("red", "all"), cohort("blue", "all")]
    queues = [
        cluster_queue("red-1", cpu(0), "red"),
        cluster_queue("red-2", cpu(0), "red"),
        cluster_queue("blue-1", cpu(0), "blue"),
    ]
    entries = run(
        pool(20),
        *teams,
        *queues,
        held(workload("red-runs", "red-1", 5), 0),
        held(workload("blue-runs", "blue-1", 2), 0),
        workload("red-waits", "red-2", 1, priority=9),
        workload("blue-waits", "blue-1", 1),
        options=FAIR,
    )
    assert list(outcomes(entries)) == ["blue-waits", "red-waits"]


def test_a_turn_changes_the_share_of_those_beside_it() -> None:
    """After red's first turn it is blue's, since red's share has grown, and then red's again."""
    teams = [cohort("all"), cohort("red", "all"), cohort("blue", "all")]
    queues = [cluster_queue(name, cpu(0), name.split("-")[0]) for name in ("red-1", "red-2", "blue-1")]
    entries = run(
        pool(20),
        *teams,
        *queues,
        workload("red-first", "red-1", 2),
        workload("red-second", "red-2", 2, created=1),
        workload("blue", "blue-1", 3, priority=9),
        options=FAIR,
    )
    assert list(outcomes(entries)) == ["red-first", "blue", "red-second"]


def test_who_does_not_borrow_what_it_asks_for_comes_before_a_smaller_share() -> None:
    """`home` borrows memory, and has the greater share for it, but has CPUs of its own."""
    both = {"default": {"cpu": (10, None, None), "memory": (10, None, None)}}
    mixed = {"default": {"cpu": (2, None, None), "memory": (0, None, None)}}
    entries = run(
        cluster_queue("pool", both, "all"),
        cluster_queue("home", mixed, "all"),
        cluster_queue("guest", {"default": {"cpu": (0, None, None), "memory": (0, None, None)}}, "all"),
        held(workload("running", "home", 1, memory=5), 0),
        workload("own", "home", 1),
        workload("borrowed", "guest", 1, priority=9),
        options=FAIR,
    )
    assert list(outcomes(entries)) == ["own", "borrowed"]


def test_trees_take_turns_by_the_name_of_their_root() -> None:
    entries = run(
        cluster_queue("z", cpu(1), "alpha"),
        cluster_queue("a", cpu(1), "beta"),
        cluster_queue("lone", cpu(1)),
        cluster_queue("beta", cpu(1)),
        workload("1", "a", 1, priority=9),
        workload("2", "z", 1),
        workload("3", "lone", 1),
        workload("4", "beta", 1),
        options=FAIR,
    )
    assert list(outcomes(entries)) == ["2", "4", "1", "3"]


# ---- what the others take


def lenders(*, reclaim: str = "LowerPriority") -> list[ClusterQueue]:
    """A and B own two CPUs each; C owns nothing and borrows."""
    return [
        borrower("a", 2, reclaim=reclaim),
        borrower("b", 2, reclaim=reclaim),
        borrower("c"),
    ]


@pytest.mark.parametrize("options", [Options(), FAIR], ids=["classical", "fair"])
def test_victims_that_are_claimed_are_replaced_by_others(options: Options) -> None:
    """Both would take the two that came last; B, which is later, takes the other two."""
    victims = [held(workload(f"v{number}", "c", 1, priority=-1), number) for number in range(4)]
    entries = run(
        *lenders(),
        *victims,
        workload("first", "a", 2, created=10),
        workload("second", "b", 2, created=20),
        options=options,
    )
    assert [
        (outcome, targets(entry)) for outcome, entry in zip(outcomes(entries).values(), entries, strict=True)
    ] == [
        ("Preempt", ("v2", "v3")),
        ("Preempt", ("v0", "v1")),
    ]
    assert {consequence(entry) for entry in entries} == {
        ("immediate", "PendingPreemption", "WaitingForPreemptedWorkloads")
    }
    assert entries[0].message.endswith(". Pending the preemption of 2 workload(s)")


@pytest.mark.parametrize("options", [Options(), FAIR], ids=["classical", "fair"])
def test_what_was_claimed_stays_claimed(options: Options) -> None:
    """All three would take the two that came last."""
    entries = run(
        *lenders(),
        borrower("d", 2, reclaim="LowerPriority"),
        *(held(workload(f"v{number}", "c", 1, priority=-1), number) for number in range(6)),
        *(workload(f"w{number}", name, 2, created=number) for number, name in enumerate("abd")),
        options=options,
    )
    assert summary(entries) == [
        ("w0", "Preempt", ("v4", "v5")),
        ("w1", "Preempt", ("v2", "v3")),
        ("w2", "Preempt", ("v0", "v1")),
    ]


@pytest.mark.parametrize("options", [Options(), FAIR], ids=["classical", "fair"])
def test_who_fits_once_the_victims_of_another_are_gone_waits(options: Options) -> None:
    entries = run(
        *lenders(),
        held(workload("big", "c", 4, priority=-1), 0),
        workload("first", "a", 2, created=10),
        workload("second", "b", 2, created=20),
        options=options,
    )
    assert outcomes(entries) == {"first": "Preempt", "second": "DeferredFit"}
    assert consequence(entries[1]) == ("immediate", "PendingPreemption", "WaitingForPreemptedWorkloads")
    assert targets(entries[1]) == ()


def test_a_deferred_fit_keeps_its_place() -> None:
    """What it waits for is not given to a third one, which would have fitted beside the first."""
    entries = run(
        *lenders(),
        borrower("d"),
        held(workload("big", "c", 3, priority=-1), 0),
        workload("first", "a", 2, created=10),
        workload("second", "b", 2, created=20),
        workload("third", "d", 1, created=30),
    )
    assert outcomes(entries) == {"first": "Preempt", "second": "DeferredFit", "third": "Skip"}


def test_nobody_is_left_for_who_comes_second() -> None:
    """A reclaims what B, which must borrow, would have taken as well."""
    entries = run(
        borrower("a", 2, reclaim="LowerPriority"),
        borrower("b", 0, reclaim="LowerPriority", borrow=True),
        borrower("c"),
        held(workload("only", "c", 2, priority=-1), 0),
        workload("first", "a", 2),
        workload("second", "b", 2),
    )
    assert outcomes(entries) == {"first": "Preempt", "second": "NoCandidates"}
    assert consequence(entries[1]) == ("parked", "PreemptionNoCandidates", "WaitingForQuota")


def test_who_loses_its_victims_does_not_look_at_other_flavors_in_this_cycle() -> None:
    """B stopped at the first flavor, where it could preempt; that it fits in the second is for the next cycle."""
    quotas = {"default": {"cpu": (0, None, None)}, "second": {"cpu": (2, None, None)}}
    b = cluster_queue("b", quotas, "all", reclaim="LowerPriority", borrow=True)
    b.spec.flavor_fungibility.when_can_preempt = "MayStopSearch"
    entries = run(
        borrower("a", 2, reclaim="LowerPriority"),
        b,
        borrower("c"),
        held(workload("only", "c", 2, priority=-1), 0),
        workload("first", "a", 2),
        workload("second", "b", 2),
    )
    assert outcomes(entries) == {"first": "Preempt", "second": "NoCandidates"}
    assert entries[1].decision is not None
    assert entries[1].decision.flavors == {"main": {"cpu": "default"}}


def test_who_no_longer_fits_is_skipped_and_tried_again() -> None:
    entries = run(
        borrower("a", 1), borrower("b", 1), workload("one", "a", 1), workload("two", "b", 2, priority=9)
    )
    assert outcomes(entries) == {"one": "Admit", "two": "Skip"}
    assert consequence(entries[1]) == ("immediate", "FailedAfterNomination", "WaitingForQuota")
    assert entries[1].message == "Workload no longer fits after processing another workload"
    assert consequence(entries[0]) == (None, None, "")


def test_capacity_is_kept_while_victims_leave() -> None:
    """Two CPUs are free, and the other two will be: all four are the preemptor's."""
    entries = run(
        borrower("a", 4, within="LowerPriority"),
        borrower("b"),
        held(workload("victim", "a", 2, priority=-1), 0),
        workload("preemptor", "a", 4),
        workload("guest", "b", 2, priority=9),
    )
    assert outcomes(entries) == {"preemptor": "Preempt", "guest": "Skip"}


@pytest.mark.parametrize(
    ("reclaim", "guest"), [("Never", "Skip"), ("LowerPriority", "Skip"), ("Any", "Admit")]
)
def test_capacity_is_kept_where_nobody_may_go_unless_it_can_be_had_back(reclaim: str, guest: str) -> None:
    """With Any the queue gets its nominal quota back from whoever has borrowed it."""
    entries = run(
        borrower("a", 4, reclaim=reclaim),
        borrower("b"),
        held(workload("running", "a", 2), 0),
        workload("waiting", "a", 4),
        workload("guest", "b", 2, created=10),
    )
    assert outcomes(entries) == {"waiting": "NoCandidates", "guest": guest}


@pytest.mark.parametrize("guest", [1, 5])
def test_all_is_kept_for_who_may_borrow_without_a_limit(guest: int) -> None:
    """It waits for six. Five of them are free."""
    entries = run(
        pool(10),
        borrower("a", 3, reclaim="LowerPriority", borrow=True),
        borrower("b"),
        held(workload("running", "pool", 8), 0),
        workload("waiting", "a", 6),
        workload("guest", "b", guest, created=10),
    )
    assert outcomes(entries) == {"waiting": "NoCandidates", "guest": "Skip"}


@pytest.mark.parametrize(("guest", "outcome"), [(1, "Admit"), (2, "Skip")])
def test_no_more_is_kept_than_may_be_borrowed(guest: int, outcome: str) -> None:
    """It waits for three. Two are within its limit, and three are free."""
    entries = run(
        pool(10),
        cluster_queue("a", cpu(3, 1), "all"),
        borrower("b"),
        held(workload("running", "pool", 8), 0),
        held(workload("beside", "a", 2), 0),
        workload("waiting", "a", 3),
        workload("guest", "b", guest, created=10),
    )
    assert outcomes(entries) == {"waiting": "NoCandidates", "guest": outcome}


def test_no_fit_claims_nothing() -> None:
    entries = run(
        borrower("a", 2), borrower("b"), workload("huge", "a", 3), workload("guest", "b", 2, priority=-1)
    )
    assert outcomes(entries) == {"huge": "NoFit", "guest": "Admit"}
    assert consequence(entries[0])[:2] == ("parked", "NoFit")


def test_strict_fifo_goes_back_at_once() -> None:
    (entry,) = run(cluster_queue("a", cpu(1), strict=True), workload("huge", "a", 2))
    assert consequence(entry)[:2] == ("immediate", "NoFit")


def test_the_snapshot_stays_as_it_was() -> None:
    objects: list[Object] = [
        *lenders(),
        held(workload("big", "c", 4, priority=-1), 0),
        workload("first", "a", 2),
        workload("second", "b", 2),
    ]
    world = snapshot(*objects)
    waiting = [thing for thing in objects if isinstance(thing, Workload) and thing.status.admission is None]
    usage = [world.ledger.usage(node, 0) for node in range(4)]
    once = summary(cycle(world, waiting, NOW))
    assert [world.ledger.usage(node, 0) for node in range(4)] == usage
    assert summary(cycle(world, waiting, NOW)) == once


def test_two_heads_of_one_queue_are_refused() -> None:
    objects: list[Object] = [borrower("a", 1), workload("one", "a", 1), workload("two", "a", 1)]
    with pytest.raises(ValueError, match="two heads of ClusterQueue a"):
        cycle(snapshot(*objects), [thing for thing in objects if isinstance(thing, Workload)], NOW)


# ---- flavors that are still to be tried


def test_flavors_that_are_left_are_tried_in_the_next_cycle() -> None:
    """The driver fits in the first flavor, where its workers do not: next time it is to take the second one."""
    queue = cluster_queue("a", {"first": {"cpu": (1, None, None)}, "second": {"cpu": (1, None, None)}})
    both = workload("both", "a", 1)
    workers = msgspec.structs.replace(workload("workers", "a", 5).spec.pod_sets[0], name="workers")
    both.spec.pod_sets.append(workers)
    world = snapshot(queue, both)
    (entry,) = cycle(world, [both], NOW)
    assert consequence(entry)[:2] == ("immediate", "NoFit")
    assert entry.tried is not None
    (again,) = cycle(world, [both], NOW, tried={"ns/both": entry.tried})
    assert consequence(again)[:2] == ("parked", "NoFit")
    assert again.tried is None


def test_who_preempts_starts_at_the_first_flavor_again() -> None:
    queue = cluster_queue(
        "a",
        {"first": {"cpu": (2, None, None)}, "second": {"cpu": (2, None, None)}},
        within="LowerPriority",
    )
    queue.spec.flavor_fungibility.when_can_preempt = "MayStopSearch"
    victim = held(workload("victim", "a", 2, priority=-1), 0, flavors={"cpu": "first"})
    (entry,) = run(queue, victim, workload("waiting", "a", 2))
    assert entry.outcome == "Preempt"
    assert entry.decision is not None
    assert entry.decision.tried is not None
    assert entry.tried is None


# ---- KEP-8522: when it is worth trying again


@pytest.mark.parametrize(
    ("since", "expected"), [((0, 100, 500), 500), ((450, 460, 500), 450), ((0, 500, 450), 450)]
)
def test_it_says_when_the_next_of_its_equals_has_had_its_time(
    since: tuple[int, int, int], expected: int
) -> None:
    """It wants three slots, and those that have expired are not enough."""
    queue = cluster_queue("a", cpu(3), within="LowerOrNewerEqualPriority", min_admit="10m")
    holders = [held(workload(f"w{number}", "a", 1), time) for number, time in enumerate(since)]
    (entry,) = run(queue, *holders, workload("waiting", "a", 3, created=999))
    assert entry.outcome == "NoCandidates"
    assert entry.retry_at == us(expected + 600) + 1


def test_time_brings_nothing_where_nobody_goes_for_it() -> None:
    waiting = workload("waiting", "a", 1, created=999)
    higher = held(workload("higher", "a", 1, priority=1), 500)
    equal = held(workload("equal", "a", 1), 500)
    timed = cluster_queue("a", cpu(1), within="LowerOrNewerEqualPriority", min_admit="10m")
    untimed = cluster_queue("a", cpu(1), within="LowerOrNewerEqualPriority")
    other_policy = cluster_queue("a", cpu(1), within="LowerPriority", min_admit="10m")
    for queue, holder, options in (
        (timed, higher, Options()),
        (untimed, equal, Options()),
        (other_policy, equal, Options()),
        (timed, equal, Options(time_based=False)),
    ):
        (entry,) = run(queue, holder, waiting, options=options)
        assert entry.outcome == "NoCandidates"
        assert entry.retry_at is None


# ---- inadmissible


def with_check(state: str) -> Workload:
    waiting = workload("waiting", "a", 1)
    checks = [AdmissionCheckState("check", state, at(0), "why")]  # type: ignore[arg-type]  # one of the states
    return msgspec.structs.replace(
        waiting, status=msgspec.structs.replace(waiting.status, admission_checks=checks)
    )


@pytest.mark.parametrize("state", ["Retry", "Rejected"])
def test_failed_checks_keep_it_waiting(state: str) -> None:
    (entry,) = run(borrower("a", 1), with_check(state))
    assert entry.outcome == "Inadmissible"
    assert entry.message == "The workload has failed admission checks"
    assert consequence(entry) == ("parked", "Generic", "PendingEvaluation")


@pytest.mark.parametrize("state", ["Pending", "Ready"])
def test_other_checks_do_not(state: str) -> None:
    (entry,) = run(borrower("a", 1), with_check(state))
    assert entry.outcome == "Admit"


@pytest.mark.parametrize(
    ("selector", "namespaces", "matches"),
    [
        (None, {}, False),
        (LabelSelector(), {}, True),
        (LabelSelector({"team": "red"}), {"ns": {"team": "red"}}, True),
        (LabelSelector({"team": "red"}), {"ns": {"team": "blue"}}, False),
        (LabelSelector({"team": "red"}), {}, False),
        (LabelSelector({"kubernetes.io/metadata.name": "ns"}), {}, True),
    ],
)
def test_the_namespace_must_be_selected(
    selector: LabelSelector | None, namespaces: Mapping[str, Mapping[str, str]], matches: bool
) -> None:
    """An absent selector selects nothing."""
    for strict in (False, True):
        queue = borrower("a", 1, strict=strict)
        queue.spec.namespace_selector = selector
        (entry,) = run(queue, workload("waiting", "a", 1), namespaces=namespaces)
        if matches:
            assert entry.outcome == "Admit"
        else:
            assert entry.outcome == "Inadmissible"
            assert consequence(entry) == ("parked", "NamespaceMismatch", "Misconfigured")


def test_queues_that_are_missing_or_stopped() -> None:
    stopped = borrower("stopped", 1)
    stopped.spec.stop_policy = "Hold"
    closed = local_queue("closed", "a")
    closed.spec.stop_policy = "Hold"
    entries = run(
        borrower("a", 1),
        stopped,
        closed,
        local_queue("dangling", "gone"),
        workload("in-stopped", "stopped", 1),
        workload("in-closed", "closed", 1),
        workload("in-dangling", "dangling", 1),
        workload("in-none", "none", 1),
        held(workload("running", "a", 1), 0),
    )
    found = {entry.workload.metadata.name: consequence(entry) for entry in entries}
    assert found == {
        "in-stopped": ("parked", "Generic", "Suspended"),
        "in-closed": (None, None, "Suspended"),
        "in-dangling": (None, None, "Misconfigured"),
        "in-none": (None, None, "Misconfigured"),
    }


def test_who_holds_quota_is_not_considered() -> None:
    running = held(workload("running", "a", 1), 0)
    (entry,) = cycle(snapshot(borrower("a", 1), running), [running], NOW)
    assert (entry.outcome, entry.message, entry.requeue) == ("Inadmissible", "it holds quota already", None)
