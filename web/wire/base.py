"""What all answers have in common."""

from __future__ import annotations

import msgspec

__all__ = ["Fault", "Wire"]


class Wire(msgspec.Struct, rename="camel"):
    """Base class: names in camelCase."""


class Fault(Wire):
    """Why there is no answer."""

    reason: str
    """One word in CamelCase."""
    message: str
    right: str
    """What the reader would need. Empty if no right helps."""
