"""Opens the page in a browser, and keeps its code out of the list of processes, which all users of a computer see."""

from __future__ import annotations

import html
import os
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

__all__ = ["Opening"]

PAGE: Final = """\
<!DOCTYPE html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>reprieve</title>
<a href="{address}">reprieve</a>
"""
SCREENS: Final = ("DISPLAY", "WAYLAND_DISPLAY")


class Opening:
    """A browser gets the name of a file that only its owner may read. The file leads to the address."""

    def __init__(self, browse: Callable[[str], bool] = webbrowser.open) -> None:
        self._browse = browse
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def open(self, address: str) -> None:
        """Open it. Nothing happens where there is no screen: a browser in the terminal would take it away."""
        if sys.platform == "linux" and not any(os.environ.get(each) for each in SCREENS):
            return
        self._folder = tempfile.TemporaryDirectory(prefix="reprieve-page-")
        file = Path(self._folder.name) / "page.html"
        file.touch(mode=0o600)
        file.write_text(PAGE.format(address=html.escape(address)), encoding="utf-8")
        self._browse(file.as_uri())
