"""The list of what waits says what `why` says, and both say for many readers what the command says for one."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from answers.names import ALL
from answers.picture import Picture
from answers.reading.details import DetailedObjects, NamespaceObjects
from answers.reading.quota_objects import read_time
from answers.waiting import Row, waiting
from answers.why import why
from nodes.answers.group_counts import GroupCounts
from nodes.answers.in_turn import LAST, rank
from nodes.search.preemptors.preemptor import DecisionError, group_preemptor
from tests.kit.answers.worlds import NOW, World, world
from tests.kit.contents import contents
from tests.kit.examples import examples

MOMENT = read_time(NOW, "now")


def text_of(made: World) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": made.objects}).encode()


def all_of(made: World) -> DetailedObjects:
    objects = DetailedObjects(MOMENT)
    objects.add_file(text_of(made), "world")
    return objects


def said(picture: Picture) -> Any:
    """All that the picture has."""
    nodes, quota = picture.nodes, picture.quota
    return contents(nodes.snapshot), nodes.snapshot.plans, dict(quota.workloads), dict(quota.cluster_queues)


@settings(max_examples=examples(400), deadline=None)
@given(st.integers(0, 2**32))
def test_a_row_says_what_the_answer_about_its_object_says(seed: int) -> None:
    objects = all_of(world(seed))
    picture, details = objects.picture(), cache(objects.details)
    listed = waiting(picture, details, ALL)
    assert listed.missing == []
    for row in (*listed.groups, *listed.pods, *listed.workloads):
        answer = why(picture, details(row.namespace), row.kind, row.name)
        assert answer.waits
        same = (row.state, row.sentence, row.since, row.plan) == (
            answer.state,
            answer.sentence,
            answer.since,
            answer.plan,
        )
        assert same or (answer.source == "Engine" and "open it to ask" in row.sentence), (row, answer)
        assert row.kind == "pod" or same or row.state == "NotSearched"


@settings(max_examples=examples(400), deadline=None)
@given(st.integers(0, 2**32))
def test_everything_that_waits_has_a_row(seed: int) -> None:
    """Its own, or that of the gang with which it waits."""
    made = world(seed)
    objects = all_of(made)
    picture, details = objects.picture(), cache(objects.details)
    listed = waiting(picture, details, ALL)
    rows: dict[tuple[str, str, str], Row] = {
        (row.kind, row.namespace, row.name): row for row in (*listed.groups, *listed.pods, *listed.workloads)
    }
    for kind, namespace, name in made.questions():
        answer = why(picture, details(namespace), kind, name)  # type: ignore[arg-type]
        has_row = (kind, namespace, name) in rows
        if kind == "pod" and answer.waits and not has_row:
            groups = [each for each in answer.depends if each.kind == "PodGroup"]
            assert [("podgroup", *each.name.split("/", 1)) in rows for each in groups] == [True]
        elif kind == "podgroup":
            assert has_row == (answer.waits and answer.state != "Basic")
        elif kind == "workload":
            assert has_row == (answer.waits and answer.state != "Admitted")


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32))
def test_gangs_are_in_the_order_of_the_planner(seed: int) -> None:
    objects = all_of(world(seed))
    picture = objects.picture()
    snapshot = picture.nodes.snapshot
    counts = GroupCounts(snapshot)
    for row, key in enumerate(snapshot.group_keys):
        if key == ("", ""):
            continue
        try:
            priority = -group_preemptor(snapshot, *key).priority
        except DecisionError:
            priority = LAST
        assert rank(counts, row)[0] == priority
    listed = waiting(picture, cache(objects.details), ALL).groups
    places = [row.place for row in listed if row.place is not None]
    assert places == list(range(1, len(places) + 1))
    ranked = [(-(row.priority or 0), row.namespace, row.name) for row in listed if row.place is not None]
    assert [each[0] for each in ranked] == sorted(each[0] for each in ranked)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32))
def test_one_reading_of_all_namespaces_says_what_the_command_says(seed: int) -> None:
    """And asking changes nothing."""
    made = world(seed)
    objects = all_of(made)
    picture, details = objects.picture(), cache(objects.details)
    before = said(picture)
    for kind, namespace, name in made.questions():
        near = NamespaceObjects(namespace, MOMENT)
        near.add_file(text_of(made), "world")
        asked: tuple[Any, Any] = kind, name
        assert why(picture, details(namespace), *asked).plain() == why(*near.about(), *asked).plain()
    waiting(picture, details, ALL)
    assert said(picture) == before
