"""The mutations of the histories and of the quota plane fit the code as it is."""

from __future__ import annotations

from typing import Final

import pytest

from tests.e2e.quota_mutations import MUTATIONS as QUOTA
from tests.e2e.stress.mutations import MUTATIONS, Edit, assert_fits, edited

EDITS: Final = {name: each.edits for name, each in MUTATIONS.items()} | dict(QUOTA)


@pytest.mark.parametrize("name", EDITS)
def test_a_mutation_changes_the_code_and_leaves_it_readable(name: str) -> None:
    assert_fits(EDITS[name])


@pytest.mark.parametrize(("text", "count"), [("other", 0), ("old and old", 2)])
def test_a_mutation_that_does_not_fit_is_an_error(text: str, count: int) -> None:
    with pytest.raises(ValueError, match=f"a.py has {count} times: old"):
        edited(text, Edit("a.py", "old", "new"))
