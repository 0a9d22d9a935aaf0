"""Promised room: the account beside one that counts pod by pod, and what must hold of any plans that follow it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import hypothesis.strategies as st
from hypothesis import assume, given, settings

from api.times import parse_rfc3339
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.account import Account, subtract
from controllers.gangs.promised.leftover import Leftover
from controllers.gangs.promised.reservations import Reservations
from nodes.state.columns.flags import KEPT, STAYING, TERMINATING
from nodes.state.snapshot import Snapshot
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.examples import examples
from tests.kit.objects import node, pod

CPUS: Final = 6
"""Of each node."""
NODES: Final = ("n0", "n1")
PRIORITIES: Final = {"a": 1, "b": 2, "c": 2, "d": 3}
"""By name of the group."""
NOW: Final = parse_rfc3339("2026-01-01T01:00:00Z")
DELETIONS: Final[dict[str, bool | str]] = {
    "running": False,
    "leaving": "2026-01-01T01:00:01Z",
    "overdue": "2026-01-01T01:00:00Z",
}
"""Deletion timestamp by state."""


@dataclass(frozen=True)
class Bound:
    """A pod on a node, of no group."""

    uid: str
    node: str
    cpus: int
    state: str
    named_by: frozenset[str]
    """Groups whose plan evicts it."""


@dataclass(frozen=True)
class Pending:
    """A pod that waits: of a group, or of none."""

    uid: str
    group: str
    cpus: int
    priority: int
    claimed: str
    """Where its group's plan puts it; empty without a plan."""
    nominated: str


@dataclass
class Made:
    """A cluster and its plans."""

    bound: list[Bound]
    pending: list[Pending]
    plans: set[str]
    tables: Tables = field(default_factory=Tables)
    reservations: Reservations = field(default_factory=lambda: Reservations(ManualClock()))

    def __post_init__(self) -> None:
        self.roster = Roster(self.tables)
        self.account = Account(self.roster, self.reservations)
        for name in NODES:
            self.tables.upsert_node(node(name, cpu=str(CPUS)))
        for each in self.bound:
            self.tables.upsert_pod(bound_pod(each))
        for waiting in self.pending:
            self.tables.upsert_pod(pending_pod(waiting))
        self.tables.tell_time(NOW)
        for group in sorted(self.plans):
            self.hold(group)

    def hold(self, group: str) -> None:
        """The group's plan, as the projection of stored plans would show it."""
        victims = [each.uid for each in self.bound if group in each.named_by]
        self.reservations.open(key(group), PRIORITIES[group], frozenset(victims))
        for each in self.pending:
            if each.group == group and each.claimed:
                claim = Claim(each.claimed, {"cpu": each.cpus * 1000, "pods": 1})
                self.reservations.put_claim(key(group), each.uid, claim)
        for uid in victims:
            running, leaving = self.roster.evictable(uid), self.roster.leaving(uid)
            self.reservations.put_victim(key(group), uid, running or leaving, leaving=leaving is not None)

    def needs(self, group: str, name: str) -> int:
        """CPUs that the group's plan claims on the node."""
        return sum(each.cpus for each in self.pending if (each.group, each.claimed) == (group, name))

    def seen(self, group: str) -> Snapshot:
        """The snapshot for the group's next plan."""
        return subtract(self.tables.snapshot(), self.reservations, key(group), PRIORITIES[group])


def key(group: str) -> GroupKey:
    return "default", group


def pending_pod(each: Pending) -> Any:
    return pod(
        each.uid,
        uid=each.uid,
        requests={"cpu": str(each.cpus)},
        nominated=each.nominated,
        group=each.group or None,
        priority=each.priority,
    )


def bound_pod(each: Bound) -> Any:
    return pod(
        each.uid,
        uid=each.uid,
        node=each.node,
        requests={"cpu": str(each.cpus)},
        priority=0,
        deleting=DELETIONS[each.state],
    )


@st.composite
def clusters(draw: st.DrawFn, *, own_priority: bool = False) -> Made:
    """Any plans, also such as no planner would make. `own_priority`: members have that of their group."""
    plans = draw(st.sets(st.sampled_from(sorted(PRIORITIES))))
    names = st.frozensets(st.sampled_from(sorted(plans)), max_size=2) if plans else st.just(frozenset())
    states = st.sampled_from(sorted(DELETIONS))
    bound = draw(st.lists(st.tuples(st.sampled_from(NODES), st.integers(1, 3), states, names), max_size=5))
    groups = draw(st.lists(st.sampled_from(["", *PRIORITIES]), max_size=5))
    pending = []
    for index, group in enumerate(groups):
        priority = PRIORITIES[group] if group and own_priority else draw(st.integers(0, 4))
        claimed = draw(st.sampled_from(["", *NODES])) if group in plans else ""
        nominated = draw(st.sampled_from(["", *NODES, "pulse"]))
        pending.append(Pending(f"p{index}", group, draw(st.integers(1, 3)), priority, claimed, nominated))
    return Made([Bound(f"b{index}", *each) for index, each in enumerate(bound)], pending, plans)


