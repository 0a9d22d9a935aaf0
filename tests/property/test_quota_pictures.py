"""A picture of quota does not move. What is laid over it counts as if it had come as an event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from answers.picture import Picture
from answers.queue import all_queues
from api.fates import Fate
from api.kueue import ClusterQueue
from api.workloads import Workload
from quota.answers.fates import quota_fates
from quota.answers.picture import QuotaPicture
from quota.answers.places import Places
from quota.answers.reclaims import HIGHEST
from quota.search.decision import Options
from quota.state.state import QuotaState
from tests.kit.examples import examples
from tests.kit.quota.objects import Object, completed, evicted, held, preempted
from tests.property.quota_worlds import NOW, OPTIONS, heads, holders, worlds

Answers = tuple[dict[str, Any], dict[str, Fate], dict[str, Workload]]


def said(picture: QuotaPicture, options: Options) -> Answers:
    """All that the answers say of it."""
    queues = all_queues(Picture(NOW, picture), options, HIGHEST).plain()
    return queues, quota_fates(picture, NOW, options, {}), dict(picture.workloads)


def waiting(places: Places | None) -> Mapping[str, Any]:
    """Who waits in each ClusterQueue where anybody does."""
    assert places is not None
    return {queue: those for queue, those in places._waiting.items() if those}


def state_of(*objects: Object) -> QuotaState:
    state = QuotaState()
    for thing in completed(objects):
        state.apply(thing)
    return state


def changed(each: Workload, data: st.DataObject) -> Workload:
    """It got quota, lost it, or is being evicted."""
    if each.status.admission is None:
        return held(each, 950)
    return data.draw(st.sampled_from((evicted(each, 960), preempted(each, 960, "Preempted"))))


@settings(max_examples=examples(200), deadline=None)
@given(objects=worlds(), options=OPTIONS, data=st.data())
def test_what_is_laid_over_counts_as_an_event(
    objects: list[Object], options: Options, data: st.DataObject
) -> None:
    workloads = [*holders(objects), *heads(objects)]
    later = data.draw(st.lists(st.sampled_from(workloads), unique_by=id)) if workloads else []
    laid = [changed(each, data) if data.draw(st.booleans()) else each for each in later]
    there = [
        each for each in objects if not any(each is other for other in later) or data.draw(st.booleans())
    ]
    state = state_of(*there)
    picture = QuotaPicture(state)
    before = said(picture, options)
    over = said(picture.with_workloads(*laid), options)
    own = picture.own()
    own.places()
    for each in laid:
        own.put(each)
    assert said(own, options) == over
    assert waiting(own.places()) == waiting(Places(own.snapshot(), own.workloads.values()))
    assert said(picture, options) == before
    for each in laid:
        state.apply(each)
    assert over == said(QuotaPicture(state), options)


@settings(max_examples=examples(200), deadline=None)
@given(objects=worlds(), options=OPTIONS, data=st.data())
def test_later_events_do_not_change_a_picture(
    objects: list[Object], options: Options, data: st.DataObject
) -> None:
    state = state_of(*objects)
    if data.draw(st.booleans()):
        state.snapshot()
    picture, asked_later = QuotaPicture(state), QuotaPicture(state)
    before = said(picture, options)
    for each in data.draw(st.lists(st.sampled_from(objects), max_size=4)):
        if isinstance(each, Workload) and data.draw(st.booleans()):
            state.apply(changed(each, data))
        elif isinstance(each, Workload | ClusterQueue):
            kind, meta = type(each).__name__, each.metadata
            state.delete(kind, f"{meta.namespace}/{meta.name}" if kind == "Workload" else meta.name)
    state.snapshot()
    assert said(picture, options) == before
    assert said(asked_later, options) == before
