"""The kernel that finds the units, their order and their pieces says what its plain twin says."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from native.nodes import _units as native
from tests.kit.examples import examples
from tests.twins.nodes import units as twin

NUMBERS = st.sampled_from((-(2**63) + 1, -(2**40), -3, 0, 1, 2, 500, 2**31, 2**45, 2**61))
SMALL = st.integers(0, 3)
NODES, CLASSES = 4, 3


def columns(draw: st.DrawFn, size: int, kinds: dict[str, tuple[st.SearchStrategy[int], Any]]) -> list[Any]:
    rows = [[draw(each) for each, _ in kinds.values()] for _ in range(size)]
    return [np.array([row[at] for row in rows], dtype) for at, (_, dtype) in enumerate(kinds.values())]


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Any, ...]:
    """The arguments of `list_units`."""
    groups = draw(SMALL)
    pods = columns(
        draw,
        draw(st.integers(0, 12)),
        {
            "node": (st.integers(-1, NODES - 1), np.int32),
            "flags": (st.sampled_from((0, 0, 0, 1, 2, 16, 32)), np.uint8),
            "group": (st.integers(-1, groups - 1), np.int32),
            "priority": (st.integers(-2, 4), np.int64),
            "start": (st.integers(-1, 3), np.int64),
            "live": (st.sampled_from((1, 1, 1, 0)), np.uint8),
        },
    )
    exists, unknown, whole, priority, minimum = columns(
        draw,
        groups,
        {
            "exists": (st.integers(0, 1), np.uint8),
            "unknown": (st.sampled_from((0, 0, 1)), np.uint8),
            "whole": (st.integers(0, 1), np.uint8),
            "priority": (st.integers(-2, 4), np.int64),
            "minimum": (st.integers(-1, 3), np.int64),
        },
    )
    known = exists * (1 - unknown)
    on = np.array([draw(st.integers(0, 1)) for _ in range(NODES)], np.uint8)
    below, but = draw(st.integers(-1, 5)), draw(st.integers(-1, groups - 1))
    return tuple(pods), (exists, known, exists * whole, priority, minimum), on, below, but, (1, 18, 1000, 4)


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.tolist() if isinstance(value, np.ndarray) else value


@settings(max_examples=examples(1000), deadline=None)
@given(clusters())
def test_they_find_the_same_units(arguments: tuple[Any, ...]) -> None:
    found = native.list_units(*arguments)
    assert plain(found) == twin.list_units(*plain(arguments))


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(st.tuples(NUMBERS, st.booleans(), NUMBERS, st.integers(0, 5000)), max_size=12))
def test_the_first_key_goes_before_all_others(rows: list[tuple[int, bool, int, int]]) -> None:
    keys = list(np.array(rows, np.int64).reshape(-1, 4).T.copy())
    assert native.sorted_by(keys).tolist() == twin.sorted_by([key.tolist() for key in keys])


@settings(max_examples=examples(500), deadline=None)
@given(st.data())
def test_they_find_the_same_pieces(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), max_size=5))
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    pods = np.array(data.draw(st.permutations(range(int(first[-1])))), np.int64)
    order = np.array(data.draw(st.permutations(range(len(sizes)))), np.int64)
    begins, rows = native.rearranged(first, pods, order)
    assert plain((begins, rows)) == twin.rearranged(first.tolist(), pods.tolist(), order.tolist())

    def some(most: int, least: int, dtype: Any, count: int) -> Any:
        return np.array([data.draw(st.integers(least, most)) for _ in range(count)], dtype)

    where = some(NODES - 1, 0, np.int32, len(pods)), some(CLASSES - 1, 0, np.int32, len(pods))
    requests = some(9, 0, np.int64, 2 * CLASSES).reshape(CLASSES, 2)
    index = np.array(data.draw(st.permutations([0, 1, 2, -1])), np.int64)
    found = native.pieces_of(begins, rows, *where, requests, index, 3)
    plainly: Any = twin.pieces_of
    expected = plainly(
        begins.tolist(), rows.tolist(), *map(plain, where), requests.tolist(), index.tolist(), 3
    )
    assert {name: plain(value) for name, value in found.items()} == expected


@settings(max_examples=examples(500), deadline=None)
@given(st.data())
def test_they_free_the_same_room(data: st.DataObject) -> None:
    def some(least: int, most: int, dtype: Any, count: int) -> Any:
        return np.array([data.draw(st.integers(least, most)) for _ in range(count)], dtype)

    node, of_class = some(-1, NODES - 1, np.int32, 6), some(0, CLASSES - 1, np.int32, 6)
    pods = np.array(data.draw(st.lists(st.integers(0, 5), unique=True)), np.int64)
    room, requests = some(-9, 9, np.int64, 2 * NODES), some(0, 9, np.int64, 2 * CLASSES)
    room, requests = room.reshape(NODES, 2), requests.reshape(CLASSES, 2)
    expected = plain(room)
    twin.free_up(expected, *map(plain, (pods, node, of_class, requests)))
    native.free_up(room, pods, node, of_class, requests)
    assert plain(room) == expected


@settings(max_examples=examples(500), deadline=None)
@given(st.data())
def test_they_count_the_same_pods_against_budgets(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), max_size=5))
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    pods = np.array(data.draw(st.permutations(range(int(first[-1])))), np.int64)
    labels = np.array([data.draw(st.integers(0, 3)) for _ in pods], np.int32)
    budget = np.array([data.draw(st.integers(-1, 3)) for _ in range(4)], np.int32)
    found = native.budgets_of(first, pods, labels, budget)
    arguments = [plain(each) for each in (first, pods, labels, budget)]
    assert {name: plain(value) for name, value in found.items()} == twin.budgets_of(*arguments)
