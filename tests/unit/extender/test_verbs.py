"""The verbs' answers, byte for byte what the scheduler decodes."""

from __future__ import annotations

from collections.abc import Collection

import orjson
import pytest

from api.clock import SYSTEM_CLOCK
from controllers.gangs.answering import AnyOf, BoundPod, FreeRoom, Hold, Offer, Within
from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.scheduler.rejections import RESERVED, SPARED, is_ours
from extender.verbs import NOT_PLANNED, OUTSIDE, Verbs
from extender.wire import filter_decoder, preemption_decoder
from tests.kit.verbs import StillWorld, pod

GANG = ("team", "gang")


def filtered(world: StillWorld, reservations: Reservations, *names: str) -> dict[str, object]:
    world.reservations = reservations
    body = orjson.dumps({"Pod": pod(), "Nodes": None, "NodeNames": list(names)})
    answer: dict[str, object] = orjson.loads(Verbs(world).filter(filter_decoder.decode(body)))
    return answer


def preempted(
    world: StillWorld, reservations: Reservations, offered: dict[str, list[str]], priority: int = 100
) -> dict[str, object]:
    world.reservations = reservations
    victims = {
        node: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": 1}
        for node, uids in offered.items()
    }
    body = orjson.dumps({"Pod": pod(priority), "NodeNameToVictims": None, "NodeNameToMetaVictims": victims})
    answer: dict[str, object] = orjson.loads(Verbs(world).preempt(preemption_decoder.decode(body)))
    nodes = answer["NodeNameToMetaVictims"]
    assert isinstance(nodes, dict)
    return nodes


def reserved(priority: int = 50, victims: dict[str, Claim] | None = None) -> Reservations:
    reservations = Reservations(SYSTEM_CLOCK)
    reservations.open(GANG, priority, frozenset(victims or ()))
    reservations.put_claim(GANG, "m", Claim("n1", {"cpu": 1000, "pods": 1}))
    for uid, claim in (victims or {}).items():
        reservations.put_victim(GANG, uid, claim)
    return reservations


def test_each_call_tells_which_scheduler_makes_it() -> None:
    seen: list[str] = []
    verbs = Verbs(StillWorld(), seen.append)
    whose = {**pod(), "spec": {**pod()["spec"], "schedulerName": "mine"}}
    verbs.filter(filter_decoder.decode(orjson.dumps({"Pod": whose, "NodeNames": ["n1"]})))
    verbs.preempt(preemption_decoder.decode(orjson.dumps({"Pod": whose, "NodeNameToMetaVictims": {}})))
    assert seen == ["mine", "mine"]


