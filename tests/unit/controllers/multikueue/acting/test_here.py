"""Writes in the manager's own cluster: turns, and the status of the Job."""

from __future__ import annotations

import pytest

from api.multikueue import ORIGIN_LABEL
from controllers.multikueue.acting.here import ActsHere
from controllers.multikueue.acting.telling import Telling
from controllers.multikueue.acting.turn_bodies import plan_name
from controllers.multikueue.life.decision import EndTurn, GiveTurn, Here, MirrorJob, NeedsDigest, Weighed
from controllers.multikueue.life.seen import Seen
from controllers.multikueue.metrics import TURNS as TURNS_OVER
from kube.errors import ApiError
from kube.recorder import EventRecorder
from tests.unit.controllers.multikueue.dispatching_stage import JOBS, KEY, TURNS, WORKLOADS, Stage

SECOND = 1_000_000
BEGAN = 1_767_225_600 * SECOND
"""2026-01-01T00:00:00Z."""
GIVE = GiveTurn(
    1,
    "a",
    "a is the only cluster that asks to preempt.",
    BEGAN,
    BEGAN + 5 * SECOND,
    (Weighed("a", "asks", 0), Weighed("b", "waits", 2)),
)


class Acting(Stage):
    """What acts here."""

    def __init__(self) -> None:
        super().__init__("a", "b")
        telling = Telling(EventRecorder(self.sender(), clock=self.clock), self.clock)
        self.acts = ActsHere(
            self.client, self.sender(), self.mirrors, self.originals, self.gates, telling, self.clock
        )
        self.here.of(TURNS)
        self.submit()

    @property
    def seen(self) -> Seen:
        return self.gathering().of(KEY)

    async def act(self, act: Here) -> None:
        await self.acts.carry_out(act, self.seen, self.clusters, by_cost=True)

    def run_there(self, **status: object) -> None:
        """The Job runs in cluster a, which was chosen."""
        self.change("", WORKLOADS, "w", clusterName="a")
        meta = {"name": "j", "namespace": "n", "uid": "uid-there", "labels": {ORIGIN_LABEL: "origin"}}
        self.workers["a"].put(JOBS, {"metadata": meta, "spec": {"suspend": False}, "status": status})


@pytest.fixture
async def stage() -> Acting:
    return Acting()


async def test_a_turn_says_what_every_cluster_said(stage: Acting) -> None:
    await stage.act(GIVE)
    ((name, plan),) = stage.here.of(TURNS).items()
    spec = plan["spec"]
    assert spec["workload"] == {
        "name": "w",
        "uid": "uid-w",
        "attempt": "2026-01-01T00:00:00Z",
        "priority": 10,
    }
    assert (spec["number"], spec["cluster"], spec["order"]) == (1, "a", "LeastDisruption")
    assert (spec["began"], spec["until"]) == ("2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:05.000000Z")
    assert [(each["name"], each["said"], each["turns"]) for each in spec["clusters"]] == [
        ("a", "asks", 0),
        ("b", "waits", 2),
    ]
    (turn,) = stage.seen.turns
    assert (turn.name, turn.began, turn.until, turn.is_over) == (name, BEGAN, GIVE.until, False)
    assert [each.open_gates for each in stage.seen.clusters] == [1, 0]


async def test_a_turn_that_an_earlier_leader_has_given_keeps_its_time(stage: Acting) -> None:
    await stage.act(GIVE)
    later = GiveTurn(1, "a", "", BEGAN + 9 * SECOND, BEGAN + 14 * SECOND, GIVE.clusters)
    with pytest.raises(ApiError, match="409"):
        await stage.act(later)
    assert [(each.began, each.until) for each in stage.seen.turns] == [(GIVE.began, GIVE.until)]


async def test_a_turn_that_was_not_stored_does_not_count(stage: Acting) -> None:
    stage.here.refuse = lambda method, _path: ApiError(503, "Away", "") if method == "POST" else None
    with pytest.raises(ApiError):
        await stage.act(GIVE)
    assert [each.open_gates for each in stage.seen.clusters] == [0, 0]


async def test_the_end_of_a_turn_is_told_once_it_has_one(stage: Acting) -> None:
    await stage.act(GIVE)
    (name,) = stage.here.of(TURNS)
    await stage.act(EndTurn(name, "TimedOut", "its time is over"))
    assert stage.here.of(TURNS)[name]["status"] == {
        "phase": "TimedOut",
        "reason": "its time is over",
        "ended": "2026-01-01T00:00:00.000000Z",
    }
    assert [each.is_over for each in stage.seen.turns] == [True]
    assert [each.open_gates for each in stage.seen.clusters] == [0, 0]


async def test_the_end_of_a_turn_is_not_counted_for_a_cluster_that_is_gone(stage: Acting) -> None:
    """Its series would come again, and stay."""
    TURNS_OVER.clear()
    await stage.act(GIVE)
    (name,) = stage.here.of(TURNS)
    stage.goes("a")
    await stage.act(EndTurn(name, "Ended", "a is gone"))
    assert stage.here.of(TURNS)[name]["status"]["phase"] == "Ended"
    assert [sample for family in TURNS_OVER.collect() for sample in family.samples] == []


async def test_a_turn_that_is_gone_has_no_end(stage: Acting) -> None:
    await stage.act(EndTurn("gone", "Ended", ""))
    assert stage.here.written == []


async def test_the_job_here_shows_the_status_of_the_one_there(stage: Acting) -> None:
    stage.run_there(active=1, ready=1, startTime="2026-01-01T00:00:03Z")
    job = stage.here.of(JOBS)["j"]
    job["spec"]["suspend"] = False
    stage.here.put(JOBS, job)
    assert not stage.seen.is_mirrored
    await stage.act(MirrorJob("a"))
    assert stage.here.of(JOBS)["j"]["status"]["active"] == 1
    assert stage.seen.is_mirrored


async def test_a_status_that_shows_already_is_not_written(stage: Acting) -> None:
    stage.run_there(active=1, startTime="2026-01-01T00:00:03Z")
    await stage.act(MirrorJob("a"))
    stage.here.written.clear()
    await stage.act(MirrorJob("a"))
    assert stage.here.written == []
    stage.run_there(active=1, startTime="2026-01-01T00:00:04Z")
    assert not stage.seen.is_mirrored


async def test_another_job_of_the_name_is_not_written_to(stage: Acting) -> None:
    stage.run_there(active=1)
    seen = stage.seen
    stage.here.of(JOBS)["j"]["metadata"]["uid"] = "uid-another"
    await stage.acts.carry_out(MirrorJob("a"), seen, stage.clusters, by_cost=True)
    assert stage.here.written == []


async def test_the_digest_of_the_workload_is_known_once_it_was_read(stage: Acting) -> None:
    assert stage.seen.digest is None
    await stage.act(NeedsDigest())
    assert stage.seen.digest is not None


async def test_names_of_turns_differ_by_attempt_and_number(stage: Acting) -> None:
    workload = stage.seen.workload
    assert workload is not None
    names = {plan_name(workload, attempt, number) for attempt in ("x", "y") for number in (1, 2)}
    assert len(names) == 4
    workload.metadata.name = "x" * 252 + "."
    assert len(plan_name(workload, "x", 1)) <= 253
