"""The picture that is followed is that of documents, and what is asked of it is what the command answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from answers.names import ALL
from answers.picture import Picture
from answers.reading.details import DetailedObjects, NamespaceObjects
from answers.reading.quota_objects import read_time
from answers.waiting import waiting
from answers.why import why
from api.times import parse_rfc3339
from nodes.state.snapshot import PlanRoom
from tests.kit.answers.worlds import NAMESPACES, NOW, world
from tests.kit.clock import ManualClock
from tests.kit.contents import contents
from tests.kit.examples import examples
from tests.kit.followed import Followed, settled, with_counted_budgets

Object = dict[str, Any]

MOMENT = read_time(NOW, "now")


def documents(objects: list[Object], namespace: str = "") -> DetailedObjects:
    found = NamespaceObjects(namespace, MOMENT) if namespace else DetailedObjects(MOMENT)
    found.add_file(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode(), "world")
    return found


def clock() -> ManualClock:
    return ManualClock(wall=parse_rfc3339(NOW))


def without_failed(objects: list[Object]) -> list[Object]:
    """The page follows no pod that has Failed."""
    return [each for each in objects if (each.get("status") or {}).get("phase") != "Failed"]


def rooms(plans: Sequence[PlanRoom]) -> list[PlanRoom]:
    return sorted(plans, key=lambda each: (each.kind, each.namespace, each.name, each.uid))


def said(picture: Picture) -> Any:
    """All that the picture has, whatever the order of its rows."""
    snapshot = picture.nodes.snapshot
    known = contents(snapshot)
    known["owners"] = sorted(
        (snapshot.pod_uids[row], repr(picture.nodes.controller_of(snapshot.pod_uids[row])))
        for row in np.flatnonzero(snapshot.pod_live).tolist()
    )
    quota = picture.quota
    return (
        known,
        rooms(snapshot.plans),
        dict(quota.workloads),
        dict(quota.local_queues),
        dict(quota.cluster_queues),
        dict(quota.flavors),
        dict(picture.namespaces),
        (picture.moment, picture.refused, picture.without_nodes, picture.without_quota, picture.native),
        snapshot.preempting,
    )


@settings(max_examples=examples(400), deadline=None)
@given(st.integers(0, 2**32))
def test_a_followed_cluster_is_the_cluster_of_documents(seed: int) -> None:
    objects = with_counted_budgets(world(seed).objects)

    async def follow() -> None:
        followed = Followed(objects, clock())
        await followed.fill()
        seen, read = followed.source.picture(), documents(without_failed(objects))
        assert said(seen.picture) == said(read.picture())
        listed = waiting(seen.picture, seen.details, ALL)
        assert listed == waiting(read.picture(), cache(read.details), ALL)
        assert followed.source.picture() is seen

    asyncio.run(follow())


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32))
def test_an_answer_about_a_followed_cluster_is_that_of_the_command(seed: int) -> None:
    made = world(seed)
    objects = with_counted_budgets(made.objects)

    async def follow() -> None:
        followed = Followed(objects, clock())
        await followed.fill()
        for namespace in NAMESPACES:
            picture, details = await followed.source.about(namespace, followed.ask)
            for kind, space, name in made.questions():
                if space == namespace:
                    asked: tuple[Any, Any] = kind, name
                    near = documents(objects, namespace)
                    known = why(near.picture(), near.details(namespace), *asked)
                    assert why(picture, details, *asked).plain() == known.plain()

    asyncio.run(follow())


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32), st.data())
def test_later_events_do_not_change_a_moment(seed: int, data: st.DataObject) -> None:
    objects = with_counted_budgets(world(seed).objects)

    async def follow() -> None:
        followed = Followed(objects, clock())
        await followed.fill()
        seen = followed.source.picture()
        before, version = said(seen.picture), followed.source.version
        listed = waiting(seen.picture, seen.details, ALL)
        pods = [each for each in followed.objects if each["kind"] == "Pod"]
        for each in data.draw(st.lists(st.sampled_from(pods), max_size=4)) if pods else []:
            each["spec"] = {**each["spec"], "nodeName": "n0"}
            followed.put(each)
        await settled()
        later = followed.source.picture()
        assert said(seen.picture) == before
        assert waiting(seen.picture, seen.details, ALL) == listed
        assert (later is seen) == (followed.source.version == version)
        read = documents(without_failed(followed.objects))
        assert said(later.picture) == said(read.picture())

    asyncio.run(follow())
