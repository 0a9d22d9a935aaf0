"""The checker of histories of several clusters finds what is wrong in forged ones, and nothing in clean ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.multicluster.history import MANAGER, Bounds, Event, Fault, History, Sample
from tests.kit.multicluster.rules import (
    RULES,
    gates_without_plan,
    preempted_beside_an_open_gate,
    ran_after_the_end,
    ran_twice_at_once,
    turns_that_overlap,
    two_gates,
)
from tests.unit.kit.multicluster.forged import (
    Forger,
    condition,
    copy_of,
    dispatch_plan,
    job_copy,
    plan,
    workload,
)

MESSAGE = "Preempted to accommodate a workload (UID: uid-copy, JobUID: UNKNOWN) due to prioritization"


def judged(history: History) -> set[str]:
    """The rules that find a fault."""
    return {rule.__name__ for rule in RULES if rule(history)}


def clean() -> Forger:
    """Two turns, a preemption in the second one, the Job's run, and its end."""
    made = Forger()
    made.put(0, MANAGER, workload())
    made.put(1, "alpha", copy_of())
    made.put(1, "beta", copy_of(uid="uid-other"))
    made.turn(2, "alpha")
    made.put(7, "alpha", copy_of())
    made.turn(8, "beta", 2, "uid-other")
    made.put(9, "beta", plan(preemptor="uid-other"))
    made.put(10, "beta", plan("QuotaReserved", "uid-other"))
    made.delete(11, "alpha", copy_of())
    made.put(12, "beta", job_copy(suspend=True))
    made.put(13, "beta", job_copy())
    made.put(14, "beta", job_copy("Complete"))
    made.put(15, MANAGER, workload(condition("Finished")))
    return made


def test_a_clean_history_passes() -> None:
    assert judged(clean().history) == set()


def test_an_empty_history_passes() -> None:
    assert judged(History()) == set()


# ---- gates and preemptions


def test_a_preemption_beside_an_open_gate() -> None:
    made = clean()
    made.put(8.5, "alpha", plan())
    assert judged(made.history) == {"preempted_beside_an_open_gate"}
    [text] = preempted_beside_an_open_gate(made.history)
    assert text == "PreemptionPlan ns/p began at 8.500 in alpha, while the gate is open in beta"


def test_a_preemption_that_only_the_victim_tells_of() -> None:
    """Kueue's workers have no PreemptionPlans."""
    made = clean()
    victim = {**workload(condition("Preempted", message=MESSAGE)), "metadata": {"namespace": "ns"}}
    victim["metadata"] |= {"name": "victim", "uid": "uid-victim"}
    made.put(8.5, "alpha", victim)
    assert judged(made.history) == {"preempted_beside_an_open_gate"}


@pytest.mark.parametrize("phase", ["Planned", "Proposed", "Aborted"])
def test_a_plan_that_evicts_nobody_is_no_preemption(phase: str) -> None:
    made = clean()
    made.put(8.5, "alpha", plan(phase))
    assert judged(made.history) == set()


def test_a_preemption_for_another_workload() -> None:
    made = clean()
    made.put(8.5, "alpha", plan(preemptor="uid-of-another"))
    assert judged(made.history) == set()


def test_the_gate_of_a_lost_cluster_holds_nobody_up() -> None:
    """Not before it is lost: 6 s after the cut, and until things are in order after its return."""
    for cut, wrong in ((1.0, False), (5.0, True)):
        made = Forger(lost_after=6, settle=2, heartbeat=0)
        made.history.faults.append(Fault("cut", "alpha", cut, 20))
        made.put(0, "alpha", copy_of())
        made.put(0, "beta", copy_of(uid="uid-other"))
        made.turn(0.5, "alpha")
        made.turn(8, "beta", 2, "uid-other")
        made.put(9, "beta", plan(preemptor="uid-other"))
        expected = {"two_gates", "preempted_beside_an_open_gate"} if wrong else set()
        assert judged(made.history) == expected


def test_what_a_lost_cluster_does_nobody_can_prevent() -> None:
    """Its gate was open when it was cut off, and it preempts while the gate of the next one is open."""
    made = Forger(lost_after=6, settle=2)
    made.history.faults.append(Fault("cut", "alpha", 1, 20))
    made.put(0, "alpha", copy_of())
    made.put(0, "beta", copy_of(uid="uid-other"))
    made.turn(0.5, "alpha")
    made.turn(8, "beta", 2, "uid-other")
    made.put(9, "alpha", plan())
    assert judged(made.history) == set()


