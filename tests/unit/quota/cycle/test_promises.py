"""Quota that a plan frees belongs to its preemptor: what other heads, and the preemptor itself, are answered."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from api.workloads import Workload
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.cycle.promises import Promise
from quota.search.decision import Options
from tests.kit.quota.objects import (
    Object,
    cluster_queue,
    cohort,
    cpu,
    evicted,
    held,
    preempted,
    snapshot,
    us,
    workload,
)

NOW = us(1000)
LEND: Object = cluster_queue("pool", cpu(10), "all")


def promise(
    name: str, queue: str, cpus: int, *victims: str, priority: int = 5, flavor: str = "default"
) -> Promise:
    usage = {(flavor, "cpu"): cpus * 1000}
    return Promise(f"ns/{name}", queue, priority, usage, frozenset(f"ns/{victim}" for victim in victims))


def run(*things: Object | Promise, options: Options | None = None) -> dict[str, Entry]:
    """The entries of a cycle in which every Workload without quota is a head. No order makes a difference."""
    objects = [thing for thing in things if not isinstance(thing, Promise)]
    promises = [thing for thing in things if isinstance(thing, Promise)]
    world = snapshot(*objects)
    waiting = [thing for thing in objects if isinstance(thing, Workload) and thing.status.admission is None]
    entries = {
        entry.workload.metadata.name: entry
        for entry in cycle(world, waiting, NOW, options, promises=promises)
    }
    for heads, order in itertools.product(itertools.permutations(waiting), itertools.permutations(promises)):
        again = cycle(world, heads, NOW, options, promises=order)
        assert [(entry.workload.metadata.name, entry.outcome) for entry in again] == [
            (name, entry.outcome) for name, entry in entries.items()
        ]
    return entries


def outcomes(*things: Object | Promise, options: Options | None = None) -> dict[str, str]:
    """By workload, in the order of their turns."""
    return {name: entry.outcome for name, entry in run(*things, options=options).items()}


def targets(entry: Entry) -> list[str]:
    assert entry.decision is not None
    return [target.holder.workload.metadata.name for target in entry.decision.targets]


def queue(name: str, nominal: int = 0, **options: object) -> Object:
    return cluster_queue(name, cpu(nominal), "all", **options)  # type: ignore[arg-type]  # as given


# ---- others


@pytest.mark.parametrize(("priority", "outcome"), [(4, "NoFit"), (5, "NoFit"), (6, "Admit")])
def test_only_a_higher_priority_passes(priority: int, outcome: str) -> None:
    """The victim is gone already. The preemptor is no head of this cycle."""
    world = LEND, queue("a"), queue("b")
    head = workload("other", "b", 5, priority=priority)
    assert outcomes(*world, head, promise("asker", "a", 6, "gone")) == {"other": outcome}
    assert outcomes(*world, head) == {"other": "Admit"}


def test_a_higher_priority_waits_for_the_victims_of_a_promise_that_it_passes() -> None:
    """It may evict nobody. If it did not wait, a plan of its own that counts on them would end too early."""
    owner = queue("owner", 4)
    world = owner, queue("a", 3), queue("b")
    leaving, stays = (held(workload(name, "a", 3, priority=9), 1) for name in ("leaving", "stays"))
    plan = promise("asker", "owner", 2, "leaving", priority=0)
    head = workload("other", "b", 2, priority=6)
    entry = run(*world, leaving, stays, head, plan)["other"]
    assert (entry.outcome, entry.quota_reserved_reason) == ("DeferredFit", "WaitingForPreemptedWorkloads")
    assert outcomes(*world, leaving, stays, head) == {"other": "NoFit"}
    assert outcomes(*world, stays, head, plan) == {"other": "Admit"}


def test_what_is_free_beside_the_promise_is_given_away() -> None:
    world = LEND, queue("a"), queue("b")
    assert outcomes(*world, workload("other", "b", 4), promise("asker", "a", 6)) == {"other": "Admit"}


def test_a_head_of_the_same_queue_sees_the_promise() -> None:
    head = workload("other", "a", 5, priority=5)
    assert outcomes(LEND, queue("a"), head, promise("asker", "a", 6)) == {"other": "NoFit"}


@pytest.mark.parametrize("priority", [1, 9])
def test_a_victim_that_has_ended_does_not_take_its_room_back(priority: int) -> None:
    """Neither does one of higher priority: reclaimWithinCohort may be Any."""
    victim = preempted(held(workload("victim", "b", 6, priority=priority), 0), 900, "InCohortReclamation")
    world = queue("a", 10, reclaim="Any"), queue("b"), victim
    assert outcomes(*world, promise("asker", "a", 6, "victim")) == {"victim": "NoFit"}
    assert outcomes(*world) == {"victim": "Admit"}


def test_a_victim_of_an_earlier_plan_does_not_take_the_room_of_the_next_victim() -> None:
    """Found by random load with fair sharing: two of higher priority were evicted by turns for ever."""
    earlier = preempted(held(workload("earlier", "b", 6, priority=9), 0), 900, "InCohortReclamation")
    world = queue("a", 10, reclaim="Any"), queue("b"), earlier
    asked = promise("asker", "a", 6, "next")
    assert outcomes(*world, asked) == {"earlier": "Admit"}
    assert outcomes(*world, replace(asked, former=frozenset({"ns/earlier"}))) == {"earlier": "NoFit"}


def test_a_victim_does_not_take_what_another_plan_frees() -> None:
    """Of ten, four are promised to its preemptor, and five to another one of a lower priority than the victim's."""
    victim = preempted(held(workload("victim", "b", 6, priority=50), 0), 900, "InCohortReclamation")
    world = queue("a", 10, reclaim="Any"), queue("b"), victim
    asked, other = promise("asker", "a", 4, "victim"), promise("other", "a", 5)
    assert outcomes(*world, asked) == {"victim": "Admit"}
    assert outcomes(*world, other) == {"victim": "Admit"}
    assert outcomes(*world, asked, other) == {"victim": "NoFit"}


