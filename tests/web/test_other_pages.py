"""Pages of other origins in the reader's browser: they read nothing, log nobody in, and have no frame of ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from aiohttp import web

from tests.kit.often import SELDOM
from tests.web.browsers import TabOpener, launched, options, tab_of
from tests.web.serving import Served

pytestmark = SELDOM

PAGE: Final = "<!DOCTYPE html><title>elsewhere</title><body></body>"
TRIES: Final = """
async ([target, code, session]) => {
  const found = {};
  const attempt = async (name, work) => {
    try { found[name] = String(await work()); } catch { found[name] = "refused"; }
  };
  const api = `${target}api/v1/`;
  const bearer = { Authorization: `Bearer ${session}` };
  const body = JSON.stringify({ code });
  const element = (tag, source) => new Promise((done, failed) => {
    const made = document.createElement(tag);
    made.src = source;
    made.onload = () => done("loaded");
    made.onerror = failed;
    document.body.append(made);
  });
  await attempt("read with a header", async () => (await fetch(`${api}waiting`, { headers: bearer })).status);
  await attempt("read with cookies", async () => (await fetch(`${api}waiting`, { credentials: "include" })).status);
  await attempt("read without asking", async () => (await (await fetch(api + "openapi.json")).text()).length);
  await attempt("log in", async () => (await fetch(`${api}session`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body,
  })).status);
  await attempt("log in as a form", async () => (await fetch(`${api}session`, { method: "POST", body })).status);
  await attempt("a script", () => element("script", `${api}openapi.json`));
  await attempt("a picture", () => element("img", `${target}`));
  await attempt("a stream", () => new Promise((done, failed) => {
    const stream = new EventSource(`${api}events?topics=waiting`);
    stream.onopen = () => done("open");
    stream.onerror = failed;
  }));
  await fetch(`${api}session`, { method: "POST", mode: "no-cors", body }).catch(() => null);
  await fetch(`${api}session`, { method: "DELETE", mode: "no-cors", headers: bearer }).catch(() => null);
  return found;
}
"""
FRAME: Final = """
(target) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.src = target;
  frame.onload = () => done(null);
  document.body.append(frame);
})
"""


@asynccontextmanager
async def elsewhere() -> AsyncIterator[int]:
    """The port of a server of somebody else, at this computer."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=PAGE, content_type="text/html")

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def log_in(open_tab: TabOpener, examples: Served) -> tuple[Any, str]:
    """A tab that is logged in, and its session."""
    tab = await open_tab(examples.origin)
    await tab.page.goto(examples.another_address())
    await tab.page.get_by_role("heading", name="Waiting").wait_for()
    kept: dict[str, str] = await tab.page.evaluate("() => ({ ...sessionStorage })")
    [session] = [value for value in kept.values() if "reprieve-" in value]
    return tab, session


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_page_of_another_origin_gets_nothing(
    open_tab: TabOpener, examples: Served, host: str
) -> None:
    """Even if it knew a code and a session."""
    reader, session = await log_in(open_tab, examples)
    code = examples.another_address().partition("code=")[2]
    async with elsewhere() as port:
        other = (await tab_of(reader.page.context, examples.origin)).page
        await other.goto(f"http://{host}:{port}/")
        found = await other.evaluate(TRIES, [examples.origin, code, session])
        assert set(found.values()) == {"refused"}, found
        await other.evaluate(FRAME, examples.origin)
        [frame] = [each for each in other.frames if each != other.main_frame]
        assert "reprieve" not in await frame.content()
        async with other.expect_popup() as opened:
            await other.evaluate("(target) => { window.opened = window.open(target) }", examples.origin)
        popup = await opened.value
        await popup.wait_for_load_state()
        assert await popup.evaluate("() => window.opener") is None
        assert await other.evaluate("() => window.opened.closed"), "it has no hold of it"
    await reader.page.reload()
    await reader.page.get_by_role("heading", name="Waiting").wait_for()
    await reader.page.goto("about:blank")
    stranger = await open_tab(examples.origin)
    await stranger.page.goto(f"{examples.origin}#code={code}")
    await stranger.page.get_by_role("heading", name="Waiting").wait_for()


async def test_a_name_that_was_bound_anew_opens_nothing(examples: Served) -> None:
    """DNS rebinding: for the browser, evil.example is the origin of our server."""
    async with launched("--host-resolver-rules=MAP evil.example 127.0.0.1") as browser:
        context = await browser.new_context(**options())
        page = (await tab_of(context, "http://evil.example")).page
        _, _, port = examples.origin.rstrip("/").rpartition(":")
        answer = await page.goto(f"http://evil.example:{port}/")
        assert answer is not None
        assert answer.status == 403
        status = await page.evaluate("async () => (await fetch('/api/v1/openapi.json')).status")
        assert status == 403
