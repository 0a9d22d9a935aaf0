"""All addresses of the page, by view. `web.openapi` describes the same table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from web.route import Route, View
from web.views.doctor import DoctorView
from web.views.events import EventsView
from web.views.history import HistoryView
from web.views.map import MapView
from web.views.plans import PlansView
from web.views.queues import QueuesView
from web.views.report import ReportView
from web.views.search import SearchView
from web.views.session import SessionView
from web.views.waiting import WaitingView
from web.views.what_if import WhatIfView
from web.views.why import WhyView

__all__ = ["described", "table_of"]

VIEWS: Final[tuple[type[View], ...]] = (
    SessionView,
    MapView,
    WaitingView,
    WhyView,
    PlansView,
    QueuesView,
    WhatIfView,
    HistoryView,
    ReportView,
    DoctorView,
    SearchView,
    EventsView,
)


def table_of(views: Iterable[View]) -> tuple[Route, ...]:
    """The addresses of all these views."""
    return tuple(route for each in views for route in each.table())


def described() -> tuple[Route, ...]:
    """All addresses, for a description. Their handlers cannot be called."""
    return table_of(each.__new__(each) for each in VIEWS)
