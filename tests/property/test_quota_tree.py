"""What is true of every tree of quota and every search in it, of the native ledger as of its plain twin."""

from __future__ import annotations

from itertools import compress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from native.codes import PREEMPT, RECLAIM, TAKEN, UNSET
from native.quota.quotas import UNLIMITED, Ask, Quotas
from tests.kit.examples import examples
from tests.property.quota_crowds import crowds
from tests.property.quotas import (
    Compiled,
    Holder,
    Ledger,
    LedgerType,
    Plain,
    Scene,
    admit,
    filled,
    holders,
    quotas,
    release,
    scenes,
    state,
    strategies,
)

both = pytest.mark.parametrize("kind", [Plain, Compiled])
any_scene = st.one_of(scenes(), crowds(), crowds(), crowds())


# ---- usage


@both
@settings(max_examples=examples(200), deadline=None)
@given(data=st.data())
def test_usage_is_what_the_children_cannot_keep_to_themselves(kind: LedgerType, data: st.DataObject) -> None:
    """In whatever order workloads came and went."""
    tree = data.draw(quotas())
    everybody = data.draw(holders(tree))
    ledger = filled(kind, tree, everybody)
    left = list(everybody)
    for gone in data.draw(st.lists(st.sampled_from(everybody), unique=True) if everybody else st.just([])):
        release(ledger, gone)
        left.remove(gone)
    used = [[ledger.usage(node, fr) for fr in range(len(tree.resource))] for node in range(len(tree.parent))]
    assert used == usage_of(tree, ledger, left)


@both
@settings(max_examples=examples(200), deadline=None)
@given(data=st.data())
def test_who_has_gone_leaves_no_trace(kind: LedgerType, data: st.DataObject) -> None:
    scene = data.draw(any_scene)
    ledger = filled(kind, scene.quotas, scene.holders)
    stays = data.draw(st.lists(st.booleans(), min_size=len(scene.holders), max_size=len(scene.holders)))
    survivors = list(compress(scene.holders, stays))
    for holder in data.draw(st.permutations([each for each in scene.holders if each not in survivors])):
        assert release(ledger, holder) is holder
    assert state(ledger, scene.quotas) == state(filled(kind, scene.quotas, survivors), scene.quotas)
    assert len(ledger) == len(survivors)


@both
@settings(max_examples=examples(100), deadline=None)
@given(scene=any_scene)
def test_a_reservation_taken_back_leaves_no_trace(kind: LedgerType, scene: Scene) -> None:
    ledger = filled(kind, scene.quotas, scene.holders)
    before = state(ledger, scene.quotas)
    ledger.reserve(scene.ask.queue, scene.ask.frs, scene.ask.amounts)
    for fr, amount in zip(scene.ask.frs, scene.ask.amounts, strict=True):
        assert ledger.usage(scene.ask.queue, fr) == before["usage"][scene.ask.queue][fr] + amount
    ledger.unreserve(scene.ask.queue, scene.ask.frs, scene.ask.amounts)
    assert state(ledger, scene.quotas) == before


@both
@settings(max_examples=examples(200), deadline=None)
@given(tree=quotas())
def test_where_nobody_uses_anything_all_that_is_possible_is_available(kind: LedgerType, tree: Quotas) -> None:
    ledger = kind(tree)
    for queue in range(tree.queues):
        for fr in range(len(tree.resource)):
            assert ledger.available(queue, fr) == ledger.potential(queue, fr)


@both
@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_a_snapshot_is_independent(kind: LedgerType, data: st.DataObject) -> None:
    scene = data.draw(any_scene)
    half = len(scene.holders) // 2
    ledger = filled(kind, scene.quotas, scene.holders[:half])
    before = state(ledger, scene.quotas)
    snapshot = ledger.snapshot()
    for holder in scene.holders[half:]:
        admit(ledger, holder)
    assert state(snapshot, scene.quotas) == before
    after = state(ledger, scene.quotas)
    for holder in scene.holders[:half]:
        release(snapshot, holder)
    assert state(ledger, scene.quotas) == after
    assert state(snapshot, scene.quotas) == state(kind(scene.quotas), scene.quotas)


