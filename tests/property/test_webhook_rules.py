"""Rules get through whatever is stored: any value of any type in any place."""

from __future__ import annotations

import copy
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.examples import examples
from tests.kit.manifests import CLASSES, NOW
from tests.kit.spoiled import SOUND, spoiled
from webhooks.rules import Request, default, validate
from webhooks.settings import Settings


@st.composite
def requests(draw: st.DrawFn) -> Request:
    sound = draw(st.sampled_from(SOUND))
    operation: Literal["CREATE", "UPDATE"] = draw(st.sampled_from(["CREATE", "UPDATE"]))
    return Request(
        kind=sound["kind"],
        operation=operation,
        subresource=draw(st.sampled_from(["", "status"])),
        new=draw(spoiled(sound)),
        old=draw(spoiled(sound)) if operation == "UPDATE" else None,
        user=draw(st.sampled_from(["", "u"])),
        facts=CLASSES,
        settings=Settings(gate_openers={"gate": ("v",)}, beside_kueue=draw(st.booleans())),
        now=NOW,
    )


@settings(max_examples=examples(600), deadline=None)
@given(requests())
def test_every_request_is_answered_and_left_as_it_was(request: Request) -> None:
    before = copy.deepcopy((request.new, request.old))
    completed = default(request)
    verdict = validate(request)
    assert (request.new, request.old) == before
    assert all(cause.field and cause.type and cause.message for cause in verdict.causes)
    # What is filled in stays as it is when the rest is written again.
    again = Request(
        kind=request.kind, operation="UPDATE", new=completed, old=completed, facts=CLASSES, now=NOW
    )
    assert default(again) is completed
