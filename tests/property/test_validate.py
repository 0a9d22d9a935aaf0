"""Verdicts on requests that nobody thought of: there always is one, and what was accepted is accepted again."""

from __future__ import annotations

import copy

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.validate.verdicts import Context, Write, verdict
from schema import Prepared, judge, prepare
from tests.kit.examples import examples
from tests.kit.webhooks.cases import Case
from tests.kit.webhooks.mutations import mutated, seeds

SEEDS = seeds()
requests = st.builds(mutated, st.sampled_from(SEEDS), st.randoms(use_true_random=False))
wild = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))


def write(case: Case) -> Write:
    return Write(case.kind, case.object, case.old_object, case.subresource)


@wild
@given(requests)
def test_every_request_has_a_verdict_and_stays_as_it_is(case: Case) -> None:
    before = copy.deepcopy((case.object, case.old_object))
    first = verdict(write(case), Context())
    assert (case.object, case.old_object) == before
    assert verdict(write(case), Context()) == first
    assert all(cause.type and cause.message for cause in first.causes)


@wild
@given(requests)
def test_what_the_schema_accepted_it_accepts_again(case: Case) -> None:
    prepared = prepare(case.kind, case.object, case.old_object, case.subresource)
    if not isinstance(prepared, Prepared) or judge(prepared):
        return
    again = prepare(case.kind, prepared.new, prepared.new, case.subresource)
    assert isinstance(again, Prepared)
    assert again.new == prepared.new
    assert judge(again) == []
