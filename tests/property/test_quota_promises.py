"""What is true of every cycle in which quota is promised to preemptors of other cycles.

The plain tree of `tests.twins` counts what the cycle has given away.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from api.workloads import Workload
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.cycle.promises import Promise
from quota.search.decision import Options
from quota.state.snapshot import Holder, QuotaSnapshot
from tests.kit.quota.objects import Object, snapshot
from tests.property.quota_entries import summary, usage
from tests.property.quota_worlds import NOW, OPTIONS, heads, holders, worlds
from tests.twins.quota.tree import Tree

Pair = tuple[str, str]
FLAVORS = ("first", "second")


@st.composite
def promised(draw: st.DrawFn, priorities: st.SearchStrategy[int]) -> tuple[list[Object], list[Promise]]:
    """Worlds with one to three promises, to heads and to others. Some of the victims are gone already."""
    objects = draw(worlds(draw(st.sampled_from((FLAVORS, FLAVORS[:1])))))
    waiting = {f"ns/{head.metadata.name}": head for head in heads(objects)}
    names = draw(st.lists(st.sampled_from([*waiting, "ns/x", "ns/y"]), min_size=1, max_size=3, unique=True))
    possible = [f"ns/{each.metadata.name}" for each in holders(objects)] + ["ns/gone"]
    queues = [
        name
        for name in "abcd"
        if any(thing.kind == "ClusterQueue" and thing.metadata.name == name for thing in objects)
    ]
    promises = []
    for name in names:
        head = waiting.get(name)
        flavors = draw(st.lists(st.sampled_from(FLAVORS), min_size=1, max_size=2, unique=True))
        promises.append(
            Promise(
                key=name,
                queue=head.spec.queue_name if head else draw(st.sampled_from(queues)),
                priority=draw(priorities) if head is None else head.spec.priority or 0,
                usage={(flavor, "cpu"): draw(st.integers(1, 4)) * 1000 for flavor in flavors},
                victims=frozenset(draw(st.lists(st.sampled_from(possible), max_size=3))),
            )
        )
    return objects, promises


ANY = promised(st.integers(0, 4))
HIGH = promised(st.integers(3, 4))


# ---- a plain count


def possible(world: QuotaSnapshot, promises: list[Promise]) -> list[Promise]:
    """Those whose ClusterQueue has their flavors."""
    return [
        each
        for each in promises
        if all(
            flavor in world.queues[each.queue].group_of[resource].flavors for flavor, resource in each.usage
        )
    ]


def respects(workload: Workload, promise: Promise, promises: list[Promise]) -> bool:
    key = f"ns/{workload.metadata.name}"
    return key != promise.key and (
        (workload.spec.priority or 0) <= promise.priority or any(key in each.victims for each in promises)
    )


def root(world: QuotaSnapshot, queue: str) -> int:
    node = world.queues[queue].node
    while world.layout.quotas.parent[node] >= 0:
        node = int(world.layout.quotas.parent[node])
    return node


def amounts(world: QuotaSnapshot, used: Any) -> dict[int, int]:
    return {world.layout.frs[pair]: amount for pair, amount in used.items()}


def held_by(world: QuotaSnapshot, gone: Collection[str] = ()) -> Tree:
    """The tree with what all hold, but for those."""
    tree = Tree(world.layout.quotas)
    for queue in world.queues.values():
        for holder in world.ledger.holders(queue.node):
            assert isinstance(holder, Holder)
            if holder.key not in gone:
                tree.use(queue.node, amounts(world, holder.usage))
    return tree


def key(entry: Entry) -> str:
    return f"ns/{entry.workload.metadata.name}"


def over(tree: Tree) -> set[tuple[int, int]]:
    """Roots, each with an FR that is used beyond what there is."""
    return {
        (node, fr)
        for node in range(len(tree.parent))
        if tree.is_root(node)
        for fr in tree.frs
        if tree.usage[node][fr] > tree.subtree[node][fr]
    }


# ---- properties


@given(ANY, OPTIONS)
def test_admitted_is_what_is_free_beside_the_promises_while_no_victim_has_left(
    scene: tuple[list[Object], list[Promise]], options: Options
) -> None:
    objects, promises = scene
    world, waiting = snapshot(*objects), heads(objects)
    promises = possible(world, promises)
    seen_somewhere = {
        root(world, each.queue)
        for each in promises
        for head in waiting
        if respects(head, each, promises) and root(world, head.spec.queue_name) == root(world, each.queue)
    }
    now = held_by(world)
    admitted: set[str] = set()
    for entry in cycle(world, waiting, NOW, options, promises=promises):
        if entry.outcome != "Admit":
            continue
        assert entry.decision is not None
        node, used = world.queues[entry.decision.queue].node, amounts(world, entry.decision.assignment.usage)
        tree = now.copy()
        for each in promises:
            if respects(entry.workload, each, promises) and each.key not in admitted:
                tree.use(world.queues[each.queue].node, amounts(world, each.usage))
        if root(world, entry.decision.queue) in seen_somewhere:
            assert all(tree.available(node, fr) >= amount for fr, amount in used.items())
        now.use(node, used)
        admitted.add(key(entry))


@given(HIGH, OPTIONS)
def test_all_have_room_together_once_all_victims_are_gone(
    scene: tuple[list[Object], list[Promise]], options: Options
) -> None:
    """Those that are admitted or preempt, and those to whom it is promised, unless somebody was beyond their quota."""
    objects, promises = scene
    world, waiting = snapshot(*objects), heads(objects)
    promises = possible(world, promises)
    lowest = min((each.priority for each in promises), default=0)
    waiting = [head for head in waiting if (head.spec.priority or 0) <= lowest]
    entries = cycle(world, waiting, NOW, options, promises=promises)
    given_to = [entry for entry in entries if entry.outcome in ("Admit", "Preempt", "DeferredFit")]
    gone = {name for each in promises for name in each.victims}
    gone |= {
        target.holder.key
        for entry in entries
        if entry.outcome == "Preempt" and entry.decision
        for target in entry.decision.targets
    }
    later = held_by(world, gone)
    having = {key(entry) for entry in given_to}
    for each in promises:
        if each.key not in having:
            later.use(world.queues[each.queue].node, amounts(world, each.usage))
    before = over(later)
    for entry in given_to:
        assert entry.decision is not None
        later.use(world.queues[entry.decision.queue].node, amounts(world, entry.decision.assignment.usage))
    assert over(later) <= before


@given(ANY, OPTIONS)
def test_whoever_is_above_all_promises_sees_none(
    scene: tuple[list[Object], list[Promise]], options: Options
) -> None:
    """But a head for which nobody may be preempted waits for victims of promises, if it fits once they have left."""
    objects, promises = scene
    highest = max(each.priority for each in promises)
    waiting = [
        head
        for head in heads(objects)
        if (head.spec.priority or 0) > highest
        and not any(f"ns/{head.metadata.name}" in each.victims for each in promises)
    ]
    world = snapshot(*objects)
    entries = cycle(world, waiting, NOW, options, promises=promises, explain=True)
    alone = cycle(world, waiting, NOW, options, explain=True)
    before = {key(entry): entry.outcome for entry in alone}
    awaiting = [before[key(entry)] for entry in entries if entry.outcome == "DeferredFit"]
    if all(outcome == "DeferredFit" for outcome in awaiting):
        assert summary(entries) == summary(alone)
    else:  # what it takes, others see
        assert not {"Admit", "Preempt"} & set(awaiting)


@given(ANY, OPTIONS, st.data())
def test_no_head_of_equal_or_lower_priority_takes_the_quota_of_a_preemptor(
    scene: tuple[list[Object], list[Promise]], options: Options, data: st.DataObject
) -> None:
    """A preemptor that would be admitted if it were alone is admitted whatever other heads there are."""
    objects, promises = scene
    world, waiting = snapshot(*objects), heads(objects)
    preemptors = [
        head for head in waiting if any(f"ns/{head.metadata.name}" == each.key for each in promises)
    ]
    assume(preemptors)
    preemptor = data.draw(st.sampled_from(preemptors))
    (alone,) = cycle(world, [preemptor], NOW, options, promises=promises)
    assume(alone.outcome == "Admit" and alone.decision is not None)
    assert alone.decision is not None
    used = dict(alone.decision.assignment.usage)
    promises = [
        Promise(each.key, each.queue, each.priority, used, each.victims) if each.key == key(alone) else each
        for each in promises
    ]
    others = [head for head in waiting if (head.spec.priority or 0) <= (preemptor.spec.priority or 0)]
    entries = cycle(world, others, NOW, options, promises=promises)
    (found,) = (entry for entry in entries if key(entry) == key(alone))
    assert (found.outcome, found.decision and found.decision.flavors) == ("Admit", alone.decision.flavors)


@given(ANY, OPTIONS, st.randoms(use_true_random=False))
def test_the_order_of_heads_and_promises_does_not_matter_and_nothing_is_changed(
    scene: tuple[list[Object], list[Promise]], options: Options, random: Any
) -> None:
    objects, promises = scene
    world, waiting = snapshot(*objects), heads(objects)
    before = usage(world), [world.ledger.holders(queue.node) for queue in world.queues.values()]
    entries = summary(cycle(world, waiting, NOW, options, promises=promises))
    assert (usage(world), [world.ledger.holders(queue.node) for queue in world.queues.values()]) == before
    random.shuffle(waiting)
    random.shuffle(promises)
    assert summary(cycle(world, waiting, NOW, options, promises=promises)) == entries


@given(ANY, OPTIONS)
def test_nobody_is_a_victim_of_two(scene: tuple[list[Object], list[Promise]], options: Options) -> None:
    """Neither of two entries, nor of an entry and a promise that it respects."""
    objects, promises = scene
    world = snapshot(*objects)
    promises = possible(world, promises)
    claimed: set[str] = set()
    admitted: set[str] = set()
    for entry in cycle(world, heads(objects), NOW, options, promises=promises):
        if entry.outcome == "Admit":
            admitted.add(key(entry))
        if entry.outcome != "Preempt" or entry.decision is None:
            continue
        targets = {target.holder.key for target in entry.decision.targets}
        assert not targets & claimed
        claimed |= targets
        tree = root(world, entry.decision.queue)
        for each in promises:
            if (
                respects(entry.workload, each, promises)
                and each.key not in admitted
                and root(world, each.queue) == tree
            ):
                assert not targets & each.victims
