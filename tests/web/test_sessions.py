"""The login: codes, tokens, tabs, and where secrets are not."""

from __future__ import annotations

from tests.kit.often import SELDOM
from tests.web.browsers import TabOpener, tab_of
from tests.web.serving import Served
from tests.web.views import VIEWS

pytestmark = SELDOM


async def test_a_code_works_once_and_leaves_no_trace_in_the_history(
    open_tab: TabOpener, examples: Served
) -> None:
    address = examples.another_address()
    first = (await open_tab(examples.origin)).page
    await first.goto("about:blank")
    await first.goto(address)
    await first.get_by_role("heading", name="Waiting").wait_for()
    assert first.url == f"{examples.origin}#/waiting"
    await first.go_back()
    assert first.url == "about:blank"
    await first.go_forward()
    assert "code" not in first.url
    second = (await open_tab(examples.origin)).page
    await second.goto(address)
    await second.get_by_role("alert").wait_for()
    assert "code" not in second.url


async def test_a_new_tab_of_the_same_browser_needs_no_login(open_tab: TabOpener, examples: Served) -> None:
    first = (await open_tab(examples.origin)).page
    await first.goto(examples.another_address())
    await first.get_by_role("heading", name="Waiting").wait_for()
    second = (await tab_of(first.context, examples.origin)).page
    await second.goto(f"{examples.origin}#/gang/research/llama-train")
    await second.locator("article.answer").first.wait_for()
    assert await second.evaluate("() => [document.cookie, Object.keys(localStorage).length]") == ["", 0]


async def test_a_reload_keeps_the_session_and_another_browser_has_none(
    open_tab: TabOpener, examples: Served
) -> None:
    first = (await open_tab(examples.origin)).page
    await first.goto(examples.another_address())
    await first.get_by_role("heading", name="Waiting").wait_for()
    await first.reload()
    await first.get_by_role("heading", name="Waiting").wait_for()
    second = (await open_tab(examples.origin)).page
    await second.goto(f"{examples.origin}#/waiting")
    await second.get_by_label("Token of the API server").wait_for()


async def test_who_logs_out_sees_nothing_any_longer(open_tab: TabOpener, examples: Served) -> None:
    page = (await open_tab(examples.origin)).page
    await page.goto(examples.another_address())
    await page.get_by_role("button", name="Log out").click()
    await page.get_by_label("Token of the API server").wait_for()
    assert await page.evaluate("() => sessionStorage.length") == 0
    await page.reload()
    await page.get_by_label("Token of the API server").wait_for()


async def test_each_address_opens_after_a_login(open_tab: TabOpener, examples: Served) -> None:
    page = (await open_tab(examples.origin)).page
    await page.goto(f"{examples.origin}#/job/research/evaluate")
    await page.get_by_label("Token of the API server").wait_for()
    await page.evaluate("(hash) => { location.hash = hash }", examples.another_address().partition("#")[2])
    await page.get_by_role("heading", name="Waiting").wait_for()
    await page.evaluate("() => { location.hash = '#/job/research/evaluate' }")
    await page.get_by_role("heading", name="research/evaluate").wait_for()


async def test_every_address_opens_cold_after_a_login(open_tab: TabOpener, examples: Served) -> None:
    """Each in a document of its own: nothing of an earlier view is in it."""
    tab = await open_tab(examples.origin)
    page = tab.page
    await page.goto(examples.another_address())
    await page.get_by_role("heading", name="Waiting").wait_for()
    for address, text in VIEWS:
        await page.goto("about:blank")
        await page.goto(f"{examples.origin}{address}")
        await page.get_by_text(text).first.wait_for()
        assert page.url == f"{examples.origin}{address}"
    tab.expect_nothing()