@pytest.mark.parametrize(("opened", "is_wrong"), [(4.5, False), (2.5, True)])
def test_a_cluster_was_silent_before_it_was_cut_off(opened: float, is_wrong: bool) -> None:
    """It counts as lost 6 s after its last word, and that may have come 3 s before the cut."""
    made = Forger(lost_after=6, settle=2, heartbeat=3)
    made.history.faults.append(Fault("cut", "alpha", 1, 20))
    made.put(0, "alpha", copy_of())
    made.put(0, "beta", copy_of(uid="uid-other"))
    made.turn(0.5, "alpha")
    made.turn(opened, "beta", 2, "uid-other")
    assert judged(made.history) == ({"two_gates"} if is_wrong else set())


def test_all_gates_at_once() -> None:
    made = Forger()
    made.put(0, "alpha", copy_of())
    made.put(0, "beta", copy_of(uid="uid-other"))
    made.turn(1, "alpha")
    made.turn(2, "beta", 2, "uid-other")
    assert judged(made.history) == {"two_gates"}
    assert two_gates(made.history) == ["the gate of ns/w opened at 2.100 in beta, while it is open in alpha"]


def test_a_gate_that_a_test_opens_by_hand() -> None:
    made = Forger()
    made.put(0, "alpha", copy_of())
    made.put(0, "beta", copy_of(uid="uid-other"))
    made.turn(1, "alpha")
    event = made.put(2, "beta", copy_of(gate="Open", uid="uid-other"))
    assert judged(made.history) == {"two_gates", "gates_without_plan"}
    made.history.by_hand.add(("beta", *event.identity))
    assert judged(made.history) == set()


@pytest.mark.parametrize(
    "turn",
    [
        None,
        (2.0, dispatch_plan("beta")),
        (2.0, dispatch_plan("alpha", attempt="2025-01-01T00:00:00Z")),
        (3.5, dispatch_plan("alpha")),
    ],
    ids=["none", "another cluster", "another attempt", "too late"],
)
def test_a_gate_without_an_older_plan(turn: tuple[float, dict[str, object]] | None) -> None:
    made = Forger()
    made.put(1, "alpha", copy_of())
    if turn is not None:
        made.put(turn[0], MANAGER, turn[1])
    made.put(3, "alpha", copy_of(gate="Open"))
    assert judged(made.history) == {"gates_without_plan"}
    assert gates_without_plan(made.history) == ["the gate of ns/w opened in alpha without a DispatchPlan"]


def test_a_turn_whose_time_was_forgotten() -> None:
    made = Forger()
    made.put(1, MANAGER, dispatch_plan("alpha"))
    made.put(2, MANAGER, dispatch_plan("beta", 2, began=9))
    assert judged(made.history) == {"turns_that_overlap"}
    assert turns_that_overlap(made.history) == [
        "turn w-2 began at 2026-01-01T00:09:00.000001Z, and w-1 lasts until 2026-01-01T00:10:00.000001Z"
    ]


def test_a_turn_of_another_attempt() -> None:
    made = Forger()
    made.put(1, MANAGER, dispatch_plan("alpha"))
    made.put(2, MANAGER, dispatch_plan("beta", 2, attempt="2026-01-01T00:06:00Z", began=7))
    assert judged(made.history) == set()


# ---- Jobs


def test_a_job_that_runs_in_two_clusters() -> None:
    made = clean()
    made.put(13.5, "alpha", job_copy(uid="uid-second"))
    assert judged(made.history) == {"ran_twice_at_once"}
    assert ran_twice_at_once(made.history) == ["ns/j ran in alpha and beta at 13.500"]


def test_a_job_that_is_suspended_in_one_of_them() -> None:
    made = clean()
    made.put(13.5, "alpha", job_copy(uid="uid-second", suspend=True))
    assert judged(made.history) == set()


def test_a_job_of_the_workers_own() -> None:
    made = clean()
    own = job_copy(uid="uid-second")
    own["metadata"]["labels"] = {}
    made.put(13.5, "alpha", own)
    assert judged(made.history) == set()


