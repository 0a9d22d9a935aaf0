"""How far reprieve goes on the nodes plane."""

from __future__ import annotations

from typing import Literal

__all__ = ["Mode"]

Mode = Literal["Off", "Enforce"]
"""Off: nothing is decided, and the verbs give back what they get. Enforce: what is decided is done."""
