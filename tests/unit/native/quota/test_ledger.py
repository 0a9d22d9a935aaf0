"""The native ledger where copies of it come and go."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from native.codes import LOWER_PRIORITY, NEVER, UNSET
from native.quota._quota import Ledger
from native.quota.quotas import Ask, Quotas

COUNT = 1000
ASK = Ask(
    queue=0,
    priority=1,
    queued=0,
    now=0,
    within=LOWER_PRIORITY,
    reclaim=NEVER,
    borrow=False,
    threshold=None,
    min_admit=None,
    frs=(0,),
    amounts=(COUNT,),
    contested=(True,),
)


def crowded() -> Ledger:
    """One ClusterQueue whose quota is all held, one unit each."""
    quotas = Quotas(
        parent=np.array([-1], np.int32),
        queues=1,
        defined=np.ones((1, 1), np.uint8),
        nominal=np.full((1, 1), COUNT, np.int64),
        borrowing_limit=np.full((1, 1), UNSET, np.int64),
        lending_limit=np.full((1, 1), UNSET, np.int64),
        resource=np.zeros(1, np.int32),
        weight=np.ones(1),
    )
    ledger = Ledger(quotas)
    for order in range(COUNT):
        admit(ledger, order, 1)
    return ledger


def admit(ledger: Ledger, order: int, amount: int) -> None:
    ledger.admit(0, order, 0, 0, 0, order, False, (0,), (amount,))


def fail_to_admit_twice(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="has a holder"):
        admit(ledger, 0, 1)


def fail_to_admit_too_much(ledger: Ledger) -> None:
    with pytest.raises(OverflowError):
        admit(ledger, COUNT, 2**62)


def fail_to_release(ledger: Ledger) -> None:
    with pytest.raises(KeyError):
        ledger.release(0, 0, 0, COUNT, False)


@pytest.mark.parametrize("fail", [fail_to_admit_twice, fail_to_admit_too_much, fail_to_release])
def test_an_event_that_fails_leaves_nothing_that_goes_with_the_snapshot(
    fail: Callable[[Ledger], None],
) -> None:
    ledger = crowded()
    snapshot = ledger.snapshot()
    fail(ledger)
    del snapshot
    # Over what the snapshot left, were it still looked at.
    rubbish = [np.full(4 * size, -(2**62), np.int64) for size in range(1, 4 * COUNT, 16)]
    assert len(ledger.search(ASK, None).targets) == COUNT
    assert rubbish
