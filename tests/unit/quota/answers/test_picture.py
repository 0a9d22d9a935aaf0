"""A picture that its owner changes."""

from __future__ import annotations

import msgspec
import pytest

from quota.answers.picture import QuotaPicture
from quota.state.amounts import QuotaError
from quota.state.state import QuotaState
from quota.state.workloads import key_of
from tests.kit.quota.objects import cluster_queue, completed, cpu, held, local_queue, workload


def test_one_that_cannot_be_counted_leaves_all_as_it_was() -> None:
    first, second, wrong = (workload(name, "q", 1) for name in ("first", "second", "wrong"))
    wrong.metadata = msgspec.structs.replace(wrong.metadata, creation_timestamp="yesterday")
    state = QuotaState()
    for each in completed([cluster_queue("q", cpu(4)), local_queue("q", "q"), first]):
        state.apply(each)
    own = QuotaPicture(state).own()
    places = own.places()
    assert places is not None
    with pytest.raises(QuotaError):
        own.put(held(first, 10), second, wrong)
    assert dict(own.workloads) == {key_of(first): first}
    assert own.places() is places
    assert places.of(first, "q") == (1, 1)
    own.put(held(first, 10), second)
    assert places.of(second, "q") == (1, 1)
