"""Why there is no release."""

from __future__ import annotations

__all__ = ["ReleaseError"]


class ReleaseError(Exception):
    """The release is refused, or a piece of it is wrong. The message says what to do."""
