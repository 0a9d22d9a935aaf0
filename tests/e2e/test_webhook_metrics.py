"""What a process of the webhooks serves: the metrics that the code describes, and what alerts and dashboard ask for."""

from __future__ import annotations

from hack.controlplane.plane import ControlPlane
from tests.e2e.served import asked, asked_of_webhooks, differences, not_served


def test_the_metrics_are_those_of_the_code(webhook_plane: ControlPlane) -> None:
    assert differences(webhook_plane.webhooks_ops_url) == []


def test_alerts_and_dashboard_find_their_metrics(webhook_plane: ControlPlane) -> None:
    of_webhooks = [each for each in asked() if asked_of_webhooks(each)]
    assert len(of_webhooks) > 5
    assert not_served(webhook_plane.webhooks_ops_url, of_webhooks) == []