@both
def test_nothing_is_held_twice_or_gone_twice(kind: LedgerType) -> None:
    tree = single_queue(10)
    ledger = kind(tree)
    ledger.admit(0, "a", 1, 2, 3, 4, False, (0,), (5,))
    before = state(ledger, tree)
    with pytest.raises(ValueError, match=r"holder"):
        ledger.admit(0, "b", 1, 2, 9, 4, False, (0,), (1,))
    for other in ((2, 2, 4, False), (1, 3, 4, False), (1, 2, 5, False), (1, 2, 4, True)):
        with pytest.raises(KeyError):
            ledger.release(0, *other)
    assert state(ledger, tree) == before
    assert ledger.release(0, 1, 2, 4, False) == "a"
    with pytest.raises(KeyError):
        ledger.release(0, 1, 2, 4, False)
    assert len(ledger) == 0


@both
def test_more_than_half_of_64_bits_is_not_held(kind: LedgerType) -> None:
    tree = single_queue(UNLIMITED)
    ledger = kind(tree)
    ledger.admit(0, "a", 0, 0, 0, 0, False, (0,), (2**62 - 2,))
    before = state(ledger, tree)
    with pytest.raises(OverflowError) as error:
        ledger.admit(0, "b", 0, 0, 0, 1, False, (0,), (2,))
    assert error.value.args == (0,)
    assert state(ledger, tree) == before
    ledger.admit(0, "c", 0, 0, 0, 2, False, (0,), (1,))
    assert ledger.usage(0, 0) == 2**62 - 1
    assert ledger.available(0, 0) == UNLIMITED


# ---- the search


@both
@settings(max_examples=examples(200), deadline=None)
@given(scene=any_scene, strategy=strategies())
def test_a_search_changes_nothing(kind: LedgerType, scene: Scene, strategy: tuple[int, ...] | None) -> None:
    ledger = filled(kind, scene.quotas, scene.holders)
    before = state(ledger, scene.quotas)
    first = search(ledger, scene.ask, strategy)
    assert state(ledger, scene.quotas) == before
    assert search(ledger, scene.ask, strategy) == first
    assert ledger.search(scene.ask, strategy).trace == []


@both
@settings(max_examples=examples(200), deadline=None)
@given(scene=crowds(single=True), strategy=strategies())
def test_a_simulation_changes_nothing(
    kind: LedgerType, scene: Scene, strategy: tuple[int, ...] | None
) -> None:
    ledger = filled(kind, scene.quotas, scene.holders)
    before = state(ledger, scene.quotas)
    ledger.simulate(scene.ask, strategy)
    assert state(ledger, scene.quotas) == before


@both
@settings(max_examples=examples(200), deadline=None)
@given(data=st.data(), strategy=strategies())
def test_the_order_of_admissions_changes_nothing(
    kind: LedgerType, data: st.DataObject, strategy: tuple[int, ...] | None
) -> None:
    scene = data.draw(any_scene)
    ledger = filled(kind, scene.quotas, scene.holders)
    other = filled(kind, scene.quotas, data.draw(st.permutations(scene.holders)))
    assert state(ledger, scene.quotas) == state(other, scene.quotas)
    assert search(ledger, scene.ask, strategy) == search(other, scene.ask, strategy)


