"""Workloads say why they wait, little by little."""

from __future__ import annotations

from typing import cast

from controllers.quota.life.preempting import WAITS
from controllers.quota.life.saying import Waiting
from controllers.quota.scheduling.texts import AT_ONCE, SPARING, Texts
from controllers.quota.workloads.facts import Facts
from controllers.quota.workloads.writer import WorkloadWriter
from quota.state.state import QuotaState
from runtime.exchange.reports import Reports
from tests.kit.quota.objects import us, workload
from tests.kit.waiting import beside, until


class Writer:
    """As far as it is asked."""

    def __init__(self) -> None:
        self.has_room, self.begun = True, 0


class Stage:
    def __init__(self) -> None:
        self.state, self.now = QuotaState(), us(0)
        self.facts = Facts(self.state, lambda _: None, lambda _: None, Reports())
        self.writer, self.looked = Writer(), list[str]()
        self.texts = Texts(
            self.facts, cast(WorkloadWriter, self.writer), self.looked.append, lambda: self.now, PATIENCE
        )

    def waiting(self, name: str) -> Waiting | None:
        return self.facts.around(workload(name, "q", 1)).waiting


PATIENCE = us(30) - us(0)
KEYS = [f"ns/w{number:02}" for number in range(3 * AT_ONCE)]


def test_they_get_the_reason_at_once_and_are_looked_at_little_by_little() -> None:
    stage = Stage()
    stage.texts.add_equals(KEYS, "WaitingForQuota")
    waiting = stage.waiting("w23")
    assert waiting is not None
    assert (waiting.reason, waiting.of_equal) == ("WaitingForQuota", True)
    stage.texts.turn()
    assert stage.looked == KEYS[:AT_ONCE]
    stage.writer.begun = AT_ONCE + 1  # one that is no text
    stage.texts.turn()
    assert stage.looked == KEYS[: AT_ONCE + 1]
    stage.writer.has_room = False
    for _ in range(SPARING - 1):
        stage.texts.turn()
    assert stage.looked == KEYS[: AT_ONCE + 1]
    stage.texts.turn()
    assert stage.looked == KEYS[: AT_ONCE + 2]


def test_what_others_wait_for_is_said_at_once() -> None:
    stage = Stage()
    stage.writer.has_room = False
    stage.texts.add("ns/a", Waiting("WaitingForQuota", "x"))
    stage.texts.add("ns/b", Waiting(WAITS, "x", preempts=True))
    stage.texts.add("ns/c", Waiting("WaitingForQuota", "x", gated=True))
    stage.texts.add("ns/a", Waiting(WAITS, "x", preempts=True))
    assert stage.looked == ["ns/b", "ns/c", "ns/a"]
    stage.writer.has_room = True
    stage.texts.turn()
    assert stage.looked == ["ns/b", "ns/c", "ns/a"]


def test_who_knows_already_is_not_looked_at_again() -> None:
    stage = Stage()
    for _ in range(2):
        stage.texts.add_equals(["ns/a"], "WaitingForQuota")
    stage.texts.turn()
    stage.texts.add_equals(["ns/a"], "WaitingForQuota")
    stage.texts.turn()
    assert stage.looked == ["ns/a"]
    stage.texts.add_equals(["ns/a"], "ExceedsMaxQuota")
    stage.texts.turn()
    assert stage.looked == ["ns/a", "ns/a"]


def test_who_was_suspended_says_that_it_has_not_been_tried_yet_unless_more_is_known() -> None:
    stage = Stage()
    stage.texts.add("ns/tried", Waiting("WaitingForQuota", "x"))
    stage.texts.add_untried(["ns/tried", "ns/behind"])
    stage.texts.turn()
    assert stage.looked == ["ns/tried", "ns/behind"]
    tried, behind = stage.waiting("tried"), stage.waiting("behind")
    assert tried is not None
    assert tried.reason == "WaitingForQuota"
    assert behind is not None
    assert behind.reason == "PendingEvaluation"


def test_who_waits_for_quota_gets_its_turn_after_a_while() -> None:
    stage = Stage()
    for created, name in ((10, "late"), (0, "early"), (0, "admitted")):
        stage.state.apply(workload(name, "q", 1, created=created))
    waits = Waiting("WaitingForQuota", "1 more needed")
    for key in ("ns/late", "ns/early", "ns/admitted"):
        stage.texts.add(key, waits)
        stage.texts.add(key, waits._replace(message="2 more needed"))
    for second, looked in ((29, []), (30, ["ns/early"]), (39, ["ns/early"]), (40, ["ns/early", "ns/late"])):
        stage.now = us(second)
        stage.facts.says("ns/admitted", None)
        stage.texts.turn()
        assert stage.looked == looked


def test_what_does_not_pass_by_itself_gets_its_turn_now() -> None:
    stage = Stage()
    stage.state.apply(workload("a", "q", 1))
    stage.texts.add("ns/a", Waiting("WaitingForQuota", "1 more needed"))
    stage.texts.add("ns/a", Waiting("ExceedsMaxQuota", "never"))
    stage.texts.turn()
    assert stage.looked == ["ns/a"]


async def test_it_goes_on_until_all_have_been_looked_at() -> None:
    stage = Stage()
    async with beside(stage.texts.run()):
        stage.texts.add_equals(KEYS, "WaitingForQuota")
        await until(lambda: len(stage.looked) == len(KEYS))
        stage.texts.add_equals(["ns/late"], "WaitingForQuota")
        await until(lambda: "ns/late" in stage.looked)
    assert stage.looked == [*KEYS, "ns/late"]
