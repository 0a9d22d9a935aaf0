"""Whether Kueue's Lease is held, judged by what we see and by our own clock."""

from __future__ import annotations

import pytest

from controllers.quota.kueue_lease import SURE_SECONDS, LeaseSeen, judge

Look = tuple[float, str, str]
"""When, holder, renewTime."""


def judged(*looks: Look) -> bool | None:
    """The answer after the last look."""
    seen: LeaseSeen | None = None
    held: bool | None = None
    for now, holder, renewed in looks:
        seen, held = judge(seen, holder, renewed, now)
    return held


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([(0.0, "", "")], False),
        ([(0.0, "kueue", "1")], None),
        ([(0.0, "kueue", "1"), (3.0, "kueue", "2")], True),
        ([(0.0, "kueue", "1"), (3.0, "kueue", "2"), (3.0 + SURE_SECONDS, "kueue", "2")], False),
        ([(0.0, "kueue", "1"), (SURE_SECONDS, "kueue", "1")], False),
        ([(0.0, "kueue", "1"), (3.0, "", "")], False),
        ([(0.0, "kueue", "1"), (3.0, "other", "1")], True),
        ([(0.0, "kueue", "1"), (SURE_SECONDS, "kueue", "1"), (SURE_SECONDS + 3, "kueue", "2")], True),
    ],
    ids=["free", "unknown", "renewed", "renewed no longer", "never renewed", "released", "taken", "back"],
)
def test_a_lease_is_held_while_it_is_seen_to_change(looks: list[Look], expected: bool | None) -> None:
    assert judged(*looks) is expected


def test_a_lease_that_is_renewed_seldom_is_held_for_as_long_as_it_says() -> None:
    """Kueue's Configuration sets duration and period."""
    seen, _ = judge(None, "kueue", "1", 0.0, 60.0)
    seen, held = judge(seen, "kueue", "1", 40.0, 60.0)
    assert held is None
    seen, held = judge(seen, "kueue", "2", 41.0, 60.0)
    assert held is True
    assert judge(seen, "kueue", "2", 100.9, 60.0)[1] is True
    assert judge(seen, "kueue", "2", 101.0, 60.0)[1] is False
