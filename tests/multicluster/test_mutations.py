"""The mutations of several clusters fit the code as it is."""

from __future__ import annotations

import pytest

from tests.e2e.stress.mirrors import ROOT
from tests.e2e.stress.mutations import edited
from tests.multicluster.mutations import MUTATIONS


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_changes_the_code_and_leaves_it_readable(name: str) -> None:
    for edit in MUTATIONS[name]:
        text = (ROOT / edit.file).read_text()
        changed = edited(text, edit)
        assert changed != text
        compile(changed, edit.file, "exec")
