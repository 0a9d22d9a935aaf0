"""Clocks of worker clusters decide nothing: other times in what they say lead to the same decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from api.jobs import JobStatus
from api.times import rfc3339
from api.workloads import ADMITTED, BLOCKED_ON_PREEMPTION_GATES, EVICTED, FINISHED, QUOTA_RESERVED
from controllers.multikueue.clusters.objects import CopyObject, copy_of
from controllers.multikueue.life.decision import Decision
from controllers.multikueue.life.memory import Memory
from controllers.multikueue.life.seen import Copy, Seen
from tests.kit.dispatched.seeing import ATTEMPT, cluster, copy, cost, follows, job, seen, turn, workload

KINDS: Final = (QUOTA_RESERVED, ADMITTED, EVICTED, FINISHED, BLOCKED_ON_PREEMPTION_GATES)
NAMES: Final = ("a", "b")
RUNNING: Final = job(1, status=JobStatus(active=1, start_time=ATTEMPT))
times = st.integers(min_value=-(2**62), max_value=2**62)


@st.composite
def copies(draw: st.DrawFn) -> Copy | None:
    """A copy in any state, or none."""
    if draw(st.booleans()) and draw(st.booleans()):
        return None
    true = draw(st.lists(st.sampled_from(KINDS), unique=True))
    waits = (
        "" if QUOTA_RESERVED in true else draw(st.sampled_from(["", "PendingEvaluation", "AdmissionGated"]))
    )
    return copy(*true, waits=waits, gate=draw(st.sampled_from(["Missing", "Closed", "Open"])))


@st.composite
def worlds(draw: st.DrawFn) -> Seen:
    """A Workload, and what two clusters say of it."""
    clusters = [
        cluster(
            name,
            draw(copies()),
            draw(st.sampled_from([None, job(), RUNNING])),
            cost=cost(draw(st.integers(0, 3))) if draw(st.booleans()) else None,
        )
        for name in NAMES
    ]
    chosen = draw(st.sampled_from(["", *NAMES]))
    turns = (turn(1, draw(st.sampled_from(NAMES)), 0),) if draw(st.booleans()) else ()
    return replace(seen(*clusters, of=workload(chosen=chosen)), turns=turns)


def at_other_times(what: Seen, draw: st.DataObject) -> Seen:
    """The same, by other clocks."""
    clusters = []
    for each in what.clusters:
        found = each.copy
        if found is not None:
            said = {
                kind: condition._replace(since=draw.draw(times))
                for kind, condition in found.conditions.items()
            }
            found = msgspec.structs.replace(found, conditions=said)
        its = each.job
        if its is not None and its.status.start_time is not None:
            seconds = draw.draw(st.integers(0, 4_000_000_000))
            status = msgspec.structs.replace(its.status, start_time=rfc3339(seconds))
            its = msgspec.structs.replace(its, status=status)
        clusters.append(msgspec.structs.replace(each, copy=found, job=its))
    return replace(what, clusters=tuple(clusters))


@given(worlds(), st.data())
def test_other_times_in_conditions_lead_to_the_same_decisions(what: Seen, data: st.DataObject) -> None:
    """Also in the next decision, with what is remembered from the first one."""
    other = at_other_times(what, data)
    memories = Memory().about("uid", ATTEMPT), Memory().about("uid", ATTEMPT)
    for seconds in (0.0, 6.0, 400.0):
        one: Decision = follows(what, seconds, memories[0])
        two: Decision = follows(other, seconds, memories[1])
        assert one == two
        memories = one.memory, two.memory


@given(st.one_of(st.text(), st.datetimes().map(lambda time: f"{time.isoformat()}Z")))
def test_a_condition_of_any_time_can_be_read(time: str) -> None:
    """Workers are not trusted to write times."""
    condition = {"type": ADMITTED, "status": "True", "reason": "x", "message": "", "lastTransitionTime": time}
    body = {"metadata": {"name": "w", "namespace": "n"}, "spec": {}, "status": {"conditions": [condition]}}
    found = copy_of(msgspec.json.decode(msgspec.json.encode(body), type=CopyObject))
    assert found.is_true(ADMITTED)
