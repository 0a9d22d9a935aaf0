"""Passes call by call: what is offered, what counts as one pass, and when a plan is handed over."""

from __future__ import annotations

from dataclasses import dataclass, field

from controllers.gangs.lifecycle.observations import HandedOver, PassBegan
from controllers.gangs.lifecycle.passes import Call, Offering, Pass, answer, closed, resumed

HANDED = HandedOver("p1")
BEGAN = PassBegan("p1")
ALL = ("n0", "n1", "n2")


@dataclass
class Filter:
    """One gang: m0 is planned on n0, and so on. The plan p2 has other nodes than p1."""

    needed: int = 2
    planned: tuple[str, ...] = ("m0", "m1")
    plan: str | None = "p1"
    passing: Pass = field(default_factory=Pass)
    given_up: bool = False
    is_steered: bool = True
    seen: list[HandedOver | PassBegan] = field(default_factory=list)
    """What the last call showed."""

    def call(self, uid: str, *nodes: str) -> str | None:
        node = f"n{uid[1:]}" if uid in self.planned else None
        if node is not None and self.plan == "p2":
            node = f"other-{node}"
        offering = None
        if self.plan is not None:
            offering = Offering(
                self.plan, node, self.needed, is_steered=self.is_steered, given_up=self.given_up
            )
        names = nodes or (*ALL, *(f"other-{name}" for name in ALL))
        self.passing, given, seen = answer(self.passing, Call(uid, names), offering)
        self.seen = list(seen)
        return given


def test_without_a_plan_every_member_is_held() -> None:
    tried = Filter(plan=None)
    assert [tried.call(uid) for uid in ("m0", "m1", "m0", "m1")] == [None] * 4


def test_planned_members_get_their_nodes_in_both_passes_and_the_others_are_held() -> None:
    tried = Filter()
    assert [tried.call(uid) for uid in ("m0", "m2", "m1") * 2] == ["n0", None, "n1"] * 2


def test_a_plan_is_handed_over_with_the_offer_that_minimum_needs() -> None:
    tried = Filter()
    shown = []
    for uid in ("m0", "m2", "m1"):
        tried.call(uid)
        shown.append(tried.seen)
    assert shown == [[], [], [HANDED]]


def test_bound_members_are_not_offered_again_and_count() -> None:
    tried = Filter(needed=1)
    tried.call("m1")
    assert tried.seen == [HANDED]


def test_a_driven_plan_is_never_handed_over() -> None:
    tried = Filter(is_steered=False)
    assert [tried.call(uid) for uid in ("m0", "m1")] == ["n0", "n1"]
    assert tried.seen == []


def test_an_offer_counts_only_if_the_call_names_its_node() -> None:
    tried = Filter()
    tried.call("m0", "n1", "n2")
    tried.call("m1")
    assert tried.seen == []
    tried.call("m0")
    assert tried.seen == [HANDED], "the simulated pass may have begun with m1"


def test_the_call_with_the_nominated_name_and_the_full_one_are_one() -> None:
    tried = Filter(planned=("m0", "m1", "m2"), needed=3)
    tried.call("m1")
    tried.call("m0", "n0")
    tried.plan = "p2"
    assert tried.call("m0") is None, "m1 was offered its node of p1 in this pass"
    assert tried.call("m2") is None
    assert tried.call("m0") == "other-n0", "and this pass is another one"


def test_a_third_call_in_a_row_is_of_another_pass() -> None:
    tried = Filter()
    tried.call("m0", "n0")
    tried.plan = "p2"
    assert tried.call("m0") is None
    assert tried.call("m0") == "other-n0"


def test_a_member_that_another_extender_keeps_off_its_node_counts_once() -> None:
    tried = Filter()
    tried.call("m0", "n0")
    assert tried.call("m0") == "n0"
    assert tried.seen == []


def test_two_calls_with_several_names_are_of_two_passes() -> None:
    tried = Filter()
    tried.call("m0")
    tried.plan = "p2"
    assert tried.call("m0") == "other-n0"


def test_when_another_plan_takes_its_place_the_rest_of_the_pass_is_held() -> None:
    tried = Filter(planned=("m0", "m1", "m2"), needed=3)
    tried.call("m0")
    tried.plan = "p2"
    assert [tried.call(uid) for uid in ("m1", "m2")] == [None, None]
    assert [tried.call(uid) for uid in ("m0", "m1", "m2")] == ["other-n0", "other-n1", "other-n2"]


