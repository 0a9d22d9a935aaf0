"""What is shown follows the cluster, and says so when it does not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM
from tests.web.browsers import Tab, TabOpener
from tests.web.cable import Cable
from tests.web.faking import Faked, row
from tests.web.serving import Served

if TYPE_CHECKING:
    from playwright.async_api import Route

pytestmark = SELDOM


async def opened(open_tab: TabOpener, examples: Served, faked: Faked, **others: object) -> Tab:
    """A tab that shows the faked cluster."""
    tab = await open_tab(examples.origin, **others)
    await faked.serve(tab.page)
    await tab.page.goto(f"{examples.origin}#code=anything")
    await tab.page.get_by_role("heading", name="Waiting").wait_for()
    return tab


async def test_a_change_is_shown(open_tab: TabOpener, examples: Served) -> None:
    faked = Faked([row("first")])
    page = (await opened(open_tab, examples, faked)).page
    await page.get_by_text("first waits").wait_for()
    faked.groups, faked.version = [row("second", place=1)], 2
    await page.get_by_text("second waits").wait_for()
    assert await page.get_by_text("first waits").count() == 0


async def test_a_pause_stops_updates_and_says_that_it_stops_no_evictions(
    open_tab: TabOpener, examples: Served
) -> None:
    faked = Faked([row("first")])
    page = (await opened(open_tab, examples, faked)).page
    await page.get_by_text("first waits").wait_for()
    await page.get_by_role("button", name="Pause updates").click()
    await page.get_by_text("Evictions are not.").first.wait_for()
    faked.groups, faked.version = [row("second")], 2
    await page.get_by_text("Something has changed since then.").wait_for()
    assert await page.get_by_text("first waits").count() == 1
    await page.get_by_role("button", name="Resume updates").click()
    await page.get_by_text("second waits").wait_for()


async def test_a_lost_stream_is_said_and_comes_back(open_tab: TabOpener, examples: Served) -> None:
    faked = Faked([row("first")])
    page = (await opened(open_tab, examples, faked)).page
    await page.get_by_text("first waits").wait_for()
    faked.refusals["events"] = (503, {"reason": "Unavailable", "message": "It starts."})
    await page.get_by_text("The connection to the server is lost.").wait_for()
    assert await page.get_by_text("first waits").count() == 1, "what is old is still shown"
    del faked.refusals["events"]
    await page.get_by_text("live", exact=True).wait_for()


async def test_a_watch_that_stands_is_said(open_tab: TabOpener, examples: Served) -> None:
    faked = Faked([row("first")], trouble="the watch of pods stands since 11:58")
    page = (await opened(open_tab, examples, faked)).page
    await page.get_by_text("the watch of pods stands since 11:58").wait_for()


async def test_a_session_that_ends_leads_to_the_login_and_back(open_tab: TabOpener, examples: Served) -> None:
    faked = Faked([row("first")])
    page = (await opened(open_tab, examples, faked)).page
    await page.evaluate("() => { location.hash = '#/waiting?text=first' }")
    await page.get_by_text("first waits").wait_for()
    refusal = (401, {"reason": "Unauthorized", "message": "The token has ended."})
    faked.refusals |= {"events": refusal, "waiting": refusal}
    await page.get_by_label("Token of the API server").wait_for()
    assert await page.get_by_text("first waits").count() == 0
    faked.refusals.clear()
    await page.get_by_label("Token of the API server").fill("another")
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_text("first waits").wait_for()
    assert page.url.endswith("#/waiting?text=first")


async def test_nothing_is_asked_after_the_end_of_a_session(open_tab: TabOpener, examples: Served) -> None:
    """The login goes on to say why the session has ended, also if a question was to be asked again."""
    faked, refused = Faked([row("first")]), asyncio.Event()
    page = (await opened(open_tab, examples, faked)).page
    await page.get_by_text("first waits").wait_for()

    async def refuse(route: Route) -> None:
        refused.set()
        refusal = {"reason": "Unavailable", "message": "Not yet.", "right": ""}
        await route.fulfill(status=503, json=refusal, headers={"Retry-After": "1"})

    await page.route("**/api/v1/session", refuse)
    await asyncio.wait_for(refused.wait(), PATIENCE_SECONDS)
    faked.refusals["events"] = (401, {"reason": "Unauthorized", "message": "log in first"})
    await page.get_by_role("alert").get_by_text("The session has ended.").wait_for()
    await page.unroute("**/api/v1/session")
    faked.asked.clear()
    faked.refusals["session"] = faked.refusals["events"]
    await page.wait_for_timeout(2500)
    assert await page.get_by_role("alert").inner_text() == "The session has ended."
    assert faked.asked == []


async def test_an_old_refusal_is_not_shown_while_a_login_is_asked_for(
    open_tab: TabOpener, examples: Served
) -> None:
    """So the same words are said again for the next refusal."""
    faked, late = Faked([]), asyncio.Event()
    faked.refusals["session"] = (401, {"reason": "Unauthorized", "message": "this is no token"})
    tab = await open_tab(examples.origin)
    await faked.serve(tab.page)
    await tab.page.goto(f"{examples.origin}#code=anything")
    alert = tab.page.get_by_role("alert")
    await alert.get_by_text("this is no token").wait_for()

    async def answer_late(route: Route) -> None:
        await late.wait()
        await route.fallback()

    await tab.page.route("**/api/v1/session", answer_late)
    await tab.page.get_by_label("Token of the API server").fill("another")
    await tab.page.get_by_role("button", name="Log in").click()
    await alert.wait_for(state="detached")
    late.set()
    await alert.get_by_text("this is no token").wait_for()


async def test_a_late_answer_for_a_former_session_does_not_end_the_next_one(
    open_tab: TabOpener, examples: Served
) -> None:
    faked, late = Faked([row("first")]), asyncio.Event()
    page = (await opened(open_tab, examples, faked)).page
    await page.get_by_text("first waits").wait_for()

    held = asyncio.Event()

    async def answer_late(route: Route) -> None:
        if held.is_set():
            await route.fallback()
            return
        held.set()
        await late.wait()
        refusal = {"reason": "Unauthorized", "message": "The token has ended.", "right": ""}
        await route.fulfill(status=401, json=refusal)

    await page.route("**/api/v1/session", answer_late)
    await asyncio.wait_for(held.wait(), PATIENCE_SECONDS)
    await page.get_by_role("button", name="Log out").click()
    faked.about["session"] = "another"
    await page.get_by_label("Token of the API server").fill("another")
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_text("first waits").wait_for()
    late.set()
    await page.wait_for_timeout(300)
    faked.groups, faked.version = [row("second")], 3
    await page.get_by_text("second waits").wait_for()


async def test_a_trouble_that_is_over_goes_even_if_the_server_has_no_answer_at_first(
    open_tab: TabOpener, examples: Served
) -> None:
    faked = Faked([row("first")], trouble="the watch of pods stands since 11:58")
    page = (await opened(open_tab, examples, faked)).page
    await page.get_by_text("the watch of pods stands since 11:58").wait_for()
    refused = asyncio.Event()

    async def refuse_once(route: Route) -> None:
        if refused.is_set():
            await route.fallback()
            return
        refused.set()
        refusal = {"reason": "Unavailable", "message": "Not yet.", "right": ""}
        await route.fulfill(status=503, json=refusal, headers={"Retry-After": "1"})

    told = asyncio.Event()

    async def tell_once(route: Route) -> None:
        if not told.is_set():  # no later stream is answered
            told.set()
            event = "event: waiting\nid: 2\ndata: {}\n\n"
            await route.fulfill(status=200, content_type="text/event-stream", body=event)

    await page.route("**/api/v1/session", refuse_once)
    faked.trouble = ""
    await page.route("**/api/v1/events*", tell_once)
    await page.get_by_text("the watch of pods stands since 11:58").wait_for(state="detached")
    assert refused.is_set()


async def test_a_right_that_is_taken_away_takes_its_rows_away(open_tab: TabOpener, examples: Served) -> None:
    faked = Faked([row("first")])
    page = (await opened(open_tab, examples, faked)).page
    await page.get_by_text("first waits").wait_for()
    said = {"reason": "Forbidden", "message": "ann may not see this.", "right": "list podgroups in research"}
    faked.refusals["waiting"] = (403, said)
    faked.version = 2
    await page.get_by_text("list podgroups in research").wait_for()
    assert await page.get_by_text("first waits").count() == 0


async def test_pauses_and_limits_of_evictions_are_at_the_top(open_tab: TabOpener, examples: Served) -> None:
    mode = {"mode": "Enforce", "sentence": "", "pauses": ["by ann, for tests"], "limits": ["10 pods an hour"]}
    faked = Faked([row("first")], about={"mode": mode})
    page = (await opened(open_tab, examples, faked)).page
    for text in ("Evictions are paused.", "by ann, for tests", "10 pods an hour", "Enforce"):
        await page.get_by_text(text).first.wait_for()


async def test_ten_thousand_rows_are_a_list_of_few_elements(open_tab: TabOpener, examples: Served) -> None:
    faked = Faked([row(f"train-{number}", place=number + 1) for number in range(10_000)])
    page = (await opened(open_tab, examples, faked)).page
    await page.locator(".rows a").first.focus()
    await page.keyboard.press("End")
    await page.get_by_text("train-9999 waits").wait_for()
    assert await page.evaluate("() => document.activeElement.innerText.includes('train-9999')")
    assert await page.evaluate("() => document.querySelectorAll('*').length") < 5000
    await page.get_by_label("Filter by text").fill("train-4711")
    await page.get_by_text("train-4711 waits").wait_for()
    assert await page.locator(".rows a").count() == 1


async def test_namespaces_of_the_address_are_asked_about(open_tab: TabOpener, examples: Served) -> None:
    """Who may not list in all namespaces names some."""
    faked = Faked([row("first")], about={"namespaces": {"all": False, "named": ["a"], "asked": ["a"]}})
    page = (await opened(open_tab, examples, faked)).page
    await page.get_by_label("Name up to 20").fill("team-a, team-b")
    await page.get_by_role("button", name="Show these namespaces").click()
    await page.wait_for_url("**/?namespace=team-a,team-b#/waiting")
    faked.asked.clear()
    await page.get_by_text("first waits").wait_for()
    await page.wait_for_timeout(100)
    assert {path.partition("namespace=")[2] for path in faked.asked} == {"team-a,team-b"}
    assert faked.authorizations == {"", "Bearer s3ss10n"}


async def test_a_connection_that_is_cut_is_said_and_comes_back(open_tab: TabOpener, examples: Served) -> None:
    """Nobody closes it: no packet comes any longer."""
    async with Cable.to(examples.origin) as cable:
        page = (await open_tab(cable.origin)).page
        await page.goto(examples.another_address().replace(examples.origin, cable.origin))
        await page.get_by_text("llama-train").first.wait_for()
        cable.cut()
        await page.get_by_text("The connection to the server is lost.").wait_for()
        assert await page.get_by_text("llama-train").count() > 0, "what is old is still shown"
        cable.mend()
        await page.get_by_text("The connection to the server is lost.").wait_for(state="detached")