def test_what_fits_only_once_the_victims_are_gone_waits_for_that() -> None:
    """Two of the ten stay free: the victim gives six back and the preemptor takes four."""
    world = LEND, queue("a"), queue("b"), queue("c")
    leaving = evicted(held(workload("victim", "c", 6), 0), 900)
    stays = held(workload("stays", "c", 2, priority=9), 0)
    entries = run(
        *world, leaving, stays, workload("other", "b", 4, priority=5), promise("asker", "a", 4, "victim")
    )
    assert entries["other"].outcome == "DeferredFit"
    assert entries["other"].message == "Workload will fit after the preemptions for other workloads complete"
    assert (entries["other"].requeue_reason, entries["other"].quota_reserved_reason) == (
        "PendingPreemption",
        "WaitingForPreemptedWorkloads",
    )
    gone = run(*world, stays, workload("other", "b", 4, priority=5), promise("asker", "a", 4, "victim"))
    assert gone["other"].outcome == "Admit"


def test_two_that_fit_only_once_the_victims_are_gone_do_not_fit_together_before() -> None:
    """Of ten, the victim holds six and two are promised. Each of the heads would fit alone."""
    entries = outcomes(
        LEND,
        queue("a"),
        queue("b"),
        queue("c"),
        evicted(held(workload("victim", "pool", 6), 0), 900),
        workload("one", "b", 2, priority=5),
        workload("two", "c", 2, priority=5, created=1),
        promise("asker", "a", 2, "victim"),
    )
    assert entries == {"one": "Admit", "two": "DeferredFit"}


def test_another_flavor_that_is_free_now_is_better_than_one_that_is_free_later() -> None:
    both = {"first": {"cpu": (10, None, None)}, "second": {"cpu": (4, None, None)}}
    none = {"first": {"cpu": (0, None, None)}, "second": {"cpu": (0, None, None)}}
    leaving = evicted(held(workload("victim", "pool", 8), 0, flavors={"cpu": "first"}), 900)
    entries = run(
        cluster_queue("pool", both, "all"),
        cluster_queue("a", none, "all"),
        cluster_queue("b", none, "all"),
        leaving,
        workload("other", "b", 4, priority=5),
        promise("asker", "a", 4, "victim", flavor="first"),
    )
    assert entries["other"].outcome == "Admit"
    decision = entries["other"].decision
    assert decision is not None
    assert decision.flavors == {"main": {"cpu": "second"}}


