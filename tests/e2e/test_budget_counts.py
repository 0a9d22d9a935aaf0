"""What we count for PodDisruptionBudgets is what the disruption controller counts, and the evictions that we plan are
those that the API server would allow. `make fidelity` has more of both."""

from __future__ import annotations

from pathlib import Path

from hack.fidelity.budgets import run

BUDGETS = 40
SEED = 500


def test_a_control_plane_says_the_same(tmp_path: Path) -> None:
    counts = run(BUDGETS, SEED, tmp_path)
    assert counts.differences == []
    assert counts.budgets == BUDGETS
    assert counts.allowing
    assert counts.exempt
