"""The files of the front end, which `make web` builds. They are read once, so no path of a request reaches the disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

__all__ = ["INDEX", "Static", "read_statics"]

INDEX: Final = "index.html"
FOLDER: Final = "static"
TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
"""By suffix. Other files are not served."""


@dataclass(frozen=True, slots=True)
class Static:
    """A file."""

    body: bytes
    content_type: str


def read_statics(folder: Traversable | None = None) -> Mapping[str, Static]:
    """The files by name. Raises FileNotFoundError, with what helps, if the front end is not built."""
    folder = folder if folder is not None else resources.files("web") / FOLDER
    found = {
        each.name: Static(each.read_bytes(), TYPES[suffix])
        for each in (folder.iterdir() if folder.is_dir() else ())
        if each.is_file() and (suffix := "." + each.name.rpartition(".")[2]) in TYPES
    }
    if INDEX not in found:
        raise FileNotFoundError("the page is not built: run `make web` in the checkout")
    return found