def test_nobody_goes_only_because_a_victim_has_not_left_yet() -> None:
    """Of the quota of `a`, the victim still holds six beside the four that are promised. Then four are free."""
    world = (
        cluster_queue("a", cpu(10), within="LowerPriority"),
        evicted(held(workload("victim", "a", 6), 0), 900),
        held(workload("low", "a", 2), 0),
    )
    entries = run(*world, workload("other", "a", 4, priority=3), promise("asker", "a", 4, "victim"))
    assert (entries["other"].outcome, targets(entries["other"])) == ("DeferredFit", [])
    more = run(*world, workload("other", "a", 6, priority=3), promise("asker", "a", 4, "victim"))
    assert (more["other"].outcome, targets(more["other"])) == ("Preempt", ["low"])


def test_a_higher_priority_chooses_the_victims_of_the_promise_for_itself() -> None:
    entries = run(
        cluster_queue("a", cpu(10), within="LowerPriority"),
        evicted(held(workload("victim", "a", 6), 0), 900),
        held(workload("low", "a", 4), 0),
        workload("other", "a", 5, priority=6),
        promise("asker", "a", 6, "victim"),
    )
    assert (entries["other"].outcome, targets(entries["other"])) == ("Preempt", ["victim"])


def test_equal_priorities_take_turns_by_time_but_not_in_promised_quota() -> None:
    """KEP-8522: `old` is over its time, but its quota is promised already. `newer` is not over its time."""
    world = (
        cluster_queue("a", cpu(10), within="LowerOrNewerEqualPriority", min_admit="10m"),
        evicted(held(workload("old", "a", 5, priority=5), 0), 900),
        held(workload("newer", "a", 5, priority=5), 800),
    )
    asker = workload("other", "a", 5, priority=5, created=900)
    assert targets(run(*world, asker)["other"]) == ["old"]
    entry = run(*world, asker, promise("asker", "a", 5, "old"))["other"]
    assert (entry.outcome, entry.retry_at) == ("NoCandidates", us(1400) + 1)


def test_an_owner_of_the_quota_waits_as_well_and_reclaims_it_from_the_preemptor() -> None:
    """docs/decisions/0040."""
    world = queue("owner", 6, reclaim="Any"), queue("a")
    head = workload("own", "owner", 6)
    assert outcomes(*world, head, promise("asker", "a", 6)) == {"own": "NoCandidates"}
    admitted = held(workload("asker", "a", 6, priority=5), 900)
    entry = run(*world, head, admitted)["own"]
    assert (entry.outcome, targets(entry)) == ("Preempt", ["asker"])


# ---- the preemptor


def test_the_preemptor_does_not_see_its_own_promise() -> None:
    """Others see it, whether their turn comes before or after. `first` borrows nothing: its turn comes first."""
    for priority in (1, 5):
        entries = outcomes(
            queue("pool", 4),
            queue("a", 2),
            queue("first", 4),
            queue("last"),
            workload("asker", "a", 10, priority=5),
            workload("first", "first", 4, priority=priority),
            workload("last", "last", 1, priority=priority),
            promise("asker", "a", 10, "gone"),
        )
        assert entries["asker"] == "Admit"
        assert {entries["first"], entries["last"]} <= {"NoFit", "NoCandidates"}


def test_a_head_of_higher_priority_may_come_first() -> None:
    entries = outcomes(
        LEND,
        queue("a"),
        queue("b"),
        workload("asker", "a", 6, priority=5),
        workload("other", "b", 5, priority=6),
        promise("asker", "a", 6, "gone"),
    )
    assert entries == {"other": "Admit", "asker": "Skip"}


def test_its_own_victims_are_chosen_again() -> None:
    """Also if a head before it counts on their going: `other` takes what the preemptor leaves of it."""
    things = (
        queue("a", 4, reclaim="Any"),
        queue("b", 2),
        queue("c"),
        evicted(held(workload("victim", "c", 6), 0), 900),
        workload("asker", "a", 4, priority=5),
        promise("asker", "a", 4, "victim"),
    )
    alone = run(*things)
    assert (alone["asker"].outcome, targets(alone["asker"])) == ("Preempt", ["victim"])
    entries = run(*things, workload("other", "b", 2, priority=5, created=0, uid="a"))
    assert (entries["asker"].outcome, targets(entries["asker"])) == ("Preempt", ["victim"])
    assert entries["other"].outcome == "DeferredFit"


