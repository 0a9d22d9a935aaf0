"""Each view of docs/page.md has a picture, and what it was made of is what the page answers today."""

from __future__ import annotations

import re
import struct
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Final

import pytest

from answers.reading.page_objects import PageObjects
from answers.reading.quota_objects import read_time
from tests.kit.page_pictures import (
    FILES,
    FOLDER,
    MOST_BYTES,
    NOW,
    OVERLAY,
    ROOT,
    SUBMITTED,
    VIEWS,
    WIDTH,
    View,
    alike,
    chunks,
    made_of,
    marked,
    read,
    text_of,
)
from tests.unit.web.page_stage import Page, files_page
from web.sources.files import Files

PAGE: Final = (ROOT / "docs" / "page.md").read_text(encoding="utf-8")
ROW: Final = re.compile(r"^\| [^|]+ \| (?P<addresses>`#/[^|]*) \|", re.MULTILINE)
PICTURE: Final = re.compile(r"^!\[(?P<alt>[^\]]*)\]\(pictures/page/(?P<name>[\w-]+)\.png\)$", re.MULTILINE)
WORDS: Final = 10
"""Of a text in place of a picture, at least."""
by_name: Final = pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """The page of the files that the pictures show."""
    objects = PageObjects(read_time(NOW, "now"))
    # What is in an overlay comes first: it counts in place of what files have of the same name.
    objects.add_overlay((ROOT / OVERLAY).read_bytes(), OVERLAY)
    for name in FILES:
        objects.add_file((ROOT / name).read_bytes(), name)
    async with files_page(files=Files(objects)) as found:
        yield found


def kind_of(address: str) -> str:
    """The part of an address that says which view it is."""
    return address.removeprefix("#/").partition("?")[0].partition("/")[0]


def test_each_view_has_a_picture() -> None:
    listed = [row["addresses"] for row in ROW.finditer(PAGE)]
    views = {kind_of(re.findall(r"`(#/[^`]*)`", each)[0]) for each in listed}
    assert len(views) == len(listed) == len(VIEWS)
    assert views == {kind_of(view.address) for view in VIEWS}


def test_each_picture_is_shown_and_no_other_is_there() -> None:
    shown = [match["name"] for match in PICTURE.finditer(PAGE)]
    assert sorted(shown) == sorted(view.name for view in VIEWS)
    files = {f"{view.name}{ending}" for view in VIEWS for ending in (".png", ".json")}
    assert {path.name for path in FOLDER.iterdir()} == files


def test_words_say_what_one_sees() -> None:
    short = [match["name"] for match in PICTURE.finditer(PAGE) if len(match["alt"].split()) < WORDS]
    assert short == []


@by_name
def test_a_picture_is_a_small_png_of_its_width(view: View) -> None:
    picture = (FOLDER / f"{view.name}.png").read_bytes()
    found = list(chunks(picture))
    assert [found[0][0], found[-1][0]] == [b"IHDR", b"IEND"]
    assert struct.unpack_from(">I", found[0][1]) == (WIDTH,)
    assert len(picture) <= MOST_BYTES


@by_name
def test_a_picture_was_made_of_what_stands_beside_it(view: View) -> None:
    text = (FOLDER / f"{view.name}.json").read_text(encoding="utf-8")
    assert made_of((FOLDER / f"{view.name}.png").read_bytes()) == sha256(text.encode()).hexdigest()
    assert text == text_of(read(view))
    assert read(view)["address"] == view.address


@by_name
async def test_the_page_answers_what_the_picture_was_made_of(view: View, page: Page) -> None:
    secret = await page.log_in(code=page.code)
    committed = read(view)["answers"]
    assert committed
    for request, answer in committed.items():
        method, path = request.split(" ")
        body = (ROOT / SUBMITTED).read_bytes() if method == "POST" else None
        headers = {"Content-Type": "application/yaml"} if body else None
        status, said, _ = await page.ask(path, secret, method, headers, data=body)
        assert status == 200
        assert alike(said) == answer, f"{view.name}: make page-pictures, and look at the pictures that change"


def test_a_picture_of_something_else_is_found() -> None:
    parts = chunks((FOLDER / f"{VIEWS[0].name}.png").read_bytes())
    again = marked((each for each in parts if each[0] != b"tEXt"), "something else\n")
    assert made_of(again) == sha256(b"something else\n").hexdigest()


def test_what_is_no_png_is_found() -> None:
    with pytest.raises(ValueError, match="no PNG"):
        list(chunks(b"GIF89a"))
