"""The judge of the account: each rule finds a history that breaks it, and a right one has no violation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.kit.stress.account import Verdict, _One, judge
from tests.kit.stress.account_cases import LATE_SECONDS, VIEWS, Preemptor, Tally, tallies
from tests.kit.stress.history import History
from tests.kit.stress.preempted import Stand, Taken
from tests.unit.kit.forged import START, Forge, Json, group, plan, pod, take

EPISODE = 60.0
SUM = 2**31


class AccountForge(Forge):
    """The gang `hero` of two waits. Its decision is observed."""

    def __init__(self) -> None:
        super().__init__()
        self.tell(group("hero", 100, minimum=2), "ADDED")
        self.members = [
            self.tell(pod(f"hero-{each}", 100, node=None, group="hero"), "ADDED") for each in range(2)
        ]
        self.low = [self.tell(pod(f"low-{each}", node=f"n{each}"), "ADDED") for each in range(3)]
        self.plan = self.observed("plan")
        self.away: list[tuple[float, float]] = []
        """When nobody led."""
        self.rest(10)

    def observed(self, name: str, *, changed: bool = False, preemptor: str = "hero") -> Json:
        """A decision that is observed."""
        body = plan(name, "Observed", preemptor=preemptor, reason="Changed" if changed else "Same")
        return self.tell({**body, "spec": {**body["spec"], "mode": "Observe"}}, "ADDED")

    def rest(self, seconds: float) -> None:
        """Nothing happens."""
        self.now += seconds

    def preempt(self, of: Json, by: str = "uid-hero-0", *, says: bool = True) -> None:
        """The scheduler evicts a pod."""
        marked = take(self, of, preemptor="pod")
        if says:
            self.event(of, by)
        self.tell(marked, "DELETED")

    def event(self, of: Json, by: str) -> None:
        """The scheduler says for whom."""
        uid = of["metadata"]["uid"]
        body = {
            "kind": "Event",
            "metadata": {"namespace": "d", "name": f"event-{uid}-{by}", "uid": f"uid-event-{uid}-{by}"},
            "reason": "Preempted",
            "regarding": {"kind": "Pod", "namespace": "d", "uid": uid},
            "note": f"Preempted by pod {by} on node n0",
        }
        self.tell(body, "ADDED")

    def bind(self, number: int, node: str) -> None:
        """A member gets its node."""
        of = self.members[number]
        self.tell({**of, "spec": {**of["spec"], "nodeName": node}})

    def say(self, of: Any = None, **fields: Any) -> None:
        """The plan says this of the scheduler."""
        of = of or self.plan
        victims = {"pods": 2, "units": 2, "highestPriority": 10, "prioritySum": 2 * (10 + SUM)}
        said = {
            "state": "Same",
            "groupsBroken": 0,
            "servedNobody": 0,
            "inPieces": False,
            "inPiecesSeconds": 0,
            "bound": False,
            "unattributed": 0,
            "concluded": False,
            "asOf": datetime.fromtimestamp(self.now, UTC).isoformat(),
            **fields,
            "victims": {**victims, **fields.get("victims", {})},
        }
        self.tell({**of, "status": {**of["status"], "instead": said}})

    def judged(self) -> Verdict:
        """With a leader that renews its Lease each second, but for when nobody led."""
        for second in range(int(self.now - START) + 3):
            at = START + second
            missed = sum(last <= at for _, last in self.away)
            if not any(first < at < last for first, last in self.away):
                spec = {"holderIdentity": f"one-{missed}", "leaseTransitions": missed}
                meta = {
                    "namespace": "reprieve-system",
                    "name": "reprieve",
                    "uid": "uid-lease",
                    "resourceVersion": "0",
                }
                self.history.record("MODIFIED", {"kind": "Lease", "metadata": meta, "spec": spec}, at)
        return judge(self.done(), EPISODE, self.now)


@pytest.fixture
def forge() -> AccountForge:
    return AccountForge()


def preempted(forge: AccountForge) -> None:
    """The scheduler preempts two pods for the gang."""
    forge.preempt(forge.low[0])
    forge.preempt(forge.low[1], "uid-hero-1")
    forge.rest(5)


def served(forge: AccountForge) -> dict[str, Any]:
    """The gang runs on their nodes. Returns what is to be said of it."""
    preempted(forge)
    forge.bind(0, "n0")
    forge.bind(1, "n1")
    forge.rest(20)
    return {"bound": True, "secondsUntilBound": 22, "concluded": True, "inPieces": True, "inPiecesSeconds": 1}


def wrong(forge: AccountForge) -> str:
    """All that is wrong."""
    return "\n".join(forge.judged().violations)


def test_what_is_right_has_no_violation(forge: AccountForge) -> None:
    forge.say(**served(forge))
    forge.rest(20)
    verdict = forge.judged()
    assert verdict.violations == []
    assert (verdict.plans, verdict.steady, verdict.victims, verdict.unknown) == (1, 1, 2, 0)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"victims": {"pods": 3}}, "at most 2 pods were preempted for it"),
        ({"victims": {"pods": 1}}, "at least 2 pods were preempted for it"),
        ({"victims": {"units": 3}}, "at most 2 units"),
        ({"victims": {"units": 1}}, "at least 2 units"),
        ({"victims": {"prioritySum": 2 * (10 + SUM) + 1}}, "the sum is at most"),
        ({"victims": {"prioritySum": 10 + SUM}}, "prioritySum is from"),
        ({"victims": {"highestPriority": 11}}, "highestPriority is from 10 to 10"),
        ({"groupsBroken": 1}, "groupsBroken is from 0 to 0"),
        ({"servedNobody": 1}, "servedNobody is from 0 to 0"),
        ({"servedNobody": 3}, "more served nobody than were preempted"),
        ({"inPiecesSeconds": 9}, "inPiecesSeconds is from"),
        ({"bound": False}, "it was bound"),
        ({"secondsUntilBound": 12}, "secondsUntilBound is from"),
        ({"secondsUntilBound": 30}, "secondsUntilBound is from"),
        ({"unattributed": 1}, "at most 0 pods were preempted for nobody"),
        ({"state": "Changed"}, "state Changed"),
        ({"state": "Unknown"}, "everything was there to be seen"),
    ],
)
def test_a_number_that_is_wrong_is_found(forge: AccountForge, fields: dict[str, Any], complaint: str) -> None:
    forge.say(**served(forge) | fields)
    assert complaint in wrong(forge)


def test_a_plan_that_says_nothing_is_found(forge: AccountForge) -> None:
    served(forge)
    assert "says nothing, but 2 pods were preempted" in wrong(forge)


def test_a_gang_that_preempts_at_once_is_the_preemptor(forge: AccountForge) -> None:
    """Its pod was not there a second before. That does not mean that it was in no gang."""
    forge.tell(group("soon", 100, minimum=1), "ADDED")
    forge.tell(pod("soon-0", 100, node=None, group="soon"), "ADDED")
    forge.observed("first", preemptor="soon")
    forge.rest(-2)  # all of that within a second
    forge.preempt(forge.low[0], "uid-soon-0")
    forge.rest(40)
    assert "says nothing, but 1 pods were preempted" in wrong(forge)


def test_a_plan_that_need_not_be_the_one_that_counts_may_say_nothing(forge: AccountForge) -> None:
    """The group was no gang yet when it was made. If that is seen late, the first plan seems to be of another case."""
    soon = group("soon", 100, minimum=1)
    forge.tell({**soon, "spec": {**soon["spec"], "schedulingPolicy": {"basic": {}}}}, "ADDED")
    forge.tell(soon)
    forge.tell(pod("soon-0", 100, node=None, group="soon"), "ADDED")
    forge.rest(-0.5)
    first = forge.observed("first", preemptor="soon")
    forge.preempt(forge.low[0], "uid-soon-0")
    forge.rest(1)
    forge.say(first, victims={"pods": 1, "units": 1, "prioritySum": 10 + SUM})
    forge.rest(13)
    forge.observed("later", preemptor="soon")
    forge.rest(20)
    forge.say(first, victims={"pods": 1, "units": 1, "prioritySum": 10 + SUM})
    forge.rest(20)
    verdict = forge.judged()
    assert (verdict.violations, verdict.unknown) == ([], 0)


@pytest.mark.parametrize("is_ending", [True, False])
def test_where_no_event_can_be_written_nobody_is_named(forge: AccountForge, is_ending: bool) -> None:
    namespace = forge.low[0]["metadata"]["namespace"]
    meta = {"name": namespace, "uid": "uid-namespace"}
    forge.tell({"kind": "Namespace", "metadata": meta}, "ADDED")
    if is_ending:
        forge.tell({"kind": "Namespace", "metadata": {**meta, "deletionTimestamp": "2026-11-25T00:00:00Z"}})
    forge.preempt(forge.low[0], says=False)
    forge.rest(40)
    found = forge.judged()
    assert (found.victims, found.unknown, found.unnamed) == ((0, 0, 1) if is_ending else (1, 1, 0))


@pytest.mark.parametrize(("seconds", "count"), [(2, 0), (40, 1)])
def test_an_event_may_come_a_little_later(forge: AccountForge, seconds: float, count: int) -> None:
    forge.preempt(forge.low[0], says=False)
    forge.rest(seconds)
    found = forge.judged()
    assert (found.victims, found.unknown) == (count, count)


def test_what_is_not_written_any_more_is_found(forge: AccountForge) -> None:
    preempted(forge)
    forge.say()
    forge.preempt(forge.low[2])
    forge.rest(20)
    assert "3 pods were preempted some time ago" in wrong(forge)


@pytest.mark.parametrize(("unit", "latest"), [("v", 30.0 + LATE_SECONDS), ("group", 20.0 + EPISODE)])
def test_what_is_left_of_a_group_may_be_idle_until_its_time_is_over(unit: str, latest: float) -> None:
    case = Tally(10.0, EPISODE)
    case.victims.append(Taken("v", "n0", 20.0, 20.0, frozenset({"uid-hero"}), frozenset({unit})))
    case.stands(Stand(30.0, frozenset({"n0"}), 1, 0, 1), 30.0)
    assert case.concluded() == 30.0 + LATE_SECONDS
    assert case.concluded_at_latest() == latest


def test_what_is_never_concluded_is_found(forge: AccountForge) -> None:
    said = served(forge)
    forge.rest(10)
    forge.say(**said | {"concluded": False})
    forge.rest(20)
    assert "it should be concluded" in wrong(forge)


def test_that_pods_served_nobody_is_said_in_time(forge: AccountForge) -> None:
    preempted(forge)
    forge.say()
    forge.rest(EPISODE + 20)
    assert "it is known for some time that 2 pods served nobody" in wrong(forge)


def test_what_was_wrong_before_a_leader_died_is_found(forge: AccountForge) -> None:
    preempted(forge)
    forge.say(groupsBroken=1)
    forge.rest(10)
    forge.away.append((forge.now, forge.now + 5))
    forge.rest(10)
    forge.say(state="Unknown")
    assert "groupsBroken is from 0 to 0" in wrong(forge)


def test_what_is_concluded_too_early_is_found(forge: AccountForge) -> None:
    preempted(forge)
    forge.say(concluded=True)
    assert "it cannot be concluded yet" in wrong(forge)


@pytest.mark.parametrize(
    ("first", "complaint"),
    [
        ({"victims": {"pods": 3}}, "first 3 victims, then 2"),
        ({"concluded": True}, "it was concluded before"),
        ({"bound": True}, "it was bound before"),
    ],
)
def test_what_is_taken_back_is_found(forge: AccountForge, first: dict[str, Any], complaint: str) -> None:
    preempted(forge)
    forge.say(**first)
    forge.say()
    assert complaint in wrong(forge)


@pytest.mark.parametrize("count", range(3))
def test_a_group_that_lost_a_part_is_broken(forge: AccountForge, count: int) -> None:
    forge.tell(group("whole", 20, mode="all"), "ADDED")
    pods = [
        forge.tell(pod(f"whole-{each}", 20, node=f"n{each}", group="whole"), "ADDED") for each in range(3)
    ]
    forge.rest(10)
    forge.preempt(pods[0])
    forge.preempt(pods[1])
    forge.rest(5)
    said = {"pods": 2, "units": 1, "highestPriority": 20, "prioritySum": 20 + SUM}
    forge.say(victims=said, groupsBroken=count)
    assert ("groupsBroken is from 1 to 1" in wrong(forge)) == (count != 1)


@pytest.mark.parametrize("count", range(3))
def test_a_victim_on_another_node_served_nobody(forge: AccountForge, count: int) -> None:
    preempted(forge)
    forge.bind(0, "n0")
    forge.bind(1, "n2")
    forge.rest(20)
    forge.say(bound=True, secondsUntilBound=22, concluded=True, servedNobody=count)
    assert ("servedNobody is from 1 to 1" in wrong(forge)) == (count != 1)


def test_a_gang_that_runs_too_late_was_not_served(forge: AccountForge) -> None:
    preempted(forge)
    forge.bind(0, "n0")
    forge.rest(EPISODE + 10)
    forge.bind(1, "n1")
    forge.rest(20)
    pieces = {"inPieces": True, "inPiecesSeconds": 71}
    said = {"bound": True, "secondsUntilBound": 93, "concluded": True, **pieces}
    forge.say(**said)
    assert "servedNobody is from 2 to 2" in wrong(forge)
    forge.say(**said | {"inPieces": False}, servedNobody=2)
    assert "it was in pieces for 71.0 s" in wrong(forge)


def test_a_gang_that_was_never_in_pieces_is_not_said_to_be(forge: AccountForge) -> None:
    preempted(forge)
    forge.say(inPieces=True)
    assert "it was never in pieces" in wrong(forge)


def test_a_plan_that_was_made_after_the_scheduler_began_does_not_count(forge: AccountForge) -> None:
    preempted(forge)
    late = forge.observed("late")
    forge.rest(5)
    forge.say(late)
    assert "d/late: another plan of its preemptor counts" in wrong(forge)


def test_a_new_leader_may_take_a_later_plan(forge: AccountForge) -> None:
    """It does not know that the scheduler began before, and nothing was said of the earlier plan."""
    forge.bind(0, "n2")
    forge.tell(forge.members[0])
    forge.away.append((START + 15, START + 22))
    forge.rest(20)
    late = forge.observed("late")
    preempted(forge)
    forge.say(late)
    assert wrong(forge) == ""


def test_a_pod_may_preempt_and_run_at_once(forge: AccountForge) -> None:
    """Everything comes within the time that watches take."""
    alone = forge.tell(pod("alone", 100, node=None), "ADDED")
    forge.preempt(forge.low[0], "uid-alone")
    made = forge.observed("at-once", preemptor="alone")
    forge.tell({**alone, "spec": {**alone["spec"], "nodeName": "n0"}})
    forge.rest(20)
    victims = {"pods": 1, "units": 1, "prioritySum": 10 + SUM}
    forge.say(made, victims=victims, bound=True, secondsUntilBound=0, concluded=True)
    assert wrong(forge) == ""


def test_two_plans_do_not_count_the_same_pods(forge: AccountForge) -> None:
    preempted(forge)
    late = forge.observed("late")
    forge.rest(5)
    forge.say()
    forge.say(late, state="Unknown")
    forge.away.append((START + 12, START + 40))
    assert "4 victims in all, but there were 2" in wrong(forge)


def test_a_changed_decision_says_so(forge: AccountForge) -> None:
    forge.plan = forge.observed("newer", changed=True)
    forge.rest(5)
    preempted(forge)
    forge.say()
    assert "state Same" in wrong(forge)


def test_who_saw_less_may_say_so(forge: AccountForge) -> None:
    preempted(forge)
    forge.away.append((START + 15, START + 22))
    forge.say(state="Unknown", victims={"pods": 1, "units": 1, "prioritySum": 10 + SUM})
    verdict = forge.judged()
    assert verdict.violations == []
    assert (verdict.victims, verdict.unknown, verdict.steady) == (2, 2, 0)
    assert verdict.share == 1.0


def test_who_saw_less_may_not_keep_it_to_himself(forge: AccountForge) -> None:
    preempted(forge)
    forge.away.append((START + 15, START + 22))
    forge.say(victims={"pods": 1, "units": 1, "prioritySum": 10 + SUM})
    assert "at least 2 pods were preempted for it" in wrong(forge)


def test_who_saw_less_never_says_more(forge: AccountForge) -> None:
    preempted(forge)
    forge.away.append((START + 15, START + 22))
    forge.say(state="Unknown", victims={"pods": 3})
    assert "at most 2 pods were preempted for it" in wrong(forge)


def test_a_new_leader_may_count_a_case_that_it_cannot_tell_apart(forge: AccountForge) -> None:
    """The gang ran before, and nobody had decided about it then."""
    alone = forge.tell(group("again", 100), "ADDED")
    first = forge.tell(pod("again-0", 100, node=None, group="again"), "ADDED")
    forge.preempt(forge.low[0], "uid-again-0")
    forge.tell({**first, "spec": {**first["spec"], "nodeName": "n0"}})
    forge.rest(20)
    forge.tell(first, "DELETED")
    forge.tell(pod("again-1", 100, node=None, group="again"), "ADDED")
    late = forge.observed("later", preemptor=alone["metadata"]["name"])
    victims = {"pods": 1, "units": 1, "prioritySum": 10 + SUM}
    forge.rest(10)
    forge.say(late, victims=victims)
    assert "at most 0 pods were preempted for it" in wrong(forge)
    forge.away.append((forge.now - 8, forge.now - 3))
    assert wrong(forge) == ""


def test_what_this_watch_did_not_see_is_not_judged(forge: AccountForge) -> None:
    preempted(forge)
    forge.say(servedNobody=1)
    assert "servedNobody is from 0 to 0" in wrong(forge)
    forge.miss("PodGroup", group("hero", 100, minimum=2))
    assert "servedNobody is from" not in wrong(forge)


def test_while_nobody_leads_nothing_need_be_said(forge: AccountForge) -> None:
    preempted(forge)
    forge.away.append((START + 15, START + 22))
    forge.rest(20)
    verdict = forge.judged()
    assert (verdict.violations, verdict.victims, verdict.unknown) == ([], 2, 2)


def test_a_pod_that_nobody_explains_may_be_the_gangs(forge: AccountForge) -> None:
    preempted(forge)
    forge.bind(0, "n0")
    forge.preempt(forge.low[2], says=False)
    forge.rest(5)
    forge.say(unattributed=1, inPieces=True, inPiecesSeconds=5)
    forge.rest(20)
    verdict = forge.judged()
    assert verdict.violations == []
    assert (verdict.victims, verdict.unknown) == (3, 1)


@pytest.mark.parametrize(("seconds", "is_right"), [(0.5, True), (4.0, False)])
def test_a_plan_may_be_seen_sooner_than_what_was_before_it(
    forge: AccountForge, seconds: float, is_right: bool
) -> None:
    """A watch may be late, but not for long."""
    forge.tell(pod("alone", 100, node=None), "ADDED")
    forge.preempt(forge.low[0], "uid-alone")
    forge.rest(-1.5)  # all of that within a second
    made = forge.observed("made", preemptor="alone")
    forge.rest(seconds)
    forge.say(made, victims={"pods": 0, "units": 0, "prioritySum": 0})
    forge.rest(2)
    forge.say(made, victims={"pods": 1, "units": 1, "prioritySum": 10 + SUM})
    assert (wrong(forge) == "") == is_right


@pytest.mark.parametrize("said", [{"status": ""}, {"status": "", "reason": "PreemptionByScheduler"}])
def test_a_mark_counts_although_what_it_shared_with_ours_is_missing(
    forge: AccountForge, said: dict[str, str]
) -> None:
    """reprieve took its mark off the pod when the scheduler wrote only what differs from that."""
    message = "default-scheduler: preempting to accommodate a higher priority pod"
    for low in forge.low[:2]:
        conditions = [{"type": "DisruptionTarget", "message": message, **said}]
        marked = forge.tell({**low, "status": {**low["status"], "conditions": conditions}})
        forge.event(low, "uid-hero-0")
        forge.tell(marked, "DELETED")
    forge.say()
    forge.rest(20)
    assert forge.judged().violations == []


def test_pods_that_reprieve_marks_are_not_the_schedulers(forge: AccountForge) -> None:
    marked = forge.mark(forge.low[0])
    forge.tell(marked, "DELETED")
    forge.rest(20)
    assert forge.judged() == Verdict()


def test_a_gang_that_begins_anew_within_a_second_may_be_seen_between() -> None:
    """It has run before, all its pods go, and the first one of the new ones is enough. Whoever looks twice a second may
    see at the time of the plan that no pod runs, and then the victim belongs to that plan."""
    before, gone = Stand(100.0, frozenset({"n0"}), 1, 0, 1), Stand(109.6, frozenset(), 0, 1, 1)
    again = Stand(109.8, frozenset({"n1"}), 1, 0, 1)
    victim = Taken("v", "n2", 110.0, 110.5, frozenset({"gang"}), frozenset({"v"}))
    of = Preemptor([before, gone, again], [(109.9, "plan")], [victim])
    found = {
        tuple(each.uid for each in case.victims)
        for view in VIEWS
        for case in tallies(of, view, 130.0, EPISODE)
        if case.plan == "plan"
    }
    assert ("v",) in found


def test_a_plan_may_belong_to_the_case_that_has_just_ended() -> None:
    """It was made before the gang ran, and stored afterwards."""
    before, whole = Stand(100.0, frozenset(), 0, 1, 1), Stand(101.2, frozenset({"n0"}), 1, 0, 1)
    victim = Taken("v", "n0", 101.0, 101.1, frozenset({"gang"}), frozenset({"v"}))
    of = Preemptor([before, whole], [(101.3, "plan")], [victim])
    cases = [case for view in VIEWS for case in tallies(of, view, 130.0, EPISODE) if case.plan == "plan"]
    assert {len(case.victims) for case in cases} == {0, 1}


@pytest.mark.parametrize("is_concluded", [False, True])
def test_what_is_decided_while_another_plan_goes_on_belongs_to_that(
    forge: AccountForge, *, is_concluded: bool
) -> None:
    """A new leader cannot know how long ago the gang was bound, so it concludes the first plan later."""
    said = {**served(forge), "concluded": False}
    forge.say(**said)
    forge.away.append((START + 30, START + 36))
    forge.rest(5)
    if is_concluded:
        forge.say(**{**said, "concluded": True})
    first, forge.members[0] = forge.members[0], pod("hero-2", 100, node=None, group="hero")
    forge.tell(first, "DELETED")
    forge.tell(forge.members[0], "ADDED")
    forge.rest(5)
    forge.observed("later")
    forge.preempt(forge.low[2], "uid-hero-2")
    forge.rest(5)
    if not is_concluded:
        forge.say(**{**said, "concluded": True})
    forge.rest(20)
    assert ("says nothing, but 1 pods were preempted" in wrong(forge)) == is_concluded


def test_a_pod_with_two_preemptors_need_not_be_of_either() -> None:
    """The preemptor's group was no gang for a moment, and the event came in that time."""
    clear = Taken("v", "n0", 101.0, 101.1, frozenset({"gang"}), frozenset({"v"}))
    unclear = Taken("w", "n0", 102.0, 102.1, frozenset({"gang", "member"}), frozenset({"w"}))
    one = _One(History(), "gang", [], [clear, unclear], [], EPISODE)
    assert one.loose == [unclear]
