"""The mutations of several clusters fit the code as it is."""

from __future__ import annotations

import pytest

from tests.e2e.stress.mutations import assert_fits
from tests.multicluster.mutations import MUTATIONS


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_changes_the_code_and_leaves_it_readable(name: str) -> None:
    assert_fits(MUTATIONS[name])
