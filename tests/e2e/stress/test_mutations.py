"""The mutations of the histories fit the code as it is."""

from __future__ import annotations

import pytest

from tests.e2e.stress.mirrors import ROOT
from tests.e2e.stress.mutations import MUTATIONS, Edit, edited


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_changes_the_code_and_leaves_it_readable(name: str) -> None:
    for edit in MUTATIONS[name].edits:
        text = (ROOT / edit.file).read_text()
        changed = edited(text, edit)
        assert changed != text
        compile(changed, edit.file, "exec")


@pytest.mark.parametrize(("text", "count"), [("other", 0), ("old and old", 2)])
def test_a_mutation_that_does_not_fit_is_an_error(text: str, count: int) -> None:
    with pytest.raises(ValueError, match=f"a.py has {count} times: old"):
        edited(text, Edit("a.py", "old", "new"))