@pytest.mark.parametrize(("end", "wrong"), [(18.5, set()), (None, {"ran_twice_at_once"})])
def test_a_job_in_a_cluster_that_was_cut_off(end: float | None, wrong: set[str]) -> None:
    """It may run elsewhere. After its return, the manager has some time to end it there."""
    made = Forger(settle=2)
    made.history.faults.append(Fault("cut", "alpha", 2, 17))
    made.put(1, "alpha", job_copy())
    made.put(10, "beta", job_copy(uid="uid-second"))
    if end is not None:
        made.delete(end, "alpha", job_copy())
    assert judged(made.history) == wrong


def test_a_manager_that_is_down_when_a_cluster_returns() -> None:
    """Its time to put things in order begins when it is back."""
    made = Forger(settle=2)
    made.history.faults += [Fault("cut", "alpha", 2, 17), Fault("down", MANAGER, 16, 25)]
    made.put(1, "alpha", job_copy())
    made.put(10, "beta", job_copy(uid="uid-second"))
    made.delete(26.5, "alpha", job_copy())
    assert judged(made.history) == set()


def test_a_job_that_runs_again_after_its_end() -> None:
    made = clean()
    made.put(16, "alpha", job_copy(uid="uid-second"))
    assert judged(made.history) == {"ran_after_the_end"}
    assert ran_after_the_end(made.history) == [
        "uid-w ended at 15.000, and ns/j was started in alpha at 16.000"
    ]


def test_a_job_that_a_lost_cluster_starts_after_its_end() -> None:
    made = clean()
    made.history.faults.append(Fault("cut", "alpha", 12, 20))
    made.put(16, "alpha", job_copy(uid="uid-second"))
    assert judged(made.history) == set()


@pytest.mark.parametrize("is_away", [False, True])
def test_a_job_that_runs_again_after_its_end_there(is_away: bool) -> None:
    """Also if the manager never said so, unless the cluster was away before the manager could see the end (14734)."""
    made = Forger(settle=2)
    made.put(0, MANAGER, workload())
    made.put(1, "alpha", job_copy())
    made.put(2, "alpha", job_copy("Complete"))
    made.delete(3, "alpha", job_copy("Complete"))
    made.put(5, "alpha", job_copy(uid="uid-second"))
    if is_away:
        made.history.faults.append(Fault("cut", "alpha", 2.5, 4.5))
    assert judged(made.history) == (set() if is_away else {"ran_after_the_end"})


# ---- time


def test_what_the_watches_cannot_order_is_no_fault() -> None:
    """The watch of alpha is late: by its samples, alpha's gate may have been closed before beta's was opened."""
    made = Forger()
    made.put(0, "alpha", copy_of())
    made.put(0, "beta", copy_of(uid="uid-other"))
    made.turn(1, "alpha")
    made.put(5, "alpha", copy_of())
    made.turn(4, "beta", 2, "uid-other")
    assert judged(made.history) == {"two_gates"}
    closed = made.history.events[4].version
    made.history.samples["alpha"] = [Sample(3.0, 3.1, closed - 1), Sample(3.9, 4.6, closed)]
    assert judged(made.history) == set()
    made.history.samples["alpha"] = [Sample(3.0, 3.1, closed - 1), Sample(4.3, 4.4, closed - 1)]
    assert judged(made.history) == {"two_gates"}


def test_bounds_of_an_event() -> None:
    history = History()
    history.samples["alpha"] = [
        Sample(1, 1.5, 10),
        Sample(2, 2.5, 12),
        Sample(3, 3.5, 12),
        Sample(4, 4.5, 15),
    ]

    def bounds(version: int, at: float) -> Bounds:
        body = {"kind": "Job", "metadata": {"name": "j", "uid": "u", "resourceVersion": str(version)}}
        return history.bounds(Event(at, "alpha", "ADDED", body))

    assert bounds(11, 9) == (1, 2.5)
    assert bounds(12, 9) == (1, 2.5)
    assert bounds(12, 2.1) == (1, 2.1)
    assert bounds(13, 9) == (3, 4.5)
    assert bounds(16, 9) == (4, 9)
    assert bounds(10, 9) == (float("-inf"), 1.5)


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = clean().history
    made.faults.append(Fault("cut", "alpha", 1, 2))
    made.by_hand.add(("alpha", "u", 3))
    made.note(1.0, "alpha is cut off")
    made.sample("alpha", Sample(1, 2, 3))
    made.write(tmp_path / "history.jsonl")
    assert History.read(tmp_path / "history.jsonl") == made
    assert "alpha is cut off" in made.story()
    assert "DispatchPlan ns/w-1" in made.story("ns/w")
