"""Views without an API server: a test plays what a reflector does."""

from __future__ import annotations

from typing import Any, cast

from api.clock import SYSTEM_CLOCK, Clock
from kube.client import ApiClient
from runtime.mirror.views import Views

__all__ = ["NoApi", "listed", "unconnected"]


class NoApi:
    """A client that nobody asks."""

    cluster = ""


def unconnected(clock: Clock = SYSTEM_CLOCK, client: Any = None) -> Views:
    """Views that nothing is listed in; the client is `client`, or one that is never asked."""
    return Views(cast(ApiClient, client or NoApi()), clock=clock)


def listed(views: Views) -> Views:
    """The same, when the API server has answered that there is nothing."""
    for view in views:
        view.replaced(set(), "")
    return views
