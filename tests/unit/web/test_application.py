"""The application over real sockets: how somebody logs in, what each answer has in its head, how it says faults."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import StreamReader

from tests.kit.clock import PATIENCE_SECONDS, ManualClock
from tests.unit.web.page_stage import Api, cluster_page, files_page
from web.guard import HEADERS

TOKEN = "header.payload.signature"


async def test_a_code_is_a_session_of_whoever_has_the_files() -> None:
    async with files_page() as page:
        secret = await page.log_in(code=page.code)
        status, about, _ = await page.ask("session", secret)
    assert status == 200
    assert about == {
        "user": "whoever has the files",
        "groups": [],
        "expires": about["expires"],
        "cluster": "files",
        "live": False,
        "mode": {
            "mode": "",
            "sentence": about["mode"]["sentence"],
            "enforcedNamespaceSelector": None,
            "pauses": [],
            "limits": [],
        },
        "namespaces": {"all": True, "named": [], "asked": []},
        "missing": [],
        "command": "-f x.yaml",
        "reads": "",
        "trouble": "",
    }


async def test_who_logs_out_is_out() -> None:
    async with files_page() as page:
        secret = await page.log_in(code=page.code)
        assert (await page.ask("session", secret, "DELETE"))[0] == 204
        status, body, headers = await page.ask("session", secret)
    assert (status, body["reason"], headers["WWW-Authenticate"]) == (401, "Unauthorized", "Bearer")


async def test_a_token_is_a_session_of_its_user_with_their_rights() -> None:
    api = Api()
    api.add(TOKEN, "anna", "list pods in team-a", "list nodes", groups=["b", "a"])
    async with cluster_page(api) as page:
        secret = await page.log_in(token=TOKEN)
        _, about, _ = await page.ask("session?namespace=team-b,team-a", secret)
    assert (about["user"], about["groups"]) == ("anna", ["a", "b"])
    assert about["namespaces"] == {"all": False, "named": ["team-a"], "asked": ["team-a", "team-b"]}
    assert "list pods in team-b" in about["missing"]
    assert "list pods in team-a" not in about["missing"]
    assert "list nodes" not in about["missing"]
    assert "list clusterpreemptionplans" in about["missing"]


async def test_a_token_may_come_with_each_request() -> None:
    """As a proxy with OIDC passes it on."""
    api = Api()
    api.add(TOKEN, "anna")
    async with cluster_page(api) as page:
        for _ in range(3):
            status, about, _ = await page.ask("session", TOKEN)
            assert (status, about["user"], about["expires"]) == (200, "anna", "")
        assert (await page.ask("session", TOKEN, "DELETE"))[0] == 401
        assert (await page.ask("session", "other.token"))[0] == 401
    who = [token for token in api.seen if token == TOKEN]
    assert len(who) < 20, "it is asked about once in its time"


async def test_headers_that_name_a_user_are_nothing() -> None:
    api = Api()
    api.add(TOKEN, "anna")
    named = {"X-Remote-User": "anna", "Impersonate-User": "anna", "X-Forwarded-User": "anna"}
    async with cluster_page(api) as page:
        assert (await page.ask("session", headers=named))[0] == 401
        _, about, _ = await page.ask("session", TOKEN, headers={**named, "Impersonate-User": "root"})
    assert about["user"] == "anna"


@pytest.mark.parametrize(
    ("path", "method", "status", "reason"),
    [
        ("nothing", "GET", 404, "NotFound"),
        ("waiting", "POST", 405, "MethodNotAllowed"),
        ("session", "PUT", 405, "MethodNotAllowed"),
        ("session", "OPTIONS", 405, "MethodNotAllowed"),
        ("why/pod/a", "GET", 404, "NotFound"),
        ("why/secret/a/b", "GET", 400, "BadRequest"),
        ("events", "GET", 400, "BadRequest"),
        ("events?topics=waiting,secrets", "GET", 400, "BadRequest"),
        ("search", "GET", 400, "BadRequest"),
        ("search?q=" + "x" * 300, "GET", 400, "BadRequest"),
        ("session?namespace=A", "GET", 400, "BadRequest"),
        ("session?namespace=a%2Fb", "GET", 400, "BadRequest"),
        ("session?namespace=" + ",".join(f"n{each}" for each in range(21)), "GET", 400, "BadRequest"),
        ("waiting", "GET", 503, "Unavailable"),
        ("why/pod/a/%7B%7Bb%7D%7D", "GET", 503, "Unavailable"),
        ("plans", "GET", 503, "Unavailable"),
        ("plans?preemptor=secret/a/b", "GET", 400, "BadRequest"),
        ("plans?preemptor=podgroup/a", "GET", 400, "BadRequest"),
        ("plans/a", "GET", 404, "NotFound"),
        ("plans/a/b", "GET", 503, "Unavailable"),
        ("evictions", "GET", 503, "Unavailable"),
        ("who-evicted/a/b", "GET", 503, "Unavailable"),
    ],
)
async def test_faults_are_told_as_json(path: str, method: str, status: int, reason: str) -> None:
    async with files_page() as page:
        secret = await page.log_in(code=page.code)
        found, body, headers = await page.ask(path, secret, method)
    assert (found, body["reason"], set(body)) == (status, reason, {"reason", "message", "right"})
    assert HEADERS.items() <= dict(headers).items()
    assert ("Retry-After" in headers) == (status == 503)


async def test_every_answer_has_the_headers() -> None:
    async with files_page() as page:
        for path in (
            "",
            "static/app-1.js",
            "static/none.js",
            "api/v1/openapi.json",
            "api/v1/session",
            "%2e%2e/x",
        ):
            async with page.session.get(f"{page.url}/{path}") as answer:
                assert HEADERS.items() <= dict(answer.headers).items(), path
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


async def test_a_right_that_is_missing_comes_before_any_look() -> None:
    api = Api()
    api.add(TOKEN, "anna", "list pods in team-a", "list jobs in team-b")
    async with cluster_page(api) as page:
        for asked, right in {
            "pod/team-b/x": "list pods in team-b",
            "podgroup/team-a/x": "list podgroups in team-a",
            "job/team-b/x": "list pods in team-b",
            "workload/team-a/x": "list workloads in team-a",
        }.items():
            status, body, _ = await page.ask(f"why/{asked}", TOKEN)
            assert (status, body["reason"], body["right"]) == (403, "Forbidden", right)
        assert (await page.ask("why/pod/team-a/x", TOKEN))[0] == 503, "the source is asked"
        assert (await page.ask("why/pod/Team_A/x", TOKEN))[0] == 400


async def test_plans_and_evictions_need_a_right_in_their_namespace() -> None:
    api = Api()
    api.add(TOKEN, "anna", "list preemptionplans in team-a", "list workloads in team-b")
    async with cluster_page(api) as page:
        for asked, right in {
            "plans/team-b/x": "list preemptionplans in team-b",
            "who-evicted/team-a/x": "list pods in team-a",
        }.items():
            status, body, _ = await page.ask(asked, TOKEN)
            assert (status, body["reason"], body["right"]) == (403, "Forbidden", right)
        for asked in ("plans/team-a/x", "who-evicted/team-b/x", "plans", "evictions"):
            assert (await page.ask(asked, TOKEN))[0] == 503, "the source is asked"


async def test_limits_of_a_user_name_when_to_come_back() -> None:
    api = Api()
    api.add(TOKEN, "anna")
    api.add("other", "otto")
    clock = ManualClock()
    async with cluster_page(api, clock=clock) as page:
        found = [await page.ask("session", TOKEN) for _ in range(25)]
        assert [status for status, _, _ in found] == [200] * 20 + [429] * 5
        assert found[-1][2]["Retry-After"] == "1"
        assert (await page.ask("session", "other"))[0] == 200
        clock.advance(1)
        assert (await page.ask("session", TOKEN))[0] == 200


async def test_a_stream_tells_versions_and_ends_with_its_session() -> None:
    async with files_page() as page:
        secret = await page.log_in(code=page.code)
        headers = {"Authorization": f"Bearer {secret}"}
        async with page.session.get(f"{page.url}/api/v1/events?topics=waiting", headers=headers) as stream:
            assert stream.headers["Content-Type"] == "text/event-stream"
            first = await event(stream.content)
            page.source.show("v2")
            second = await event(stream.content)
            assert (await page.ask("session", secret, "DELETE"))[0] == 204
            assert await event(stream.content) == {"event": "ended", "data": {"reason": "Unauthorized"}}
            assert await stream.content.read() == b""
    assert first["event"] == second["event"] == "waiting"
    assert first["id"] == first["data"]["version"]
    assert first["id"].startswith("v1-")
    assert second["id"].startswith("v2-")


@pytest.mark.parametrize(("told", "first"), [("v1-x", "waiting"), ("v0-x", "reset"), ("nonsense", "reset")])
async def test_a_stream_goes_on_or_begins_anew(told: str, first: str) -> None:
    async with files_page() as page:
        secret = await page.log_in(code=page.code)
        headers = {"Authorization": f"Bearer {secret}", "Last-Event-ID": told}
        async with page.session.get(f"{page.url}/api/v1/events?topics=waiting", headers=headers) as stream:
            assert (await event(stream.content))["event"] == first


async def test_a_stream_ends_when_the_token_is_revoked_and_tells_of_other_rights() -> None:
    api = Api()
    api.add(TOKEN, "anna", "list pods")
    async with cluster_page(api, recheck_seconds=1) as page:
        headers = {"Authorization": f"Bearer {await page.log_in(token=TOKEN)}"}
        async with page.session.get(f"{page.url}/api/v1/events?topics=waiting", headers=headers) as stream:
            first = await event(stream.content)
            api.rights["anna"].clear()
            second = await event(stream.content)
            assert first["id"] != second["id"]
            del api.tokens[TOKEN]
            assert await event(stream.content) == {"event": "ended", "data": {"reason": "Unauthorized"}}


async def test_a_seventeenth_stream_is_refused_and_one_that_is_lost_is_none() -> None:
    async with files_page() as page:
        secret = await page.log_in(code=page.code)
        url, headers = f"{page.url}/api/v1/events?topics=waiting", {"Authorization": f"Bearer {secret}"}
        streams = [await page.session.get(url, headers=headers) for _ in range(16)]
        async with page.session.get(url, headers=headers) as more:
            assert more.status == 429
            assert more.headers["Retry-After"] == "5"
        streams[0].close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (again := await page.session.get(url, headers=headers)).status != 200:
                again.close()
        for stream in (*streams, again):
            stream.close()


async def event(content: StreamReader) -> dict[str, Any]:
    """The next event of a stream, its data decoded."""
    found: dict[str, Any] = {}
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            line = (await content.readline()).decode().rstrip("\n")
            if not line and found:
                return found
            name, _, value = line.partition(": ")
            if name:
                found[name] = json.loads(value) if name == "data" else value
