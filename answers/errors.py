"""Why there is no answer."""

from __future__ import annotations

__all__ = ["InputError", "UnreadError"]


class InputError(ValueError):
    """The input is wrong. The message names file, document, object and field, as far as they are known."""


class UnreadError(Exception):
    """Objects that the answer needs were not read. The message names a right that is missing, or their version."""
