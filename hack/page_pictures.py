"""`python -m hack.page_pictures [NAME]...`: the pictures of docs/page.md, and beside each what it was made of.

A picture is made again if what it is made of has changed, or if it is named. So another browser or other fonts alone
change no file.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection
from hashlib import sha256
from typing import TYPE_CHECKING

from tests.kit.page_pictures import FOLDER, MOST_BYTES, VIEWS, View, made_of, marked, text_of
from tests.web.browsers import launched, options, tab_of, why_not
from tests.web.drawing import draw, log_in, serving_examples
from tests.web.small_png import parts_of

if TYPE_CHECKING:
    from playwright.async_api import Browser

__all__ = ["main"]


async def _pictures(browser: Browser, names: Collection[str]) -> None:
    with serving_examples() as served:
        context = await browser.new_context(**options())
        tab = await tab_of(context, served.origin)
        empty = await context.new_page()
        await log_in(tab.page, served)
        for view in VIEWS:
            drawing = await draw(tab.page, view)
            text = text_of(drawing.made)
            if view.name not in names and _is_of(view, text):
                continue
            parts = await parts_of(empty, drawing.picture, MOST_BYTES)
            picture = marked(parts, text)
            (FOLDER / f"{view.name}.json").write_text(text, encoding="utf-8")
            (FOLDER / f"{view.name}.png").write_bytes(picture)
            print(f"docs/pictures/page/{view.name}.png: {len(picture)} bytes")
        tab.expect_nothing()


def _is_of(view: View, text: str) -> bool:
    """Whether there is a picture of the view that was made of this."""
    path = FOLDER / f"{view.name}.png"
    return path.is_file() and made_of(path.read_bytes()) == sha256(text.encode()).hexdigest()


async def _main(names: Collection[str]) -> None:
    async with launched() as browser:
        await _pictures(browser, names)


def main(names: Collection[str]) -> int:
    """Returns the exit status. `names`: of views whose pictures are made again in any case."""
    unknown = set(names) - {view.name for view in VIEWS}
    if problem := why_not() or (f"no view has the name {min(unknown)}" if unknown else ""):
        sys.stderr.write(f"{problem}\n")
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    asyncio.run(_main(names))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
