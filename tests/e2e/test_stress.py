"""A minute of random load. `make stress` takes longer."""

from __future__ import annotations

from tests.e2e.stress.run import OPTIONS, stress
from tests.e2e.support import PlaneFactory


def test_a_minute_of_random_load(planes: PlaneFactory) -> None:
    result = stress(planes(**OPTIONS), seed=1, seconds=60)
    print(result)
    assert result.violations == [], str(result)
    assert result.deletions > 0, "a run in which nobody is evicted proves nothing"
