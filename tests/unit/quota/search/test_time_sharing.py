"""KEP-8522 over time: workloads of one priority take turns, and each keeps its quota for at least minAdmitDuration."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.workloads import Workload
from quota.search.decision import Options
from tests.kit.examples import examples
from tests.kit.quota.objects import cluster_queue, cpu, workload
from tests.kit.simulation import World

MINUTE = 60
MODES = pytest.mark.parametrize("options", [Options(), Options(fair_sharing=True)], ids=["classical", "fair"])


def world(
    arrivals: dict[str, int],
    *,
    slots: int = 1,
    options: Options | None = None,
    grace: int = 0,
    min_admit: str | None = "1m",
    priorities: dict[str, int] | None = None,
    lengths: dict[str, int] | None = None,
    strict: bool = False,
) -> World:
    """One ClusterQueue with `slots` slots; workloads of one slot each, by name the time of their arrival."""
    queue = cluster_queue(
        "queue", cpu(slots), within="LowerOrNewerEqualPriority", min_admit=min_admit, strict=strict
    )
    coming: dict[int, list[Workload]] = defaultdict(list)
    for name, time in arrivals.items():
        coming[time].append(
            workload(name, "queue", 1, created=time, priority=(priorities or {}).get(name, 0))
        )
    return World([queue], dict(coming), options or Options(), grace, lengths=lengths or {})


@MODES
@pytest.mark.parametrize("strict", [False, True], ids=["BestEffortFIFO", "StrictFIFO"])
def test_the_older_one_does_not_take_its_place_back_at_once(options: Options, strict: bool) -> None:
    """A came first, B waits. A goes after a minute, and then B has its minute, though A is older than B."""
    they = world({"a": 0, "b": 10}, options=options, strict=strict)
    they.run(until=5 * MINUTE)
    assert they.turns()[:4] == ["a", "b", "a", "b"]
    first = they.stays[0]
    assert (first.name, first.reason, first.preemptor) == ("a", "InClusterQueueTimeBased", "b")
    assert (first.since, first.until) == (0, MINUTE + 1)
    assert all(stay.until - stay.since > MINUTE for stay in they.stays)


@MODES
@pytest.mark.parametrize("grace", [0, 30])
def test_three_workloads_take_turns_for_one_slot(options: Options, grace: int) -> None:
    they = world({"a": 0, "b": 10, "c": 20}, options=options, grace=grace)
    they.run(until=20 * MINUTE)
    turns = they.turns()
    assert len(turns) >= 9
    assert turns == (["a", "b", "c"] * len(turns))[: len(turns)]
    assert {stay.reason for stay in they.stays} == {"InClusterQueueTimeBased"}
    assert all(stay.until - stay.since == MINUTE + 1 for stay in they.stays)


@MODES
def test_twenty_share_four_slots(options: Options) -> None:
    """Story 1, with minutes for hours: each of the twenty has had its turn before anybody has a second one."""
    names = [f"scientist-{number:02}" for number in range(20)]
    they = world({name: number for number, name in enumerate(names)}, slots=4, options=options)
    they.run(until=30 * MINUTE)
    turns = they.turns()
    assert turns[:40] == names + names
    assert {stay.reason for stay in they.stays} == {"InClusterQueueTimeBased"}


@MODES
def test_without_a_duration_the_first_one_stays(options: Options) -> None:
    """The KEP's motivation: the first one monopolizes the slot."""
    they = world({"a": 0, "b": 10}, options=options, min_admit=None)
    they.run(until=24 * 60 * MINUTE)
    assert they.turns() == ["a"]


@MODES
def test_a_late_one_waits_for_its_turn(options: Options) -> None:
    """It comes behind those that were preempted before it came, and ahead of those that are preempted after."""
    they = world({"a": 0, "b": 10, "late": 2 * MINUTE + 30}, options=options)
    they.run(until=8 * MINUTE)
    assert they.turns()[:6] == ["a", "b", "a", "b", "late", "a"]


