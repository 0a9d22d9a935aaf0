"""What is said of a group that waits: from its status, a stored plan, or the search."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.core import Node, Pod
from api.foreign_groups import CoschedulingPodGroup
from api.groups import SCHEDULED, PodGroup, PodGroupStatus
from api.meta import Condition, ObjectMeta
from api.plans import Phase, PreemptionPlan, PreemptionPlanSpec, PreemptionPlanStatus
from api.stored_plans import holds_room
from api.waits import Wait
from nodes.answers.group_waits import why_group_waits
from nodes.answers.pod_answers import answer_for_pod
from nodes.search.decision import decide_group
from nodes.state.groups.owner_groups import OwnerGroups
from tests.kit.objects import GANG, gang, make, node, pod, tables

KEY = ("default", GANG)


def ask(
    *things: Node | Pod | PodGroup,
    key: tuple[str, str] = KEY,
    plans: tuple[PreemptionPlan, ...] = (),
    unread: str = "",
) -> Wait:
    pods = [each for each in things if isinstance(each, Pod) and OwnerGroups("Victims").unit_of(each) == key]
    return why_group_waits(tables(*things).snapshot(), key, pods, plans, unread)


def members(number: int, **more: Any) -> list[Pod]:
    return [pod(f"m-{each}", group=GANG, **more) for each in range(number)]


def said(reason: str, *, exist: int, status: str = "False", bound: int = 0) -> PodGroup:
    """The gang with a status as reprieve writes it."""
    found = gang()
    condition = Condition(SCHEDULED, status, reason, f"the message of {reason}", "2026-01-01T00:00:00Z")
    found.status = PodGroupStatus([condition], members=exist, required_members=2, bound_members=bound)
    return found


def stored(spec: PreemptionPlanSpec, phase: Phase | None) -> PreemptionPlan:
    meta = ObjectMeta(name="p", namespace="default", creation_timestamp="2026-01-01T00:00:00Z")
    return PreemptionPlan(metadata=meta, spec=spec, status=PreemptionPlanStatus(phase=phase))


@pytest.mark.parametrize(
    ("things", "state", "waits", "words"),
    [
        ([gang(), *members(1)], "Gathering", True, "1 of 2 exist"),
        ([gang(), *members(1), pod("g", group=GANG, gated=True)], "SchedulingGated", True, "another program: gate"),
        ([gang(), node("n"), *members(2)], "Fits", True, "on node n without evictions"),
        ([gang(), node("n", cpu="1"), *members(2)], "Unschedulable", True, "Insufficient cpu"),
        ([gang(), *members(2)], "Unschedulable", True, "does not fit anywhere"),
        (
            [gang(), node("n", cpu="2"), *members(2), pod("low-a", node="n"), pod("low-b", node="n")],
            "Preempts",
            True,
            "once 2 units with 2 pods of priority 0 or lower are gone",
        ),
        ([gang(priority=None, priorityClassName="none"), *members(2)], "Misconfigured", True, "PriorityClass"),
        ([gang(), node("n"), *members(2, node="n")], "Scheduled", False, "2 members have a node"),
        ([gang(), node("n"), *members(2, node="n"), pod("x", group=GANG)], "Scheduled", False, "1 later member"),
        ([gang(), *members(2, phase="Succeeded")], "Ended", False, "have succeeded"),
        ([gang(minimum=0), *members(1)], "Basic", True, "one by one"),
        (members(1), "NotFound", True, "There is no PodGroup default/gang"),
    ],
)  # fmt: skip
def test_without_a_status_the_search_says_why(things: list[Any], state: str, waits: bool, words: str) -> None:
    answer = ask(*things)
    assert (answer.state, answer.waits) == (state, waits)
    assert words in answer.sentence
    assert bool(answer.tried_again) == (waits and state != "Basic")


def test_the_status_counts_if_it_counts_what_is_there() -> None:
    answer = ask(said("BackingOff", exist=2), node("n"), *members(2))
    assert (answer.state, answer.source, answer.since) == ("BackingOff", "Status", "2026-01-01T00:00:00Z")
    assert answer.sentence == "It waits: the message of BackingOff."


def test_a_gang_that_is_paused_says_when_it_is_tried_again_and_whom_it_would_evict() -> None:
    low = [pod("low-a", node="n"), pod("low-b", node="n")]
    answer = ask(said("Paused", exist=2), node("n", cpu="2"), *members(2), *low)
    assert (answer.state, answer.source, answer.sentence) == (
        "Paused",
        "Status",
        "It waits: the message of Paused.",
    )
    assert answer.tried_again == "When the pause is over. It may take free room earlier."
    assert answer.waits_for == ("Pod default/low-a, priority 0", "Pod default/low-b, priority 0")


def test_a_gang_that_is_observed_waits_for_its_scheduler_and_shows_its_plan() -> None:
    full, low = node("n", cpu="2"), [pod("low-a", node="n"), pod("low-b", node="n")]
    spec = decide_group(tables(gang(), full, *members(2), *low).snapshot(), *KEY)
    plan = stored(msgspec.structs.replace(spec, mode="Observe"), "Observed")
    answer = ask(said("Observing", exist=2), full, *members(2), *low, plans=(plan,))
    assert (answer.state, answer.source, answer.plan) == ("Observing", "Status", "default/p")
    assert answer.tried_again == "By its scheduler. reprieve holds none of its pods back."
    assert not holds_room(plan)
    for phase in ("Planned", "Evicting", None):
        assert not holds_room(stored(plan.spec, phase)), (
            "the spec says that nothing is done, whatever the status says"
        )


def test_a_status_that_is_old_does_not_count() -> None:
    answer = ask(said("Gathering", exist=1), node("n"), *members(2))
    assert (answer.state, answer.source) == ("Fits", "Engine")
    bound = ask(said("Scheduled", exist=2, status="True", bound=2), node("n"), *members(2))
    assert (bound.state, bound.waits) == ("Fits", True)


def test_a_plan_that_is_carried_out_says_whom_it_still_waits_for() -> None:
    low = [pod("low-a", node="n"), pod("low-b", node="n")]
    full = node("n", cpu="2")
    spec = decide_group(tables(gang(), full, *members(2), *low).snapshot(), *KEY)
    answer = ask(gang(), full, *members(2), low[0], plans=(stored(spec, "Evicting"),))
    assert (answer.state, answer.source, answer.plan) == ("FreeingRoom", "Plan", "default/p")
    assert answer.waits_for == ("Pod default/low-a, priority 0",)
    assert ask(gang(), full, *members(2), *low, plans=(stored(spec, "Aborted"),)).source == "Engine"


def test_the_plan_of_a_former_group_of_this_name_does_not_count() -> None:
    low = [pod("low-a", node="n"), pod("low-b", node="n")]
    things: list[Node | Pod | PodGroup] = [node("n", cpu="2"), *members(2), *low]
    spec = decide_group(tables(gang(), *things).snapshot(), *KEY)
    spec.preemptor.uid = "former"
    assert ask(gang(), *things, plans=(stored(spec, "Evicting"),)).source == "Engine"


def test_what_would_help_names_the_best_domain() -> None:
    answer = ask(gang(), node("n", cpu="1"), *members(2))
    assert answer.would_help == (
        "More room that it can use. It is nearest in the cluster: 1 of 2 members fit once every unit of lower "
        "priority is gone; for the next one 0/1 nodes are available: 1 Insufficient cpu.",
    )
    assert [place.outcome for place in answer.places] == ["Unschedulable"]


def test_without_rights_the_search_is_not_asked() -> None:
    answer = ask(gang(), *members(2), unread="nodes is forbidden")
    assert answer.state == "NotAsked"
    assert "nodes is forbidden" in answer.sentence


def test_a_group_of_another_kind_is_left_to_its_scheduler() -> None:
    labels = {"scheduling.x-k8s.io/pod-group": "train"}
    key = ("default", "podgroups.scheduling.x-k8s.io:train")
    pods = [pod(f"t-{each}", labels=labels, schedulerName="theirs") for each in range(2)]
    answer = ask(*pods, key=key)
    assert (answer.state, answer.waits) == ("OfAnotherKind", True)
    assert answer.name == "default/podgroups.scheduling.x-k8s.io:train"
    assert "theirs places its pods" in answer.sentence
    assert not ask(node("n"), pod("t", labels=labels, node="n"), key=key).waits


# ---- pods


def ask_for(asked: Pod, *things: Node | Pod | PodGroup, unread: str = "") -> Wait:
    return answer_for_pod(tables(asked, *things).snapshot(), asked, (), (), unread)


@pytest.mark.parametrize(
    ("things", "words", "helps"),
    [
        ([node("n", cpu="1"), pod("low", node="n")], "Evictions would help: it fits on node n", "Pod default/low"),
        ([node("n")], "By the filters that are modelled it fits on node n", ""),
        ([node("n", cpu="0")], "Evictions would not help: 0/1 nodes are available", "More room"),
        ([node("n", cpu="1"), pod("equal", node="n", priority=5)], "Evictions would not help", "More room"),
    ],
)  # fmt: skip
def test_a_pod_learns_whether_evictions_would_help(things: list[Any], words: str, helps: str) -> None:
    answer = ask_for(pod("web", priority=5), *things)
    assert words in answer.sentence
    assert helps in " ".join(answer.would_help)


def test_a_nominated_pod_waits_for_those_who_terminate() -> None:
    leaving = pod("old", node="n", deleting=True)
    answer = ask_for(pod("web", priority=5, nominated="n"), node("n", cpu="1"), leaving)
    assert answer.waits_for == ("Pod default/old, which terminates on node n",)
    assert answer.numbers["nominatedNode"] == "n"


def test_a_gated_pod_is_not_planned_for() -> None:
    answer = ask_for(pod("web", gated=True), node("n"))
    assert (answer.state, answer.decision) == ("Gated", None)
    assert answer.would_help == ("The removal of scheduling gates: gate.",)


def test_a_pod_that_needs_rights_says_only_what_its_scheduler_said() -> None:
    answer = ask_for(pod("web"), node("n"), unread="nodes is forbidden")
    assert answer.sentence.endswith("The search was not asked: nodes is forbidden.")
    assert answer.decision is None


def test_a_member_beyond_min_count_is_told_so() -> None:
    things: list[Node | Pod | PodGroup] = [
        gang(minimum=1),
        node("n", cpu="1"),
        pod("m-0", group=GANG),
        pod("m-1", group=GANG),
    ]
    snapshot = tables(*things).snapshot()
    whole = ask(*things)
    first, second = (answer_for_pod(snapshot, each, (), (whole,)) for each in things if isinstance(each, Pod))
    assert "can start without it" not in first.sentence
    assert "can start without it" in second.sentence
    assert first.sentence.startswith("It waits with PodGroup default/gang.")


def test_a_gang_of_scheduler_plugins_waits_like_one_of_ours() -> None:
    labels = {"scheduling.x-k8s.io/pod-group": "train"}
    theirs = make(
        CoschedulingPodGroup,
        {"metadata": {"name": "train", "namespace": "default", "uid": "t"}, "spec": {"minMember": 2}},
    )
    pods = [pod(f"t-{each}", labels=labels, priority=5) for each in range(2)]
    known = tables(node("n", cpu="1"), *pods)
    known.upsert_foreign_group(theirs)
    key = ("default", "podgroups.scheduling.x-k8s.io:train")
    answer = why_group_waits(known.snapshot(), key, pods, ())
    assert (answer.state, answer.numbers["requiredMembers"]) == ("Unschedulable", 2)
    assert "no status" not in answer.sentence
    member = answer_for_pod(known.snapshot(), pods[0], (), (answer,))
    assert member.sentence.startswith("It waits with PodGroup default/podgroups.scheduling.x-k8s.io:train.")
