"""Slots follow the tables, and what they say of a gang is never less than what a search finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from api.priority import group_priority
from nodes.search.decision import decide_group
from nodes.search.preemptors.demand import Demand, demand_of
from nodes.state.columns.classes import PodClass
from nodes.state.potential import NOBODY
from nodes.state.slots import Kind, Slots
from nodes.state.tables import Tables
from tests.kit.examples import examples
from tests.kit.plans.clusters import clusters
from tests.kit.plans.engine import delete, upsert

Object = dict[str, Any]
HERO = ("d", "hero")
BELOW = (NOBODY, 0, 10, 11, 100, 1000)


def a_demand(tables: Tables) -> tuple[Demand, int] | None:
    """What the hero needs, and below which priority it evicts."""
    demand, group = demand_of(tables, HERO), tables.groups.find(*HERO)
    if demand is None or group is None:
        return None
    return demand, group_priority(group, tables.priority_classes)


def fresh(tables: Tables, demand: Demand, below: int) -> bool:
    """What slots say that have followed nothing before."""
    slots = Slots(tables)
    slots.follow()
    for kind in demand.kinds(below):
        slots.hold(kind)
    return demand.may_be_met(slots, below)


@settings(max_examples=examples(400), deadline=None)
@given(clusters())
def test_where_a_search_finds_a_plan_there_are_slots(objects: list[Object]) -> None:
    tables = Tables()
    for each in objects:
        upsert(tables, each)
    found = a_demand(tables)
    if found is None:
        return
    demand, priority = found
    outcome = decide_group(tables.snapshot(), *HERO).outcome
    if outcome == "Preempts":
        assert fresh(tables, demand, priority)
    if outcome == "Fits":
        assert fresh(tables, demand, NOBODY)


@settings(max_examples=examples(400), deadline=None)
@given(clusters())
def test_members_of_one_class_fit_where_there_are_slots(objects: list[Object]) -> None:
    """The check is exact for members of one class, if resources alone decide: no unit has a static pod, and no member
    is bound."""
    tables = Tables()
    plain = [each for each in objects if not _is_special(each)]
    for each in plain:
        upsert(tables, each)
    found = a_demand(tables)
    if found is None or len(found[0].waiting) != 1 or not found[0].needed:
        return
    demand, priority = found
    spec = decide_group(tables.snapshot(), *HERO)
    members = sum(count for _, count in demand.waiting)
    if (
        "mismatch" in spec.reason
        or spec.reason.startswith("nothing may be evicted")
        or members < demand.needed
    ):
        return
    assert (spec.outcome in ("Fits", "Preempts")) == fresh(tables, demand, _below(tables, priority))


def _below(tables: Tables, priority: int) -> int:
    group = tables.groups.find(*HERO)
    assert group is not None
    return NOBODY if group.spec.preemption_policy == "Never" else priority


def _is_special(item: Object) -> bool:
    spec, meta = item["spec"], item["metadata"]
    if "annotations" in meta or (meta["name"].startswith("h") and "nodeName" in spec):
        return True
    return "affinity" in spec or any("ports" in each for each in spec.get("containers", ()))


@st.composite
def changes(draw: st.DrawFn) -> list[Object]:
    """Objects that come, change and go: a changed one is followed by its newer state; deletions have `gone`."""
    first, second = draw(clusters(budgets=False)), draw(clusters(budgets=False))
    chosen = [*first, *draw(st.permutations(second))]
    gone = [{**each, "gone": True} for each in draw(st.permutations(chosen))[: draw(st.integers(0, 8))]]
    return [*chosen, *gone, *draw(st.permutations(first))[: draw(st.integers(0, 8))]]


@settings(max_examples=examples(300), deadline=None)
@given(changes(), st.integers(1, 7), st.booleans())
def test_slots_that_follow_are_slots_counted_anew(events: list[Object], every: int, ticks: bool) -> None:
    tables = Tables()
    slots = Slots(tables)
    held: set[Kind] = set()
    before: dict[Kind, list[int]] = {}
    for number, event in enumerate(events):
        (delete if event.get("gone") else upsert)(tables, event)
        if ticks and number % 5 == 0:
            tables.tell_time(1767312000.0 if number % 2 else float("-inf"))
        if number % every:
            continue
        grown = set(slots.follow())
        for kind, counts in before.items():
            now = _counts(slots, kind)
            assert kind in grown or all(after <= was for was, after in zip(counts, now, strict=False))
        for kind in _kinds(tables):
            if kind not in held:
                slots.hold(kind)
                held.add(kind)
        before = {kind: _counts(slots, kind) for kind in held}
        anew = Slots(tables)
        anew.follow()
        for kind in held:
            anew.hold(kind)
            for key in (None, "rack", "disk"):
                assert _by_domain(slots, kind, key) == _by_domain(anew, kind, key)


def _kinds(tables: Tables) -> Iterator[Kind]:
    classes: list[PodClass] = [each for each in tables.classes.classes.keys if each is not None]
    return (Kind(each, below) for each in classes for below in BELOW)


def _counts(slots: Slots, kind: Kind) -> list[int]:
    return [int(each) for each in slots.in_domains(kind, "kubernetes.io/hostname")]


def _by_domain(slots: Slots, kind: Kind, key: str | None) -> dict[str | None, int]:
    counts = slots.in_domains(kind, key)
    values = (None, "r0", "r1", "ssd", "hdd")
    places = {value: slots.place(key, value) for value in values}
    return {
        value: int(counts[place]) for value, place in places.items() if place is not None and counts[place]
    }