@pytest.mark.parametrize(
    ("cpus", "outcome"), [(2, "Admit"), (3, "DeferredFit"), (4, "DeferredFit"), (5, "NoFit")]
)
def test_its_usage_is_counted_once_when_it_had_its_turn(cpus: int, outcome: str) -> None:
    """Of ten, the victim holds two and six are promised. Four are left once the victim is gone."""
    entries = outcomes(
        cluster_queue("a", cpu(6, borrowing=0), "all", within="LowerPriority"),
        queue("pool", 4),
        queue("z"),
        evicted(held(workload("victim", "a", 2), 0), 900),
        workload("asker", "a", 6, priority=5),
        workload("other", "z", cpus, priority=5),
        promise("asker", "a", 6, "victim"),
    )
    assert entries == {"asker": "Preempt", "other": outcome}


def test_its_usage_is_counted_once_when_it_waits_for_the_victims_of_others() -> None:
    """Of ten, two are promised to `absent`, for which six are still held, and four to `asker`."""
    entries = outcomes(
        queue("a", 4),
        queue("pool", 6),
        queue("b"),
        queue("z"),
        held(workload("victim", "pool", 6), 0),
        workload("asker", "a", 4, priority=5),
        workload("other", "z", 4, priority=5),
        promise("absent", "b", 2, "victim", priority=9),
        promise("asker", "a", 4, "gone"),
    )
    assert entries == {"asker": "DeferredFit", "other": "DeferredFit"}


def test_its_usage_is_counted_once_when_it_is_admitted() -> None:
    entries = outcomes(
        queue("a", 6),
        queue("pool", 4),
        queue("z"),
        workload("asker", "a", 6, priority=5),
        workload("other", "z", 4, priority=5),
        promise("asker", "a", 6, "gone"),
    )
    assert entries == {"asker": "Admit", "other": "Admit"}


def test_its_own_victims_are_chosen_again_in_a_second_decision() -> None:
    """`first` takes `shared` from it, and `relies` counts on the going of its victim. Then it takes `spare`, too."""
    entries = run(
        queue("l", 1, within="LowerPriority"),
        queue("pool", 9),
        queue("f", reclaim="LowerPriority", borrow=True),
        queue("a", reclaim="LowerPriority", borrow=True),
        queue("x"),
        held(workload("mine", "l", 1, priority=1), 0),
        held(workload("stays", "pool", 3, priority=9), 0),
        held(workload("shared", "x", 2, priority=-1), 0),
        held(workload("victim", "x", 2, priority=0), 0),
        held(workload("spare", "x", 2, priority=2), 0),
        workload("relies", "l", 1, priority=3),
        workload("first", "f", 2, priority=9),
        workload("asker", "a", 4, priority=5),
        promise("asker", "a", 2, "victim"),
    )
    assert {name: (entry.outcome, targets(entry)) for name, entry in entries.items()} == {
        "relies": ("Preempt", ["mine"]),
        "first": ("Preempt", ["shared"]),
        "asker": ("Preempt", ["spare", "victim"]),
    }


def test_after_its_admission_in_another_flavor_the_promised_one_is_free() -> None:
    both = {"first": {"cpu": (6, None, None)}, "second": {"cpu": (6, None, None)}}
    entries = run(
        cluster_queue("a", both, "all"),
        cluster_queue("b", {name: {"cpu": (0, None, None)} for name in both}, "all"),
        workload("asker", "a", 6, priority=5),
        workload("other", "b", 6, priority=5),
        promise("asker", "a", 6, "gone", flavor="second"),
    )
    assert {name: entry.outcome for name, entry in entries.items()} == {"asker": "Admit", "other": "Skip"}
    later = run(
        cluster_queue("a", both, "all"),
        cluster_queue("b", {name: {"cpu": (0, None, None)} for name in both}, "all"),
        held(workload("asker", "a", 6, priority=5), 990, flavors={"cpu": "first"}),
        workload("other", "b", 6, priority=5),
        promise("asker", "a", 6, "gone", flavor="second"),
    )
    assert later["other"].outcome == "Admit"