# ---- an account that counts pod by pod


def plain_owner(each: Bound, groups: Iterable[str]) -> str:
    """Which plan the victim's room counts for."""
    naming = sorted(each.named_by.intersection(groups), key=lambda group: (-PRIORITIES[group], group))
    return naming[0] if naming else ""


def plain_room(made: Made, name: str, group: str, *, now: bool = False) -> int:
    """CPUs on the node that the group's plan may count with; `now`: that are free now."""
    above = {each for each in made.plans if each != group and PRIORITIES[each] >= PRIORITIES[group]}
    room, covered = CPUS, dict.fromkeys(above, 0)
    for each in made.bound:
        if each.node != name:
            continue
        owner = plain_owner(each, above | (made.plans & {group}))
        stays = each.state == "overdue" or (each.state == "running" and owner != group) or owner in above
        room -= each.cpus * (now or stays)
        if owner in above and each.state != "overdue":
            covered[owner] += each.cpus
    for other in above:
        room -= max(0, made.needs(other, name) - covered[other])
    for pending in made.pending:
        in_the_way = pending.nominated == name and pending.priority >= PRIORITIES[group]
        counted = pending.group == group or (pending.group in above and pending.claimed)
        room -= pending.cpus * bool(in_the_way and not counted)
    return room


@settings(deadline=None)
@given(clusters())
def test_the_account_is_what_one_counts_pod_by_pod(made: Made) -> None:
    for name, group in itertools.product(NODES, PRIORITIES):
        asked = (name, "cpu", key(group), PRIORITIES[group])
        assert made.account.room(*asked) == 1000 * plain_room(made, name, group)
        assert made.account.room_now(*asked) == 1000 * plain_room(made, name, group, now=True)


@settings(deadline=None)
@given(clusters())
def test_the_snapshot_says_what_the_account_says(made: Made) -> None:
    for group in sorted(set(PRIORITIES) - made.plans):
        seen = made.seen(group)
        cpu = seen.resources.index("cpu")
        for name in NODES:
            row = seen.node_names.index(name)
            free = seen.allocatable[row, cpu] - seen.used[row, cpu] + seen.leaving[row, cpu]
            assert free == 1000 * plain_room(made, name, group)
        above = {each for each in made.plans if PRIORITIES[each] >= PRIORITIES[group]}
        for each in made.bound:
            expected = each.state == "running" and not each.named_by & above
            assert is_evictable(seen, seen.pod_rows[each.uid]) == expected


@settings(deadline=None, max_examples=examples(600))
@given(
    clusters(),
    st.lists(st.tuples(st.sets(st.sampled_from(NODES), min_size=1), st.integers(1, 3)), max_size=3),
)
def test_all_accounts_of_promised_room_say_what_the_definition_says(
    made: Made, granted: list[tuple[set[str], int]]
) -> None:
    """`Account.room` is the definition. A snapshot has it for groups without a plan, and `Leftover` for other pods."""
    leftover, resources = Leftover(made.tables, made.roster, made.reservations), ("cpu", "pods")
    for number, (nodes, cpus) in enumerate(granted):
        late = pod(f"late{number}", requests={"cpu": str(cpus)})
        made.reservations.grants.note(late, nodes, {"cpu": 1000 * cpus, "pods": 1})
    for group in sorted(set(PRIORITIES) - made.plans):
        seen = made.seen(group)
        for name, resource in itertools.product(NODES, resources):
            row, column = seen.node_names.index(name), seen.resources.index(resource)
            free = seen.allocatable[row, column] - seen.used[row, column] + seen.leaving[row, column]
            assert free == made.account.room(name, resource, key(group), PRIORITIES[group])
    for priority in range(5):
        room = leftover.room(priority, resources)
        for (row, name), column in itertools.product(enumerate(leftover.names), range(len(resources))):
            if leftover.is_open(name, priority):
                continue
            taken = sum((1000 * cpus, 1)[column] for nodes, cpus in granted if name in nodes)
            expected = made.account.room(name, resources[column], None, priority) - taken
            assert room[row, column] == expected


def is_evictable(seen: Snapshot, row: int) -> bool:
    return not seen.pod_flags[row] & (TERMINATING | STAYING | KEPT)


# ---- by priority


@settings(deadline=None)
@given(clusters(), st.sampled_from(sorted(PRIORITIES)))
def test_to_a_higher_preemptor_lower_promises_do_not_exist(made: Made, group: str) -> None:
    assume(group not in made.plans)
    above = {each for each in made.plans if PRIORITIES[each] >= PRIORITIES[group]}
    pending = [
        replace(
            each,
            claimed=each.claimed if each.group in above else "",
            nominated=each.nominated if each.priority >= PRIORITIES[group] else "",
        )
        for each in made.pending
    ]
    bound = [replace(each, named_by=each.named_by & above) for each in made.bound]
    seen, without = made.seen(group), Made(bound, pending, above).seen(group)
    live = len(NODES)  # the last row may be that of the pulse's name
    assert seen.used[:live].tolist() == without.used[:live].tolist()
    assert seen.leaving[:live].tolist() == without.leaving[:live].tolist()
    assert seen.pod_flags.tolist() == without.pod_flags.tolist()
    assert seen.promised == without.promised


