"""What `reprieve validate` finds without an API server is what a real one finds by itself, cause by cause."""

from __future__ import annotations

from http import HTTPStatus
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hack.controlplane.plane import ControlPlane
from schema import DECODE_ERROR, Prepared, judge, prepare
from tests.e2e.webhook_requests import Sender
from tests.kit.webhooks.cases import Case
from tests.kit.webhooks.mutations import mutated, seeds

SEEDS = seeds()
REQUESTS = 400


@settings(max_examples=REQUESTS, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(SEEDS), st.randoms(use_true_random=False))
def test_any_request_is_judged_as_by_an_api_server(
    api_plane: ControlPlane, case: Case, random: Random
) -> None:
    _compare(api_plane, mutated(case, random))


def test_changes_at_random_are_judged_as_by_an_api_server(api_plane: ControlPlane) -> None:
    """Wilder than hypothesis, which prefers small numbers; the same ones each time."""
    for number in range(REQUESTS):
        random = Random(number)
        _compare(api_plane, mutated(random.choice(SEEDS), random))


def test_the_conformance_cases_are_judged_as_by_an_api_server(api_plane: ControlPlane) -> None:
    for case in SEEDS[::10]:
        _compare(api_plane, case)


def _compare(plane: ControlPlane, case: Case) -> None:
    answer = Sender(plane).send(case)
    prepared = prepare(case.kind, case.object, case.old_object, case.subresource)
    causes = judge(prepared) if isinstance(prepared, Prepared) else prepared
    if any(cause.type == DECODE_ERROR for cause in causes):
        # An API server refuses these as a bad request, and says where in a sentence at most.
        assert answer.status == HTTPStatus.BAD_REQUEST, (case, answer.text, causes)
        return
    said = {(cause.field, cause.type) for cause in answer.causes}
    assert {(cause.field, cause.type) for cause in causes} == said, (case, answer.text, causes)
    assert answer.allowed is not bool(causes)