@pytest.mark.parametrize(("priority", "outcome"), [(5, "Admit"), (6, "Skip")])
def test_what_is_kept_for_a_head_without_candidates_is_not_what_is_promised(
    priority: int, outcome: str
) -> None:
    """`early` borrows nothing, so its turn comes first. Half of its nominal quota is lent to the preemptor."""
    entries = outcomes(
        queue("early", 6, reclaim="LowerPriority"),
        queue("a"),
        queue("l"),
        held(workload("strong", "a", 3, priority=9), 0),
        workload("early", "early", 6, priority=priority),
        workload("asker", "a", 3, priority=5),
        workload("late", "l", 1),
        promise("asker", "a", 3, "gone"),
    )
    assert entries == {"early": "NoCandidates", "asker": outcome, "late": "NoFit"}


def test_what_is_kept_is_kept_from_others_although_there_is_a_promise() -> None:
    """`early` waits for its nominal quota, so `late` must not preempt `weak` for that quota. In between comes the
    turn of the preemptor, from which nothing is kept."""
    entries = outcomes(
        LEND,
        queue("a", 4),
        queue("early", 6, reclaim="LowerPriority"),
        queue("z", 6, within="LowerPriority"),
        held(workload("weak", "z", 6, priority=1), 0),
        held(workload("stays", "pool", 16, priority=9), 0),
        workload("early", "early", 6, priority=3, created=0),
        workload("asker", "a", 4, priority=3, created=1),
        workload("late", "z", 6, priority=2),
        promise("asker", "a", 4, "gone", priority=3),
    )
    assert entries == {"early": "NoCandidates", "asker": "Admit", "late": "Skip"}


def test_nothing_more_is_kept_for_a_preemptor_without_candidates() -> None:
    """Its promise keeps six. Four are left."""
    entries = outcomes(
        queue("a", 10, reclaim="LowerPriority"),
        queue("z"),
        queue("c"),
        held(workload("strong", "c", 5, priority=9), 900),
        workload("asker", "a", 6, priority=5),
        workload("tiny", "z", 1, priority=5),
        promise("asker", "a", 4, "gone"),
    )
    assert entries == {"asker": "NoCandidates", "tiny": "Admit"}


# ---- two promises


def test_two_promises_add_up() -> None:
    world = LEND, queue("a"), queue("b"), queue("c")
    promises = promise("one", "a", 4), promise("two", "b", 4, priority=3)
    for priority, cpus, outcome in (
        (3, 2, "Admit"),
        (3, 3, "NoFit"),
        (4, 6, "Admit"),
        (4, 7, "NoFit"),
        (6, 10, "Admit"),
    ):
        head = workload("other", "c", cpus, priority=priority)
        assert outcomes(*world, *promises, head) == {"other": outcome}


def test_two_preemptors_in_one_cycle() -> None:
    """The victims of `one` are gone. Those of `two`, of lower priority, are not."""
    entries = run(
        queue("a", 4, reclaim="Any"),
        queue("b", 4, reclaim="Any"),
        queue("c"),
        evicted(held(workload("victim", "c", 4), 0), 900),
        workload("one", "a", 4, priority=5),
        workload("two", "b", 4, priority=3),
        promise("one", "a", 4, "gone"),
        promise("two", "b", 4, "victim", priority=3),
    )
    assert {name: entry.outcome for name, entry in entries.items()} == {"one": "Admit", "two": "Preempt"}
    assert targets(entries["two"]) == ["victim"]


def relying() -> list[Object | Promise]:
    """`relies` waits for the victim of a promise of priority 3, and its turn comes first: it borrows nothing."""
    return [
        queue("l", 4),
        queue("b"),
        queue("v"),
        held(workload("victim", "v", 6, priority=2), 0),
        workload("relies", "l", 4, priority=3),
        promise("absent", "b", 2, "victim", priority=3),
    ]


def test_a_higher_priority_chooses_a_victim_that_others_count_on() -> None:
    higher = queue("h", reclaim="LowerPriority", borrow=True), workload("higher", "h", 6, priority=9)
    entries = run(*relying(), queue("pool", 6), *higher)
    assert {name: entry.outcome for name, entry in entries.items()} == {
        "relies": "DeferredFit",
        "higher": "Preempt",
    }
    assert targets(entries["higher"]) == ["victim"]


