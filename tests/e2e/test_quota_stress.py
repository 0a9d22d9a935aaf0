"""Random load on queues for a few seconds. `python -m tests.e2e.stress_quota` takes longer."""

from __future__ import annotations

from tests.e2e.stress_quota import OPTIONS, stress
from tests.e2e.support import PlaneFactory


def test_some_seconds_of_random_load_on_queues(planes: PlaneFactory) -> None:
    result = stress(planes(**OPTIONS), seed=1, seconds=20)
    print(result)
    assert result.violations == [], str(result)
    assert result.evictions > 0, "a run in which nobody is evicted proves nothing"
