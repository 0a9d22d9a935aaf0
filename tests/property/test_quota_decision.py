"""What is true of every whole decision, from the objects to the last word of its explanation."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from answers.quota_data import plain
from api.workloads import Workload
from quota.search.decision import Decision, Options, decide
from quota.state.snapshot import QuotaSnapshot
from quota.state.state import QuotaState
from tests.kit.examples import examples
from tests.kit.quota.objects import (
    Object,
    completed,
    evicted,
    held,
    preempted,
    set_condition,
    snapshot,
    workload,
)
from tests.property.quota_worlds import NOW, OPTIONS, heads, holders, worlds

wide_worlds = worlds(flavors=("default", "spot"), memory=True)


def said(world: QuotaSnapshot, objects: list[Object], options: Options) -> list[dict[str, Any]]:
    """Everything that is said about each that waits, in the order of their names."""
    askers = sorted(heads(objects), key=lambda each: each.metadata.name)
    return [plain(decide(world, each, NOW, options, explain=True)) for each in askers]


@settings(max_examples=examples(200), deadline=None)
@given(objects=wide_worlds, options=OPTIONS, random=st.randoms(use_true_random=False))
def test_the_order_of_the_objects_does_not_matter(
    objects: list[Object], options: Options, random: Any
) -> None:
    before = said(snapshot(*objects), objects, options)
    random.shuffle(objects)
    assert said(snapshot(*objects), objects, options) == before


@settings(max_examples=examples(200), deadline=None)
@given(objects=wide_worlds, options=OPTIONS, data=st.data())
def test_nothing_that_was_found_survives_an_event(
    objects: list[Object], options: Options, data: st.DataObject
) -> None:
    """One state that is asked after every event, against one that has seen only what is there now."""
    state = QuotaState()
    for thing in completed(objects):
        state.apply(thing)
    others = [thing for thing in objects if thing not in holders(objects)]
    now = {each.metadata.name: each for each in holders(objects)}
    for number in range(data.draw(st.integers(1, 4))):
        said(state.snapshot(), objects, options)
        name = data.draw(st.sampled_from([*sorted(now), f"new-{number}"]))
        changed = data.draw(st.sampled_from(CHANGES))(now.get(name), name, data)
        if changed is None:
            state.delete("Workload", f"ns/{name}")
            now.pop(name, None)
        else:
            state.apply(changed)
            now[name] = changed
        fresh = snapshot(*others, *now.values())
        assert said(state.snapshot(), objects, options) == said(fresh, objects, options)


def comes(old: Workload | None, name: str, data: st.DataObject) -> Workload:
    """Under its name there is one that holds other quota, since another time."""
    queue = old.spec.queue_name if old is not None else "a"
    who = workload(name, queue, data.draw(st.integers(1, 3)), priority=data.draw(st.integers(0, 2)))
    return held(who, data.draw(st.integers(0, 900)), flavors={"cpu": data.draw(FLAVORS)})


def leaves(old: Workload | None, name: str, data: st.DataObject) -> Workload | None:
    return evicted(old, 960) if old is not None else None


def ends(old: Workload | None, name: str, data: st.DataObject) -> Workload | None:
    return set_condition(old, "Finished", "True", "Succeeded", 960) if old is not None else None


def goes_back(old: Workload | None, name: str, data: st.DataObject) -> Workload | None:
    return preempted(old, 960, "InClusterQueueTimeBased") if old is not None else None


def vanishes(old: Workload | None, name: str, data: st.DataObject) -> None:
    return None


FLAVORS = st.sampled_from(("default", "spot", "elsewhere"))
CHANGES = (comes, leaves, ends, goes_back, vanishes)


@settings(max_examples=examples(300), deadline=None)
@given(objects=wide_worlds, options=OPTIONS)
def test_victims_make_room_and_none_of_them_could_stay(objects: list[Object], options: Options) -> None:
    world = snapshot(*objects)
    for each in heads(objects):
        decision = decide(world, each, NOW, options, explain=True)
        if not decision.targets:
            continue
        assert decision.explanation is not None
        borrowing = decision.explanation.attempts[-1].borrowing
        ledger = world.ledger.snapshot()
        keys = [_key(world, target.holder) for target in decision.targets]
        for key in keys:
            ledger.release(*key)
        assert _fits(world, ledger, decision, borrowing)
        for target, key in zip(decision.targets, keys, strict=True):
            frs = [world.layout.frs[pair] for pair in target.holder.usage]
            ledger.reserve(key[0], frs, list(target.holder.usage.values()))
            assert not _fits(world, ledger, decision, borrowing)
            ledger.unreserve(key[0], frs, list(target.holder.usage.values()))


def _key(world: QuotaSnapshot, holder: Any) -> tuple[int, int, int, int, bool]:
    node = world.queues[holder.queue].node
    return node, holder.priority, holder.reserved, holder.order, holder.evicting


def _fits(world: QuotaSnapshot, ledger: Any, decision: Decision, borrowing: bool) -> bool:
    """Whether all of it is there, and within the nominal quota if nothing may be borrowed."""
    node, quotas = world.queues[decision.queue].node, world.layout.quotas
    for pair, amount in decision.assignment.usage.items():
        fr = world.layout.frs[pair]
        if amount > ledger.available(node, fr):
            return False
        if not borrowing and ledger.usage(node, fr) + amount > quotas.nominal[node, fr]:
            return False
    return True


@settings(max_examples=examples(200), deadline=None)
@given(objects=wide_worlds, options=OPTIONS)
def test_everybody_in_the_tree_is_accounted_for(objects: list[Object], options: Options) -> None:
    """A victim was taken last, for the reason that is given; all others either had their turn or are counted."""
    world = snapshot(*objects)
    for each in heads(objects):
        decision = decide(world, each, NOW, options, explain=True)
        if decision.mode != "Preempt":
            continue
        assert decision.explanation is not None
        steps = [each for attempt in decision.explanation.attempts for each in attempt.candidates]
        told = {(each.holder.key, each.reason) for each in steps if each.reason is not None}
        assert told == {(target.holder.key, target.reason) for target in decision.targets}
        final = {each.holder.key: each.step for each in steps}
        assert all(final[target.holder.key] == "Taken" for target in decision.targets)
        passed_over = sum(each.count for each in decision.explanation.passed_over)
        assert len(final) + passed_over == _holders_in_tree(world, decision.queue)


def _holders_in_tree(world: QuotaSnapshot, queue: str) -> int:
    parent = world.layout.quotas.parent

    def root(node: int) -> int:
        return node if parent[node] < 0 else root(int(parent[node]))

    nodes = [each.node for each in world.queues.values()]
    own = root(world.queues[queue].node)
    return sum(len(world.ledger.holders(node)) for node in nodes if root(node) == own)
