"""Readiness checks that tell whether views are trustworthy. Each check covers the views of one consumer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from runtime.mirror.views import View
from serving.ops import Check

__all__ = ["interrupted", "not_synced", "too_old"]


def not_synced(views: Collection[View[Any]]) -> Check:
    """A check that every view has been listed once. It returns None, or what is wrong."""
    return lambda: next((fault for view in views if not view.synced and (fault := view.fault())), None)


def too_old(views: Collection[View[Any]], seconds: float) -> Check:
    """A check that the API server sent something about every resource in the last `seconds`."""
    return lambda: next((fault for view in views if view.synced and (fault := view.fault(seconds))), None)


def interrupted(views: Collection[View[Any]], seconds: float) -> Check:
    """A check that no resource has been without a watch for more than `seconds`: what happened to it is not known."""

    def check() -> str | None:
        for view in views:
            if (since := view.interrupted()) > seconds:
                return f"{view.kind}: no watch for {since:.0f} s"
        return None

    return check
