"""A decision of ours that somebody else writes agrees, and another one does not."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from api.podsets import PodSetAssignment
from controllers.quota.comparing import Before, Written, compare
from controllers.quota.life.admitting import admission_of
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.search.decision import Options
from tests.kit.quota.objects import Object, snapshot
from tests.property.quota_worlds import NOW, OPTIONS, heads, holders, worlds

FLAVORS = ("first", "second")


def before_and_entries(objects: list[Object], options: Options, *, alone: bool) -> list[tuple[Before, Entry]]:
    """What one cycle decides, for each head the state before. `alone`: one cycle for each head."""
    world, waiting = snapshot(*objects), heads(objects)
    cycles = [[each] for each in waiting] if alone else [waiting]
    entries = [entry for those in cycles for entry in cycle(world, those, NOW, options)]
    pending = [*holders(objects), *waiting]
    return [(Before(world, entry.workload, pending, NOW, {}), entry) for entry in entries]


def written(entry: Entry) -> Written:
    """What Enforce would write."""
    assert entry.decision is not None
    if entry.outcome == "Admit":
        return Written(admission_of(entry.decision), frozenset())
    victims = {each.holder.key for each in entry.decision.targets if not each.holder.evicting}
    return Written(None, frozenset(victims))


@given(worlds(FLAVORS), OPTIONS, st.booleans())
def test_our_own_decision_agrees(objects: list[Object], options: Options, alone: bool) -> None:
    for before, entry in before_and_entries(objects, options, alone=alone):
        if entry.outcome in ("Admit", "Preempt"):
            assert compare(before, written(entry), options).agrees


@given(worlds(("default",)), OPTIONS, st.data())
def test_other_victims_do_not_agree(objects: list[Object], options: Options, data: st.DataObject) -> None:
    """With one flavor all victims are those that a cycle takes, alone or beside the other heads."""
    ours: dict[str, set[frozenset[str]]] = {}
    asked: dict[str, Before] = {}
    for alone in (True, False):
        for before, entry in before_and_entries(objects, options, alone=alone):
            if entry.outcome == "Preempt":
                name = before.workload.metadata.name
                ours.setdefault(name, set()).add(written(entry).victims)
                asked[name] = before
    keys = sorted(f"ns/{each.metadata.name}" for each in holders(objects))
    for name, before in asked.items():
        theirs = data.draw(st.frozensets(st.sampled_from(keys)))
        assert compare(before, Written(None, theirs), options).agrees is (theirs in ours[name])


@given(worlds(("default",)), OPTIONS)
def test_a_flavor_that_does_not_exist_does_not_agree(objects: list[Object], options: Options) -> None:
    for before, entry in before_and_entries(objects, options, alone=False):
        if entry.outcome != "Admit":
            continue
        admission = written(entry).admission
        assert admission is not None
        moved = [_elsewhere(each) for each in admission.pod_set_assignments or ()]
        if not any(each.flavors for each in moved):
            continue  # it asks for nothing
        theirs = msgspec.structs.replace(admission, pod_set_assignments=moved)
        assert compare(before, Written(theirs, frozenset()), options).agrees is False


def _elsewhere(assignment: PodSetAssignment) -> PodSetAssignment:
    return msgspec.structs.replace(
        assignment, flavors=dict.fromkeys(assignment.flavors or {}, "another-flavor")
    )


@given(worlds(FLAVORS), OPTIONS)
def test_no_comparison_changes_the_state(objects: list[Object], options: Options) -> None:
    for before, entry in before_and_entries(objects, options, alone=False):
        if entry.decision is None:
            continue
        theirs = Written(None, frozenset({"ns/nobody"}))
        first = compare(before, theirs, options)
        assert compare(before, theirs, options) == first
