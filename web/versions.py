"""Versions that readers get: another one for another picture, and for other rights."""

from __future__ import annotations

from web.readers.rights import Granted

__all__ = ["source_version", "version_for"]


def version_for(version: str, granted: Granted) -> str:
    """The version of a source, as a reader with these rights gets it."""
    return f"{version}-{granted.mark}"


def source_version(version: str) -> str:
    """The version of the source in it."""
    return version.rpartition("-")[0]
