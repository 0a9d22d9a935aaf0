"""Whether views may be trusted: readiness checks, each of the views that one consumer needs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from runtime.views import View
from serving.ops import Check

__all__ = ["not_synced", "too_old"]


def not_synced(views: Collection[View[Any]]) -> Check:
    """The check that everything has been listed once: None, or what is wrong."""
    return lambda: next((fault for view in views if not view.synced and (fault := view.fault())), None)


def too_old(views: Collection[View[Any]], seconds: float) -> Check:
    """The check that the API server was heard of every resource in the last `seconds`."""
    return lambda: next((fault for view in views if view.synced and (fault := view.fault(seconds))), None)
