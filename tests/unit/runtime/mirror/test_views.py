"""Which states a view takes, and who hears of them."""

from __future__ import annotations

import asyncio
import gc
import math
import weakref
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import REGISTRY

from api.core import Pod
from api.foreign_groups import CoschedulingPodGroup
from api.meta import ObjectMeta
from kube.errors import ApiError
from runtime.metrics import forget_views
from runtime.mirror.objects import Objects
from runtime.mirror.resources import COSCHEDULING_GROUPS, GROUPS, NODES, PODS, WORKLOADS
from runtime.mirror.view import REFUSALS, REMEMBERED
from runtime.mirror.views import View, Views
from tests.kit.clock import ManualClock
from tests.kit.objects import group, node, pod
from tests.kit.views import NoApi, listed, unconnected
from tests.kit.waiting import beside


class Reader(Objects[Pod]):
    """Objects of pods that are not bound to the node `unreadable`."""

    def upsert(self, item: Pod) -> bool:
        if item.spec.node_name == "unreadable":
            raise ValueError("spec.nodeName: unreadable")
        return super().upsert(item)

    @property
    def nodes(self) -> dict[str, str]:
        return {each.metadata.name: each.spec.node_name for each in self}


class Named(NoApi):
    """The client of one of several clusters."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster


@pytest.fixture
def views() -> Views:
    return unconnected()


@pytest.fixture
def store() -> Reader:
    return Reader()


@pytest.fixture
def view(views: Views, store: Reader) -> View[Pod]:
    return views.watch(PODS, store)


def meta(name: str, uid: str = "", version: int | None = None) -> ObjectMeta:
    return ObjectMeta(name, "default", uid, "" if version is None else str(version))


def seen(view: View[Any], resource_version: int) -> None:
    """The watch has come so far."""
    view._reflector.resource_version = str(resource_version)


def value(name: str) -> float:
    return REGISTRY.get_sample_value(name, {"cluster": "", "kind": "pods"}) or 0.0


# ---- newer and older states


def test_states_from_the_past_are_ignored_unless_listed(view: View[Pod], store: Reader) -> None:
    view.upsert(pod("p", node="n2", version=9), listed=False)
    view.upsert(pod("p", node="n1", version=8), listed=False)
    view.upsert(pod("p", node="n1", uid="a former one", version=7), listed=False)
    view.upsert(pod("p", node="n1", version=9), listed=False)
    assert store.nodes == {"p": "n2"}
    view.upsert(pod("p", node="n1", version=8), listed=True)
    assert store.nodes == {"p": "n1"}


def test_versions_that_are_no_numbers_are_never_old(view: View[Pod], store: Reader) -> None:
    for where in ("n1", "n2"):
        opaque = pod("p", node=where)
        opaque.metadata.resource_version = "v-x"
        view.upsert(opaque, listed=False)
    assert store.nodes == {"p": "n2"}


def test_a_deletion_is_of_one_object(view: View[Pod], store: Reader) -> None:
    view.upsert(pod("p", uid="old", version=5), listed=False)
    view.upsert(pod("p", uid="new", version=9), listed=False)
    view.delete(meta("p", "old", 8))
    view.delete(meta("p", "new", 7))  # it was not selected for a moment; this comes late
    assert len(store) == 1
    view.delete(meta("p", "new", 10))
    assert len(store) == 0


@pytest.mark.parametrize("how", ["deleted", "listed"])
def test_what_has_gone_stays_gone(view: View[Pod], store: Reader, how: str) -> None:
    view.upsert(pod("p", version=9), listed=False)
    if how == "deleted":
        view.delete(meta("p", "uid-default-p", 20))
    else:
        view.replaced(set(), "20")
    for version in (9, 12, 20):  # 12: a state that was never seen
        view.upsert(pod("p", version=version), listed=False)
        assert not view.apply(pod("p", version=version))
    assert len(store) == 0
    view.upsert(pod("p", version=21), listed=False)  # selected again
    assert len(store) == 1
    view.delete(meta("p", "uid-default-p", 30))
    view.upsert(pod("p", version=25), listed=True)  # etcd was restored
    assert len(store) == 1


def test_the_deletion_of_what_was_never_seen_is_remembered(view: View[Pod], store: Reader) -> None:
    view.delete(meta("p", "uid-default-p", 20))
    view.upsert(pod("p", version=19), listed=False)
    assert len(store) == 0


def test_what_is_remembered_is_bounded(view: View[Pod]) -> None:
    for number in range(REMEMBERED + 10):
        view.delete(meta("p", f"uid-{number}", number))
    assert len(view._gone) == REMEMBERED


def test_whatever_is_not_in_a_list_is_gone(view: View[Pod], store: Reader) -> None:
    for name in "abc":
        view.upsert(pod(name, version=1), listed=True)
    view.replaced({("default", "a"), ("default", "b")}, "10")
    assert set(store.nodes) == {"a", "b"}
    assert view.synced


def test_a_pod_that_failed_is_gone(view: View[Pod], store: Reader) -> None:
    told: list[tuple[str, Pod | None]] = []
    view.upsert(pod("p", version=1), listed=False)
    view.on_object(lambda uid, item: told.append((uid, item)))
    assert view.apply(pod("p", version=3, phase="Failed"))
    view.upsert(pod("p", version=2), listed=False)
    assert len(store) == 0
    assert told == [("uid-default-p", None)]


# ---- our own writes


def test_a_write_counts_before_the_watch_shows_it(view: View[Pod], store: Reader) -> None:
    view.upsert(pod("p", node="n1", version=5), listed=True)
    seen(view, 5)
    assert view.apply(pod("p", node="n2", version=8))
    view.upsert(pod("p", node="n1", version=6), listed=False)  # somebody else's, before ours
    assert store.nodes == {"p": "n2"}
    view.upsert(pod("p", node="n2", version=8), listed=False)
    view.upsert(pod("p", node="n3", version=9), listed=False)
    assert store.nodes == {"p": "n3"}


def test_a_write_that_the_watch_has_passed_says_nothing_new(view: View[Pod], store: Reader) -> None:
    """It was answered late: the object may have been changed and deleted since."""
    seen(view, 20)
    assert not view.apply(pod("p", version=15))
    assert len(store) == 0


def test_a_list_on_its_way_does_not_undo_a_write(view: View[Pod], store: Reader) -> None:
    view.upsert(pod("changed", node="n1", version=5), listed=True)
    view.replaced({("default", "changed")}, "5")
    seen(view, 5)
    view._reflector.resource_version = ""  # a new list begins, which is of version 20
    view.apply(pod("changed", node="n2", version=25))
    view.apply(pod("made", node="n3", version=26))
    view.upsert(pod("changed", node="n1", version=5), listed=True)
    view.replaced({("default", "changed")}, "20")
    assert store.nodes == {"changed": "n2", "made": "n3"}
    view.replaced(set(), "40")  # a later list knows them
    assert store.nodes == {}


# ---- what cannot be read


def test_what_cannot_be_read_keeps_its_last_state_and_is_reported(view: View[Pod], store: Reader) -> None:
    told: list[str] = []
    raws: list[tuple[str, bool]] = []
    view.on_unreadable(lambda meta, raw: raws.append((meta.name, b'"unreadable"' in raw)))
    refused = value("reprieve_mirror_refused_total")
    view.upsert(pod("p", node="n1", version=1), listed=False)
    view.on_object(lambda _, item: told.append(item.spec.node_name if item else "gone"))
    view.upsert(pod("p", node="unreadable", version=2), listed=False)
    view.unreadable(meta("p", "uid-default-p", 3), ValueError("no shape"), listed=False, raw=b"{}")
    assert raws == [("p", True), ("p", False)]
    assert store.nodes == {"p": "n1"}
    assert value("reprieve_mirror_refused_total") == refused + 2
    assert value("reprieve_mirror_unreadable_objects") == 1
    assert set(view.unread) == {("default", "p")}
    view.upsert(pod("p", node="n0", version=2), listed=False)  # older than what could not be read
    assert store.nodes == {"p": "n1"}
    view.upsert(pod("p", node="n2", version=4), listed=False)
    assert value("reprieve_mirror_unreadable_objects") == 0
    assert told == ["n2"]


@pytest.mark.parametrize("shapeless", [True, False])
def test_the_last_state_of_a_former_object_is_not_kept(
    view: View[Pod], store: Reader, shapeless: bool
) -> None:
    told: list[tuple[str, bool]] = []
    view.upsert(pod("p", uid="old", version=1), listed=False)
    view.on_object(lambda uid, item: told.append((uid, item is not None)))
    if shapeless:
        view.unreadable(meta("p", "new", 2), ValueError("no shape"), listed=False)
    else:
        view.upsert(pod("p", uid="new", node="unreadable", version=2), listed=False)
    assert len(store) == 0
    assert told == [("old", False)]
    view.delete(meta("p", "new", 3))
    assert value("reprieve_mirror_unreadable_objects") == 0


def test_who_can_read_it_has_it(views: Views) -> None:
    reader, other = Reader(), Objects[Pod]()
    view = views.watch(PODS, reader)
    assert views.watch(PODS, other) is view
    view.upsert(pod("p", node="unreadable", version=1), listed=False)
    assert (len(reader), len(other)) == (0, 1)
    view.replaced(set(), "2")
    assert (len(reader), len(other)) == (0, 0)


# ---- who hears of it


async def test_many_changes_are_told_once(views: Views) -> None:
    calls: list[str] = []

    def hook() -> None:
        calls.append("changed")

    nodes, pods = views.watch(NODES, Objects()), views.watch(PODS, Objects())
    for view in (nodes, pods):
        view.on_change(hook)
    for version in (1, 2):
        nodes.upsert(node("n", version=version), listed=False)
        pods.upsert(pod("p", version=version), listed=False)
    assert calls == []
    await asyncio.sleep(0)
    assert calls == ["changed"]
    nodes.upsert(node("n", version=1), listed=False)
    await asyncio.sleep(0)
    assert calls == ["changed"]
    nodes.delete(ObjectMeta("n", "", "", "9"))
    await asyncio.sleep(0)
    assert calls == ["changed"] * 2


async def test_what_no_store_finds_worth_it_is_not_told(views: Views) -> None:
    class Indifferent(Objects[Pod]):
        def upsert(self, item: Pod) -> bool:
            return not super().upsert(item)

    calls: list[str] = []
    view = views.watch(PODS, Indifferent())
    view.on_change(lambda: calls.append("changed"))
    view.upsert(pod("p"), listed=False)
    await asyncio.sleep(0)
    assert calls == []


def test_of_every_object_its_newest_state_is_told(view: View[Pod]) -> None:
    told: list[tuple[str, str | None]] = []
    view.on_object(lambda uid, item: told.append((uid, item.spec.node_name if item else None)))
    view.upsert(pod("a", node="n1", uid="first", version=1), listed=False)
    view.upsert(pod("a", node="n0", uid="first", version=1), listed=False)
    view.upsert(pod("a", node="n2", uid="second", version=2), listed=False)
    view.delete(meta("a", "second", 3))
    assert told == [("first", "n1"), ("first", None), ("second", "n2"), ("second", None)]


# ---- readiness


def test_each_view_is_ready_by_itself() -> None:
    clock = ManualClock()
    views = unconnected(clock)
    groups, workloads = views.watch(GROUPS, Objects()), views.watch(WORKLOADS, Objects())
    assert groups.fault() == "podgroups: not listed yet"
    groups.replaced(set(), "1")
    assert groups.fault() is None
    assert not workloads.synced
    clock.advance(50)
    assert groups.fault() is groups.fault(60) is None
    assert groups.fault(40) == "podgroups: no word from the API server for 50 s"


async def test_who_comes_late_would_miss_the_list(views: Views) -> None:
    async with beside(views.run()):
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="podgroups"):
            views.watch(GROUPS, Objects())


def test_names_are_kept_apart_by_namespace() -> None:
    store = Objects[Any]()
    view = listed(unconnected()).watch(GROUPS, store)
    view.upsert(group("g", namespace="blue", version=9), listed=False)
    view.upsert(group("g", namespace="red", version=3), listed=False)
    assert (store.get("blue", "g") is None, store.get("red", "g") is None) == (False, False)


# ---- a resource that may not be served


def uids(store: Objects[CoschedulingPodGroup]) -> list[str]:
    return [each.metadata.uid for each in store]


def refuse(view: View[Any], status: int, times: int) -> None:
    view._reflector.refusal = ApiError(status, "", "refused")
    view.refused(times)


@pytest.mark.parametrize("status", [403, 404])
def test_nobody_waits_for_an_optional_resource(views: Views, status: int) -> None:
    view = views.watch(COSCHEDULING_GROUPS, Objects[CoschedulingPodGroup]())
    assert view.fault(max_age=-1.0) is not None
    refuse(view, status, 1)
    assert view.synced
    assert view.fault(max_age=-1.0) is None


def test_others_are_waited_for(view: View[Pod]) -> None:
    refuse(view, 404, REFUSALS)
    assert not view.synced
    assert view.fault() is not None


def test_an_optional_resource_that_stays_away_has_no_objects(views: Views) -> None:
    """A CRD was removed, or a right taken away, while nobody watched."""
    store = Objects[CoschedulingPodGroup]()
    view = views.watch(COSCHEDULING_GROUPS, store)
    view.upsert(CoschedulingPodGroup(metadata=ObjectMeta("a", "default", "uid-a", "5")), listed=True)
    view.replaced({("default", "a")}, "6")
    refuse(view, 404, REFUSALS - 1)
    assert uids(store) == ["uid-a"]
    refuse(view, 404, REFUSALS)
    assert not uids(store)
    view.upsert(CoschedulingPodGroup(metadata=ObjectMeta("a", "default", "uid-b", "9")), listed=True)
    assert uids(store) == ["uid-b"]


# ---- what operators see


def age(kind: str = "pods") -> float | None:
    return REGISTRY.get_sample_value("reprieve_watch_age_seconds", {"cluster": "", "kind": kind})


def test_the_age_of_a_watch_is_that_of_its_last_word() -> None:
    clock = ManualClock()
    unconnected(clock).watch(PODS, Reader())
    clock.advance(40)
    assert age() == 40


async def test_an_optional_kind_that_is_not_served_has_no_age() -> None:
    views = unconnected(ManualClock())
    view = views.watch(COSCHEDULING_GROUPS, Objects[CoschedulingPodGroup]())
    assert age(view.kind) == 0
    view._reflector.refusal = ApiError(404, "NotFound", "it is not served")
    assert math.isnan(age(view.kind) or 0)


async def test_views_that_have_ended_leave_no_metric_and_are_freed() -> None:
    """The gauges of a worker cluster that is gone would hold everything that was seen of it."""
    views = unconnected(ManualClock(), Named("gone"))
    store = Reader()
    view = views.watch(PODS, store)
    called: list[int] = []
    view.on_change(lambda: called.append(1))
    view.upsert(pod("p", node="n", version=1), listed=False)
    labels = {"cluster": "gone", "kind": "pods"}
    assert REGISTRY.get_sample_value("reprieve_mirror_objects", labels) == 1
    views.close()
    views.close()
    await asyncio.sleep(0)
    assert called == []
    for name in ("mirror_objects", "mirror_unreadable_objects", "watch_age_seconds"):
        assert REGISTRY.get_sample_value(f"reprieve_{name}", labels) is None
    held = weakref.ref(view)
    del views, view
    gc.collect()
    assert held() is None
    assert REGISTRY.get_sample_value("reprieve_mirror_refused_total", labels) == 0
    forget_views("gone")
    assert REGISTRY.get_sample_value("reprieve_mirror_refused_total", labels) is None


# ---- selectors of labels


def has_no_color(item: Pod) -> bool:
    return "color" not in (item.metadata.labels or {})


COLORED = replace(PODS, field_selector="", label_selector="color", left=has_no_color)


async def test_an_object_that_loses_its_label_is_gone(views: Views, store: Reader) -> None:
    """Also in the answer to our own write, which no selector filters."""
    view = views.watch(COLORED, store)
    assert COLORED.query(watch="true") == {"labelSelector": "color", "watch": "true"}
    seen: list[tuple[str, bool]] = []
    view.on_object(lambda uid, item: seen.append((uid, item is not None)))
    view.upsert(pod("p", node="n", version=1, labels={"color": "red"}), listed=True)
    assert store.nodes == {"p": "n"}
    view.apply(pod("p", node="n", version=2))
    assert store.nodes == {}
    view.upsert(pod("p", node="n", version=1, labels={"color": "red"}), listed=False)
    assert store.nodes == {}
    view.upsert(pod("p", node="n", version=3, labels={"color": "red"}), listed=False)
    assert store.nodes == {"p": "n"}
    assert [each for _, each in seen] == [True, False, True]