def test_a_second_decision_does_not_count_a_victim_that_others_count_on() -> None:
    """Both `first` and `second` choose `shared`. Then `second` has room, because the victim goes."""
    entries = run(
        *relying(),
        queue("pool", 6),
        queue("f", reclaim="LowerPriority", borrow=True),
        queue("s", reclaim="LowerPriority", borrow=True),
        queue("x"),
        held(workload("shared", "x", 2, priority=-1), 0),
        held(workload("spare", "x", 2, priority=0), 0),
        workload("first", "f", 2, priority=9),
        workload("second", "s", 2, priority=8),
    )
    assert {name: (entry.outcome, targets(entry)) for name, entry in entries.items()} == {
        "relies": ("DeferredFit", []),
        "first": ("Preempt", ["shared"]),
        "second": ("DeferredFit", []),
    }


def test_a_preemptor_is_admitted_although_others_count_on_victims_that_it_does_not_see() -> None:
    """`asker` does not see the promise of `absent`, whose victim holds four and leaves one. `takes` and `relies` have
    their turns first."""
    entries = outcomes(
        queue("pool", 3),
        queue("r", 5, within="LowerPriority"),
        queue("l", 2),
        queue("a"),
        queue("b"),
        queue("v"),
        held(workload("victim", "v", 4), 0),
        held(workload("low", "r", 1), 0),
        workload("takes", "r", 4, priority=5),
        workload("relies", "l", 2, priority=3),
        workload("asker", "a", 2, priority=5),
        promise("asker", "a", 2, "gone"),
        promise("absent", "b", 1, "victim", priority=3),
    )
    assert entries == {"takes": "Preempt", "relies": "Admit", "asker": "Admit"}


def test_victims_are_found_in_every_queue() -> None:
    entries = outcomes(
        queue("a", 4, reclaim="Any"),
        queue("b"),
        queue("v"),
        queue("w"),
        queue("x", 4),
        evicted(held(workload("one", "v", 4), 0), 900),
        evicted(held(workload("two", "w", 4), 0), 900),
        workload("other", "b", 4, priority=5),
        promise("asker", "a", 4, "one", "two"),
    )
    assert entries == {"other": "DeferredFit"}


def test_a_promise_in_another_tree_is_nobodys_business() -> None:
    other = cluster_queue("other", cpu(4))
    head = workload("head", "other", 4)
    seeing = workload("seeing", "a", 1)
    entries = outcomes(LEND, queue("a"), other, head, seeing, promise("asker", "a", 10))
    assert entries == {"head": "Admit", "seeing": "NoFit"}


# ---- fair sharing


def test_a_promise_counts_in_the_share_of_its_queue() -> None:
    """Both ask for as much, and `a` was here first. But `a` has a promise, so `b` comes first. One place is left."""
    world = (
        queue("pool", 6),
        queue("a"),
        queue("b"),
        workload("of-a", "a", 2, priority=5, created=0),
        workload("of-b", "b", 2, priority=5, created=1),
    )
    fair = Options(fair_sharing=True)
    assert list(run(*world, options=fair)) == ["of-a", "of-b"]
    entries = outcomes(*world, promise("asker", "a", 3), options=fair)
    assert list(entries.items()) == [("of-b", "Admit"), ("of-a", "Skip")]
    lower = outcomes(*world, promise("asker", "a", 3, priority=4), options=fair)
    assert list(lower) == ["of-a", "of-b"]


# ---- promises without an object


@pytest.mark.parametrize(
    "stale",
    [
        promise("asker", "no-queue", 10),
        promise("asker", "a", 10, flavor="no-flavor"),
        promise("asker", "a", 10, flavor="of-pool"),
        promise("running", "a", 8),
        Promise("ns/asker", "a", 5, {("default", "gpu"): 1}, frozenset()),
    ],
)
def test_a_promise_that_cannot_be_kept_any_more_is_passed_over(stale: Promise) -> None:
    """The ClusterQueue is gone, or it has the flavor no longer, or the preemptor holds its quota already."""
    pool = {"default": {"cpu": (10, None, None)}, "of-pool": {"cpu": (0, None, None)}}
    entries = outcomes(
        cohort("all"),
        cluster_queue("pool", pool, "all"),
        queue("a"),
        queue("b"),
        held(workload("running", "a", 2), 0),
        workload("other", "b", 8),
        stale,
    )
    assert entries == {"other": "Admit"}
