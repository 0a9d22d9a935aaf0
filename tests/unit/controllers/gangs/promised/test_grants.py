"""How long a pod counts as on its way."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from controllers.gangs.promised.grants import Grants
from tests.kit.clock import ManualClock
from tests.kit.objects import pod

ROOM = {"cpu": 1}


def asked(version: int, message: str | None = None, reason: str = "Unschedulable", **fields: Any) -> Pod:
    """A pod that waits, and what the scheduler has said of it."""
    said = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message or ""}
    return pod("p", uid="p", version=version, conditions=[said] if message is not None else None, **fields)


@pytest.mark.parametrize(
    ("later", "ends"),
    [
        pytest.param(None, True, id="gone"),
        pytest.param(asked(11, "before", node="n1"), True, id="bound"),
        pytest.param(asked(11, "before", deleting=True), True, id="terminates"),
        pytest.param(asked(11, "now"), True, id="turned down"),
        pytest.param(asked(11, "before", reason="SchedulerError"), True, id="not bound"),
        pytest.param(asked(11, "before", labels={"a": "b"}), False, id="something else has changed"),
        pytest.param(asked(11), False, id="the condition is gone"),
        pytest.param(asked(10, "now"), False, id="what the scheduler knew in the attempt"),
        pytest.param(asked(9, "long ago"), False, id="a state from before the attempt comes late"),
    ],
)
def test_a_grant_ends_when_the_mirror_shows_that_the_attempt_has_ended(later: Pod | None, ends: bool) -> None:
    grants = Grants(ManualClock())
    grants.note(asked(10, "before"), ["n1"], ROOM)
    grants.pod_changed("p", later)
    assert grants.covers("p", "n1") is not ends


def test_a_first_refusal_ends_the_grant() -> None:
    grants = Grants(ManualClock())
    grants.note(asked(10), ["n1"], ROOM)
    grants.pod_changed("p", asked(11, "now"))
    assert not grants.covers("p", "n1")


def test_without_numbers_nobody_knows_which_state_is_newer() -> None:
    grants = Grants(ManualClock())
    grants.note(pod("p", uid="p"), ["n1"], ROOM)
    grants.pod_changed("p", asked(11, "now"))
    assert grants.covers("p", "n1")
    grants.note(asked(11), ["n1"], ROOM)
    later = pod("p", uid="p", conditions=[{"type": "PodScheduled", "status": "False", "message": "now"}])
    grants.pod_changed("p", later)
    assert grants.covers("p", "n1")


def test_a_new_attempt_takes_the_place_of_the_one_before() -> None:
    grants, told = Grants(ManualClock()), []
    grants.on_change(lambda grant, sign: told.append((sorted(grant.nodes), sign)))
    grants.note(asked(10), ["n1", "n2"], ROOM)
    grants.note(asked(11), ["n2", "n3"], ROOM)
    assert [grants.covers("p", name) for name in ("n1", "n2", "n3")] == [False, True, True]
    assert told == [(["n1", "n2"], 1), (["n1", "n2"], -1), (["n2", "n3"], 1)]


def test_grants_end_with_time_in_their_order() -> None:
    clock = ManualClock()
    grants = Grants(clock)
    for uid in ("a", "b", "a"):
        grants.note(pod(uid, uid=uid), ["n1"], ROOM)
        clock.advance(20)
    grants.expire()
    assert [grant.pod for grant in grants.values()] == ["a"]
    clock.advance(11)
    grants.expire()
    assert not grants.values()
