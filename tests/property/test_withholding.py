"""Nothing of a namespace reaches a reader who may list nothing there, whatever the cluster is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import cast, get_args
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import answers.stored.listed
import answers.stored.staying
import answers.waiting
import answers.why
from answers import queue_data, withholding
from answers.details import Details
from answers.errors import InputError, UnreadError
from answers.map.panel import node_of
from answers.map.rooms import Rooms
from answers.map.whole import map_of
from answers.names import ALL, EVERYWHERE, Listed, Names
from answers.picture import Picture
from answers.plan import PlanKind, plan_for
from answers.queue import all_queues, check_counted, one_queue
from answers.reading.details import DetailedObjects
from answers.reading.posted import Posted
from answers.reading.quota_objects import read_time
from answers.stored.about import about
from answers.stored.gone import who_evicted
from answers.stored.history import history
from answers.stored.listed import plans
from answers.submission import Known
from answers.waiting import waiting
from answers.what_if.answer import what_if
from answers.why import why
from answers.withholding import Reader
from api.may_name import OTHER_NAMESPACE
from api.workloads import Workload
from nodes.answers import pod_answers
from quota.answers import waits
from quota.answers.told import EVERYTHING as EVERYTHING_OF_QUOTA
from quota.answers.told import Told
from tests.kit.answers.worlds import MARKS, NAMESPACES, NOW, World, marks_of, world
from tests.kit.examples import examples

EVERYTHING: tuple[Listed, ...] = get_args(Listed)


@dataclass(frozen=True)
class Tenant:
    """A reader of some namespaces, who may list some kinds everywhere besides."""

    namespaces: Set[str]
    everywhere: frozenset[Listed] = frozenset()
    without: frozenset[Listed] = field(default=frozenset())
    """Kinds that the reader may not list even there."""

    def lists(self, what: Listed, namespace: str = EVERYWHERE) -> bool:
        """See `Names`."""
        return what in self.everywhere or (namespace in self.namespaces and what not in self.without)


def read(made: World) -> DetailedObjects:
    objects = DetailedObjects(read_time(NOW, "now"))
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": made.objects})
    objects.add_file(text.encode(), "world")
    return objects


def said_of_plans(objects: DetailedObjects, tenant: Tenant) -> Iterator[str]:
    """All that stored plans say to the reader."""
    picture, stored = objects.picture(), objects.plans()
    yield json.dumps(plans(picture, stored, tenant).plain())
    yield json.dumps(history(stored, tenant).plain())
    for namespace, its in stored.items():
        for each in its if namespace in tenant.namespaces else ():
            with suppress(InputError):
                yield json.dumps(about(picture, stored, namespace, each.brief.metadata.name, tenant).plain())
    for space in tenant.namespaces:
        for name in (f"{MARKS[space]}-run-0", f"{MARKS[space]}-held-0"):
            marks = objects.details(space).marks(name)
            yield json.dumps(who_evicted(stored, space, name, marks, tenant).plain())


def said(made: World, tenant: Tenant) -> str:
    """All that the reader may ask for, as it is sent."""
    objects = read(made)
    picture, details = objects.picture(), cache(objects.details)
    found = [json.dumps(waiting(picture, details, tenant).plain()), *said_of_plans(objects, tenant)]
    if tenant.lists("nodes"):
        found += maps(picture, details, tenant)
    for kind, namespace, name in made.questions():
        if namespace not in tenant.namespaces:
            continue
        try:
            answer = why(picture, details(namespace), kind, name, tenant).plain()  # type: ignore[arg-type]
            found.append(json.dumps(answer))
        except (InputError, UnreadError) as error:
            found.append(str(error))
    return "\n".join(found)


def maps(picture: Picture, details: Callable[[str], Details], tenant: Tenant) -> list[str]:
    """The map, and each node of it."""
    shown = map_of(picture, tenant, tenant.namespaces).plain()
    nodes = [node_of(picture, details, tenant, name, tenant.namespaces) for name in shown["nodes"]["name"]]
    return [json.dumps(shown), *(json.dumps(each.plain()) for each in nodes if each is not None)]


READERS = st.builds(
    Tenant,
    st.frozensets(st.sampled_from(NAMESPACES), max_size=2),
    st.sampled_from((frozenset[Listed](), frozenset[Listed]({"nodes"}))),
    st.frozensets(st.sampled_from(EVERYTHING), max_size=3),
)


@settings(max_examples=examples(600), deadline=None)
@given(st.integers(0, 2**32), READERS)
def test_no_mark_of_a_forbidden_namespace(seed: int, tenant: Tenant) -> None:
    text, own = said(world(seed), tenant), tenant.namespaces
    for mark in marks_of(set(NAMESPACES) - own):
        at = text.find(mark)
        assert at < 0, f"{mark}: ...{text[max(0, at - 300) : at + 100]}"


# ---- each part of the withholding is needed


def _owned_anywhere(picture: Picture, namespace: str, uid: str) -> Workload | None:
    del namespace
    owned = (
        each
        for each in picture.quota.workloads.values()
        if any(owner.uid == uid for owner in each.metadata.owner_references or ())
    )
    return next(owned, None)


def _same(_: object, thing: object) -> object:
    return thing


MUTATIONS: dict[str, tuple[object, str, object]] = {
    "names in decisions": (withholding, "withhold", lambda spec, _: spec),
    "UIDs and priorities of victims": (withholding, "_anonymous", lambda victim: victim),
    "costs of domains": (Reader, "_domain", _same),
    "budgets that are not modelled": (Reader, "_unmodelled", _same),
    "pods that a scheduler did not take": (Reader, "_excluded", _same),
    "any name": (Reader, "may_name", lambda *_: True),
    "pods that leave": (pod_answers, "_name", lambda snapshot, row, _: snapshot.pod_names[row]),
    "Workloads": (Told, "holder", lambda _, holder, own: f"Workload {holder.key}"),
    "ClusterQueues": (Told, "queue", lambda _, name, own: f"ClusterQueue {name}"),
    "everything of quota": (Reader, "told", EVERYTHING_OF_QUOTA),
    "decisions": (Reader, "decision", _same),
    "Workloads of owners elsewhere": (answers.why, "_owned_by", _owned_anywhere),
    "faults of other Workloads": (waits, "_said", lambda error, *_: str(error)),
    "pods on nodes": (Rooms, "seen", property(lambda rooms: rooms.snapshot.pod_live)),
    "the map of other namespaces": (Rooms, "sees", lambda *_: True),
    "rows of other namespaces": (answers.waiting._Listing, "_lists", lambda *_: True),
    "plans of other namespaces": (answers.stored.listed, "_may", lambda *_: True),
    "the cut-off of those who stay": (answers.stored.staying, "_is_exact", lambda *_: True),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_part_that_is_left_out_is_found(name: str) -> None:
    """By the test above, in the worlds of these seeds."""
    own = {"alfa"}
    with patch.object(*MUTATIONS[name]):
        for seed in range(400):
            text = said(world(seed), Tenant(own, frozenset({"nodes"})))
            if any(mark in text for mark in marks_of(set(NAMESPACES) - own)):
                return
    raise AssertionError(f"without {name}, nothing is seen")


# ---- queues


def queues_said(made: World, tenant: Tenant) -> str:
    """All that the reader may ask for about queues, as it is sent."""
    picture = read(made).picture()
    try:
        check_counted(picture)
    except UnreadError as error:
        return str(error)
    asked = [each for each in picture.quota.local_queues if each.partition("/")[0] in tenant.namespaces]
    found = []
    if tenant.lists("clusterqueues"):
        asked += picture.quota.cluster_queues
        found.append(all_queues(picture).plain(tenant))
    found += [one_queue(picture, each).plain(tenant) for each in asked]
    return json.dumps(found)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32), READERS)
def test_queues_have_no_mark_of_a_forbidden_namespace(seed: int, tenant: Tenant) -> None:
    text = queues_said(world(seed), tenant)
    assert [each for each in marks_of(set(NAMESPACES) - tenant.namespaces) if each in text] == []


def seen_of_others(seed: int) -> list[str]:
    """Marks of other namespaces that a reader of ClusterQueues sees besides in the names of these."""
    text = queues_said(world(seed), Tenant({"alfa"}, frozenset({"clusterqueues"})))
    text = re.sub(r"queue-q\w+", "queue", text)
    return [each for each in marks_of(set(NAMESPACES) - {"alfa"}) if each in text]


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32))
def test_who_may_list_clusterqueues_learns_of_no_workload_elsewhere(seed: int) -> None:
    assert seen_of_others(seed) == []


QUEUE_MUTATIONS: dict[str, tuple[object, str, object]] = {
    "any name": (queue_data, "_may_name", lambda *_: True),
    "victims": (queue_data, "_victim", lambda _, target, reader: {"workload": target.holder.key}),
}


@pytest.mark.parametrize("name", QUEUE_MUTATIONS)
def test_a_part_that_is_left_out_of_queues_is_found(name: str) -> None:
    with patch.object(*QUEUE_MUTATIONS[name]):
        assert any(map(seen_of_others, range(60)))


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
def test_who_may_list_everything_sees_queues_as_the_command_says_them(seed: int) -> None:
    everything = Tenant(frozenset(NAMESPACES), frozenset(EVERYTHING))
    picture = read(world(seed)).picture()
    try:
        check_counted(picture)
    except UnreadError:
        return
    assert all_queues(picture).plain(everything) == all_queues(picture).plain()
    for name in (*picture.quota.local_queues, *picture.quota.cluster_queues):
        assert one_queue(picture, name).plain(everything) == one_queue(picture, name).plain()


# ---- what would happen


def submitted(space: str) -> bytes:
    """Objects that need much, of this namespace: alone, as a gang, and in its queue."""
    pod = {"priority": 9_000_000, "containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}
    queue = {"kueue.x-k8s.io/queue-name": f"{MARKS[space]}-local"}
    gang = {"reprieve.dev/pod-group": "gang"}

    def job(name: str, labels: dict[str, str], of_pods: dict[str, str]) -> dict[str, object]:
        template = {"metadata": {"labels": of_pods}, "spec": pod}
        meta = {"name": name, "namespace": space, "labels": labels}
        spec = {"parallelism": 2, "template": template}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}

    group = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": space},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    made = [job("alone", {}, {}), group, job("members", {}, gang), job("queued", queue, {})]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": made}).encode()


def what_if_said(made: World, tenant: Names, space: str) -> str:
    """The answer, or why there is none, as it is sent."""
    posted = Posted(space)
    posted.add_file(submitted(space), "manifests")
    try:
        return json.dumps(what_if(read(made).picture(), posted.submission(Known()), names=tenant).plain())
    except (InputError, UnreadError) as error:
        return str(error)


def plans_said(made: World, tenant: Tenant) -> str:
    """All plans that the reader may ask for, as they are sent."""
    picture, found = read(made).picture(), []
    for kind, namespace, name in made.questions():
        if kind not in ("podgroup", "pod") or namespace not in tenant.namespaces:
            continue
        try:
            plan = plan_for(picture, cast(PlanKind, kind), namespace, name, tenant)
            found.append(json.dumps(plan.plain()))
        except (InputError, UnreadError) as error:
            found.append(str(error))
    return "\n".join(found)


def tried_by(seed: int) -> list[str]:
    """Marks of other namespaces that a tenant sees in what would happen, and in plans."""
    tenant = Tenant({"alfa"}, frozenset({"nodes"}))
    text = what_if_said(world(seed), tenant, "alfa") + plans_said(world(seed), tenant)
    return [each for each in marks_of(set(NAMESPACES) - {"alfa"}) if each in text]


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32))
def test_what_would_happen_has_no_mark_of_a_forbidden_namespace(seed: int) -> None:
    assert tried_by(seed) == []


TRYING_MUTATIONS: dict[str, tuple[object, str, object]] = {
    "decisions": (Reader, "decision", _same),
    "any name": (Reader, "may_name", lambda *_: True),
    "UIDs and priorities of victims": (withholding, "_anonymous", lambda victim: victim),
    "everything of quota": (Reader, "told", EVERYTHING_OF_QUOTA),
}


@pytest.mark.parametrize("name", TRYING_MUTATIONS)
def test_a_part_that_is_left_out_of_what_would_happen_is_found(name: str) -> None:
    with patch.object(*TRYING_MUTATIONS[name]):
        assert any(map(tried_by, range(100)))


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(NAMESPACES))
def test_who_may_list_everything_is_told_what_would_happen_as_the_command_says_it(
    seed: int, space: str
) -> None:
    everything = Tenant(frozenset(NAMESPACES), frozenset(EVERYTHING))
    known = what_if_said(world(seed), ALL, space)
    assert what_if_said(world(seed), everything, space) == known


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(NAMESPACES))
def test_what_is_left_out_names_the_right_that_would_show_more(seed: int, space: str) -> None:
    made = world(seed)
    objects = read(made)
    picture, details = objects.picture(), cache(objects.details)
    tenant = Tenant({space}, frozenset({"nodes"}))
    for kind, namespace, name in made.questions():
        if namespace != space:
            continue
        answer = why(picture, details(space), kind, name, tenant)  # type: ignore[arg-type]
        whole = why(picture, details(space), kind, name)  # type: ignore[arg-type]
        assert (answer.state, answer.waits, answer.since) == (whole.state, whole.waits, whole.since)
        if OTHER_NAMESPACE in json.dumps(answer.plain()["waitsFor"]):
            assert any("The right that would show more: list " in note for note in answer.notes)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
@example(239500800)  # a stored plan has withheld names, and no whole one is there
def test_who_may_list_everything_is_told_everything(seed: int) -> None:
    made = world(seed)
    everything = Tenant(frozenset(NAMESPACES), frozenset(EVERYTHING))
    objects = read(made)
    picture, details = objects.picture(), cache(objects.details)
    for kind, namespace, name in made.questions():
        known = why(picture, details(namespace), kind, name)  # type: ignore[arg-type]
        assert why(picture, details(namespace), kind, name, everything) == known  # type: ignore[arg-type]
