"""What every process knows of several clusters, before it leads."""

from __future__ import annotations

from typing import cast

from controllers.multikueue.configuration import MultiKueueConfiguration
from controllers.multikueue.controller import MultiKueueController
from kube.client import ApiClient
from runtime.exchange.dispatch_reports import DispatchReports
from tests.kit.apiserver import Api
from tests.kit.clock import ManualClock
from tests.kit.views import unconnected


def test_it_says_that_a_manager_reports_and_waits_for_its_views() -> None:
    reports = DispatchReports()
    client = cast(ApiClient, Api())
    controller = MultiKueueController(
        MultiKueueConfiguration(), client, unconnected(), reports, ManualClock(), has_gates=True
    )
    assert reports.is_served
    (check,) = controller.checks().values()
    assert "workloads" in (check() or "")