@settings(deadline=None)
@given(clusters())
def test_who_is_overrun_fits_without_the_plans_above(made: Made) -> None:
    made = Made(made.bound, [replace(each, nominated="") for each in made.pending], made.plans)
    for group in sorted(made.plans):
        not_above = {each for each in made.plans if PRIORITIES[each] <= PRIORITIES[group]}
        without = Made(made.bound, made.pending, not_above)
        found = made.account.overrun(key(group))
        assert (found is not None) == any(
            plain_room(made, name, group) < needs <= plain_room(without, name, group)
            for name in NODES
            if (needs := made.needs(group, name))
        )
        assert found is None or PRIORITIES[found[1]] > PRIORITIES[group]


@settings(deadline=None)
@given(
    clusters(own_priority=True), st.sampled_from(NODES), st.integers(1, 6), st.integers(0, 3), st.booleans()
)
def test_whom_filter_lets_pass_takes_nothing_from_plans_of_its_priority_or_above(
    made: Made, name: str, cpus: int, priority: int, bind: bool
) -> None:
    asked = {"cpu": cpus * 1000, "pods": 1}
    leftover = Leftover(made.tables, made.roster, made.reservations)
    if leftover.judge("new", asked, priority, [name]).barred:
        return
    node, nominated = (name, "") if bind else ("", name)
    made.tables.upsert_pod(
        pod("new", uid="new", requests={"cpu": str(cpus)}, priority=priority, node=node, nominated=nominated)
    )
    for group in made.plans:
        if PRIORITIES[group] >= priority and (needs := made.needs(group, name)):
            assert made.account.room(name, "cpu", key(group), PRIORITIES[group]) >= 1000 * needs


# ---- among equals


@settings(deadline=None, max_examples=examples(200))
@given(clusters(), st.data())
def test_equals_are_never_promised_the_same_room(made: Made, data: st.DataObject) -> None:
    """Each plan takes what the account shows it. Then any of the plans may be carried out, with or without the rest."""
    bound = {each.uid: replace(each, named_by=frozenset()) for each in made.bound}
    made = Made(list(bound.values()), [], set())
    claims: dict[str, list[tuple[str, int]]] = {}
    victims: dict[str, set[str]] = {}
    for group in ("x", "y", "z"):
        seen = subtract(made.tables.snapshot(), made.reservations, key(group), 1)
        claims[group], victims[group] = greedy(seen, data)
        made.reservations.open(key(group), 1, frozenset(victims[group]))
        for index, (name, cpus) in enumerate(claims[group]):
            claim = Claim(name, {"cpu": 1000 * cpus, "pods": 1})
            made.reservations.put_claim(key(group), f"{group}{index}", claim)
        going = data.draw(st.sets(st.sampled_from(sorted(victims[group])))) if victims[group] else set()
        for uid in going:
            bound[uid] = replace(bound[uid], state="leaving")
            made.tables.upsert_pod(bound_pod(bound[uid]))
        for uid in victims[group]:
            running, leaving = made.roster.evictable(uid), made.roster.leaving(uid)
            assert running or leaving
            made.reservations.put_victim(key(group), uid, running or leaving, leaving=leaving is not None)
    for first, second, third in itertools.product(("", "x"), ("", "y"), ("", "z")):
        some = {first, second, third} - {""}
        for name in NODES:
            needs = sum(cpus for group in some for where, cpus in claims[group] if where == name)
            stay = [each for each in bound.values() if each.node == name and not goes(each, some, victims)]
            assert not needs or needs + sum(each.cpus for each in stay) <= CPUS


def greedy(seen: Snapshot, data: st.DataObject) -> tuple[list[tuple[str, int]], set[str]]:
    """Some members on some nodes, and whom they evict there: as many as it takes."""
    claims: list[tuple[str, int]] = []
    victims: set[str] = set()
    cpu = seen.resources.index("cpu")
    for row, name in enumerate(seen.node_names):
        cpus = data.draw(st.integers(0, CPUS))
        if not cpus:
            continue
        room = int(seen.allocatable[row, cpu] - seen.used[row, cpu] + seen.leaving[row, cpu])
        chosen = set[str]()
        for pod_row in range(len(seen.pod_uids)):
            if room < 1000 * cpus and seen.pod_node[pod_row] == row and is_evictable(seen, pod_row):
                chosen.add(seen.pod_uids[pod_row])
                room += int(seen.class_requests[seen.pod_class[pod_row], cpu])
        if room >= 1000 * cpus:
            claims.append((name, cpus))
            victims |= chosen
    return claims, victims


def goes(each: Bound, some: set[str], victims: dict[str, set[str]]) -> bool:
    """Whether the pod is gone once these plans are carried out, and no other one is."""
    owners = {group for group, uids in victims.items() if each.uid in uids}
    return bool(owners & some) or (each.state == "leaving" and not owners)
