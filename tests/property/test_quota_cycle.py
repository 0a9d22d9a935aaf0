"""What is true of every cycle, and of every tournament."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from api.workloads import Workload
from native.quota.quotas import Quotas
from quota.cycle.cycle import cycle
from quota.cycle.tournament import Contestant, Tournament
from quota.search.asks import ask_for
from quota.search.candidates import candidates
from quota.search.decision import Options
from quota.state.overlap import fits, without
from quota.state.workloads import is_evicting
from tests.kit.quota.objects import Object, snapshot
from tests.property.quota_entries import summary, usage
from tests.property.quota_worlds import NOW, OPTIONS, heads, worlds
from tests.property.quota_worlds import holders as holding
from tests.property.quotas import Compiled, filled, holders, quotas


@given(worlds(), OPTIONS, st.randoms(use_true_random=False))
def test_the_order_of_objects_and_heads_does_not_matter(
    objects: list[Object], options: Options, random: Any
) -> None:
    entries = summary(cycle(snapshot(*objects), heads(objects), NOW, options))
    random.shuffle(objects)
    assert summary(cycle(snapshot(*objects), heads(objects), NOW, options)) == entries


@given(worlds(), OPTIONS)
def test_nothing_is_changed_but_a_copy(objects: list[Object], options: Options) -> None:
    world = snapshot(*objects)
    before = usage(world), [world.ledger.holders(queue.node) for queue in world.queues.values()]
    entries = summary(cycle(world, heads(objects), NOW, options))
    assert (usage(world), [world.ledger.holders(queue.node) for queue in world.queues.values()]) == before
    assert summary(cycle(world, heads(objects), NOW, options)) == entries


@given(worlds(), OPTIONS)
def test_every_head_gets_one_answer_and_every_victim_goes_for_one(
    objects: list[Object], options: Options
) -> None:
    waiting = heads(objects)
    entries = cycle(snapshot(*objects), waiting, NOW, options)
    assert sorted(entry.workload.metadata.name for entry in entries) == sorted(
        head.metadata.name for head in waiting
    )
    claimed = [
        target.holder.key
        for entry in entries
        if entry.outcome == "Preempt" and entry.decision is not None
        for target in entry.decision.targets
    ]
    assert len(claimed) == len(set(claimed))
    for entry in entries:
        assert (entry.requeue is None) == (entry.outcome == "Admit")


@given(worlds(), OPTIONS)
def test_quota_holds_once_the_victims_are_gone(objects: list[Object], options: Options) -> None:
    """Those that are admitted or preempt have room together, unless somebody was beyond their quota before."""
    world = snapshot(*objects)
    entries = cycle(world, heads(objects), NOW, options)
    ledger, frs = world.ledger, range(len(world.layout.frs))
    for entry in entries:
        if entry.outcome == "Preempt" and entry.decision is not None:
            for target in entry.decision.targets:
                who = target.holder
                node = world.queues[who.queue].node
                ledger.release(node, who.priority, who.reserved, who.order, who.evicting)
    roots = [node for node, parent in enumerate(world.layout.quotas.parent) if parent < 0]
    over = {(root, fr) for root in roots for fr in frs if ledger.usage(root, fr) > ledger.quota(root, fr)}
    for entry in entries:
        if entry.outcome in ("Admit", "Preempt") and entry.decision is not None:
            used = entry.decision.assignment.usage
            queue = world.queues[entry.decision.queue]
            ledger.reserve(queue.node, [world.layout.frs[pair] for pair in used], list(used.values()))
    assert over >= {
        (root, fr) for root in roots for fr in frs if ledger.usage(root, fr) > ledger.quota(root, fr)
    }


@st.composite
def preferences(draw: st.DrawFn) -> tuple[list[Object], dict[str, frozenset[str]]]:
    """Worlds, and for some heads holders that are preferred victims. Some do not exist."""
    objects = draw(worlds())
    keys = [f"ns/{each.metadata.name}" for each in holding(objects)] + ["ns/nobody"]
    chosen = st.frozensets(st.sampled_from(keys))
    return objects, {f"ns/{head.metadata.name}": draw(chosen) for head in heads(objects)}


@given(preferences(), OPTIONS)
def test_who_goes_first_is_a_candidate_all_the_same(
    given_world: tuple[list[Object], dict[str, frozenset[str]]], options: Options
) -> None:
    """One head at a time. Nothing is changed but a copy, and no holder is preempted that may not be."""
    objects, preferred = given_world
    world = snapshot(*objects)
    before = usage(world), [world.ledger.holders(queue.node) for queue in world.queues.values()]
    for head in heads(objects):
        (entry,) = cycle(world, [head], NOW, options, preferred=preferred)
        decision = entry.decision
        if decision is None or not decision.targets:
            continue
        queue = world.queues[decision.queue]
        ask = ask_for(world, queue, head, NOW, options, decision.assignment)
        known = candidates(world, queue, ask, options.fair_sharing)
        assert {each.holder.key for each in decision.targets} <= {each.key for each in known}
        with without(world, [each.holder for each in decision.targets]):
            assert fits(world, queue, decision.assignment.usage)
    assert (usage(world), [world.ledger.holders(queue.node) for queue in world.queues.values()]) == before


@given(worlds())
def test_preferring_those_who_go_anyway_changes_nothing(objects: list[Object]) -> None:
    """Of one head at a time, where nobody is on the way out already."""
    world = snapshot(*(each for each in objects if not (isinstance(each, Workload) and is_evicting(each))))
    for head in heads(objects):
        (plain,) = cycle(world, [head], NOW, Options())
        targets = plain.decision.targets if plain.decision is not None else ()
        first = {f"ns/{head.metadata.name}": frozenset(each.holder.key for each in targets)}
        (entry,) = cycle(world, [head], NOW, Options(), preferred=first)
        again = entry.decision.targets if entry.decision is not None else ()
        assert [each.holder.key for each in again] == [each.holder.key for each in targets]


# ---- the tournament


@st.composite
def contests(draw: st.DrawFn) -> tuple[Quotas, list[Any], list[Contestant]]:
    """Of the contestants of one tree."""
    tree = draw(quotas(huge=False))
    frs = range(len(tree.resource))
    contestants = []
    for queue in range(tree.queues):
        wanted = draw(st.lists(st.sampled_from(frs), unique=True))
        amounts = draw(st.lists(st.integers(1, 4), min_size=len(wanted), max_size=len(wanted)))
        precedence = -draw(st.integers(0, 1)), draw(st.integers(0, 1)), "", f"{queue}"
        contestants.append(Contestant(queue, precedence, tuple(wanted), tuple(amounts)))
    root = root_of(tree, draw(st.integers(0, tree.queues - 1)))
    return tree, draw(holders(tree)), [each for each in contestants if root_of(tree, each.queue) == root]


def root_of(tree: Quotas, node: int) -> int:
    while tree.parent[node] >= 0:
        node = int(tree.parent[node])
    return node


@given(contests(), st.data())
def test_the_tournament_is_what_it_says(
    contest: tuple[Quotas, list[Any], list[Contestant]], data: st.DataObject
) -> None:
    """The winner of each turn is that of a tournament that is played from the beginning, by recursion."""
    tree, who, contestants = contest
    ledger = filled(Compiled, tree, who)
    assert isinstance(ledger, Compiled)
    tournament = Tournament(tree.parent.tolist(), ledger, contestants)
    waiting = {each.queue: each for each in contestants}
    while waiting:
        expected = played(tree, ledger, root_of(tree, contestants[0].queue), waiting)
        winner = tournament.pop()
        assert winner is expected
        del waiting[winner.queue]
        if data.draw(st.booleans()):
            ledger.reserve(winner.queue, winner.frs, winner.amounts)
            tournament.changed(winner.queue)
    assert not tournament


def played(tree: Quotas, ledger: Any, node: int, waiting: dict[int, Contestant]) -> Contestant | None:
    if node < tree.queues:
        return waiting.get(node)
    sides = [
        (side, played(tree, ledger, side, waiting))
        for side in range(len(tree.parent))
        if tree.parent[side] == node
    ]
    ranked = []
    for side, best in sides:
        if best is None:
            continue
        ledger.reserve(best.queue, best.frs, best.amounts)
        borrows = any(ledger.usage(side, fr) > ledger.quota(side, fr) for fr in best.frs)
        weightless, ratio, share = ledger.share(side)
        ledger.unreserve(best.queue, best.frs, best.amounts)
        ranked.append(((borrows, weightless, ratio if weightless else share, best.precedence), best))
    return min(ranked, key=lambda each: each[0])[1] if ranked else None
