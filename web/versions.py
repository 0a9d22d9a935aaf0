"""Versions that readers get: another one for another picture, and for other rights."""

from __future__ import annotations

from typing import Final

from web.readers.rights import Granted

__all__ = ["number_of", "source_version", "version_for"]

DIGITS: Final = 19


def version_for(version: str, granted: Granted) -> str:
    """The version of a source, as a reader with these rights gets it."""
    return f"{version}-{granted.mark}"


def source_version(version: str) -> str:
    """The version of the source in it."""
    return version.rpartition("-")[0]


def number_of(version: str, process: str) -> int:
    """The number of the version of a source, which grows; -1 for a version of another process than this one's.

    `process`: any version of this process.
    """
    name, _, number = version.rpartition("-")
    is_ours = name == process.rpartition("-")[0]
    return int(number) if is_ours and number.isascii() and number.isdigit() and len(number) < DIGITS else -1