def test_a_plan_that_comes_in_the_middle_of_a_pass_is_offered_at_once() -> None:
    tried = Filter(plan=None)
    tried.call("m0")
    tried.plan = "p1"
    assert tried.call("m1") == "n1"


def test_the_simulated_pass_may_begin_with_a_member_that_the_real_one_did_not_present() -> None:
    """m1 comes twice. But m0 was offered its node in the pass to which the second call of m1 belongs."""
    tried = Filter(planned=("m0", "m1", "m2"), needed=3)
    tried.call("m1")  # the real pass: no node passes in-tree for m0
    tried.call("m0")  # the simulated one
    tried.plan = "p2"
    assert [tried.call(uid) for uid in ("m1", "m2")] == [None, None]


def test_a_simulated_pass_that_is_not_told_from_the_real_one_hands_its_plan_over() -> None:
    tried = Filter(planned=("m0", "m1", "m2"), needed=3)
    for uid in ("m1", "m0", "m1", "m2"):
        tried.call(uid)
    assert tried.seen == [HANDED]


def test_a_plan_stays_handed_over_while_each_pass_may_be_the_one() -> None:
    tried = Filter()
    for uid in ("m0", "m1"):
        tried.call(uid)
    tried.call("m0")
    assert tried.seen == [HANDED], "m1 and m0 may be of one pass"


def test_a_plan_whose_time_is_over_makes_no_offers_and_is_not_handed_over_for_long() -> None:
    tried = Filter()
    for uid in ("m0", "m1"):
        tried.call(uid)
    tried.given_up = True
    assert tried.call("m2") is None
    assert tried.seen == [HANDED], "it may be of the same pass"
    assert tried.call("m0") is None
    assert tried.seen == [BEGAN]


def test_the_next_pass_begins_with_a_member_that_is_not_shown_its_node() -> None:
    tried = Filter()
    for uid in ("m0", "m1"):
        tried.call(uid)
    tried.call("m0", "n2")
    assert tried.seen == [BEGAN]


def test_of_a_plan_that_is_gone_nothing_is_told() -> None:
    tried = Filter()
    for uid in ("m0", "m1"):
        tried.call(uid)
    tried.plan = None
    tried.call("m0")
    assert tried.seen == []


# ---- a new term


def test_a_new_term_answers_by_the_stored_plan_which_may_be_handed_over() -> None:
    tried = Filter(planned=("m0", "m1", "m2"), needed=3, passing=resumed("p1", others=False))
    assert tried.call("m2") == "n2"
    assert tried.seen == [HANDED], "m0 and m1 may have had theirs"
    assert tried.call("m0") == "n0"
    assert tried.call("m2") == "n2"
    assert tried.seen == [BEGAN]


def test_a_plan_that_takes_its_place_in_a_new_term_waits_for_the_next_pass() -> None:
    tried = Filter(passing=resumed("p1", others=False), plan="p2")
    assert tried.call("m0") is None
    assert tried.seen == []
    assert [tried.call(uid) for uid in ("m1", "m0")] == [None, "other-n0"]


def test_a_new_term_holds_the_pass_in_which_the_plan_may_have_followed_another_one() -> None:
    tried = Filter(passing=resumed("p1", others=True))
    assert tried.call("m1") is None
    assert tried.seen == [HANDED], "the former process may have offered it in a pass of its own"
    assert [tried.call(uid) for uid in ("m1", "m0")] == ["n1", "n0"]


def test_a_new_term_holds_the_pass_in_which_a_plan_has_ended() -> None:
    tried = Filter(passing=resumed(None, others=True))
    assert [tried.call(uid) for uid in ("m1", "m0")] == [None, None]
    assert [tried.call(uid) for uid in ("m1", "m0")] == ["n1", "n0"]


def test_a_new_term_waits_for_no_pass_that_is_over_for_certain() -> None:
    tried = Filter(passing=closed(resumed("p1", others=True)))
    assert tried.call("m1") == "n1"
    assert tried.seen == [BEGAN], "nothing has come of what the former process offered"


def test_a_pass_that_is_over_for_certain_takes_no_offers_of_this_term_with_it() -> None:
    tried = Filter(passing=resumed("p1", others=False))
    tried.call("m0")
    tried.passing, tried.plan = closed(tried.passing), "p2"
    assert tried.call("m1") is None


def test_a_new_term_knows_if_there_was_no_plan() -> None:
    tried = Filter(passing=resumed(None, others=False))
    assert tried.call("m0") == "n0"
