"""What a browser stores for a tenant: no byte of a namespace that they may not read. See `page_worlds`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from hack.controlplane.plane import ControlPlane
from tests.e2e.page_browsers import browsing, log_in, show
from tests.e2e.page_worlds import Worlds
from tests.e2e.served_page import OF_ALL, READS, Page, serving
from tests.e2e.support import wait_for
from tests.kit.answers.worlds import MARKS, NAMESPACES, World
from tests.kit.often import SELDOM
from tests.kit.page_questions import Question, first_leak
from tests.web.downloads import file_of

if TYPE_CHECKING:
    from tests.web.browsers import Tab

pytestmark = SELDOM

OF_A_TENANT: Final = [
    {"apiGroups": [group], "resources": ["*"], "verbs": READS}
    for group in ("", "apps", "batch", "policy", "reprieve.dev", "kueue.x-k8s.io")
]
OF_NODES: Final = [{"apiGroups": [""], "resources": ["nodes"], "verbs": READS}]
OWN: Final = "alfa"
LISTS: Final = {
    "#/waiting": "Waiting",
    "#/map": "Map",
    "#/map?as=table": "Map",
    "#/plans": "Plans",
    "#/queues": "Queues",
    "#/history": "History",
    "#/report": "What the scheduler did instead",
    "#/doctor": "Doctor",
}
"""What is listed: titles by address."""
VIEWS: Final = {"pod": "pod", "podgroup": "gang", "job": "job", "workload": "workload"}
EXPORT: Final = re.compile("^Save as ")
PNG: Final = b"\x89PNG\r\n\x1a\n"
WITHOUT_TEXT: Final = {b"IHDR", b"IDAT", b"IEND", b"sRGB", b"gAMA", b"pHYs", b"sBIT"}
"""Parts of a PNG."""


async def test_no_file_has_a_byte_of_a_namespace_that_a_reader_may_not_read(
    api_plane: ControlPlane, tmp_path: Path
) -> None:
    worlds, name = Worlds(api_plane.client), "page-exports"
    api_plane.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    await asyncio.to_thread(worlds.prepare)
    seed = Random().randrange(1 << 30)
    with serving(api_plane, name, tmp_path, bare=False) as page:
        admin = page.reader("admin", OF_ALL, everywhere=True)
        page.reader("tenant", OF_A_TENANT, space=OWN)
        tenant = page.reader("tenant", OF_NODES, everywhere=True)
        try:
            await asyncio.to_thread(worlds.show, seed)
            made = worlds.now
            assert made is not None
            await asyncio.to_thread(wait_for, lambda: page.ask("waiting", admin)[0] == 200)
            of_all = await exports(page, admin, made, NAMESPACES)
            of_tenant = await exports(page, tenant, made, [OWN])
        finally:
            await asyncio.to_thread(worlds.clear)
    for address, content in of_tenant:
        assert first_leak(Question(address, (OWN,)), content, [OWN], worlds.uids) == "", f"seed {seed}"
    expect_that_much_was_stored(of_all, of_tenant)


async def exports(page: Page, token: str, made: World, spaces: Collection[str]) -> list[tuple[str, bytes]]:
    """All files that a reader of these namespaces can store, each with the address of its view."""
    found = list[tuple[str, bytes]]()
    async with browsing(page) as tab:
        await tab.page.goto(f"http://127.0.0.1:{page.port}/?namespace={','.join(spaces)}")
        await log_in(tab, token)
        for address, title in [*LISTS.items(), *answers(made, spaces)]:
            await show(tab, address)
            await tab.page.get_by_role("heading", level=1).filter(has_text=title).wait_for()
            await tab.page.get_by_text("Loading…").first.wait_for(state="detached")
            found += [(address, each) async for each in stored(tab)]
    return found


def answers(made: World, spaces: Collection[str]) -> Iterator[tuple[str, str]]:
    """Addresses of what may wait in these namespaces, and their titles."""
    for kind, space, name in made.questions():
        if space in spaces and ":" not in name:
            yield f"#/{VIEWS[kind]}/{space}/{quote(name)}", f"{space}/{name}"


async def stored(tab: Tab) -> Any:
    """The files of this view."""
    buttons = tab.page.get_by_role("button", name=EXPORT)
    for at in range(await buttons.count()):
        yield await file_of(buttons.nth(at))


def expect_that_much_was_stored(of_all: list[tuple[str, bytes]], of_tenant: list[tuple[str, bytes]]) -> None:
    """Or the search has found nothing because nothing was there."""
    text = b"".join(content for _, content in of_all)
    assert all(MARKS[space].encode() in text for space in NAMESPACES)
    assert MARKS[OWN].encode() in b"".join(content for _, content in of_tenant)
    assert {address for address, _ in of_all} >= LISTS.keys() - {"#/doctor", "#/plans", "#/history"}
    assert {address for address, _ in of_tenant} >= {"#/waiting", "#/map", "#/map?as=table"}
    for found in (of_all, of_tenant):
        pictures = [content for _, content in found if content.startswith(PNG)]
        assert pictures
        assert all(parts_of(each) <= WITHOUT_TEXT for each in pictures)
        assert any(content.lstrip().startswith(b"<svg") for _, content in found)


def parts_of(picture: bytes) -> set[bytes]:
    """The kinds of chunks in a PNG."""
    kinds, at = set[bytes](), len(PNG)
    while at < len(picture):
        kinds.add(picture[at + 4 : at + 8])
        at += 12 + int.from_bytes(picture[at : at + 4])
    return kinds
