"""The reflector's side of list and watch when the other side misbehaves.

The server here is scripted: it proves what the reflector does with an answer, not what API servers answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web
from prometheus_client import REGISTRY

from api.backoff import Backoff
from api.core import Pod
from api.meta import ObjectMeta
from kube.reflector import Key, Reflector, Resource, Timing
from runtime.mirror.objects import Objects
from runtime.mirror.resources import PODS
from runtime.mirror.views import Views
from tests.kit.clock import PATIENCE_SECONDS, ManualClock
from tests.kit.scripted import Script, bookmark, event, expired, faulty_server, page, pod_json, status
from tests.kit.waiting import beside, until

QUICK = Timing(backoff=Backoff(0.01, 0.05), refused=Backoff(0.01, 0.01))


class Store:
    """A handler that keeps names with versions, and the order of the calls."""

    def __init__(self) -> None:
        self.held: dict[Key, str] = {}
        self.log: list[str] = []
        self.synced = asyncio.Event()

    def upsert(self, item: Pod, *, listed: bool) -> None:
        meta = item.metadata
        self.log.append(f"{'list' if listed else 'put'} {meta.name}@{meta.resource_version}")
        self.held[meta.namespace, meta.name] = meta.resource_version

    def delete(self, meta: ObjectMeta) -> None:
        self.log.append(f"delete {meta.name}")
        self.held.pop((meta.namespace, meta.name), None)

    def unreadable(self, meta: ObjectMeta, error: Exception, *, listed: bool, raw: bytes = b"") -> None:
        assert meta.name in raw.decode()
        where = "list" if listed else "put"
        self.log.append(f"{where} unreadable {meta.namespace}/{meta.name}@{meta.resource_version}: {error}")

    def refused(self, times: int) -> None:
        self.log.append(f"refused {times}")

    def replaced(self, keys: AbstractSet[Key], resource_version: str) -> None:
        self.log.append(f"replaced {len(keys)} at {resource_version}")
        self.synced.set()
        for key in self.held.keys() - keys:
            del self.held[key]


@asynccontextmanager
async def reflecting(script: Script, timing: Timing = QUICK) -> AsyncIterator[tuple[Store, Reflector[Pod]]]:
    """A reflector at work; ends with the block."""
    async with faulty_server(script) as client:
        store = Store()
        reflector = Reflector(client, PODS, store, timing=timing)
        async with beside(reflector.run()):
            yield store, reflector


def versions(store: Store) -> dict[str, str]:
    return {name: version for (_, name), version in store.held.items()}


def stream_ends(cause: str) -> float:
    return (
        REGISTRY.get_sample_value(
            "reprieve_reflector_stream_ends_total", {"cluster": "", "kind": "pods", "cause": cause}
        )
        or 0.0
    )


async def test_pages_then_events_from_the_lists_version_on() -> None:
    script = Script()
    script.lists = [
        script.json(page([pod_json("a", 1), pod_json("b", 2)], 10, "more")),
        script.json(page([pod_json("c", 3)], 10)),
    ]
    script.watches = [
        script.stream(
            event("ADDED", pod_json("d", 11)),
            event("MODIFIED", pod_json("a", 12)),
            event("DELETED", pod_json("b", 13)),
        )
    ]
    async with reflecting(script) as (store, reflector):
        await until(lambda: reflector.resource_version == "13")
        assert versions(store) == {"a": "12", "c": "3", "d": "11"}
        assert store.log.index("replaced 3 at 10") == 3
    assert [query.get("continue") for query in script.list_queries] == [None, "more"]
    assert {query["limit"] for query in script.list_queries} == {"500"}
    (watch,) = script.watch_queries
    assert watch["resourceVersion"] == "10"
    assert watch["allowWatchBookmarks"] == "true"
    assert 300 <= int(watch["timeoutSeconds"]) <= 600
    assert watch["fieldSelector"] == "status.phase!=Failed"
    assert "labelSelector" not in watch


async def test_a_selector_of_labels_is_in_lists_and_in_watches() -> None:
    script = Script()
    script.lists = [script.json(page([pod_json("a", 1)], 10))]
    async with faulty_server(script) as client:
        store = Store()
        reflector = Reflector(client, replace(PODS, label_selector="a=b"), store, timing=QUICK)
        async with beside(reflector.run()):
            await until(lambda: script.watch_queries)
    for query in (*script.list_queries, *script.watch_queries):
        assert (query["labelSelector"], query["fieldSelector"]) == ("a=b", "status.phase!=Failed")


async def test_a_connection_reset_in_the_middle_of_an_event_loses_nothing() -> None:
    script = Script()
    script.lists = [script.json(page([], 10))]
    whole, cut = event("ADDED", pod_json("a", 11)), event("ADDED", pod_json("b", 12))
    script.watches = [
        script.stream(whole, cut[:30], end="reset"),
        script.stream(cut),
    ]
    before = stream_ends("fault")
    async with reflecting(script) as (store, _):
        await until(lambda: len(store.held) == 2)
        assert store.log.count("put a@11") == 1
    assert [query["resourceVersion"] for query in script.watch_queries] == ["10", "11"]
    assert len(script.list_queries) == 1
    assert stream_ends("fault") == before + 1


async def test_a_silent_connection_is_given_up_and_resumed() -> None:
    script = Script()
    script.lists = [script.json(page([], 10))]
    script.watches = [script.stream(bookmark(20)), script.stream(event("ADDED", pod_json("a", 21)))]
    before = stream_ends("silent"), stream_ends("fault")
    async with reflecting(script, Timing(backoff=Backoff(30, 30), silent=0.1)) as (store, _):
        await until(lambda: bool(store.held))
        assert (stream_ends("silent"), stream_ends("fault")) == (before[0] + 1, before[1])
    assert [query["resourceVersion"] for query in script.watch_queries[:2]] == ["10", "20"]
    assert {int(query["timeoutSeconds"]) for query in script.watch_queries} <= set(range(300, 601))


async def test_a_stream_that_is_given_up_is_resumed_at_once() -> None:
    """Its connection may be lost without a sign."""
    script = Script()
    script.lists = [script.json(page([], 10))]
    script.watches = [script.stream(bookmark(20)), script.stream(event("ADDED", pod_json("a", 21)))]
    async with reflecting(script, Timing(backoff=Backoff(30, 30))) as (store, reflector):
        reflector.watch_anew()  # there may be no stream yet
        await until(lambda: reflector.resource_version == "20")
        reflector.watch_anew()
        await until(lambda: bool(store.held))
    assert [query["resourceVersion"] for query in script.watch_queries] == ["10", "20"]


async def test_a_watch_that_is_silent_from_its_start_is_watched_again_without_a_wait() -> None:
    script = Script()
    script.lists = [script.json(page([], 10))]
    brings = script.stream(event("ADDED", pod_json("a", 11)))
    script.watches = [script.stream(), script.stream(), *[brings] * 1000]  # a busy machine is silent, too
    async with reflecting(script, Timing(backoff=Backoff(30, 30), silent=0.1)) as (store, _):
        await until(lambda: bool(store.held))
    assert [query["resourceVersion"] for query in script.watch_queries[:3]] == ["10", "10", "10"]
    assert len(script.list_queries) == 1


async def test_a_stream_that_ends_in_time_is_resumed_at_once() -> None:
    script = Script()
    script.lists = [script.json(page([], 10))]
    script.watches = [
        script.stream(bookmark(12), end="close"),
        script.stream(bookmark(15), end="close"),
        script.stream(event("ADDED", pod_json("a", 16))),
    ]
    async with reflecting(script, Timing(backoff=Backoff(30, 30))) as (store, _):
        await until(lambda: bool(store.held))
    assert [query["resourceVersion"] for query in script.watch_queries] == ["10", "12", "15"]


@pytest.mark.parametrize("how", ["event", "answer"])
async def test_an_expired_version_means_a_new_list_and_tombstones(how: str) -> None:
    script = Script()
    script.lists = [
        script.json(page([pod_json("a", 1), pod_json("b", 2)], 10)),
        script.json(page([pod_json("b", 30), pod_json("c", 31)], 40)),
    ]
    gone = script.stream(expired()) if how == "event" else script.json(status(410, "Expired"), code=410)
    script.watches = [gone, script.stream(event("ADDED", pod_json("d", 41)))]
    async with reflecting(script) as (store, reflector):
        await until(lambda: reflector.resource_version == "41")
        assert versions(store) == {"b": "30", "c": "31", "d": "41"}
    assert "resourceVersion" not in script.list_queries[1]
    assert script.watch_queries[1]["resourceVersion"] == "40"


async def test_a_list_whose_continuation_expires_begins_again() -> None:
    script = Script()
    script.lists = [
        script.json(page([pod_json("a", 1)], 10, "more")),
        script.json(status(410, "Expired"), code=410),
        script.json(page([pod_json("b", 20)], 21, "more")),
        script.json(page([pod_json("c", 20)], 21)),
    ]
    async with reflecting(script) as (store, _):
        await until(lambda: len(script.list_queries) == 2)
        assert not store.synced.is_set()
        await until(store.synced.is_set)
        assert versions(store) == {"b": "20", "c": "20"}
    assert [query.get("continue") for query in script.list_queries] == [None, "more", None, "more"]


@pytest.mark.parametrize(
    "nonsense",
    [
        b'{"type":"ADDED","obj\n',
        b"<html>\n",
        b"[]\n",
        b'{"type":"WHAT","object":{"metadata":{}}}\n',
        b"\xff\xfe\n",
    ],
)
async def test_an_invalid_line_ends_the_stream_and_it_is_resumed(nonsense: bytes) -> None:
    script = Script()
    script.lists = [script.json(page([], 10))]
    script.watches = [
        script.stream(event("ADDED", pod_json("a", 11)) + nonsense + event("ADDED", pod_json("never", 12))),
        script.stream(event("ADDED", pod_json("b", 13))),
    ]
    before = stream_ends("invalid")
    async with reflecting(script) as (store, reflector):
        await until(lambda: reflector.resource_version == "13")
        assert versions(store) == {"a": "11", "b": "13"}
    assert script.watch_queries[1]["resourceVersion"] == "11"
    assert stream_ends("invalid") == before + 1


async def test_a_line_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kube.lines.lines.__kwdefaults__", {"longest": 1000})
    script = Script()
    script.lists = [script.json(page([], 10))]
    script.watches = [script.stream(b"x" * 1500), script.stream(event("ADDED", pod_json("a", 11)))]
    before = stream_ends("invalid")
    async with reflecting(script) as (store, _):
        await until(lambda: bool(store.held))
        assert versions(store) == {"a": "11"}
    assert stream_ends("invalid") == before + 1


async def test_nonsense_that_does_not_end_leads_to_a_new_list() -> None:
    script = Script()
    script.lists = [script.json(page([], 10)), script.json(page([pod_json("a", 11)], 12))]
    script.watches = [script.stream(b"nonsense\n") for _ in range(4)]
    async with reflecting(script) as (store, _):
        await until(lambda: bool(store.held))
    assert len(script.list_queries) == 2


async def test_an_outage_is_no_reason_to_list_again() -> None:
    script = Script()
    script.lists = [script.json(page([], 10))]
    script.watches = [
        *[script.text("<h1>Bad Gateway</h1>", code=502) for _ in range(6)],
        script.json(status(500, "InternalError"), code=500),
        script.stream(event("ADDED", pod_json("a", 11))),
    ]
    async with reflecting(script) as (store, _):
        await until(lambda: bool(store.held))
    assert {query["resourceVersion"] for query in script.watch_queries} == {"10"}
    assert len(script.list_queries) == 1


async def test_a_right_that_is_taken_away_is_asked_for_again_from_the_start() -> None:
    script = Script()
    script.lists = [
        script.json(page([], 10)),
        script.json(status(403, "Forbidden"), code=403),
        script.json(page([pod_json("a", 11)], 12)),
    ]
    script.watches = [script.json(status(403, "Forbidden"), code=403)]
    before = stream_ends("refused")
    async with reflecting(script) as (store, reflector):
        await until(lambda: reflector.refusal is not None)
        await until(lambda: bool(store.held))
        assert reflector.refusal is None
    assert stream_ends("refused") == before + 2


async def test_whoever_asks_about_a_refusal_gets_an_answer_soon() -> None:
    """A CRD may be installed at any time. Requests that are sent because somebody asks do not count as refusals."""
    script, rare = Script(), Timing(refused=Backoff(1e6, 1e6), asked=0.01)
    missing = script.json(status(404, "NotFound"), code=404)
    script.lists = [missing, missing, script.json(page([pod_json("a", 1)], 10))]
    async with reflecting(script, rare) as (store, reflector):
        await until(lambda: len(store.log) == 1)
        first = reflector.refusals.since
        reflector.refusals.ask()
        await until(lambda: len(store.log) == 2)
        assert reflector.refusals.since > first
        reflector.refusals.ask()
        await until(lambda: bool(store.held))
        assert reflector.refusal is None
    assert store.log[:2] == ["refused 1", "refused 1"]


async def test_refusals_count_although_somebody_asks_all_the_time() -> None:
    """Objects of a kind that was removed count as gone after some refusals."""
    script, often = Script(), Timing(refused=Backoff(0.05, 0.05), asked=0.001)
    script.lists = [script.json(status(404, "NotFound"), code=404)] * 100_000
    async with reflecting(script, often) as (store, reflector):

        def is_counted() -> bool:
            reflector.refusals.ask()
            return "refused 4" in store.log

        await until(is_counted)


async def test_it_is_known_for_how_long_there_is_no_watch() -> None:
    script = Script()
    script.lists = [script.json(page([], 10))]
    script.watches = [
        script.stream(event("ADDED", pod_json("a", 11)), end="reset"),
        script.json(status(403, "Forbidden"), code=403),
        script.stream(event("ADDED", pod_json("b", 12))),
    ]
    script.lists += [script.json(status(403, "Forbidden"), code=403), script.json(page([], 11))]
    async with reflecting(script) as (store, reflector):
        assert reflector.interrupted() > 0.0
        await until(lambda: reflector.refusal is not None)
        assert reflector.interrupted() > 0.0
        await until(lambda: "b" in {name for _, name in store.held})
        assert reflector.interrupted() == 0.0


async def test_a_watch_that_only_says_that_its_version_is_too_old_was_none() -> None:
    """Whoever trusts it for a moment decides on a state that is as old as the watch before it."""
    clock, script = ManualClock(), Script()
    script.lists = [script.json(page([], 10))]
    script.watches = [script.stream(expired())]
    async with faulty_server(script) as client:
        reflector = Reflector(client, PODS, Store(), timing=Timing(backoff=Backoff(30, 30)), clock=clock)
        clock.advance(5)
        before = stream_ends("expired")
        async with beside(reflector.run()):
            await until(lambda: stream_ends("expired") > before)
            assert reflector.interrupted() == 5.0


@pytest.mark.parametrize("when", ["at first", "later"])
async def test_a_resource_that_is_not_served_is_asked_for_until_it_is(when: str) -> None:
    missing = Script.json(status(404, "NotFound"), code=404)
    script = Script()
    script.lists = [missing, missing, missing, script.json(page([pod_json("a", 11)], 12))]
    if when == "later":
        script.lists.insert(0, script.json(page([pod_json("a", 1)], 10)))
        script.watches = [missing]
    async with reflecting(script) as (store, reflector):
        await until(lambda: reflector.refusal is not None)
        assert "delete a" not in store.log
        await until(lambda: store.held == {("d", "a"): "11"})
        assert reflector.refusal is None


async def test_retry_after_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    sleep = asyncio.sleep

    async def remember(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr("kube.reflector.asyncio.sleep", remember)
    script = Script()
    script.lists = [
        script.json(status(429, "TooManyRequests"), code=429, headers={"Retry-After": "7"}),
        script.json(page([], 10)),
    ]
    async with reflecting(script) as (store, _):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await store.synced.wait()
    assert 7.0 in waits


async def test_one_object_that_cannot_be_read_does_not_hide_the_others() -> None:
    shapeless = {"metadata": {"name": "s", "namespace": "d", "resourceVersion": "5"}, "spec": "no pod"}
    odd_labels = {
        "metadata": {"name": "o", "namespace": "d", "resourceVersion": "6", "labels": 7},
        "spec": {},
    }
    script = Script()
    script.lists = [script.json(page([pod_json("a", 1), shapeless, odd_labels, {}, pod_json("b", 3)], 10))]
    later = {"metadata": {"name": "a", "namespace": "d", "resourceVersion": "11"}, "spec": "no pod"}
    script.watches = [script.stream(event("MODIFIED", later) + event("ADDED", pod_json("c", 12)))]
    async with reflecting(script) as (store, reflector):
        await until(lambda: reflector.resource_version == "12")
    assert versions(store) == {"a": "1", "b": "3", "c": "12"}
    assert "replaced 5 at 10" in store.log  # what is there and cannot be read has not gone
    unreadable = [line.partition(": ") for line in store.log if "unreadable" in line]
    assert [where for where, _, _ in unreadable] == [
        "list unreadable d/s@5",
        "list unreadable d/o@6",
        "list unreadable /@",
        "put unreadable d/a@11",
    ]
    assert "`$.spec`" in unreadable[-1][2]


async def test_age_is_counted_from_the_last_word() -> None:
    clock = ManualClock()
    script = Script()
    script.lists = [script.json(page([], 10))]
    async with faulty_server(script) as client:
        reflector = Reflector(client, PODS, Store(), timing=QUICK, clock=clock)
        async with beside(reflector.run()):
            await until(lambda: bool(script.watch_queries))
            clock.advance(30)
            assert reflector.last_event_age() == 30.0


@pytest.mark.parametrize(("wait", "held"), [(3600.0, 0), (0.01, 10)])
async def test_delayed_events_come_later_and_in_order(wait: float, held: int) -> None:
    script = Script()
    script.lists = [script.json(page([], 10))]
    script.watches = [
        script.stream(*[event("ADDED", pod_json(f"p{n}", 11 + n)) for n in range(10)], end="close")
    ]
    async with reflecting(script, replace(QUICK, delay=lambda: wait)) as (store, reflector):
        await until(lambda: bool(script.watch_queries))
        if held:
            await until(lambda: reflector.resource_version == "20")
        else:
            await asyncio.sleep(0.2)
        assert [line.split()[1] for line in store.log[1:]] == [f"p{n}@{11 + n}" for n in range(held)]


async def test_views_follow_what_is_served_and_share_reflectors() -> None:
    script = Script()
    missing = script.json(status(404, "NotFound"), code=404)
    pods = [script.json(page([pod_json("a", 1)], 10))]
    others = Resource("others", "/apis/example.com/v1/others", Pod)
    answers = {PODS.path: pods, others.path: [missing, missing, missing, pods[0]]}

    async def route(request: web.Request) -> web.StreamResponse:
        return await answers[request.path].pop(0)(request)

    script.lists = [route] * 5
    stores = [Objects[Pod](), Objects[Pod](), Objects[Pod]()]
    async with faulty_server(script) as client:
        views = Views(client, timing=QUICK)
        first, second = views.watch(PODS, stores[0]), views.watch(PODS, stores[1])
        late = views.watch(others, stores[2])
        async with beside(views.run()):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await second.wait_synced()
            await until(lambda: late.is_absent)
            assert first.fault() is None
            assert late.fault() == "others: the API server does not serve them (is the CRD installed?)"
            async with asyncio.timeout(PATIENCE_SECONDS):
                await late.wait_synced()
            assert late.fault() is None
    assert [len(store) for store in stores] == [1, 1, 1]
    assert not answers[PODS.path]


@pytest.mark.parametrize("newest_is_served", [True, False])
async def test_the_newest_version_that_is_served_is_listed_and_watched(newest_is_served: bool) -> None:
    script, asked = Script(), list[tuple[str, bool]]()
    newest, older = "/apis/example.com/v1/things", "/apis/example.com/v1beta1/things"

    async def route(request: web.Request) -> web.StreamResponse:
        is_watch = request.query.get("watch") == "true"
        asked.append((request.path, is_watch))
        if request.path == newest and not newest_is_served:
            return await script.json(status(404, "NotFound"), code=404)(request)
        if is_watch:
            return await script.stream(event("ADDED", pod_json("b", 11)))(request)
        return await script.json(page([pod_json("a", 1)], 10))(request)

    script.lists, script.watches = [route] * 2, [route]
    store = Store()
    async with faulty_server(script) as client:
        things = Resource("things", newest, Pod, optional=True, older=(older,))
        async with beside(Reflector(client, things, store, timing=QUICK).run()):
            await until(lambda: versions(store) == {"a": "1", "b": "11"})
    there = newest if newest_is_served else older
    tried = [] if newest_is_served else [(newest, False)]
    assert asked == [*tried, (there, False), (there, True)]
    assert "refused 1" not in store.log


async def test_a_resource_is_absent_if_no_version_is_served() -> None:
    script = Script()
    missing = script.json(status(404, "NotFound"), code=404)
    script.lists = [missing, missing, missing, script.json(page([pod_json("a", 1)], 10))]
    store = Store()
    async with faulty_server(script) as client:
        things = Resource(
            "things", "/apis/example.com/v1/things", Pod, older=("/apis/example.com/v1beta1/things",)
        )
        reflector = Reflector(client, things, store, timing=QUICK)
        async with beside(reflector.run()):
            await until(lambda: store.log[:1] == ["refused 1"])
            await until(lambda: bool(store.held))
            assert reflector.refusal is None