@MODES
def test_a_higher_priority_takes_no_turns(options: Options) -> None:
    """It takes the slot at once and keeps it. A, which had not had its time, is first when it is done."""
    they = world(
        {"a": 0, "b": 10, "urgent": 30},
        options=options,
        priorities={"urgent": 1},
        lengths={"ns/urgent": 10 * MINUTE},
    )
    they.run(until=15 * MINUTE)
    assert they.turns()[:4] == ["a", "urgent", "a", "b"]
    assert [(stay.name, stay.reason) for stay in they.stays[:2]] == [
        ("a", "InClusterQueue"),
        ("urgent", "Finished"),
    ]


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    arrivals=st.lists(st.integers(0, 200), min_size=1, max_size=6),
    slots=st.integers(1, 3),
    grace=st.integers(0, 20),
    duration=st.integers(60, 90),
    fair=st.booleans(),
    strict=st.booleans(),
)
def test_nobody_starves(
    arrivals: list[int], slots: int, grace: int, duration: int, fair: bool, strict: bool
) -> None:
    """Equals of one size: everybody keeps its slot for longer than the duration, and waits for no more than one turn of
    each of the others."""
    they = world(
        {f"w{number}": time for number, time in enumerate(arrivals)},
        slots=slots,
        options=Options(fair_sharing=fair),
        grace=grace,
        min_admit=f"{duration}s",
        strict=strict,
    )
    end = 200 + 5 * len(arrivals) * (duration + grace + 2)
    they.run(until=end)
    assert all(stay.reason == "InClusterQueueTimeBased" for stay in they.stays)
    assert all(stay.until - stay.since > duration for stay in they.stays)
    longest_wait = len(arrivals) * (duration + grace + 2)
    for number, arrival in enumerate(arrivals):
        waits_since = arrival
        for since, until in spells(they, f"w{number}"):
            assert since - waits_since <= longest_wait
            waits_since = until if until is not None else end
        assert end - waits_since <= longest_wait


def spells(they: World, name: str) -> list[tuple[int, int | None]]:
    """When it held quota, None: still."""
    ended: list[tuple[int, int | None]] = [
        (stay.since, stay.until) for stay in they.stays if stay.name == name
    ]
    since = they.holding().get(name)
    if since is not None and since not in {start for start, _ in ended}:
        ended.append((since, None))
    return ended


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    jobs=st.lists(
        st.tuples(
            st.integers(0, 100), st.integers(0, 2), st.integers(1, 3), st.integers(20, 400), st.booleans()
        ),
        min_size=1,
        max_size=7,
    ),
    grace=st.integers(0, 20),
    fair=st.booleans(),
)
def test_time_is_kept_whatever_the_sizes_and_priorities(
    jobs: list[tuple[int, int, int, int, bool]], grace: int, fair: bool
) -> None:
    """Two ClusterQueues that lend one another quota.

    A victim by time has had its time, and is preempted for an equal of its own queue.
    """
    queues = [
        cluster_queue(
            name,
            cpu(2),
            "both",
            within="LowerOrNewerEqualPriority",
            reclaim="LowerPriority",
            min_admit="1m",
        )
        for name in ("left", "right")
    ]
    arrivals: dict[int, list[Workload]] = defaultdict(list)
    by_name: dict[str, Workload] = {}
    lengths = {}
    for number, (time, priority, size, length, left) in enumerate(jobs):
        name = f"w{number}"
        by_name[name] = workload(name, "left" if left else "right", size, priority=priority, created=time)
        arrivals[time].append(by_name[name])
        lengths[f"ns/{name}"] = length
    they = World(queues, dict(arrivals), Options(fair_sharing=fair), grace, lengths)
    they.run(until=4000)
    for stay in they.stays:
        if stay.reason != "InClusterQueueTimeBased":
            continue
        victim, preemptor = by_name[stay.name].spec, by_name[stay.preemptor].spec
        assert stay.until - stay.since > MINUTE
        assert (victim.queue_name, victim.priority) == (preemptor.queue_name, preemptor.priority)
