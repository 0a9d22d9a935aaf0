"""What is kept for whoever waits without anybody to preempt, and how victims are taken away to look."""

from __future__ import annotations

from typing import cast

import pytest

from quota.state.overlap import fits, kept_free, without
from quota.state.snapshot import Holder
from tests.kit.quota.objects import cluster_queue, cpu, held, snapshot, workload

CPUS = ("default", "cpu")


@pytest.mark.parametrize(
    ("limit", "borrowing", "used", "wanted", "kept"),
    [
        (None, False, 1, 2, 2),
        (None, False, 3, 2, 1),
        (2, False, 3, 2, 1),
        (None, False, 5, 2, 0),
        (2, True, 3, 2, 2),
        (2, True, 5, 2, 1),
        (2, True, 7, 2, 0),
        (None, True, 9, 2, 2),
    ],
)
def test_what_is_kept(limit: int | None, borrowing: bool, used: int, wanted: int, kept: int) -> None:
    """Of a nominal quota of four: never more than is wanted, nor less than nothing."""
    world = snapshot(
        cluster_queue("q", cpu(4, limit), "all"),
        cluster_queue("lender", cpu(9), "all"),
        held(workload("running", "q", used), 0),
    )
    found = kept_free(world, world.queues["q"], {CPUS: wanted * 1000}, borrowing)
    assert found == {CPUS: kept * 1000}


def test_who_is_taken_away_to_look_is_there_again() -> None:
    world = snapshot(cluster_queue("q", cpu(4)), *(held(workload(name, "q", 2), 0) for name in "ab"))
    queue = world.queues["q"]
    before = world.ledger.holders(queue.node)
    assert not fits(world, queue, {CPUS: 1})
    with without(world, cast(list[Holder], before)):
        assert world.ledger.holders(queue.node) == []
        assert fits(world, queue, {CPUS: 4000})
        assert not fits(world, queue, {CPUS: 4001})
    assert world.ledger.holders(queue.node) == before
    assert not fits(world, queue, {CPUS: 1})