@both
@settings(max_examples=examples(200), deadline=None)
@given(scene=any_scene, strategy=strategies())
def test_targets_suffice_and_none_of_them_is_there_for_nothing(
    kind: LedgerType, scene: Scene, strategy: tuple[int, ...] | None
) -> None:
    """But where there was room from the start: nobody asks before the first one is taken."""
    ledger = filled(kind, scene.quotas, scene.holders)
    targets, trace = search(ledger, scene.ask, strategy)
    if not targets:
        return
    victims = [holder for holder, _ in targets]
    last, borrowing = [(holder, borrowing) for _, borrowing, holder, step in trace if step == TAKEN][-1]
    assert last in victims
    if fits(ledger, scene, borrowing):
        assert victims == [last]
        return
    for holder in victims:
        release(ledger, holder)
    assert fits(ledger, scene, borrowing)
    for holder in victims:
        admit(ledger, holder)
        assert not fits(ledger, scene, borrowing)
        release(ledger, holder)


@both
@settings(max_examples=examples(200), deadline=None)
@given(scene=crowds(single=True), strategy=strategies())
def test_a_simulation_says_what_the_search_finds(
    kind: LedgerType, scene: Scene, strategy: tuple[int, ...] | None
) -> None:
    ledger = filled(kind, scene.quotas, scene.holders)
    said, height = ledger.simulate(scene.ask, strategy)
    victims = [holder for holder, _ in search(ledger, scene.ask, strategy)[0]]
    assert (said in (PREEMPT, RECLAIM)) == bool(victims)
    assert (said == PREEMPT) == any(holder.queue == scene.ask.queue for holder in victims)
    for holder in victims:
        release(ledger, holder)
    assert height == ledger.height(scene.ask.queue, scene.ask.frs[0], scene.ask.amounts[0])[0]


# ---- what is checked against


def single_queue(nominal: int) -> Quotas:
    """One ClusterQueue without a cohort, one FR."""
    none = np.array([[UNSET]], np.int64)
    return Quotas(
        parent=np.array([-1], np.int32),
        queues=1,
        defined=np.array([[1]], np.uint8),
        nominal=np.array([[nominal]], np.int64),
        borrowing_limit=none,
        lending_limit=none,
        resource=np.array([0], np.int32),
        weight=np.array([1.0]),
    )


def search(
    ledger: Ledger, ask: Ask, strategy: tuple[int, ...] | None
) -> tuple[list[tuple[Any, int]], list[tuple[int, bool, Any, int]]]:
    """Targets and trace."""
    found = ledger.search(ask, strategy, trace=True)
    return found.targets, found.trace


def fits(ledger: Ledger, scene: Scene, borrowing: bool) -> bool:
    """Whether there is room, and within the nominal quota where there is no borrowing."""
    ask = scene.ask
    for fr, amount in zip(ask.frs, ask.amounts, strict=True):
        nominal = int(scene.quotas.nominal[ask.queue, fr])
        if amount == 0:
            continue
        if amount > ledger.available(ask.queue, fr):
            return False
        if not borrowing and ledger.usage(ask.queue, fr) + amount > nominal:
            return False
    return True


def usage_of(tree: Quotas, ledger: Ledger, left: list[Holder]) -> list[list[int]]:
    """By its definition, from the leaves up."""
    frs = range(len(tree.resource))
    used = [[0] * len(frs) for _ in tree.parent]
    for holder in left:
        for fr, amount in zip(holder.frs, holder.amounts, strict=True):
            used[holder.queue][fr] += amount

    def fill(node: int) -> None:
        for child in (child for child, parent in enumerate(tree.parent) if parent == node):
            fill(child)
            for fr in frs:
                kept = kept_by(tree, ledger, child, fr)
                used[node][fr] += max(0, used[child][fr] - kept)

    for root, parent in enumerate(tree.parent):
        if parent < 0:
            fill(root)
    return used


def kept_by(tree: Quotas, ledger: Ledger, node: int, fr: int) -> int:
    """What the node does not lend."""
    quota, limit = ledger.quota(node, fr), int(tree.lending_limit[node, fr])
    if limit == UNSET:
        return 0
    if quota == UNLIMITED:
        return 0 if limit == UNLIMITED else UNLIMITED
    return max(0, quota - limit)