def test_filter_without_reservations_gives_back_what_came() -> None:
    answer = filtered(StillWorld(), Reservations(SYSTEM_CLOCK), "n1", "n2")
    assert answer == {
        "Nodes": None,
        "NodeNames": ["n1", "n2"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }


def test_filter_holds_a_gang_on_every_node() -> None:
    world = StillWorld(Hold("reprieve: wait"))
    answer = filtered(world, Reservations(SYSTEM_CLOCK), "n1", "n2")
    assert answer["NodeNames"] == []
    assert answer["FailedAndUnresolvableNodes"] == {"n1": "reprieve: wait"}, "one reason speaks for all"
    assert answer["FailedNodes"] == {}, "preemption would not help"
    assert world.told == ["held p"]


def test_filter_offers_the_planned_node_alone() -> None:
    answer = filtered(StillWorld(Offer("n2")), Reservations(SYSTEM_CLOCK), "n1", "n2")
    assert answer["NodeNames"] == ["n2"]
    assert answer["FailedAndUnresolvableNodes"] == {}


def test_filter_says_that_another_node_is_planned() -> None:
    answer = filtered(StillWorld(Offer("n9")), Reservations(SYSTEM_CLOCK), "n1", "n2")
    assert answer["NodeNames"] == []
    assert answer["FailedAndUnresolvableNodes"] == {"n1": NOT_PLANNED}


def test_filter_never_adds_a_node_that_was_not_offered() -> None:
    world = StillWorld(Offer("n3"))
    assert filtered(world, Reservations(SYSTEM_CLOCK), "n1")["NodeNames"] == []
    assert world.told == ["offered p False"]


def test_filter_keeps_ordinary_pods_out_of_reserved_room_and_nowhere_else() -> None:
    world = StillWorld(full={"n1"})
    answer = filtered(world, reserved(), "n1", "n2")
    assert answer["NodeNames"] == ["n2"]
    assert answer["FailedAndUnresolvableNodes"] == {"n1": RESERVED}
    assert filtered(world, reserved(), "n2", "n3")["NodeNames"] == ["n2", "n3"]


@pytest.mark.parametrize("promises", [False, True])
def test_filter_spares_units_from_the_schedulers_own_groups(promises: bool) -> None:
    """Where room is promised that reason comes first. An ordinary pod has preempt for it."""
    world = StillWorld(full={"n1"} if promises else (), spared={"n1", "n2"})
    world.reservations = reserved() if promises else Reservations(SYSTEM_CLOCK)
    native = {**pod(), "spec": {**pod()["spec"], "schedulingGroup": {"podGroupName": "g"}}}
    for asked, left in ((native, ["n3"]), (pod(), ["n2", "n3"] if promises else ["n1", "n2", "n3"])):
        body = orjson.dumps({"Pod": asked, "NodeNames": ["n1", "n2", "n3"]})
        answer = orjson.loads(Verbs(world).filter(filter_decoder.decode(body)))
        assert answer["NodeNames"] == left
        if asked is native:
            why = answer["FailedAndUnresolvableNodes"]
            assert why == {"n1": RESERVED if promises else SPARED, "n2": SPARED}


def test_a_member_beside_its_gang_gets_the_nodes_of_the_domain_only() -> None:
    world = StillWorld(Within({"n1", "n2"}))
    answer = filtered(world, Reservations(SYSTEM_CLOCK), "n0", "n1", "n2", "n3")
    assert answer["NodeNames"] == ["n1", "n2"]
    assert answer["FailedAndUnresolvableNodes"] == {"n0": OUTSIDE}, "one reason for all"
    assert world.told == ["outside p"]
    assert filtered(world, Reservations(SYSTEM_CLOCK), "n0")["NodeNames"] == []
    assert is_ours(f"0/1 nodes are available: 1 {OUTSIDE}.")


def test_a_member_whose_nodes_are_all_in_the_domain_is_an_ordinary_pod() -> None:
    world = StillWorld(Within({"n1", "n2"}))
    assert filtered(world, Reservations(SYSTEM_CLOCK), "n1", "n2")["NodeNames"] == ["n1", "n2"]
    assert filtered(world, Reservations(SYSTEM_CLOCK))["NodeNames"] == []
    assert world.told == []


def test_reserved_room_counts_for_a_member_beside_its_gang_too() -> None:
    world = StillWorld(Within({"n1", "n2"}), full={"n1"})
    answer = filtered(world, reserved(), "n0", "n1", "n2")
    assert answer["NodeNames"] == ["n2"]
    assert answer["FailedAndUnresolvableNodes"] == {"n0": OUTSIDE, "n1": RESERVED}
    assert world.told == ["outside p"]


def test_preempt_strikes_out_what_is_outside_of_the_domain() -> None:
    pods = {"v": BoundPod("n1", 0, False), "w": BoundPod("n2", 0, False)}
    world = StillWorld(Within({"n1"}), pods=pods)
    assert list(preempted(world, Reservations(SYSTEM_CLOCK), {"n1": ["v"], "n2": ["w"]})) == ["n1"]
    assert preempted(world, Reservations(SYSTEM_CLOCK), {"n2": ["w"]}) == {}
    assert world.told == ["nothing n2"]


def test_preempt_for_a_gang_evicts_nothing() -> None:
    world = StillWorld(Hold("reprieve: wait"), pods={"v": BoundPod("n1", 0, False)})
    assert preempted(world, Reservations(SYSTEM_CLOCK), {"n1": ["v"]}) == {}
    assert world.told == ["preempt p"]


def test_candidates_of_a_member_are_read_until_its_plan_evicts() -> None:
    world = StillWorld(answer=Hold("wait"))
    assert preempted(world, Reservations(SYSTEM_CLOCK), {"n1": ["v"]}) == {}
    world.evicts = True
    assert preempted(world, Reservations(SYSTEM_CLOCK), {"n1": ["v"]}) == {}
    assert world.read == [{"n1": ["v"]}, None]
    assert world.told == ["preempt p"] * 2


def test_preempt_evicts_nothing_while_the_mirror_cannot_be_trusted() -> None:
    world = StillWorld(pods={"v": BoundPod("n1", 0, False)}, decides=False)
    assert preempted(world, Reservations(SYSTEM_CLOCK), {"n1": ["v"]}) == {}


def test_preempt_gives_back_what_was_offered() -> None:
    world = StillWorld(pods={"v": BoundPod("n1", 0, False), "w": BoundPod("n1", 0, False)})
    assert preempted(world, Reservations(SYSTEM_CLOCK), {"n1": ["v", "w"]}) == {
        "n1": {"Pods": [{"UID": "v"}, {"UID": "w"}], "NumPDBViolations": 1}
    }


ORDINARY = orjson.dumps(pod(100))
CANDIDATES = [
    # As 1.34.3 and 1.37.1 send them.
    b'{"n1":{"Pods":[{"UID":"v"},{"UID":"w"}],"NumPDBViolations":1},"n2":{"Pods":[{"UID":"x"}],"NumPDBViolations":0}}',
    # After kubernetes PR 135486, a candidate may come without victims.
    b'{"n1":{"Pods":[],"NumPDBViolations":0},"n2":{"Pods":[{"UID":"x"}],"NumPDBViolations":0}}',
    b'{"n1":{"Pods":null,"NumPDBViolations":0}}',
    # A field of a later version, and the spaces of another encoder.
    b'{ "n1": {"Pods": [{"UID": "v", "Later": 1}], "Later": {}, "NumPDBViolations": 2} }',
    b"{}",
]


@pytest.mark.parametrize(
    ("nodes", "full", "left"),
    [
        (None, (), ["n1"]),
        (None, ("n1",), ["n2"]),
        (("n2", "n3"), (), ["n2"]),
        (("n3",), (), []),
        ((), (), []),
    ],
)
def test_a_member_that_may_use_free_room_only_gets_one_node(
    nodes: Collection[str] | None, full: Collection[str], left: list[str]
) -> None:
    world = StillWorld(answer=FreeRoom(nodes), full=full)
    answer = filtered(world, Reservations(SYSTEM_CLOCK), "n1", "n2")
    assert answer["NodeNames"] == left
    assert bool(answer["FailedAndUnresolvableNodes"]) == (not left)
    assert preempted(world, Reservations(SYSTEM_CLOCK), {"n1": ["free"]}) == {}


@pytest.mark.parametrize(
    ("world", "passed"),
    [
        (StillWorld(), [[]]),
        (StillWorld(full={"n1"}), [["n2"]]),
        (StillWorld(full={"n1", "n2"}), []),
        (StillWorld(Within({"n2"})), [["n2"]]),
        (StillWorld(Within({"n3"})), []),
        (StillWorld(Within({"n1", "n2"})), [[]]),
        (StillWorld(AnyOf(None)), [[]]),
        (StillWorld(Offer("n1")), [["n1"]]),
        (StillWorld(Offer("n3")), []),
        (StillWorld(Hold("no")), []),
        (StillWorld(FreeRoom(None)), []),
    ],
)
def test_who_passes_filter_may_be_on_its_way(world: StillWorld, passed: list[list[str]]) -> None:
    """For a pod that gets free room only, who finds the node has noted it already."""
    filtered(world, reserved(), "n1", "n2")
    assert world.passed == passed


def test_who_may_preempt_may_be_nominated() -> None:
    pods = {"v": BoundPod("n1", 0, False), "w": BoundPod("n2", 0, False), "all": BoundPod("n3", 0, True)}
    world = StillWorld(pods=pods)
    preempted(world, Reservations(SYSTEM_CLOCK), {"n1": ["v"], "n2": ["w"], "n3": ["all"]})
    preempted(world, Reservations(SYSTEM_CLOCK), {"n1": ["v"], "n2": ["w"]})
    preempted(world, Reservations(SYSTEM_CLOCK), {"n3": ["all"]})
    preempted(world, Reservations(SYSTEM_CLOCK), {})
    assert world.passed == [["n1", "n2"], ["n1", "n2"]]


@pytest.mark.parametrize("candidates", CANDIDATES)
def test_without_groups_the_candidates_come_back_byte_for_byte(candidates: bytes) -> None:
    pods = {"v": BoundPod("n1", 0, False), "w": BoundPod("n1", 0, False), "x": BoundPod("n2", 0, False)}
    body = b'{"Pod":%b,"NodeNameToVictims":null,"NodeNameToMetaVictims":%b}' % (ORDINARY, candidates)
    world = StillWorld(pods=pods)
    answer = Verbs(world).preempt(preemption_decoder.decode(body))
    assert answer == b'{"NodeNameToMetaVictims":%b}' % candidates
    assert world.told == []


def test_a_candidate_without_victims_is_struck_out_where_room_is_reserved() -> None:
    offered: dict[str, list[str]] = {"n1": [], "n2": []}
    assert list(preempted(StillWorld(), reserved(priority=100), offered)) == ["n2"]


def test_preempt_strikes_out_what_is_not_the_schedulers_to_evict() -> None:
    pods = {
        "free": BoundPod("n2", 0, False),
        "elsewhere": BoundPod("n9", 0, False),
        "all": BoundPod("n4", 0, True),
        "equal": BoundPod("n5", 100, False),
        "leaving": BoundPod("n6", 0, False, leaving=True),
        "going": BoundPod("n10", 0, False, leaving=True),
        "coming": BoundPod(None, 0, False),
        "coming whole": BoundPod(None, 0, True),
        "coming equal": BoundPod(None, 100, False),
        "static": BoundPod("n14", 0, False, kept=True),
        "static, leaving": BoundPod("n15", 0, False, leaving=True, kept=True),
    }
    offered = {
        "n2": ["free"],
        "n3": ["elsewhere"],
        "n4": ["all"],
        "n5": ["equal"],
        "n6": ["leaving"],
        "n7": ["unknown"],
        "n10": ["going"],
        "n11": ["coming"],
        "n12": ["coming whole"],
        "n13": ["coming equal"],
        "n14": ["static"],
        "n15": ["static, leaving"],
    }
    reservations = reserved(priority=100, victims={"leaving": Claim("n6", {"cpu": 1})})
    assert list(preempted(StillWorld(pods=pods), reservations, offered)) == ["n2", "n10", "n11", "n15"]


@pytest.mark.parametrize(("priority", "told"), [(99, ["alone p n1 n4"]), (100, [])])
def test_preempt_tells_of_groups_of_lower_priority_that_go_whole(priority: int, told: list[str]) -> None:
    """While a plan is made for the pod, there is no node for it, also where nothing speaks against one."""
    pods = {"free": BoundPod("n1", 0, False), "all": BoundPod("n4", priority, True)}
    offered = {"n1": ["free"], "n4": ["all"]}
    nothing = Reservations(SYSTEM_CLOCK)
    without = StillWorld(pods=pods)
    assert list(preempted(without, nothing, offered)) == ["n1"]
    assert without.told == told
    assert list(preempted(StillWorld(pods=pods, plans=True), nothing, offered)) == ([] if told else ["n1"])


def test_a_group_that_goes_whole_has_victims_on_other_nodes() -> None:
    """kube-scheduler evicts a native `all` group whole: the most important victim may be elsewhere (1.37, the feature
    gate GenericWorkload)."""
    pods = {"older": BoundPod("n1", 0, True), "younger": BoundPod("n2", 0, True)}
    world = StillWorld(pods=pods, plans=True)
    assert preempted(world, Reservations(SYSTEM_CLOCK), {"n2": ["older", "younger"]}) == {}
    assert world.told == ["alone p n2"]


@pytest.mark.parametrize(("offered", "told"), [(("n1", "n4"), []), (("n4",), ["alone p n4"])])
def test_preempt_plans_where_every_candidate_holds_a_pod_that_stays(
    offered: tuple[str, ...], told: list[str]
) -> None:
    """The scheduler may have passed over other victims on these nodes."""
    pods = {"n1": BoundPod("n1", 0, False), "n4": BoundPod("n4", 0, False, kept=True)}
    world = StillWorld(pods=pods, plans=True)
    answered = preempted(world, Reservations(SYSTEM_CLOCK), {each: [each] for each in offered})
    assert (list(answered), world.told) == ([each for each in offered if not told and each == "n1"], told)


def test_preempt_respects_reservations_of_its_priority_and_above_only() -> None:
    pods = {"v": BoundPod("n1", 0, False)}
    world = StillWorld(pods=pods)
    assert preempted(world, reserved(priority=100), {"n1": ["v"]}) == {}
    assert world.told == ["nothing n1"]
    assert list(preempted(StillWorld(pods=pods), reserved(priority=99), {"n1": ["v"]})) == ["n1"]
