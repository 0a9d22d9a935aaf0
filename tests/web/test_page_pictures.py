"""The pictures of docs/page.md show what the page shows: compared by what they were made of, never by pixels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.kit.often import SELDOM
from tests.kit.page_pictures import VIEWS, read, text_of
from tests.web.browsers import TabOpener
from tests.web.drawing import draw, log_in, serving_examples
from tests.web.serving import Served

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = SELDOM


@pytest.fixture(scope="module")
def pictured(browser: Browser) -> Iterator[Served]:
    """The page of the examples that the pictures show."""
    with serving_examples() as served:
        yield served


async def test_each_view_is_as_its_picture(open_tab: TabOpener, pictured: Served) -> None:
    tab = await open_tab(pictured.origin)
    await log_in(tab.page, pictured)
    for view in VIEWS:
        drawing = await draw(tab.page, view)
        made = json.loads(text_of(drawing.made))
        assert made == read(view), f"{view.name}: make page-pictures, and look at the pictures that change"
    tab.expect_nothing()
